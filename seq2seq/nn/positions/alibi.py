"""Attention with linear biases (Press et al. 2022, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.nn.positions.base import Positions, PositionsConfig, offsets


class ALiBiPositions(Positions):
    """Scores fall with distance, in each head at a slope of its own: nothing is learned.

    Head h of H has the slope 2^(-8h / H), h from 1. The paper's decoder looks back only; where a
    query sees both sides, distance counts alike on both.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads

    def bias(self, queries: Tensor, num_keys: int, start: int = 0) -> Tensor:
        head = torch.arange(1, self.num_heads + 1, device=queries.device)
        slopes = (2.0 ** (-8.0 * head / self.num_heads)).to(queries.dtype)
        distance = offsets(queries.shape[-2], num_keys, start, queries).abs()
        bias: Tensor = -slopes[:, None, None] * distance  # (H, T, S)
        return bias


@dataclass(frozen=True, kw_only=True)
class ALiBiPositionsConfig(PositionsConfig):
    """Linear biases; they have no settings."""

    def build(self, dim: int, num_heads: int, *, causal: bool) -> ALiBiPositions:
        return ALiBiPositions(num_heads)
