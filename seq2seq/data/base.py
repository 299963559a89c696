"""What every corpus offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from seq2seq.config import Config
from seq2seq.data.text import ParallelText

Split = Literal["train", "validation", "test"]


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config, ABC):
    """Where parallel text comes from."""

    @abstractmethod
    def read(self, split: Split) -> ParallelText:
        """The pairs of one split. Raises DataError where they cannot be had."""


def without_blanks(pairs: ParallelText) -> tuple[ParallelText, int]:
    """The pairs with text on both sides, and how many were dropped; a pair goes as a pair."""
    kept = [
        (source, target)
        for source, target in zip(pairs.source, pairs.target, strict=True)
        if source.strip() and target.strip()
    ]
    sides = ParallelText([one[0] for one in kept], [one[1] for one in kept], pairs.origin)
    return sides, len(pairs) - len(kept)
