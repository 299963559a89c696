"""Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import Count, Dropout
from seq2seq.errors import SettingsError
from seq2seq.nn.attention.base import Attention, AttentionConfig, Projected, masked_softmax


class MultiHeadAttention(Attention):
    """H attentions side by side, each on its own projection of width E, joined by one more."""

    def __init__(self, query_dim: int, memory_dim: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.context_dim = query_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.query = nn.Linear(query_dim, query_dim)
        self.key = nn.Linear(memory_dim, query_dim)
        self.value = nn.Linear(memory_dim, query_dim)
        self.output = nn.Linear(query_dim, query_dim)

    def project(self, memory: Tensor) -> Projected:
        return Projected(self.key(memory), self.value(memory))

    def forward(self, query: Tensor, projected: Projected, mask: Tensor) -> tuple[Tensor, Tensor]:
        queries, keys, values = self._heads(query, projected)
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])  # (B, H, T, S)
        weights = masked_softmax(scores, mask.unsqueeze(-3))
        kept = functional.dropout(weights, self.dropout, self.training)
        return self._joined(kept @ values), weights.mean(dim=1)

    def contexts(self, query: Tensor, projected: Projected, mask: Tensor) -> Tensor:
        """The contexts of `forward` alone, by torch's fused kernel."""
        queries, keys, values = self._heads(query, projected)
        # A row without a real position would be 0 / 0: it may look everywhere, nobody looks at it.
        mask = mask | ~mask.any(dim=-1, keepdim=True)
        dropout = self.dropout if self.training else 0.0
        found = functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask.unsqueeze(-3), dropout_p=dropout
        )
        return self._joined(found)

    def _heads(self, query: Tensor, projected: Projected) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values as (B, H, positions, E)."""
        split = [
            one.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)
            for one in (self.query(query), projected.keys, projected.values)
        ]
        return split[0], split[1], split[2]

    def _joined(self, contexts: Tensor) -> Tensor:
        """(B, H, T, E) to (B, T, D) through the output projection."""
        joined: Tensor = self.output(contexts.transpose(-2, -3).flatten(-2))
        return joined


@dataclass(frozen=True, kw_only=True)
class MultiHeadAttentionConfig(AttentionConfig):
    """Multi-head scaled dot-product attention.

    Attributes:
        num_heads: H; must divide the query's width.
        dropout: on the weights.
    """

    num_heads: Count = 4
    dropout: Dropout = 0.0

    def build(self, query_dim: int, memory_dim: int) -> MultiHeadAttention:
        if query_dim % self.num_heads:
            raise SettingsError(
                "num_heads", f"of {self.num_heads} must divide the width {query_dim}."
            )
        return MultiHeadAttention(query_dim, memory_dim, self.num_heads, self.dropout)


def self_attend(attention: MultiHeadAttention, states: Tensor, mask: Tensor) -> Tensor:
    """Contexts (B, S, D) of states (B, S, D) that attend to each other; mask (B, S)."""
    return attention.contexts(states, attention.project(states), mask.unsqueeze(-2))
