"""Batches of about equally many tokens, from sentences of about equal length."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy.typing import NDArray

from seq2seq.config import Count
from seq2seq.data.batching.base import BatchingConfig, Lengths, Plan

SORTED_AT_ONCE = 1 << 20
"""Pairs among which a sentence finds neighbours of its length: enough, and memory is bounded."""


@dataclass(frozen=True, kw_only=True)
class TokenBudgetConfig(BatchingConfig):
    """Length-bucketed batches under a budget of target tokens.

    Attributes:
        max_tokens: most target positions in a batch, EOS and padding counted. A sentence that is
            longer by itself makes a batch of its own.
        max_sentences: most sentences in a batch.
    """

    max_tokens: Count = 512
    max_sentences: Count = 1024

    def plan(self, lengths: Lengths, generator: torch.Generator) -> Plan:
        # Ties are broken at random, so that a sentence meets other neighbours in each epoch.
        drawn = torch.randperm(len(lengths), generator=generator).numpy()
        shuffled = drawn.astype(numpy.min_scalar_type(len(drawn)))  # half the memory, or less
        del drawn
        batches: Plan = []
        for at in range(0, len(shuffled), SORTED_AT_ONCE):
            some = shuffled[at : at + SORTED_AT_ONCE]
            source, target = lengths[some].T
            by_length = some[numpy.lexsort((source, target))]  # by target, then by source
            bounds = self._bounds(lengths[by_length, 1])
            batches += (by_length[start:end] for start, end in itertools.pairwise(bounds))
        order = torch.randperm(len(batches), generator=generator).tolist()
        return [batches[position] for position in order]

    def _bounds(self, longest: NDArray[Any]) -> list[int]:
        """Where batches begin, and the last one ends, in rising lengths of targets."""
        bounds = [0]
        ends = numpy.flatnonzero(longest[1:] != longest[:-1]) + 1  # of runs of one length
        for end in (*ends.tolist(), len(longest)):
            size = self._most(int(longest[end - 1]))
            # Of one length there may be many full batches ...
            bounds += range(bounds[-1] + size, end + 1, size)
            if (start := bounds[-1]) < end:  # ... and a last one that takes longer ones, too.
                newest = longest[start : start + size].tolist()
                fits = [count <= self._most(one) for count, one in enumerate(newest, start=1)]
                bounds.append(start + sum(fits))
        return bounds

    def _most(self, length: int) -> int:
        """Sentences in a batch whose longest target is that long."""
        return min(self.max_sentences, max(1, self.max_tokens // length))
