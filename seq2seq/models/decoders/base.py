"""What every decoder offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from seq2seq.config import Config
from seq2seq.models.interfaces import Decoded, Memory, State
from seq2seq.nn.attention.base import AttentionConfig, Projected
from seq2seq.nn.positions.base import PositionsConfig


class Source(NamedTuple):
    """What an attention of a decoder needs of a source: fixed from step to step."""

    projected: Projected
    mask: Tensor
    """Bool (B, 1, S), for queries (B, T)."""


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
        """One embedded token (B, E) and a state to hidden vectors (B, R) and the next state."""


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
