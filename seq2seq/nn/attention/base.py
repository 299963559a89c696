"""What every attention offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.config import Config


class Projected(NamedTuple):
    """The keys and values of a source, projected once for all queries: (B, S, ...) each."""

    keys: Tensor
    values: Tensor


class Attention(nn.Module, ABC):
    """Maps queries to weighted means of values.

    Attributes:
        context_dim: width of the contexts.
    """

    context_dim: int

    @abstractmethod
    def project(self, memory: Tensor) -> Projected:
        """Keys and values of encoder states (B, S, D); once for each source."""

    @abstractmethod
    def forward(self, query: Tensor, projected: Projected, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Contexts and weights for some queries.

        Args:
            query: (B, T, Q), Q the query's width.
            projected: what `project` returned.
            mask: bool, True where a query may look; broadcast to (B, T, S).

        Returns:
            Contexts (B, T, `context_dim`), and weights (B, T, S): a mean over heads where there are
            several. Weights are zero where the mask is False and sum to one over the rest.
        """


@dataclass(frozen=True, kw_only=True)
class AttentionConfig(Config, ABC):
    """A recipe for an attention; each layer builds its own."""

    @abstractmethod
    def build(self, query_dim: int, memory_dim: int) -> Attention:
        """An attention of queries of one width over states of another."""


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension among positions where `mask` is True; exactly 0 elsewhere.

    A row that is masked throughout gives zeros, never NaN.
    """
    hidden = ~mask
    # The lowest finite number, not -inf: a row of -inf would be 0 / 0.
    weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(hidden, 0.0)
