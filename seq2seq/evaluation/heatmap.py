"""Attention as a picture: the only module that imports matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from torch import Tensor

CELL_INCHES = 0.42
LABEL_INCHES = 1.5
LONGEST_SIDE_INCHES = 60.0


def draw_heatmap(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    weights: Tensor,
    path: Path,
    title: str = "",
) -> None:
    """Writes a PNG: source tokens along the top, target tokens down the side, dark where it looked.

    Args:
        source_tokens: S labels.
        target_tokens: T labels.
        weights: (T, S), from 0 to 1.
        path: of the file.
        title: written below the picture.
    """
    num_rows, num_columns = weights.shape
    width = min(num_columns * CELL_INCHES + LABEL_INCHES + 1.2, LONGEST_SIDE_INCHES)
    height = min(num_rows * CELL_INCHES + LABEL_INCHES + 0.3, LONGEST_SIDE_INCHES)
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    image = axes.imshow(weights.numpy(), cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
    axes.xaxis.tick_top()
    # A dollar sign would open a formula.
    axes.set_xticks(range(num_columns), [one.replace("$", r"\$") for one in source_tokens])
    axes.set_yticks(range(num_rows), [one.replace("$", r"\$") for one in target_tokens])
    axes.tick_params(axis="x", labelrotation=60, length=0)
    axes.tick_params(axis="y", length=0)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("left")
        label.set_rotation_mode("anchor")
    axes.set_xticks([position - 0.5 for position in range(1, num_columns)], minor=True)
    axes.set_yticks([position - 0.5 for position in range(1, num_rows)], minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="minor", length=0)
    figure.colorbar(image, ax=axes, shrink=0.6, label="weight")
    if title:
        axes.set_xlabel(title.replace("$", r"\$"), wrap=True)
    figure.savefig(path, dpi=120)
