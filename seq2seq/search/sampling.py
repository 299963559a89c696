"""Sampling from the model's distribution, or from its likely part (Holtzman et al. 2020)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from seq2seq.config import Above, Between, Count, NonNegativeInt
from seq2seq.models.interfaces import log_softmax
from seq2seq.search.base import Choice, OneByOneConfig, Rules


@dataclass(frozen=True, kw_only=True)
class SamplingConfig(OneByOneConfig):
    """Draws each token; the score is the log-probability that the model itself gives it.

    What is drawn depends on the seed, the source sentence and the number of the sample alone, not
    on the batch: the same sentence gives the same samples everywhere.

    Attributes:
        num_samples: of each sentence, in the order in which they were drawn.
        temperature: divides the log-probabilities: below 1 the likely becomes likelier.
        top_k: draws from so many most probable tokens; 0 from all.
        top_p: draws from the fewest tokens that have this probability together.
        seed: of what is drawn.
    """

    num_samples: Count = 1
    temperature: Annotated[float, Above(0), Between(0, 1000)] = 1.0
    top_k: NonNegativeInt = 0
    top_p: Annotated[float, Above(0), Between(0, 1)] = 1.0
    seed: NonNegativeInt = 1

    @property
    def num_found(self) -> int:
        return self.num_samples

    def choice(self, rules: Rules, source: Tensor, source_mask: Tensor) -> Choice:
        sources = [row[real].tolist() for row, real in zip(source, source_mask, strict=True)]
        longest = int(rules.limits.max()) + 1
        draws = torch.stack(
            [
                self._draws(ids, number, longest)
                for ids in sources
                for number in range(self.num_samples)
            ]
        ).to(source.device)

        def choose(logits: Tensor, numbers: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
            scores = log_softmax(logits.double())
            rules.forbid(scores, numbers // self.num_samples, tokens)
            drawn = draws[numbers, tokens.shape[1] - 1]
            chosen = self._drawn(scores / self.temperature, drawn)
            return scores.gather(1, chosen.unsqueeze(1)).squeeze(1), chosen

        return choose

    def _draws(self, source: list[int], number: int, count: int) -> Tensor:
        """Numbers from 0 to 1, float64 (`count`,), of a sample of a source."""
        digest = hashlib.sha256(f"{self.seed} {number} {source}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:4], "big"))
        return torch.rand(count, dtype=torch.float64, generator=generator)

    def _drawn(self, scores: Tensor, drawn: Tensor) -> Tensor:
        """The ids (N,) at which the summed probabilities pass numbers (N,), by scores (N, V)."""
        if 0 < self.top_k < scores.shape[1]:
            least = scores.topk(self.top_k, dim=-1).values[:, -1:]
            scores = scores.masked_fill(scores < least, float("-inf"))
        # Where nothing may come all are -inf, and the first stands for it.
        chances = scores.softmax(dim=-1).nan_to_num()
        order = chances.argsort(dim=-1, descending=True, stable=True)
        sums = chances.gather(1, order).cumsum(dim=-1)
        within = sums[:, -1:] * self.top_p
        # A token counts where those before it do not yet have the share.
        num_kept = (sums < within).sum(dim=-1, keepdim=True) + 1
        total = sums.gather(1, num_kept.clamp(max=sums.shape[1]) - 1)
        place = torch.searchsorted(sums, drawn.unsqueeze(1) * total, right=True)
        return order.gather(1, place.clamp(max=sums.shape[1] - 1)).squeeze(1)
