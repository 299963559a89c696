"""The attentive recurrent decoder (Bahdanau et al. 2015, appendix A.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.config import Count, Dropout
from seq2seq.models.decoders.base import Decoder, DecoderConfig
from seq2seq.models.interfaces import Decoded, Memory, State
from seq2seq.nn.attention.base import AttentionConfig, Projected


class Source(NamedTuple):
    """The fixed part of the state: projected keys and values, and the mask (B, 1, S)."""

    projected: Projected
    mask: Tensor


class BahdanauDecoder(Decoder):
    """A GRU that looks at the source before each step.

    At step t the query is the previous state s[t-1]; the context c[t] enters the cell beside the
    embedded previous token e[t], and the read-out tanh(W [s[t], c[t], e[t]]).
    """

    def __init__(
        self,
        input_dim: int,
        memory_dim: int,
        attention: AttentionConfig,
        config: BahdanauDecoderConfig,
    ) -> None:
        super().__init__()
        dim = config.hidden_dim
        self.attention = attention.build(dim, memory_dim)
        context_dim = self.attention.context_dim
        self.hidden_dim = config.readout_dim or input_dim
        self.initial = nn.Linear(memory_dim, dim)
        # One matrix for what enters the gates from each side, so that the embeddings' share can be
        # computed for all steps at once. Gates stand in torch's order: reset, update, new.
        self.embedded_gates = nn.Linear(input_dim, 3 * dim)
        self.context_gates = nn.Linear(context_dim, 3 * dim, bias=False)
        self.state_gates = nn.Linear(dim, 3 * dim)
        self.readout_state = nn.Linear(dim, self.hidden_dim)
        self.readout_context = nn.Linear(context_dim, self.hidden_dim, bias=False)
        self.readout_embedded = nn.Linear(input_dim, self.hidden_dim, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        for gate in self.state_gates.weight.chunk(3):
            nn.init.orthogonal_(gate)
        for layer in (self.embedded_gates, self.context_gates):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, embedded: Tensor, memory: Memory) -> Decoded:
        state = self.start(memory)
        source, hidden = state.fixed, state.moving
        gates = self.embedded_gates(embedded)
        states, contexts, weights = [], [], []
        for step_gates in gates.unbind(dim=1):
            hidden, context, weight = self._recur(step_gates, hidden, source)
            states.append(hidden)
            contexts.append(context)
            weights.append(weight)
        read = self._read_out(torch.stack(states, 1), torch.stack(contexts, 1), embedded)
        return Decoded(read, torch.stack(weights, 1))

    def start(self, memory: Memory) -> State:
        source = Source(self.attention.project(memory.states), memory.mask.unsqueeze(1))
        return State(source, torch.tanh(self.initial(memory.summary)))

    def step(self, embedded: Tensor, state: State) -> tuple[Tensor, State]:
        gates = self.embedded_gates(embedded)
        hidden, context, _ = self._recur(gates, state.moving, state.fixed)
        return self._read_out(hidden, context, embedded), State(state.fixed, hidden)

    def _recur(
        self, embedded_gates: Tensor, hidden: Tensor, source: Source
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The next state (B, D), the context (B, C) and the weights (B, S)."""
        context, weights = self.attention(hidden.unsqueeze(1), source.projected, source.mask)
        context = context.squeeze(1)
        from_inputs = embedded_gates + self.context_gates(context)
        next_hidden = gru_update(from_inputs, self.state_gates(hidden), hidden)
        return next_hidden, context, weights.squeeze(1)

    def _read_out(self, hidden: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """The hidden vectors (..., R) of one step or of all."""
        read = self.readout_state(hidden) + self.readout_context(context)
        dropped: Tensor = self.dropout(torch.tanh(read + self.readout_embedded(embedded)))
        return dropped


def gru_update(from_inputs: Tensor, from_state: Tensor, state: Tensor) -> Tensor:
    """The next state (B, D) of a GRU from both halves (B, 3D) of its gates, as torch defines it."""
    dim = state.shape[-1]
    gates = torch.sigmoid(from_inputs[:, : 2 * dim] + from_state[:, : 2 * dim])
    reset, update = gates.chunk(2, dim=-1)
    new = torch.tanh(torch.addcmul(from_inputs[:, 2 * dim :], reset, from_state[:, 2 * dim :]))
    return torch.lerp(new, state, update)


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoderConfig(DecoderConfig):
    """The attentive recurrent decoder.

    Attributes:
        hidden_dim: width of its state.
        readout_dim: width of the read-out; null takes the embeddings', as tied embeddings need.
        dropout: on the read-out.
    """

    hidden_dim: Count = 256
    readout_dim: Count | None = None
    dropout: Dropout = 0.1

    def build(self, input_dim: int, memory_dim: int, attention: AttentionConfig) -> BahdanauDecoder:
        return BahdanauDecoder(input_dim, memory_dim, attention, self)
