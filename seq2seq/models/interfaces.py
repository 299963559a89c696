"""The values that pass between encoder, decoder and search."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar, cast

from torch import Tensor

from seq2seq.special_tokens import BOS, PAD

Nest = TypeVar("Nest")


class Memory(NamedTuple):
    """What an encoder knows of a batch of sources.

    Attributes:
        states: (B, S, D), one for each source position.
        mask: bool (B, S), True at real tokens.
        summary: (B, D), the whole sentence in one vector.
    """

    states: Tensor
    mask: Tensor
    summary: Tensor


class State(NamedTuple):
    """What a decoder carries from step to step: nests of tensors with the batch in front.

    Attributes:
        fixed: depends on the source alone. It may have fewer rows, B, than what moves, N: then
            N / B hypotheses in a row share one.
        moving: changes at each step.
    """

    fixed: Any
    moving: Any


class Decoded(NamedTuple):
    """A teacher-forced pass.

    Attributes:
        hidden: (B, T, R), ready for the projection to the vocabulary.
        weights: (B, T, S), how much each target position looked at each source position.
    """

    hidden: Tensor
    weights: Tensor


def select(nest: Nest, index: Tensor) -> Nest:
    """Rows `index` of every tensor in nested tuples: all that a search needs to do to a state."""
    if isinstance(nest, Tensor):
        return cast(Nest, nest.index_select(0, index))
    assert isinstance(nest, tuple), f"a state holds tensors and tuples, not {type(nest).__name__}"
    parts = [select(part, index) for part in nest]
    made: Nest = type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)
    return made


def wide(logits: Tensor) -> Tensor:
    """Logits in float32 at least, so that what is summed over a vocabulary is right."""
    return logits.float() if logits.dtype.itemsize < 4 else logits


def log_softmax(logits: Tensor) -> Tensor:
    """Log-probabilities by logits (..., V)."""
    return wide(logits).log_softmax(dim=-1)


def log_probabilities(logits: Tensor) -> Tensor:
    """Log-probabilities (B, V) of the next token; PAD and BOS are never produced."""
    scores = log_softmax(logits)
    scores[:, (PAD, BOS)] = float("-inf")
    return scores
