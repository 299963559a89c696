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

    def has_test(self) -> bool:
        """Whether there is a test split."""
        return True

    @abstractmethod
    def read(self, split: Split) -> ParallelText:
        """The pairs of one split. Raises DataError where they cannot be had."""
