"""The recurrent decoder that looks after each step (Luong et al. 2015, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.models.decoders.base import RecurrentDecoder, RecurrentDecoderConfig, Source
from seq2seq.models.interfaces import Decoded, Memory, State
from seq2seq.nn.attention.base import AttentionConfig
from seq2seq.nn.cells import CellName, CellState
from seq2seq.nn.positions.base import PositionsConfig


class Moving(NamedTuple):
    """The cell's state, and the last attentional vector (B, R), which the next step is fed."""

    recurrent: CellState
    attentional: Tensor


class LuongDecoder(RecurrentDecoder):
    """An LSTM or GRU that looks at the source after each step.

    At step t the query is the new state s[t], and the attentional vector a[t] = tanh(W [c[t],
    s[t]]) goes to the projection. With input feeding (section 3.3) a[t-1] enters the cell beside
    the embedded previous token; without it the source is looked at by all steps at once.
    """

    def __init__(
        self,
        input_dim: int,
        memory_dim: int,
        attention: AttentionConfig,
        config: LuongDecoderConfig,
    ) -> None:
        super().__init__(input_dim, memory_dim, attention, config)
        dim = config.hidden_dim
        self.fed_gates = (
            nn.Linear(self.hidden_dim, self.num_gates, bias=False) if config.input_feeding else None
        )
        self.readout_state = nn.Linear(dim, self.hidden_dim)
        self.readout_context = nn.Linear(self.attention.context_dim, self.hidden_dim, bias=False)
        for layer in filter(None, (self.embedded_gates, self.fed_gates)):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, embedded: Tensor, memory: Memory) -> Decoded:
        source, moving = self.start(memory)
        gates = self.embedded_gates(embedded).unbind(dim=1)
        if self.fed_gates is None:
            recurrent, states = moving.recurrent, []
            for step_gates in gates:
                recurrent = self.cell(step_gates, recurrent)
                states.append(recurrent[0])
            attentional, weights = self._look(torch.stack(states, 1), source)
            return Decoded(self.dropout(attentional), weights)
        vectors, looked = [], []
        for step_gates in gates:
            moving, weight = self._recur(step_gates, moving, source)
            vectors.append(moving.attentional)
            looked.append(weight)
        return Decoded(self.dropout(torch.stack(vectors, 1)), torch.stack(looked, 1))

    def start(self, memory: Memory) -> State:
        source, initial = self.first(memory)
        nothing = memory.summary.new_zeros(len(memory.summary), self.hidden_dim)
        return State(source, Moving(initial, nothing))

    def step(self, embedded: Tensor, state: State) -> tuple[Tensor, State]:
        moving, _ = self._recur(self.embedded_gates(embedded), state.moving, state.fixed)
        return self.dropout(moving.attentional), State(state.fixed, moving)

    def _recur(self, gates: Tensor, moving: Moving, source: Source) -> tuple[Moving, Tensor]:
        """The next state, and the weights (N, S)."""
        if self.fed_gates is not None:
            gates = gates + self.fed_gates(moving.attentional)
        recurrent = self.cell(gates, moving.recurrent)
        attentional, weights = self._look(source.rows(recurrent[0]), source)
        return Moving(recurrent, attentional.flatten(0, 1)), weights.flatten(0, 1)

    def _look(self, hidden: Tensor, source: Source) -> tuple[Tensor, Tensor]:
        """The attentional vectors (B, T, R) and weights (B, T, S) of states (B, T, D)."""
        contexts, weights = self.attention(hidden, *source)
        read = self.readout_state(hidden) + self.readout_context(contexts)
        return torch.tanh(read), weights


@dataclass(frozen=True, kw_only=True)
class LuongDecoderConfig(RecurrentDecoderConfig):
    """The recurrent decoder that looks after each step.

    Attributes:
        cell: lstm, as in the paper, or gru.
        input_feeding: each step is told what the last one saw.
    """

    cell: CellName = "lstm"
    input_feeding: bool = True

    def build(
        self,
        input_dim: int,
        memory_dim: int,
        attention: AttentionConfig,
        positions: PositionsConfig,
    ) -> LuongDecoder:
        return LuongDecoder(input_dim, memory_dim, attention, self)
