"""The recurrent decoder that looks before each step (Bahdanau et al. 2015, appendix A.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seq2seq.models.decoders.base import RecurrentDecoder, RecurrentDecoderConfig, Source
from seq2seq.models.interfaces import Decoded, Memory, State
from seq2seq.nn.attention.additive import AdditiveAttention
from seq2seq.nn.attention.base import AttentionConfig
from seq2seq.nn.cells import CellState, GRUCell
from seq2seq.nn.positions.base import PositionsConfig
from seq2seq.nn.recurrence.additive_gru import additive_gru


class BahdanauDecoder(RecurrentDecoder):
    """A GRU or LSTM that looks at the source before each step.

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
        super().__init__(input_dim, memory_dim, attention, config)
        dim, context_dim = config.hidden_dim, self.attention.context_dim
        self.context_gates = nn.Linear(context_dim, self.num_gates, bias=False)
        self.readout_state = nn.Linear(dim, self.hidden_dim)
        self.readout_context = nn.Linear(context_dim, self.hidden_dim, bias=False)
        self.readout_embedded = nn.Linear(input_dim, self.hidden_dim, bias=False)
        for layer in (self.embedded_gates, self.context_gates):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, embedded: Tensor, memory: Memory) -> Decoded:
        source, recurrent = self.first(memory)
        gates = self.embedded_gates(embedded)
        attention, cell = self.attention, self.cell
        # For these parts there is an operation that gives the same and takes less time to train.
        learns_on_cpu = torch.is_grad_enabled() and embedded.device.type == "cpu"
        if learns_on_cpu and isinstance(attention, AdditiveAttention) and isinstance(cell, GRUCell):
            states, contexts, weights = additive_gru(
                gates,
                *source.projected,
                memory.mask,
                *recurrent,
                query=attention.query.weight,
                score=attention.score.weight[0],
                gates=cell.gates.weight,
                bias=cell.gates.bias,
                context_gates=self.context_gates.weight,
            )
        else:
            states, contexts, weights = self._one_by_one(gates, recurrent, source)
        return Decoded(self._read_out(states, contexts, embedded), weights)

    def _one_by_one(
        self, gates: Tensor, recurrent: CellState, source: Source
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The states (B, T, D), contexts (B, T, C) and weights (B, T, S) of all steps."""
        steps = []
        for step_gates in gates.unbind(dim=1):
            recurrent, context, weight = self._recur(step_gates, recurrent, source)
            steps.append((recurrent[0], context, weight))
        states, contexts, weights = (torch.stack(one, 1) for one in zip(*steps, strict=True))
        return states, contexts, weights

    def start(self, memory: Memory) -> State:
        return State(*self.first(memory))

    def step(self, embedded: Tensor, state: State) -> tuple[Tensor, State]:
        gates = self.embedded_gates(embedded)
        recurrent, context, _ = self._recur(gates, state.moving, state.fixed)
        return self._read_out(recurrent[0], context, embedded), State(state.fixed, recurrent)

    def _recur(
        self, embedded_gates: Tensor, recurrent: CellState, source: Source
    ) -> tuple[CellState, Tensor, Tensor]:
        """The cell's next state, the context (N, C) and the weights (N, S)."""
        contexts, weights = self.attention(source.rows(recurrent[0]), *source)
        context = contexts.flatten(0, 1)
        recurrent = self.cell(embedded_gates + self.context_gates(context), recurrent)
        return recurrent, context, weights.flatten(0, 1)

    def _read_out(self, hidden: Tensor, context: Tensor, embedded: Tensor) -> Tensor:
        """The hidden vectors (..., R) of one step or of all."""
        read = self.readout_state(hidden) + self.readout_context(context)
        dropped: Tensor = self.dropout(torch.tanh(read + self.readout_embedded(embedded)))
        return dropped


@dataclass(frozen=True, kw_only=True)
class BahdanauDecoderConfig(RecurrentDecoderConfig):
    """The recurrent decoder that looks before each step."""

    def build(
        self,
        input_dim: int,
        memory_dim: int,
        attention: AttentionConfig,
        positions: PositionsConfig,
    ) -> BahdanauDecoder:
        return BahdanauDecoder(input_dim, memory_dim, attention, self)
