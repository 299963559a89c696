"""What a search may know of a model, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from seq2seq.models.interfaces import State


class SearchableModel(Protocol):
    """Encodes a source once, then scores one next token at a time."""

    @property
    def max_length(self) -> int | None:
        """The most tokens that it can write, EOS not counted; None: any number."""

    @property
    def attends(self) -> bool:
        """Whether it looks at single source positions."""

    def attention(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """The weights (B, T, S) of a teacher-forced pass over ids (B, T) that open with BOS."""

    def encode(self, source: Tensor, source_mask: Tensor) -> Any:
        """Source ids (B, S) and mask to a memory."""

    def start(self, memory: Any) -> State:
        """The state before the first token."""

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Ids (B,) to logits (B, V) of the next token, which the search may overwrite, and the next
        state."""


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


Utility = Callable[[str, str], float]
"""How much a text is worth, 0 to 100, if another were the right one."""
