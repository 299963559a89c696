"""What every batching offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from seq2seq.config import Config

Lengths = Sequence[tuple[int, int]]
"""Of each pair: source tokens, and target tokens with EOS."""


@dataclass(frozen=True, kw_only=True)
class BatchingConfig(Config, ABC):
    """How an epoch is cut into batches."""

    @abstractmethod
    def plan(self, lengths: Lengths, generator: torch.Generator) -> list[list[int]]:
        """Batches of indices into `lengths`: each once, in an order drawn from `generator`."""


def epoch_seed(seed: int, epoch: int) -> int:
    """The seed, of 32 bits, of what is drawn anew each epoch: a resumed run draws the same."""
    # torch's CPU generator takes the lowest 32 bits of its seed and drops the rest.
    return (seed * 1_000_003 + epoch) % (1 << 32)


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """The generator of one epoch's order."""
    return torch.Generator().manual_seed(epoch_seed(seed, epoch))
