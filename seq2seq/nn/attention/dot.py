"""Dot-product attention (Luong et al. 2015, section 3.1; scaled: Vaswani et al. 2017, 3.2.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from seq2seq.errors import SettingsError
from seq2seq.nn.attention.base import AttentionConfig, ScoringAttention


class DotAttention(ScoringAttention):
    """score(q, k) = q . k, over sqrt(D) where it is scaled: nothing is learned."""

    def __init__(self, memory_dim: int, scaled: bool) -> None:
        super().__init__(memory_dim)
        self.scaled = scaled
        self.scale = 1 / math.sqrt(memory_dim) if scaled else 1.0

    @property
    def formula(self) -> str:
        return "q · k / √D" if self.scaled else "q · k"

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        return query @ keys.transpose(-1, -2) * self.scale


@dataclass(frozen=True, kw_only=True)
class DotAttentionConfig(AttentionConfig):
    """Dot-product attention.

    Attributes:
        scaled: divides scores by the root of the width, so that they keep their spread at any.
    """

    scaled: bool = False

    def build(self, query_dim: int, memory_dim: int) -> DotAttention:
        if query_dim != memory_dim:
            raise SettingsError(
                "model.attention",
                f"multiplies the decoder's states, {query_dim} wide, with the encoder's, "
                f"{memory_dim} wide: make these equal, or use model/attention=multi_head, which "
                "takes any.",
            )
        return DotAttention(memory_dim, self.scaled)
