"""No attention: one context for all target positions (Cho et al. 2014, section 2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from seq2seq.nn.attention.base import Attention, AttentionConfig, Projected


class NoAttention(Attention):
    """The context is the encoder's summary, whatever the query; the weights are all zero."""

    attends: ClassVar[bool] = False

    def __init__(self, memory_dim: int) -> None:
        super().__init__()
        self.context_dim = memory_dim

    def project(self, states: Tensor, summary: Tensor) -> Projected:
        only = summary.unsqueeze(1)  # (B, 1, D)
        return Projected(only, only)

    def forward(self, query: Tensor, projected: Projected, mask: Tensor) -> tuple[Tensor, Tensor]:
        size, num_queries = query.shape[:2]
        contexts = projected.values.expand(-1, num_queries, -1)
        return contexts, query.new_zeros(size, num_queries, mask.shape[-1])


@dataclass(frozen=True, kw_only=True)
class NoAttentionConfig(AttentionConfig):
    """The baseline that attention was invented to beat; it has no settings."""

    def build(self, query_dim: int, memory_dim: int) -> NoAttention:
        return NoAttention(memory_dim)
