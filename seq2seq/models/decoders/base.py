"""What every decoder offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn

from seq2seq.config import Config
from seq2seq.models.interfaces import Decoded, Memory, State
from seq2seq.nn.attention.base import AttentionConfig


class Decoder(nn.Module, ABC):
    """Turns embedded target tokens and a memory into hidden vectors.

    `forward` over all positions and `step` from one to the next agree to rounding.

    Attributes:
        hidden_dim: R, the width of the vectors that it gives to the projection.
    """

    hidden_dim: int

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

    @abstractmethod
    def build(self, input_dim: int, memory_dim: int, attention: AttentionConfig) -> Decoder:
        """A decoder of embeddings of one width over a memory of another."""
