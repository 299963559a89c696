"""General, or bilinear, attention (Luong et al. 2015, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from seq2seq.nn.attention.base import AttentionConfig, ScoringAttention


class GeneralAttention(ScoringAttention):
    """score(q, k) = q . W k: a learned matrix carries keys to where queries are."""

    def __init__(self, query_dim: int, memory_dim: int) -> None:
        super().__init__(memory_dim)
        self.key = nn.Linear(memory_dim, query_dim, bias=False)

    @property
    def formula(self) -> str:
        return "q · W k"

    def keys(self, states: Tensor) -> Tensor:
        keys: Tensor = self.key(states)
        return keys

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(-1, -2)


@dataclass(frozen=True, kw_only=True)
class GeneralAttentionConfig(AttentionConfig):
    """General attention; it has no settings."""

    def build(self, query_dim: int, memory_dim: int) -> GeneralAttention:
        return GeneralAttention(query_dim, memory_dim)
