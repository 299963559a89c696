"""No positions: for recurrent encoders, which count by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from seq2seq.nn.positions.base import Positions, PositionsConfig


@dataclass(frozen=True, kw_only=True)
class NoPositionsConfig(PositionsConfig):
    """Leaves embeddings as they are."""

    encodes: ClassVar[bool] = False

    def build(self, dim: int, num_heads: int, *, causal: bool) -> Positions:
        return Positions()
