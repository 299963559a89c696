"""Rotary positions (Su et al. 2021, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from seq2seq.config import Positive
from seq2seq.errors import SettingsError
from seq2seq.nn.positions.base import Positions, PositionsConfig


class RotaryPositions(Positions):
    """Turns each pair of a query's or key's numbers by an angle that grows with its position.

    The product of a query turned by m w and a key turned by n w depends on n - m alone.
    """

    def __init__(self, head_dim: int, base: float) -> None:
        super().__init__()
        self.head_dim = head_dim
        self.base = base

    def rotate(self, heads: Tensor, start: int = 0) -> Tensor:
        exponent = torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim
        position = torch.arange(start, start + heads.shape[-2], dtype=torch.float64)
        angle = position[:, None] * self.base**-exponent  # (T, E / 2)
        sine, cosine = (one.to(heads) for one in (angle.sin(), angle.cos()))
        even, odd = heads[..., 0::2], heads[..., 1::2]
        turned = (even * cosine - odd * sine, even * sine + odd * cosine)
        return torch.stack(turned, dim=-1).flatten(-2)


@dataclass(frozen=True, kw_only=True)
class RotaryPositionsConfig(PositionsConfig):
    """Rotary positions.

    Attributes:
        base: pair i turns by base^(-2i / E) a position.
    """

    acts_in_products: ClassVar[bool] = True

    base: Positive = 10000.0

    def build(self, dim: int, num_heads: int, *, causal: bool) -> RotaryPositions:
        head_dim = dim // num_heads
        if head_dim % 2:
            raise SettingsError(
                "model.embedding_dim",
                f"must be an even multiple of the {num_heads} heads for rotary positions, which "
                f"turn pairs, but is {dim}.",
            )
        return RotaryPositions(head_dim, self.base)
