"""Attention of several models or heads side by side."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from seq2seq.evaluation.heatmap import show_weights

NUM_COLUMNS = 3
GOLD = "#d62728"


def new_figure(width: float, height: float) -> Figure:
    """A white figure of a size in inches, its parts kept from overlapping."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_side_by_side(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    panels: Sequence[tuple[str, Tensor]],
    gold: Collection[tuple[int, int]],
    path: Path,
) -> None:
    """Writes a PNG with one heatmap for each title; gold links have a red frame.

    Args:
        source_tokens: S labels.
        target_tokens: T labels.
        panels: title and weights (T, S) of each.
        gold: 0-based (source position, target position); may be empty.
        path: of the file.
    """
    num_rows, num_columns = ceil(len(panels) / NUM_COLUMNS), min(NUM_COLUMNS, len(panels))
    width = 1.0 + num_columns * (0.6 + 0.3 * len(source_tokens))
    height = num_rows * (1.3 + 0.3 * len(target_tokens))
    figure = new_figure(width, height)
    grid = list(figure.subplots(num_rows, num_columns, squeeze=False).flat)
    for number, (axes, (title, weights)) in enumerate(zip(grid, panels, strict=False)):
        show_weights(axes, source_tokens, target_tokens, weights)
        axes.set_xlabel(title, fontsize=12)
        if number % num_columns:
            axes.set_yticklabels([])
        for source, target in gold:
            frame = Rectangle((source - 0.5, target - 0.5), 1, 1, fill=False)
            frame.set(edgecolor=GOLD, linewidth=1.8)
            axes.add_patch(frame)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    figure.savefig(path, dpi=120)
