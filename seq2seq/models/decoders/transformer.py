"""The self-attentive decoder (Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from seq2seq.errors import SettingsError
from seq2seq.models.decoders.base import Decoder, DecoderConfig, Source
from seq2seq.models.interfaces import Decoded, Memory, State
from seq2seq.nn.attention.base import Attention, AttentionConfig, Projected
from seq2seq.nn.feed_forward import FeedForward
from seq2seq.nn.positions.base import PositionsConfig
from seq2seq.nn.residual import Residual
from seq2seq.nn.self_attention import SelfAttention, SelfAttentiveConfig


class TransformerDecoderLayer(nn.Module):
    """Self-attention, attention to the source, feed-forward: each inside a residual connection."""

    def __init__(
        self,
        dim: int,
        self_attention: SelfAttention,
        attention: Attention,
        config: SelfAttentiveConfig,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.attention = attention
        self.feed_forward = FeedForward(dim, config.feed_forward_dim, config.dropout)
        self.around_self_attention = Residual(dim, config.norm_first, config.dropout)
        self.around_attention = Residual(dim, config.norm_first, config.dropout)
        self.around_feed_forward = Residual(dim, config.norm_first, config.dropout)

    def forward(
        self, states: Tensor, past: Projected, source: Source, seen: Tensor | None
    ) -> tuple[Tensor, Projected, Tensor]:
        """Some target positions after those that are past.

        Args:
            states: (B, T, D).
            past: the layer's keys and values (B, H, P, E) of the P positions before these.
            source: what `attention` looks at.
            seen: bool (1, T, P + T), True where a position may look; None: everywhere.

        Returns:
            The states (B, T, D), keys and values (B, H, P + T, E), and weights (B, T, S).
        """
        start = past.keys.shape[-2]
        entered = self.around_self_attention.enter(states)
        new = self.self_attention.project(entered, start)
        past = Projected(*(torch.cat(both, dim=-2) for both in zip(past, new, strict=True)))
        contexts = self.self_attention(entered, past, seen, start)
        states = self.around_self_attention.leave(states, contexts)
        entered = self.around_attention.enter(states)
        # Step by step, several rows in a row may be of one source: they look at it together.
        queries = entered.reshape(len(source.mask), -1, entered.shape[-1])
        contexts, weights = self.attention(queries, *source)
        states = self.around_attention.leave(states, contexts.reshape(states.shape))
        fed = self.feed_forward(self.around_feed_forward.enter(states))
        states = self.around_feed_forward.leave(states, fed)
        return states, past, weights.reshape(*states.shape[:2], -1)


class TransformerDecoder(Decoder):
    """Layers of causal self-attention and attention to the source.

    Its state keeps the keys and values of all tokens so far. The weights that it reports are a mean
    over layers.
    """

    def __init__(
        self,
        input_dim: int,
        memory_dim: int,
        attention: AttentionConfig,
        positions: PositionsConfig,
        config: TransformerDecoderConfig,
    ) -> None:
        super().__init__()
        self.hidden_dim = input_dim
        self.dropout = nn.Dropout(config.dropout)
        self_attentions = config.build_self_attentions(input_dim, positions, causal=True)
        self.positions = self_attentions[0].positions
        if self.positions.max_length is not None:
            self.max_length = self.positions.max_length - 1  # BOS takes the first position
        attentions = [attention.build(input_dim, memory_dim) for _ in self_attentions]
        self.attends = attentions[0].attends
        if (context_dim := attentions[0].context_dim) != input_dim:
            raise SettingsError(
                "model.attention",
                f"gives contexts {context_dim} wide, which a Transformer decoder cannot add to its "
                f"states, {input_dim} wide: use model/attention=multi_head, or make "
                "model.embedding_dim as wide as the encoder's states.",
            )
        self.layers = nn.ModuleList(
            TransformerDecoderLayer(input_dim, *both, config)
            for both in zip(self_attentions, attentions, strict=True)
        )
        self.norm = nn.LayerNorm(input_dim) if config.norm_first else nn.Identity()
        for module in self.layers.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)

    def forward(self, embedded: Tensor, memory: Memory) -> Decoded:
        hidden, _, weights = self._go_on(embedded, self.start(memory))
        return Decoded(hidden, weights)

    def start(self, memory: Memory) -> State:
        mask = memory.mask.unsqueeze(1)
        nothing = memory.states.new_zeros(len(memory.states), 0, self.hidden_dim)
        sources, pasts = [], []
        for layer in self.layers:
            projected = layer.attention.project(memory.states, memory.summary)
            sources.append(Source(projected, mask))
            pasts.append(layer.self_attention.project(nothing))
        return State(tuple(sources), tuple(pasts))

    def step(self, embedded: Tensor, state: State) -> tuple[Tensor, State]:
        hidden, state, _ = self._go_on(embedded.unsqueeze(1), state)
        return hidden.squeeze(1), state

    def _go_on(self, embedded: Tensor, state: State) -> tuple[Tensor, State, Tensor]:
        """Hidden vectors, next state and weights of tokens (B, T, D) that follow a state."""
        start, length = state.moving[0].keys.shape[-2], embedded.shape[1]
        seen = None  # by a single one, which is the last: all
        if length > 1:  # each sees itself and what is before
            seen = torch.ones(length, start + length, dtype=torch.bool, device=embedded.device)
            seen = seen.tril(diagonal=start).unsqueeze(0)
        # Embeddings start with variance 1/D; scaled to 1 they weigh about as much as positions.
        states = self.positions.add(embedded * math.sqrt(self.hidden_dim), start)
        states = self.dropout(states)
        pasts, looked = [], []
        for layer, past, source in zip(self.layers, state.moving, state.fixed, strict=True):
            states, past, weights = layer(states, past, source, seen)
            pasts.append(past)
            looked.append(weights)
        mean = torch.stack(looked).mean(dim=0)
        return self.norm(states), State(state.fixed, tuple(pasts)), mean


@dataclass(frozen=True, kw_only=True)
class TransformerDecoderConfig(SelfAttentiveConfig, DecoderConfig):
    """The self-attentive decoder; its width D is that of the embeddings.

    How it looks at the source, heads and dropout of that included, is `model.attention`'s.
    """

    uses_positions: ClassVar[bool] = True

    def build(
        self,
        input_dim: int,
        memory_dim: int,
        attention: AttentionConfig,
        positions: PositionsConfig,
    ) -> TransformerDecoder:
        return TransformerDecoder(input_dim, memory_dim, attention, positions, self)
