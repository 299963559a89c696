"""The self-attentive encoder (Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from seq2seq.models.encoders.base import Encoder, EncoderConfig
from seq2seq.models.interfaces import Memory
from seq2seq.nn.feed_forward import FeedForward
from seq2seq.nn.positions.base import PositionsConfig
from seq2seq.nn.residual import Residual
from seq2seq.nn.self_attention import SelfAttention, SelfAttentiveConfig


class TransformerEncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection with a layer norm."""

    def __init__(self, dim: int, attention: SelfAttention, config: SelfAttentiveConfig) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = FeedForward(dim, config.feed_forward_dim, config.dropout)
        self.around_attention = Residual(dim, config.norm_first, config.dropout)
        self.around_feed_forward = Residual(dim, config.norm_first, config.dropout)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D) to (B, S, D), with mask (B, 1, S)."""
        entered = self.around_attention.enter(states)
        contexts = self.attention(entered, self.attention.project(entered), mask)
        states = self.around_attention.leave(states, contexts)
        fed = self.feed_forward(self.around_feed_forward.enter(states))
        return self.around_feed_forward.leave(states, fed)


class TransformerEncoder(Encoder):
    """Layers of self-attention; its summary is the mean over real positions."""

    def __init__(
        self, input_dim: int, positions: PositionsConfig, config: TransformerEncoderConfig
    ) -> None:
        super().__init__()
        self.memory_dim = input_dim
        self.dropout = nn.Dropout(config.dropout)
        attentions = config.build_self_attentions(input_dim, positions, causal=False)
        self.positions = attentions[0].positions
        self.layers = nn.ModuleList(
            TransformerEncoderLayer(input_dim, one, config) for one in attentions
        )
        self.norm = nn.LayerNorm(input_dim) if config.norm_first else nn.Identity()
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)

    def forward(self, embedded: Tensor, mask: Tensor) -> Memory:
        # Embeddings start with variance 1/D; scaled to 1 they weigh about as much as positions.
        states = self.positions.add(embedded * math.sqrt(self.memory_dim))
        states = self.dropout(states)
        for layer in self.layers:
            states = layer(states, mask.unsqueeze(1))
        states = self.norm(states)
        real = mask.unsqueeze(-1)
        summary = (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
        return Memory(states, mask, summary)


@dataclass(frozen=True, kw_only=True)
class TransformerEncoderConfig(SelfAttentiveConfig, EncoderConfig):
    """The self-attentive encoder; its width D is that of the embeddings."""

    uses_positions: ClassVar[bool] = True

    def build(self, input_dim: int, positions: PositionsConfig) -> TransformerEncoder:
        return TransformerEncoder(input_dim, positions, self)
