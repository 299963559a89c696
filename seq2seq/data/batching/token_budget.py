"""Batches of about equally many tokens, from sentences of about equal length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy
import torch

from seq2seq.config import Count
from seq2seq.data.batching.base import BatchingConfig, Lengths, Plan


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
        shuffled = torch.randperm(len(lengths), generator=generator).numpy()
        source, target = lengths[shuffled].T
        by_length = shuffled[numpy.lexsort((source, target))]  # by target, then by source
        longest = lengths[by_length, 1]
        most = min(self.max_sentences, self.max_tokens)  # a target has one token at least, EOS
        batches, start = [], 0
        while start < len(by_length):
            # In this order the newest is the longest.
            sizes = longest[start : start + most].astype(numpy.int64)
            sizes *= numpy.arange(1, len(sizes) + 1)
            end = start + max(1, int(sizes.searchsorted(self.max_tokens, side="right")))
            batches.append(by_length[start:end])
            start = end
        order = torch.randperm(len(batches), generator=generator).tolist()
        return [batches[position] for position in order]
