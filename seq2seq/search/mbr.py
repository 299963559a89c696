"""Minimum Bayes risk decoding (Kumar and Byrne 2004; by sampling: Eikema and Aziz 2020)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from seq2seq.errors import SettingsError
from seq2seq.search.base import SearchConfig
from seq2seq.search.interfaces import Hypothesis, SearchableModel, Utility


@dataclass(frozen=True, kw_only=True)
class MBRConfig(SearchConfig):
    """The candidate text that would be worth most if each of the others were the right one.

    Its score is the mean utility, 0 to 100, against all candidates.

    Attributes:
        utility: chrf or bleu, of single sentences.
        candidates: the search that finds them: samples, or a beam with `n_best`.
    """

    utility: Literal["chrf", "bleu"] = "chrf"
    candidates: SearchConfig

    ranks_texts: ClassVar[bool] = True

    def check(self) -> None:
        if self.candidates.ranks_texts or self.candidates.num_found < 2:
            raise SettingsError(
                "candidates",
                "must be a search that finds several: sampling with num_samples, or beam with "
                "n_best.",
            )

    @property
    def num_found(self) -> int:
        return self.candidates.num_found

    @property
    def batch_size(self) -> int:
        return self.candidates.batch_size

    def __call__(
        self,
        model: SearchableModel,
        source: Tensor,
        source_mask: Tensor,
        prefixes: Tensor | None = None,
    ) -> list[list[Hypothesis]]:
        return self.candidates(model, source, source_mask, prefixes)

    def rank(
        self, hypotheses: list[Hypothesis], texts: list[str], utilities: dict[str, Utility]
    ) -> list[Hypothesis]:
        utility, counts = utilities[self.utility], Counter(texts)
        worth = {
            one: sum(count * utility(one, other) for other, count in counts.items()) / len(texts)
            for one in counts
        }
        order = sorted(counts, key=lambda one: -worth[one])
        return [hypotheses[texts.index(one)]._replace(score=worth[one]) for one in order]
