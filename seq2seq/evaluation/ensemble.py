"""Several models with one vocabulary as one (Sutskever et al. 2014, section 3.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from seq2seq.models.interfaces import Memory, State, log_softmax
from seq2seq.models.seq2seq import Seq2Seq


class Ensemble(nn.Module):
    """The mean of the models' probabilities, token by token; the mean of their attention."""

    def __init__(self, models: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)

    @property
    def attends(self) -> bool:
        """Whether all look at single source positions."""
        return all(one.attends for one in self.models)

    @property
    def max_length(self) -> int | None:
        """The most tokens that all can write."""
        limits = [one.max_length for one in self.models if one.max_length is not None]
        return min(limits) if limits else None

    def encode(self, source: Tensor, source_mask: Tensor) -> tuple[Memory, ...]:
        """Source ids (B, S) and their mask (B, S) to a memory of each model."""
        return tuple(one.encode(source, source_mask) for one in self._each())

    def start(self, memory: tuple[Memory, ...]) -> State:
        """The models' states before the first target token."""
        states = [one.start(of_it) for one, of_it in zip(self._each(), memory, strict=True)]
        return State(tuple(one.fixed for one in states), tuple(one.moving for one in states))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Ids (N,) to the logarithms (N, V) of the mean probabilities, and the next state."""
        scores, moving = [], []
        for one, *parts in zip(self._each(), state.fixed, state.moving, strict=True):
            logits, next_state = one.step(tokens, State(*parts))
            scores.append(log_softmax(logits))
            moving.append(next_state.moving)
        return _mean(scores), State(state.fixed, tuple(moving))

    def scores(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """The logarithms (B, T, V) of the mean probabilities in a teacher-forced pass."""
        return _mean([one.scores(source, source_mask, target) for one in self._each()])

    def attention(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        """The models' mean weights (B, T, S) in a teacher-forced pass over `target` (B, T)."""
        weights = [one.attention(source, source_mask, target) for one in self._each()]
        return torch.stack(weights).mean(dim=0)

    def _each(self) -> list[Seq2Seq]:
        return cast(list[Seq2Seq], list(self.models))


def _mean(scores: Sequence[Tensor]) -> Tensor:
    """Of probabilities that are given, and returned, as logarithms."""
    return torch.stack(tuple(scores)).logsumexp(dim=0) - math.log(len(scores))
