"""Multi-head attention (Vaswani et al. 2017, section 3.2.2), with either scoring function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import Count, Dropout
from seq2seq.errors import SettingsError
from seq2seq.nn.attention.base import Attention, AttentionConfig, Projected, masked_softmax


class MultiHeadAttention(Attention):
    """H attentions side by side, each on its own projection of width E, joined by one more.

    Head h scores by q . k / sqrt(E), or by v_h . tanh(q + k): there the network of additive
    attention would multiply q and k by matrices of its own, which the projections already do.
    """

    def __init__(
        self, query_dim: int, memory_dim: int, num_heads: int, scoring: str, dropout: float
    ) -> None:
        super().__init__()
        self.context_dim = query_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.query = nn.Linear(query_dim, query_dim)
        self.key = nn.Linear(memory_dim, query_dim)
        self.value = nn.Linear(memory_dim, query_dim)
        self.output = nn.Linear(query_dim, query_dim)
        head_dim = query_dim // num_heads
        self.is_additive = scoring == "additive"
        if self.is_additive:
            self.score = nn.Parameter(torch.randn(num_heads, head_dim) / math.sqrt(head_dim))

    def project(self, states: Tensor, summary: Tensor | None = None) -> Projected:
        """Keys and values (B, H, S, E)."""
        return Projected(self._split(self.key(states)), self._split(self.value(states)))

    def queries(self, query: Tensor) -> Tensor:
        """(B, T, D) to (B, H, T, E)."""
        return self._split(self.query(query))

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """(B, H, T, E) against (B, H, S, E): (B, H, T, S)."""
        if self.is_additive:
            compared = torch.tanh(queries.unsqueeze(-2) + keys.unsqueeze(-3))  # (B, H, T, S, E)
            scores: Tensor = torch.einsum("bhtse,he->bhts", compared, self.score)
            return scores
        scaled: Tensor = queries @ keys.transpose(-1, -2) / math.sqrt(queries.shape[-1])
        return scaled

    def head_weights(self, query: Tensor, projected: Projected, mask: Tensor) -> Tensor:
        scores = self.scores(self.queries(query), projected.keys)
        return masked_softmax(scores, mask.unsqueeze(-3))

    def forward(self, query: Tensor, projected: Projected, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = self.head_weights(query, projected, mask)
        return self.join(self.drop(weights) @ projected.values), weights.mean(dim=1)

    def drop(self, weights: Tensor) -> Tensor:
        """Weights with dropout, in training."""
        return functional.dropout(weights, self.dropout, self.training)

    def join(self, contexts: Tensor) -> Tensor:
        """(B, H, T, E) to (B, T, D) through the output projection."""
        joined: Tensor = self.output(contexts.transpose(-2, -3).flatten(-2))
        return joined

    def _split(self, projected: Tensor) -> Tensor:
        """(B, T, D) to (B, H, T, E)."""
        heads: Tensor = projected.unflatten(-1, (self.num_heads, -1))  # (B, T, H, E)
        return heads.transpose(-2, -3)


@dataclass(frozen=True, kw_only=True)
class MultiHeadAttentionConfig(AttentionConfig):
    """Multi-head attention.

    Attributes:
        num_heads: H; must divide the query's width.
        scoring: how a head compares query and key.
        dropout: on the weights.
    """

    num_heads: Count = 4
    scoring: Literal["scaled_dot", "additive"] = "scaled_dot"
    dropout: Dropout = 0.0

    def build(self, query_dim: int, memory_dim: int) -> MultiHeadAttention:
        if query_dim % self.num_heads:
            raise SettingsError(
                "model.attention.num_heads",
                f"of {self.num_heads} must divide the decoder's width {query_dim}.",
            )
        return MultiHeadAttention(query_dim, memory_dim, self.num_heads, self.scoring, self.dropout)
