"""What every objective offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor

from seq2seq.config import Config
from seq2seq.data.batches import Batch
from seq2seq.models.seq2seq import Seq2Seq


@dataclass(frozen=True)
class Loss:
    """Sums over the real target tokens of a batch.

    Attributes:
        total: what is differentiated, a scalar; the trainer divides it by the tokens of its step.
        num_tokens: real target tokens, EOS counted.
        parts: named sums without gradient for the log; `nll` is always there: the unsmoothed
            negative log-likelihood in nats.
    """

    total: Tensor
    num_tokens: int
    parts: dict[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class ObjectiveConfig(Config, ABC):
    """What training minimises."""

    @abstractmethod
    def __call__(self, model: Seq2Seq, batch: Batch, progress: float) -> Loss:
        """The loss of a batch when a share `progress` of the budget is used, from 0 to 1."""
