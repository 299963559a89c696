"""What every encoder offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from seq2seq.config import Config
from seq2seq.models.interfaces import Memory
from seq2seq.nn.positions.base import PositionsConfig


class Encoder(nn.Module, ABC):
    """Reads embedded sources.

    Attributes:
        memory_dim: D, the width of its states and summary.
    """

    memory_dim: int

    @abstractmethod
    def forward(self, embedded: Tensor, mask: Tensor) -> Memory:
        """Embedded sources (B, S, E) and their mask (B, S) to a memory."""


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(Config, ABC):
    """How to make an encoder."""

    uses_positions: ClassVar[bool] = False
    """Whether it needs to be told where tokens stand."""

    @abstractmethod
    def build(self, input_dim: int, positions: PositionsConfig) -> Encoder:
        """An encoder of embeddings of width `input_dim`."""
