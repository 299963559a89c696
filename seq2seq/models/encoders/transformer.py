"""The self-attentive encoder (Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from seq2seq.config import Count, Dropout
from seq2seq.models.encoders.base import Encoder, EncoderConfig
from seq2seq.models.interfaces import Memory
from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig, self_attend
from seq2seq.nn.feed_forward import FeedForward
from seq2seq.nn.positions.base import PositionsConfig


class TransformerEncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each inside a residual connection with a layer norm."""

    def __init__(self, dim: int, config: TransformerEncoderConfig) -> None:
        super().__init__()
        recipe = MultiHeadAttentionConfig(num_heads=config.num_heads, dropout=config.dropout)
        self.attention = recipe.build(dim, dim)
        self.feed_forward = FeedForward(dim, config.feed_forward_dim, config.dropout)
        self.attention_norm = nn.LayerNorm(dim)
        self.feed_forward_norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(B, S, D) to (B, S, D), with mask (B, S)."""
        if self.norm_first:
            attended = self_attend(self.attention, self.attention_norm(states), mask)
            states = states + self.dropout(attended)
            fed = self.feed_forward(self.feed_forward_norm(states))
            added: Tensor = states + self.dropout(fed)
            return added
        attended = self_attend(self.attention, states, mask)
        states = self.attention_norm(states + self.dropout(attended))
        fed = self.feed_forward(states)
        normed: Tensor = self.feed_forward_norm(states + self.dropout(fed))
        return normed


class TransformerEncoder(Encoder):
    """Layers of self-attention; its summary is the mean over real positions."""

    def __init__(
        self, input_dim: int, positions: PositionsConfig, config: TransformerEncoderConfig
    ) -> None:
        super().__init__()
        self.memory_dim = input_dim
        self.positions = positions.build(input_dim)
        self.dropout = nn.Dropout(config.dropout)
        self.layers = nn.ModuleList(
            TransformerEncoderLayer(input_dim, config) for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(input_dim) if config.norm_first else nn.Identity()
        for parameter in self.layers.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, embedded: Tensor, mask: Tensor) -> Memory:
        # Embeddings start with variance 1/D; scaled to 1 they weigh about as much as positions.
        states = self.positions.add(embedded * math.sqrt(self.memory_dim))
        states = self.dropout(states)
        for layer in self.layers:
            states = layer(states, mask)
        states = self.norm(states)
        real = mask.unsqueeze(-1)
        summary = (states * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
        return Memory(states, mask, summary)


@dataclass(frozen=True, kw_only=True)
class TransformerEncoderConfig(EncoderConfig):
    """The self-attentive encoder; its width D is that of the embeddings.

    Attributes:
        num_layers: L.
        num_heads: H; must divide the embeddings' width.
        feed_forward_dim: width inside the feed-forward network.
        norm_first: layer norm before each part (pre-norm), which trains without a long warm-up, or
            after it as in the paper.
        dropout: on embeddings, attention weights, inside the feed-forward, on each part's output.
    """

    uses_positions: ClassVar[bool] = True

    num_layers: Count = 3
    num_heads: Count = 4
    feed_forward_dim: Count = 512
    norm_first: bool = True
    dropout: Dropout = 0.1

    def build(self, input_dim: int, positions: PositionsConfig) -> TransformerEncoder:
        return TransformerEncoder(input_dim, positions, self)
