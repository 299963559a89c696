"""Learned relative positions (Shaw et al. 2018, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from seq2seq.config import Count
from seq2seq.nn.positions.base import Positions, PositionsConfig, offsets


class RelativePositions(Positions):
    """A learned vector for each offset is added to keys, and another to values.

    Offsets beyond the clip distance share the vectors of its ends. Heads share them too.
    """

    reads_weights: ClassVar[bool] = True

    def __init__(self, clip_distance: int, head_dim: int) -> None:
        super().__init__()
        self.clip_distance = clip_distance
        shape = (2 * clip_distance + 1, head_dim)
        self.keys = nn.Parameter(torch.randn(shape) / math.sqrt(head_dim))
        self.values = nn.Parameter(torch.randn(shape) / math.sqrt(head_dim))

    def bias(self, queries: Tensor, num_keys: int, start: int = 0) -> Tensor:
        # q . (k + a) = q . k + q . a: each query meets all vectors once, then each key picks its.
        products = queries @ self.keys.T / math.sqrt(queries.shape[-1])  # (B, H, T, 2C + 1)
        index = self._index(queries.shape[-2], num_keys, start)
        return products.gather(-1, index.expand(*products.shape[:-1], num_keys))

    def add_to_contexts(self, contexts: Tensor, weights: Tensor, start: int = 0) -> Tensor:
        num_queries, num_keys = weights.shape[-2:]
        vectors = self.values[self._index(num_queries, num_keys, start)]  # (T, S, E)
        return contexts + torch.einsum("bhts,tse->bhte", weights, vectors)

    def _index(self, num_queries: int, num_keys: int, start: int) -> Tensor:
        """(T, S): which vector belongs to each query and key."""
        far = self.clip_distance
        return offsets(num_queries, num_keys, start, self.keys).clamp(-far, far) + far


@dataclass(frozen=True, kw_only=True)
class RelativePositionsConfig(PositionsConfig):
    """Learned relative positions; each layer learns its own.

    Attributes:
        clip_distance: offsets that lie further apart count as this far.
    """

    acts_in_products: ClassVar[bool] = True

    clip_distance: Count = 16

    def build(self, dim: int, num_heads: int, *, causal: bool) -> RelativePositions:
        return RelativePositions(self.clip_distance, dim // num_heads)

    def build_layers(
        self, num_layers: int, dim: int, num_heads: int, *, causal: bool
    ) -> Sequence[Positions]:
        return [self.build(dim, num_heads, causal=causal) for _ in range(num_layers)]
