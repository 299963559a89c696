"""Position encodings as pictures: frequencies, rotations, and what a rotary score depends on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from matplotlib.axes import Axes
from torch import Tensor

from seq2seq.nn.positions.base import Positions
from seq2seq.nn.positions.rotary import RotaryPositionsConfig
from seq2seq.nn.positions.sinusoidal import (
    SinusoidalPositionsConfig,
    frequencies,
    sinusoids,
)
from seq2seq.tour.attention_figures import new_figure

COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#9467bd", "#8c564b")


def binary_numerals(length: int, num_bits: int) -> Tensor:
    """The digits (`length`, `num_bits`) of 0, 1, 2, ...: that of the ones first."""
    return torch.arange(length)[:, None] >> torch.arange(num_bits) & 1


def draw_frequencies(path: Path, *, length: int = 32, dim: int = 32) -> None:
    """Writes a PNG: the sinusoidal matrix beside the binary numerals, and columns of both."""
    num_bits = (length - 1).bit_length()
    table, digits = sinusoids(length, dim), binary_numerals(length, num_bits)
    figure = new_figure(10, 8.4)
    ((matrix, bits), (curves, steps)) = figure.subplots(2, 2, width_ratios=(3, 2))

    shown = matrix.imshow(table.numpy(), cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    matrix.set_title("sinusoidal encodings")
    matrix.set_xlabel("dimension: fast on the left, slow on the right")
    matrix.set_ylabel("position")
    figure.colorbar(shown, ax=matrix, shrink=0.8)

    bits.imshow(digits.numpy(), cmap="Greys", vmin=0, vmax=1.3, aspect="auto")
    bits.set_title("the same positions as binary numerals")
    bits.set_xticks(range(num_bits), [f"{2**bit}s" for bit in range(num_bits)])
    bits.set_xlabel("digit: fast on the left, slow on the right")

    for number, column in enumerate((0, 4, 8, 12)):
        fine = torch.linspace(0, length - 1, 400, dtype=torch.float64)
        curve = torch.sin(fine * frequencies(dim)[column // 2])
        middle = -2.5 * number
        curves.plot(fine, curve + middle, color=COLOURS[number], linewidth=1.2)
        curves.plot(table[:, column] + middle, "o", color=COLOURS[number], markersize=3.5)
        curves.text(length, middle, f"dimension {column}", va="center", color=COLOURS[number])
        if number < num_bits:
            steps.step(range(length), 1.5 * digits[:, number] - 0.75 + middle, where="mid",
                       color=COLOURS[number], linewidth=1.5)  # fmt: skip
    curves.set_title("four columns of the matrix")
    steps.set_title("four digits")
    for axes in (curves, steps):
        axes.set_xlabel("position")
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
    curves.set_xlim(-0.5, length * 1.25)
    figure.savefig(path, dpi=120)


def draw_relative(path: Path, *, dim: int = 128, offset: int = 3) -> None:
    """Writes a PNG: dot products against offset, and pairs that turn on their circles."""
    figure = new_figure(10, 6.6)
    grid = figure.add_gridspec(2, 3, height_ratios=(1, 1.1))
    axes = figure.add_subplot(grid[0, :])
    reach = torch.arange(-50, 51)
    table = sinusoids(400, dim, dtype=torch.float64)
    for number, start in enumerate((60, 150, 300)):
        products = table[start + reach] @ table[start]
        (line,) = axes.plot(reach, products, color=COLOURS[number], label=f"t = {start}")
        line.set(linewidth=7 - 2.7 * number, alpha=0.45 + 0.25 * number)
    axes.set_title("p(t) · p(t + k) is the same curve for every t")
    axes.set_xlabel("offset k")
    axes.set_ylabel("dot product")
    axes.legend(frameon=False)

    for number, pair in enumerate((0, 4, 8)):
        axes = figure.add_subplot(grid[1, number])
        _draw_circle(axes, table, pair, offset)
        turn = float(offset * frequencies(dim)[pair])
        axes.set_title(f"pair {pair}: k = {offset} turns by {turn:.2f}")
    figure.savefig(path, dpi=120)


def _draw_circle(axes: Axes, table: Tensor, pair: int, offset: int) -> None:
    """Where three positions stand on the circle of a pair, and where `offset` carries them."""
    angle = torch.linspace(0, 2 * torch.pi, 200)
    axes.plot(angle.cos(), angle.sin(), color="lightgrey", linewidth=1, zorder=0)
    for number, start in enumerate((0, 5, 10)):
        points = table[[start, start + offset], 2 * pair : 2 * pair + 2].flip(-1)  # (cos, sin)
        (x, y), (next_x, next_y) = points.tolist()
        axes.annotate(
            "", (next_x, next_y), (x, y),
            arrowprops={"arrowstyle": "->", "color": COLOURS[number], "linewidth": 1.8},
        )  # fmt: skip
        axes.plot(x, y, "o", color=COLOURS[number], markersize=6)
        axes.text(1.22 * x, 1.22 * y, f"{start}", ha="center", va="center", color=COLOURS[number])
    axes.set_aspect("equal")
    axes.set_xlim(-1.45, 1.45)
    axes.set_ylim(-1.45, 1.45)
    axes.axis("off")


def score_matrix(positions: Positions, query: Tensor, key: Tensor, length: int) -> Tensor:
    """(`length`, `length`): the product of one query at each position with one key at each.

    Query and key are vectors (D,); `positions` is what tells them where they stand.
    """
    rows = [one.expand(1, length, -1) for one in (query, key)]
    queries, keys = (positions.rotate(positions.add(one).unsqueeze(1))[0, 0] for one in rows)
    return queries @ keys.T


def draw_scores(path: Path, *, length: int = 24, dim: int = 16) -> None:
    """Writes a PNG: scores of one query and one key under added and under rotary positions."""
    generator = torch.Generator().manual_seed(3)
    query, key = torch.randn(2, dim, generator=generator)
    kinds = {"sinusoids, added": SinusoidalPositionsConfig(), "rotary": RotaryPositionsConfig()}
    figure = new_figure(9.2, 4.1)
    for axes, (title, kind) in zip(figure.subplots(1, 2), kinds.items(), strict=True):
        one = kind.build(dim, 1, causal=False)
        image = axes.imshow(score_matrix(one, query, key, length).numpy(), cmap="viridis")
        axes.set_title(title)
        axes.set_xlabel("position of the key")
        axes.set_ylabel("position of the query")
        figure.colorbar(image, ax=axes, shrink=0.75, label="score")
    figure.savefig(path, dpi=120)


def draw_timing(seconds: Mapping[str, Mapping[int, float]], path: Path) -> None:
    """Writes a PNG: milliseconds against length, both on logarithmic scales."""
    figure = new_figure(8, 4.6)
    axes = figure.subplots()
    for number, (name, by_length) in enumerate(seconds.items()):
        lengths = list(by_length)
        values = [1000 * by_length[one] for one in lengths]
        axes.plot(lengths, values, "o-", color=COLOURS[number], label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(lengths, [str(one) for one in lengths])
    axes.set_xlabel("tokens in a sentence")
    axes.set_ylabel("milliseconds, forward and backward")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=120)
