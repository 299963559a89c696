"""Learned relative positions (Shaw et al. 2018, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

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
        # q . (k + a) / sqrt(E) = q . k / sqrt(E) + q . a / sqrt(E): the second part is added here.
        vectors = self._vectors(self.keys, queries.shape[-2], num_keys, start)
        products = torch.einsum("bhte,tse->bhts", queries, vectors)
        return products / math.sqrt(queries.shape[-1])

    def add_to_contexts(self, contexts: Tensor, weights: Tensor, start: int = 0) -> Tensor:
        num_queries, num_keys = weights.shape[-2:]
        vectors = self._vectors(self.values, num_queries, num_keys, start)
        return contexts + torch.einsum("bhts,tse->bhte", weights, vectors)

    def _vectors(self, table: Tensor, num_queries: int, num_keys: int, start: int) -> Tensor:
        """(T, S, E): the table's vector for each query and key."""
        far = self.clip_distance
        index = offsets(num_queries, num_keys, start, table).clamp(-far, far) + far
        # Not table[index]: its gradient is summed in an order that differs from run to run.
        return functional.embedding(index, table)


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
