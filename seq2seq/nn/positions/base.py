"""What every position encoding offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from seq2seq.config import Config


class Positions(nn.Module):
    """Base of all position encodings: does nothing."""

    def add(self, embedded: Tensor, start: int = 0) -> Tensor:
        """Embeddings (B, S, D) of variance 1 with positions `start`, `start` + 1, ... mixed in."""
        return embedded


@dataclass(frozen=True, kw_only=True)
class PositionsConfig(Config, ABC):
    """How to make a position encoding."""

    encodes: ClassVar[bool] = True
    """Whether it tells anything about position."""

    @abstractmethod
    def build(self, dim: int) -> Positions:
        """The encoding for embeddings of width `dim`."""
