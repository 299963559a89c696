"""What every decoder offers, and what recurrent ones share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.config import Config, Count, Dropout
from seq2seq.models.interfaces import Decoded, Memory, State
from seq2seq.nn.attention.base import AttentionConfig, Projected
from seq2seq.nn.cells import CellName, CellState, build_cell
from seq2seq.nn.positions.base import PositionsConfig


class Source(NamedTuple):
    """What an attention of a decoder needs of a source: fixed from step to step."""

    projected: Projected
    mask: Tensor
    """Bool (B, 1, S), for queries (B, T)."""

    def rows(self, vectors: Tensor) -> Tensor:
        """Vectors (N, D) as queries (B, N / B, D): those of one source stand in a row."""
        queries: Tensor = vectors.unflatten(0, (len(self.mask), -1))
        return queries


class Decoder(nn.Module, ABC):
    """Turns embedded target tokens and a memory into hidden vectors.

    `forward` over all positions and `step` from one to the next agree to rounding.

    Attributes:
        hidden_dim: R, the width of the vectors that it gives to the projection.
        attends: whether it looks at single source positions, so that its weights say something.
        max_length: the most tokens that it can write, EOS not counted; None: any number.
    """

    hidden_dim: int
    attends: bool
    max_length: int | None = None

    @abstractmethod
    def forward(self, embedded: Tensor, memory: Memory) -> Decoded:
        """All positions at once: embedded targets (B, T, E), shifted right, to a `Decoded`."""

    @abstractmethod
    def start(self, memory: Memory) -> State:
        """The state before the first target token."""

    @abstractmethod
    def step(self, embedded: Tensor, state: State) -> tuple[Tensor, State]:
        """One embedded token (N, E) and a state to hidden vectors (N, R) and the next state.

        What is fixed may have fewer rows than what moves: N / B in a row are of one source.
        """


@dataclass(frozen=True, kw_only=True)
class DecoderConfig(Config, ABC):
    """How to make a decoder."""

    uses_positions: ClassVar[bool] = False
    """Whether it needs to be told where tokens stand."""

    @abstractmethod
    def build(
        self,
        input_dim: int,
        memory_dim: int,
        attention: AttentionConfig,
        positions: PositionsConfig,
    ) -> Decoder:
        """A decoder of embeddings of one width over a memory of another."""


class RecurrentDecoder(Decoder):
    """A GRU or LSTM with one attention; embedded tokens enter its gates for all steps at once.

    Attributes:
        attention: looks at the encoder's states.
        cell: the recurrence.
    """

    def __init__(
        self,
        input_dim: int,
        memory_dim: int,
        attention: AttentionConfig,
        config: RecurrentDecoderConfig,
    ) -> None:
        super().__init__()
        self.attention = attention.build(config.hidden_dim, memory_dim)
        self.attends = self.attention.attends
        self.hidden_dim = config.readout_dim or input_dim
        self.cell = build_cell(config.cell, config.hidden_dim)
        self.num_gates = self.cell.num_gates * config.hidden_dim
        self.initial = nn.Linear(memory_dim, self.cell.num_states * config.hidden_dim)
        self.embedded_gates = nn.Linear(input_dim, self.num_gates)
        self.dropout = nn.Dropout(config.dropout)

    def first(self, memory: Memory) -> tuple[Source, CellState]:
        """What the attention needs of the source, and the cell's state before the first token."""
        projected = self.attention.project(memory.states, memory.summary)
        initial = torch.tanh(self.initial(memory.summary)).chunk(self.cell.num_states, dim=-1)
        return Source(projected, memory.mask.unsqueeze(1)), initial


@dataclass(frozen=True, kw_only=True)
class RecurrentDecoderConfig(DecoderConfig):
    """What recurrent decoders have in common.

    Attributes:
        cell: gru or lstm.
        hidden_dim: width of its state.
        readout_dim: width of what goes to the projection; null takes the embeddings', as tied
            embeddings need.
        dropout: on what goes to the projection.
    """

    cell: CellName = "gru"
    hidden_dim: Count = 256
    readout_dim: Count | None = None
    dropout: Dropout = 0.1
