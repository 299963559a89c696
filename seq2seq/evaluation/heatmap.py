"""Attention as a picture."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from torch import Tensor

CELL_INCHES = 0.42
LONGEST_SIDE_INCHES = 60.0
BAR_INCHES = 2.0
LONGEST_LABEL = 40


def draw_heatmap(
    source_tokens: Sequence[str], target_tokens: Sequence[str], weights: Tensor, path: Path
) -> None:
    """Writes a PNG: source tokens along the top, target tokens down the side, dark where it looked.

    Args:
        source_tokens: S labels.
        target_tokens: T labels.
        weights: (T, S), from 0 to 1.
        path: of the file.
    """
    num_rows, num_columns = weights.shape
    cell = min(CELL_INCHES, LONGEST_SIDE_INCHES / max(num_rows, num_columns))
    width, height = num_columns * cell, num_rows * cell
    # The cells fill the figure, and what stands around them is added when it is written: labels of
    # any length leave the cells as they are.
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    image = show_weights(axes, source_tokens, target_tokens, weights)
    axes.set(xlabel="source", ylabel="translation")
    axes.xaxis.set_label_position("top")
    # The colour bar hangs from the cells' upper edge, above which labels lean over it.
    tall = BAR_INCHES / height
    bar = figure.add_axes((1 + 0.25 / width, 1 - tall, 0.12 / width, tall))
    figure.colorbar(image, cax=bar, label="weight")
    with warnings.catch_warnings():
        # A character that no font has is drawn as a box, which says enough.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        figure.savefig(path, dpi=120, bbox_inches="tight", pad_inches=0.15)


def show_weights(
    axes: Axes, source_tokens: Sequence[str], target_tokens: Sequence[str], weights: Tensor
) -> AxesImage:
    """Puts weights (T, S) with their labels into axes of a figure."""
    num_rows, num_columns = weights.shape
    image = axes.imshow(weights.numpy(), cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    axes.xaxis.tick_top()
    axes.set_xticks(range(num_columns), [_label(one) for one in source_tokens])
    axes.set_yticks(range(num_rows), [_label(one) for one in target_tokens])
    axes.tick_params(axis="x", labelrotation=60, length=0)
    axes.tick_params(axis="y", length=0)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("left")
        label.set_rotation_mode("anchor")
    axes.set_xticks([position - 0.5 for position in range(1, num_columns)], minor=True)
    axes.set_yticks([position - 0.5 for position in range(1, num_rows)], minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    return image


def _label(token: str) -> str:
    """A token as matplotlib shows it: cut where it is very long, and no formula."""
    shown = token if len(token) <= LONGEST_LABEL else token[: LONGEST_LABEL - 1] + "…"
    return shown.replace("$", r"\$")  # a dollar sign would open a formula
