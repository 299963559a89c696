"""One learned vector for each position (Gehring et al. 2017, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2seq.config import Count
from seq2seq.errors import DataError
from seq2seq.nn.positions.base import Positions, PositionsConfig


class LearnedPositions(Positions):
    """Adds a trained vector to each embedding, up to a fixed length."""

    def __init__(self, max_length: int, dim: int) -> None:
        super().__init__()
        self.max_length = max_length
        self.vectors = nn.Parameter(torch.randn(max_length, dim))

    def add(self, embedded: Tensor, start: int = 0) -> Tensor:
        """As the base says. Raises DataError beyond the learned length."""
        end = start + embedded.shape[-2]
        if end > len(self.vectors):
            raise DataError(
                f"A sentence needs {end} positions, but model.positions.max_length is "
                f"{len(self.vectors)}. Shorten it, or train with a larger one or with other "
                "model/positions."
            )
        return embedded + self.vectors[start:end]


@dataclass(frozen=True, kw_only=True)
class LearnedPositionsConfig(PositionsConfig):
    """Learned positions.

    Attributes:
        max_length: longest sentence in tokens; longer ones are refused.
    """

    max_length: Count = 256

    def build(self, dim: int, num_heads: int, *, causal: bool) -> LearnedPositions:
        return LearnedPositions(self.max_length, dim)
