"""What every batching offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray

from seq2seq.config import Config

Lengths = NDArray[Any]
"""Whole numbers (N, 2): of each pair source tokens, and target tokens with EOS."""
Plan = list[NDArray[Any]]
"""The indices of the pairs of each batch, in the batches' order."""


@dataclass(frozen=True, kw_only=True)
class BatchingConfig(Config, ABC):
    """How an epoch is cut into batches."""

    @abstractmethod
    def plan(self, lengths: Lengths, generator: torch.Generator) -> Plan:
        """Batches of indices into `lengths`: each once, in an order drawn from `generator`."""


def epoch_seed(seed: int, epoch: int) -> int:
    """The seed, of 32 bits, of what is drawn anew each epoch: a resumed run draws the same."""
    # torch's CPU generator takes the lowest 32 bits of its seed and drops the rest.
    return (seed * 1_000_003 + epoch) % (1 << 32)


def epoch_generator(seed: int, epoch: int) -> torch.Generator:
    """The generator of one epoch's order."""
    return torch.Generator().manual_seed(epoch_seed(seed, epoch))
