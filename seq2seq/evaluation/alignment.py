"""Attention weights read as a word alignment, and judged as one."""

from __future__ import annotations

from collections.abc import Iterable, Set

from torch import Tensor

Links = Set[tuple[int, int]]
"""Pairs of 0-based (source position, target position)."""


def peaks(weights: Tensor) -> set[tuple[int, int]]:
    """One link for each target position: to the source position with the largest weight (T, S)."""
    return {(int(row.argmax()), position) for position, row in enumerate(weights)}


def alignment_error_rate(pairs: Iterable[tuple[Links, Links]]) -> float:
    """1 - 2 |A and G| / (|A| + |G|) over (found A, gold G) of many sentences.

    Och and Ney 2003, section 6, where every gold link is sure.
    """
    shared = total = 0
    for found, gold in pairs:
        shared += len(found & gold)
        total += len(found) + len(gold)
    return 1 - 2 * shared / total if total else 0.0
