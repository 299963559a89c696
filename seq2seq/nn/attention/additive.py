"""Additive attention (Bahdanau et al. 2015, appendix A.1.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2seq.config import Count
from seq2seq.nn.attention.base import AttentionConfig, ScoringAttention


class AdditiveAttention(ScoringAttention):
    """score(q, k) = v . tanh(W q + U k + b): a small network compares query and key."""

    def __init__(self, query_dim: int, memory_dim: int, hidden_dim: int) -> None:
        super().__init__(memory_dim)
        self.query = nn.Linear(query_dim, hidden_dim, bias=False)
        self.key = nn.Linear(memory_dim, hidden_dim)
        self.score = nn.Linear(hidden_dim, 1, bias=False)

    @property
    def formula(self) -> str:
        return "v · tanh(W q + U k + b)"

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.key(states)
        return keys

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        # (B, T, 1, A) + (B, 1, S, A)
        compared = torch.tanh(self.query(query).unsqueeze(-2) + keys.unsqueeze(-3))
        scores: Tensor = self.score(compared).squeeze(-1)
        return scores


@dataclass(frozen=True, kw_only=True)
class AdditiveAttentionConfig(AttentionConfig):
    """Additive attention.

    Attributes:
        hidden_dim: width of the comparing network; null takes the query's.
    """

    hidden_dim: Count | None = None

    def build(self, query_dim: int, memory_dim: int) -> AdditiveAttention:
        return AdditiveAttention(query_dim, memory_dim, self.hidden_dim or query_dim)
