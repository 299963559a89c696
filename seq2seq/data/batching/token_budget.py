"""Batches of about equally many tokens, from sentences of about equal length."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from seq2seq.config import Count
from seq2seq.data.batching.base import BatchingConfig, Lengths


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

    def plan(self, lengths: Lengths, generator: torch.Generator) -> list[list[int]]:
        # Ties are broken at random, so that a sentence meets other neighbours in each epoch.
        shuffled = torch.randperm(len(lengths), generator=generator).tolist()
        by_length = sorted(shuffled, key=lambda index: (lengths[index][1], lengths[index][0]))
        batches: list[list[int]] = []
        batch: list[int] = []
        for index in by_length:
            longest = lengths[index][1]  # the order is by target length, so the newest is longest
            size = len(batch) + 1
            if batch and (size * longest > self.max_tokens or size > self.max_sentences):
                batches.append(batch)
                batch = []
            batch.append(index)
        if batch:
            batches.append(batch)
        order = torch.randperm(len(batches), generator=generator).tolist()
        return [batches[position] for position in order]
