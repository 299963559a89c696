"""What every search offers, and all that it may know of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, NamedTuple, Protocol

from torch import Tensor

from seq2seq.config import Between, Config, Count, NonNegativeInt
from seq2seq.models.interfaces import Memory, State


class SearchableModel(Protocol):
    """Encodes a source once, then scores one next token at a time."""

    @property
    def max_length(self) -> int | None:
        """The most tokens that it can write, EOS not counted; None: any number."""

    def encode(self, source: Tensor, source_mask: Tensor) -> Memory:
        """Source ids (B, S) and mask to a memory."""

    def start(self, memory: Memory) -> State:
        """The state before the first token."""

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Ids (B,) to logits (B, V) of the next token, and the next state."""


class Hypothesis(NamedTuple):
    """A translation as ids.

    Attributes:
        tokens: without BOS and EOS.
        log_probability: of all tokens, EOS among them where it was reached.
        score: what the search ranks by.
        is_complete: whether EOS was reached before the length limit.
    """

    tokens: list[int]
    log_probability: float
    score: float
    is_complete: bool


@dataclass(frozen=True, kw_only=True)
class SearchConfig(Config, ABC):
    """A decoding strategy and its settings.

    Attributes:
        max_length_ratio: a translation's longest length is this times the source's length ...
        max_length_extra: ... plus this, in tokens; by its own source alone, not by its batch. What
            the model's positions allow is the end in any case.
        batch_size: sentences decoded at once; changes the speed and nothing else.
    """

    max_length_ratio: Annotated[float, Between(0, 1000)] = 2.0
    max_length_extra: NonNegativeInt = 10
    batch_size: Count = 64

    @abstractmethod
    def __call__(
        self, model: SearchableModel, source: Tensor, source_mask: Tensor
    ) -> list[Hypothesis]:
        """The best hypothesis for each row of source ids (B, S) with its mask (B, S)."""

    def length_limits(self, model: SearchableModel, source_mask: Tensor) -> Tensor:
        """The longest translation of each source, EOS not counted: (B,)."""
        lengths = source_mask.sum(dim=1)
        limits = (lengths * self.max_length_ratio).floor().long() + self.max_length_extra
        return limits if model.max_length is None else limits.clamp(max=model.max_length)
