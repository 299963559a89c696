"""What every attention offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from seq2seq.config import Config


class Projected(NamedTuple):
    """What an attention keeps of a source, projected once for all queries; the batch in front."""

    keys: Tensor
    values: Tensor


class Attention(nn.Module, ABC):
    """Maps queries to weighted means of values.

    Attributes:
        context_dim: width of the contexts.
    """

    attends: ClassVar[bool] = True
    """Whether it looks at single states, so that its weights say something."""

    context_dim: int

    @abstractmethod
    def project(self, states: Tensor, summary: Tensor) -> Projected:
        """Keys and values of encoder states (B, S, D) and their summary (B, D); once a source."""

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

    def head_weights(self, query: Tensor, projected: Projected, mask: Tensor) -> Tensor:
        """The weights (B, H, T, S) of each head by itself; arguments as of `forward`."""
        _, weights = self(query, projected, mask)
        alone: Tensor = weights.unsqueeze(1)
        return alone


class ScoringAttention(Attention):
    """One distribution over the states themselves; a subclass says how query and key compare."""

    def __init__(self, memory_dim: int) -> None:
        super().__init__()
        self.context_dim = memory_dim

    def keys(self, states: Tensor) -> Tensor:
        """States (B, S, D) as queries are compared with them: as they are, by default."""
        return states

    @property
    @abstractmethod
    def formula(self) -> str:
        """The score as a person writes it, such as q · k."""

    @abstractmethod
    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Queries (B, T, Q) against keys: (B, T, S), the higher the closer."""

    def project(self, states: Tensor, summary: Tensor) -> Projected:
        return Projected(self.keys(states), states)

    def forward(self, query: Tensor, projected: Projected, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = masked_softmax(self.scores(query, projected.keys), mask)
        return torch.bmm(weights, projected.values), weights


@dataclass(frozen=True, kw_only=True)
class AttentionConfig(Config, ABC):
    """A recipe for an attention; each layer builds its own."""

    @abstractmethod
    def build(self, query_dim: int, memory_dim: int) -> Attention:
        """An attention of queries of one width over states of another.

        Raises SettingsError where the widths do not fit.
        """


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last dimension among positions where `mask` is True; exactly 0 elsewhere.

    A row that is masked throughout gives zeros, never NaN.
    """
    hidden = ~mask
    # The lowest finite number, not -inf: a row of -inf would be 0 / 0.
    weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(hidden, 0.0)
