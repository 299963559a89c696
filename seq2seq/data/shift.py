"""Telling by sizes alone that the lines of two files no longer belong together."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

BLOCK, LEAST_FOR_SIZES = 1000, 100
"""Lines whose sizes are compared at a time, and the fewest that tell something."""
ALIKE = 0.5
"""The correlation of sizes that is taken for that of translations; Multi30k's is 0.8."""
FARTHEST = 5
"""Lines that a text is looked for away from where it should be."""


def shift_of(source: NDArray[Any], target: NDArray[Any]) -> tuple[int, int] | None:
    """Where the sizes of both sides tell that targets stand on the lines of other sources.

    The sizes of translations go together. Where they do not in a block of lines, but do with the
    sources some lines above or below, lines are missing on one side or too many on the other.

    Returns:
        The first such block's start, from 0, and how far away the sources are; None: nothing tells.
    """
    for start in range(0, max(1, len(source) - BLOCK // 2), BLOCK):
        one, other = source[start : start + BLOCK], target[start : start + BLOCK]
        if len(one) < LEAST_FOR_SIZES or _correlation(one, other) > ALIKE / 2:
            continue
        for distance in range(1, FARTHEST + 1):
            if _correlation(one[:-distance], other[distance:]) > ALIKE:
                return start, -distance
            if _correlation(one[distance:], other[:-distance]) > ALIKE:
                return start, distance
    return None


def _correlation(one: NDArray[Any], other: NDArray[Any]) -> float:
    """Pearson's; 1 where a side does not vary, which tells nothing."""
    if not (one.std() and other.std()):
        return 1.0
    return float(numpy.corrcoef(one, other)[0, 1])
