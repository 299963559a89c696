"""What every search offers, and what those that go from token to token have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from seq2seq.config import AtMost, Between, Config, Count, NonNegativeInt
from seq2seq.errors import SettingsError
from seq2seq.models.interfaces import select, wide
from seq2seq.search.interfaces import Hypothesis, SearchableModel, Utility
from seq2seq.special_tokens import BOS, EOS, PAD

BLOCK = 64
"""Of a row, whose maximum is looked at first."""


class SearchConfig(Config, ABC):
    """A decoding strategy and its settings."""

    ranks_texts: ClassVar[bool] = False
    """Whether it has the last word, once the texts of its hypotheses are known: `rank`."""

    @property
    @abstractmethod
    def batch_size(self) -> int:
        """Sentences decoded at once; changes the speed and nothing else."""

    @property
    def num_found(self) -> int:
        """Hypotheses that it finds for each sentence, if there are so many."""
        return 1

    @abstractmethod
    def __call__(
        self,
        model: SearchableModel,
        source: Tensor,
        source_mask: Tensor,
        prefixes: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        """Hypotheses for each row of source ids (B, S) with its mask (B, S): at least one, the best
        first.

        Args:
            prefixes: ids (B, P) that each translation opens with, PAD at their ends.
        """

    def score(self, log_probability: float, num_tokens: int) -> float | None:
        """What it ranks finished hypotheses by, EOS counted; None where that is something else."""
        return None

    def rank(
        self, hypotheses: list[Hypothesis], texts: list[str], utilities: dict[str, Utility]
    ) -> list[Hypothesis]:
        """The hypotheses of a sentence, the best first, by their texts where `ranks_texts`.

        Args:
            hypotheses: the best first by the search itself.
            texts: of each.
            utilities: by name, for searches that compare texts with each other.
        """
        return hypotheses


@dataclass(frozen=True, kw_only=True)
class StepwiseConfig(SearchConfig, ABC):
    """A search that goes from token to token.

    Attributes:
        max_length_ratio: a translation's longest length is this times the source's length ...
        max_length_extra: ... plus this, in tokens; by its own source alone, not by its batch. What
            the model's positions allow is the end in any case.
        min_length_ratio: a translation's shortest length is this times the source's.
        no_repeat_ngram: no sequence of so many tokens comes twice in a translation; 0 permits all.
        batch_size: sentences decoded at once; changes the speed and nothing else.
    """

    max_length_ratio: Annotated[float, Between(0, 1000)] = 2.0
    max_length_extra: NonNegativeInt = 10
    min_length_ratio: Annotated[float, Between(0, 1000)] = 0.0
    no_repeat_ngram: Annotated[NonNegativeInt, AtMost(1000)] = 0
    batch_size: Count = 64

    def check(self) -> None:
        if self.min_length_ratio > self.max_length_ratio:
            raise SettingsError(
                "min_length_ratio",
                f"of {self.min_length_ratio:g} must not be above max_length_ratio "
                f"({self.max_length_ratio:g}).",
            )


class Rules:
    """What may come next in the translation of each sentence of a batch.

    Attributes:
        limits: (B,), the longest translations, EOS not counted.
    """

    def __init__(
        self,
        config: StepwiseConfig,
        model: SearchableModel,
        source_mask: Tensor,
        prefixes: Tensor | None,
    ) -> None:
        lengths = source_mask.sum(dim=1)
        limits = (lengths * config.max_length_ratio).floor().long() + config.max_length_extra
        if model.max_length is not None:
            limits = limits.clamp(max=model.max_length)
        self.prefixes = prefixes
        if prefixes is not None:
            limits = limits.maximum((prefixes != PAD).sum(dim=1))
        self.limits = limits
        self.minimums = (lengths * config.min_length_ratio).ceil().long().minimum(limits)
        self.shortest = int(self.minimums.max()) if config.min_length_ratio else 0
        self.ngram = config.no_repeat_ngram

    def forbid(self, scores: Tensor, sentences: Tensor, tokens: Tensor) -> None:
        """Sets to -inf what may not come next.

        Args:
            scores: (N, V), of the next token of each of some hypotheses.
            sentences: (N,), which they are translations of.
            tokens: (N, 1 + length), what they have said, BOS first.
        """
        length = tokens.shape[1] - 1
        opening = self._opening(scores, sentences, length)
        scores[:, (PAD, BOS)] = float("-inf")
        if length < self.shortest:
            scores[self.minimums[sentences] > length, EOS] = float("-inf")
        if self.ngram and length >= self.ngram:
            windows = tokens[:, 1:].unfold(1, self.ngram, 1)
            last = tokens[:, tokens.shape[1] - self.ngram + 1 :]
            repeats = (windows[..., :-1] == last.unsqueeze(1)).all(dim=-1)
            hypotheses, places = repeats.nonzero(as_tuple=True)
            scores[hypotheses, windows[hypotheses, places, -1]] = float("-inf")
        if opening is not None:
            hypotheses, told, values = opening
            scores[hypotheses] = float("-inf")
            scores[hypotheses, told] = values

    def _opening(
        self, scores: Tensor, sentences: Tensor, length: int
    ) -> tuple[Tensor, Tensor, Tensor] | None:
        """Which hypotheses are still told what to say, what that is, and its scores."""
        if self.prefixes is None or length >= self.prefixes.shape[1]:
            return None
        told = self.prefixes[sentences, length]
        hypotheses = (told != PAD).nonzero().squeeze(1)
        return hypotheses, told[hypotheses], scores[hypotheses, told[hypotheses]]


def best_continuations(
    logits: Tensor, rules: Rules, sentences: Tensor, tokens: Tensor, count: int
) -> tuple[Tensor, Tensor]:
    """The log-probabilities float64 (N, `count`) of the best next tokens, and their ids.

    -inf where there are not so many that may come.

    Args:
        logits: (N, V), overwritten.
        rules: of what may come.
        sentences: (N,), which the hypotheses are translations of.
        tokens: (N, 1 + length), what they have said, BOS first.
        count: how many, at most V.
    """
    logits = wide(logits)
    total = logits.logsumexp(dim=-1, keepdim=True)
    rules.forbid(logits, sentences, tokens)
    if count == 1:
        values, ids = logits.max(dim=-1, keepdim=True)
    else:
        values, ids = largest(logits, count)
    return (values - total).double(), ids


def largest(values: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The `count` largest of each row (N, V), the largest first, and where they are: (N, `count`).

    They are in those `count` blocks that have the largest maxima, which are found at the speed of
    memory: `topk` of what is in these takes a third of the time that it takes on whole rows.
    """
    num_blocks = values.shape[1] // BLOCK
    if num_blocks <= count:
        return values.topk(count, dim=1)
    covered = num_blocks * BLOCK
    blocks = values[:, :covered].unflatten(1, (num_blocks, BLOCK)).amax(dim=2).topk(count, dim=1)
    within = torch.arange(BLOCK, device=values.device)
    candidates = (blocks.indices.unsqueeze(2) * BLOCK + within).flatten(1)
    rest = torch.arange(covered, values.shape[1], device=values.device)
    candidates = torch.cat((candidates, rest.expand(len(values), -1)), dim=1)
    found, places = values.gather(1, candidates).topk(count, dim=1)
    return found, candidates.gather(1, places)


Choice = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""From logits (N, V), numbers of the hypotheses (N,) and what they have said (N, 1 + length) to the
log-probabilities float64 (N,) of next tokens and their ids (N,)."""


class OneByOneConfig(StepwiseConfig, ABC):
    """Follows each hypothesis by itself."""

    @abstractmethod
    def choice(self, rules: Rules, source: Tensor, source_mask: Tensor) -> Choice:
        """What comes next in the translations of some sources (B, S)."""

    @torch.inference_mode()
    def __call__(
        self,
        model: SearchableModel,
        source: Tensor,
        source_mask: Tensor,
        prefixes: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        rules = Rules(self, model, source_mask, prefixes)
        choose = self.choice(rules, source, source_mask)
        state = model.start(model.encode(source, source_mask))
        numbers = torch.arange(len(source) * self.num_found, device=source.device)
        if self.num_found > 1:
            state = select(state, numbers // self.num_found)
        tokens = source.new_full((len(numbers), 1), BOS)
        totals = torch.zeros(len(numbers), dtype=torch.float64, device=source.device)
        found: dict[int, Hypothesis] = {}
        while len(numbers):
            logits, state = model.step(tokens[:, -1], state)
            gains, chosen = choose(logits, numbers, tokens)
            # At its limit a translation may still close; what it would rather say is cut.
            at_limit = rules.limits[numbers // self.num_found] < tokens.shape[1]
            ends = chosen == EOS
            cut = (at_limit & ~ends) | gains.isneginf()
            totals = totals + gains.masked_fill(cut, 0.0)
            closed = ends | cut
            if bool(closed.any()):
                parts = (numbers, tokens[:, 1:], totals, ends)
                for number, said, total, is_complete in zip(
                    *(one[closed].tolist() for one in parts), strict=True
                ):
                    found[number] = Hypothesis(said, total, total, is_complete)
                going = (~closed).nonzero().squeeze(1)
                numbers, tokens, totals = numbers[going], tokens[going], totals[going]
                chosen, state = chosen[going], select(state, going)
            tokens = torch.cat((tokens, chosen.unsqueeze(1)), dim=1)
        each = range(self.num_found)
        return [[found[row * self.num_found + one] for one in each] for row in range(len(source))]
