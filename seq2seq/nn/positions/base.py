"""What every position encoding offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from seq2seq.config import Config


class Positions(nn.Module):
    """Base of all position encodings: does nothing.

    An encoding overrides what it needs. `add` acts once, on what enters the first layer; the others
    act within each self-attention. Positions count from `start`, which is 0 but in decoding.
    """

    reads_weights: ClassVar[bool] = False
    """Whether `add_to_contexts` does something."""

    max_length: int | None = None
    """How many positions there are; None: any number."""

    def add(self, embedded: Tensor, start: int = 0) -> Tensor:
        """Embeddings (B, S, D) of variance 1 with positions `start`, `start` + 1, ... mixed in."""
        return embedded

    def rotate(self, heads: Tensor, start: int = 0) -> Tensor:
        """Queries or keys (B, H, T, E), turned by where they stand."""
        return heads

    def bias(self, queries: Tensor, num_keys: int, start: int = 0) -> Tensor | None:
        """What is added to scores (B, H, T, S), in a shape that broadcasts to that; None: nothing.

        Args:
            queries: (B, H, T, E), at positions `start`, `start` + 1, ...
            num_keys: S; keys stand at positions 0, 1, ...
            start: position of the first query.
        """
        return None

    def add_to_contexts(self, contexts: Tensor, weights: Tensor, start: int = 0) -> Tensor:
        """Contexts (B, H, T, E) with what weights (B, H, T, S) say about position."""
        return contexts


@dataclass(frozen=True, kw_only=True)
class PositionsConfig(Config, ABC):
    """How to make a position encoding."""

    encodes: ClassVar[bool] = True
    """Whether it tells anything about position."""

    acts_in_products: ClassVar[bool] = False
    """Whether it needs scores to be dot products of queries and keys."""

    @abstractmethod
    def build(self, dim: int, num_heads: int, *, causal: bool) -> Positions:
        """The encoding for states of width `dim` that H heads share.

        Where `causal`, no query looks at a later position. Raises SettingsError where the widths
        do not fit.
        """

    def build_layers(
        self, num_layers: int, dim: int, num_heads: int, *, causal: bool
    ) -> Sequence[Positions]:
        """One for each layer: the same object, but where each layer learns its own."""
        return [self.build(dim, num_heads, causal=causal)] * num_layers


def offsets(num_queries: int, num_keys: int, start: int, like: Tensor) -> Tensor:
    """(T, S): how far key j stands after the query at `start` + i; negative before it."""
    queries = torch.arange(start, start + num_queries, device=like.device)
    return torch.arange(num_keys, device=like.device) - queries[:, None]
