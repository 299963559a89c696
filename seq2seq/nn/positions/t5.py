"""Learned biases for buckets of offsets (Raffel et al. 2020, section 2.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from seq2seq.config import Count
from seq2seq.errors import SettingsError
from seq2seq.nn.positions.base import Positions, PositionsConfig, offsets


def buckets(offset: Tensor, num_buckets: int, max_distance: int, *, causal: bool) -> Tensor:
    """The bucket of each offset (key minus query): near ones alone, far ones in growing groups.

    Of the buckets for one direction, the first half hold one distance each; those of the second
    grow as the logarithm up to `max_distance`, and the last holds all beyond. Where not `causal`,
    half of all buckets are for keys after the query; where `causal`, these count as distance 0.
    """
    if causal:
        first = torch.zeros_like(offset)
        distance = (-offset).clamp(min=0)
    else:
        num_buckets //= 2
        first = (offset > 0).long() * num_buckets
        distance = offset.abs()
    num_near = num_buckets // 2
    growth = (num_buckets - num_near) / math.log(max_distance / num_near)
    far = num_near + ((distance.clamp(min=1) / num_near).log() * growth).long()
    return first + torch.where(distance < num_near, distance, far.clamp(max=num_buckets - 1))


class T5Positions(Positions):
    """Adds to each head's scores a learned number for the offset's bucket; layers share them."""

    def __init__(self, num_heads: int, config: T5PositionsConfig, *, causal: bool) -> None:
        super().__init__()
        self.config = config
        self.causal = causal
        self.biases = nn.Parameter(torch.zeros(config.num_buckets, num_heads))

    def bias(self, queries: Tensor, num_keys: int, start: int = 0) -> Tensor:
        offset = offsets(queries.shape[-2], num_keys, start, queries)
        index = buckets(
            offset, self.config.num_buckets, self.config.max_distance, causal=self.causal
        )
        # Not biases[index]: its gradient is summed in an order that differs from run to run.
        return functional.embedding(index, self.biases).permute(2, 0, 1)  # (H, T, S)


@dataclass(frozen=True, kw_only=True)
class T5PositionsConfig(PositionsConfig):
    """Biases by buckets of offsets. (T5 does not scale its dot products; ours stay scaled.)

    Attributes:
        num_buckets: for both directions together, where there are two.
        max_distance: in tokens; all that lies further shares the last bucket.
    """

    num_buckets: Count = 32
    max_distance: Count = 128

    def check(self) -> None:
        if self.num_buckets < 4 or self.num_buckets % 4:
            raise SettingsError(
                "num_buckets", f"must be a multiple of 4, but is {self.num_buckets}."
            )
        if self.max_distance <= self.num_buckets // 2:
            raise SettingsError(
                "max_distance",
                f"must be more than half of num_buckets ({self.num_buckets}), but is "
                f"{self.max_distance}.",
            )

    def build(self, dim: int, num_heads: int, *, causal: bool) -> T5Positions:
        return T5Positions(num_heads, self, causal=causal)
