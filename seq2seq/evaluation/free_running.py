"""What is odd about a model's own translations, which teacher forcing does not show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from seq2seq.search.interfaces import Hypothesis
from seq2seq.special_tokens import UNK

NGRAM = 4
MARKERS = ("\u2581", "@@ ", " ##")
"""Of subword tokenizers, which belong into no text."""


@dataclass(frozen=True)
class Counts:
    """Sums over some hypotheses, which can be added to those over others.

    Attributes:
        sentences: how many.
        cut: that did not end before their length limit.
        repeating: in which a sequence of four tokens comes twice.
        empty: without a token.
        unknown: <unk> tokens ...
        tokens: ... of so many.
        errors: that the search itself should have ranked under greedy's.
    """

    sentences: float = 0
    cut: float = 0
    repeating: float = 0
    empty: float = 0
    unknown: float = 0
    tokens: float = 0
    errors: float = 0

    @classmethod
    def of(cls, hypotheses: Sequence[Hypothesis | None], num_errors: int = 0) -> Counts:
        """The sums over hypotheses; blank sources, which have none, do not count."""
        found = [one for one in hypotheses if one is not None]
        return cls(
            len(found),
            sum(not one.is_complete for one in found),
            sum(_repeats(one.tokens) for one in found),
            sum(not one.tokens for one in found),
            sum(one.tokens.count(UNK) for one in found),
            sum(len(one.tokens) for one in found),
            num_errors,
        )


def _repeats(tokens: Sequence[int]) -> bool:
    windows = [tuple(tokens[at : at + NGRAM]) for at in range(len(tokens) - NGRAM + 1)]
    return len(set(windows)) < len(windows)


@dataclass(frozen=True)
class FreeRunning:
    """Shares of a corpus' translations, 0 to 1.

    Attributes:
        length_ratio: of all translations to all references, in BLEU's tokens.
        cut: that did not end before their length limit.
        repeating: in which a sequence of four tokens comes twice.
        empty: without a token.
        same: that are the most frequent translation.
        unknown: of their tokens that are <unk>.
        greedy_bleu: of greedy search, where another one was compared with it.
        search_errors: that the search should have ranked under greedy's, likewise.
    """

    length_ratio: float
    cut: float
    repeating: float
    empty: float
    same: float
    unknown: float
    greedy_bleu: float | None = None
    search_errors: float | None = None

    @classmethod
    def of(
        cls,
        counts: Counts,
        translations: Sequence[str],
        length_ratio: float,
        greedy_bleu: float | None = None,
    ) -> FreeRunning:
        """From counts over all translations, and their texts."""
        sentences, tokens = max(1, counts.sentences), max(1, counts.tokens)
        most = Counter(one for one in translations if one).most_common(1)
        return cls(
            length_ratio,
            counts.cut / sentences,
            counts.repeating / sentences,
            counts.empty / sentences,
            most[0][1] / len(translations) if most else 0.0,
            counts.unknown / tokens,
            greedy_bleu,
            None if greedy_bleu is None else counts.errors / sentences,
        )

    def __str__(self) -> str:
        parts = [
            f"length {self.length_ratio:.2f}",
            f"cut {self.cut:.1%}",
            f"repeating {self.repeating:.1%}",
            f"empty {self.empty:.1%}",
            f"<unk> {self.unknown:.1%}",
        ]
        if self.greedy_bleu is not None:
            parts.append(f"greedy {self.greedy_bleu:.2f} (better in {self.search_errors:.1%})")
        return "  ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def diseases(
    report: FreeRunning, bleu: float, accuracy: float, translations: Sequence[str]
) -> Iterator[str]:
    """What a pattern of numbers is known to mean.

    Args:
        report: of the translations.
        bleu: their score.
        accuracy: share of tokens that are right under teacher forcing.
        translations: of all sentences.
    """
    if len(translations) >= 10 and report.same > 0.5:
        yield (
            f"{report.same:.0%} of the translations are one sentence: the decoder does not use the "
            "source. Train longer, or look at model.attention and the learning rate."
        )
    elif accuracy > 0.5 and bleu < 2:
        yield (
            f"Teacher forcing has {accuracy:.0%} of the tokens right, but BLEU is {bleu:.1f}: free-"
            "running output is broken. Look at the translations below."
        )
    if report.cut > 0.2:
        yield (
            f"{report.cut:.0%} of the translations do not end by themselves. Train longer, or "
            "raise search.max_length_ratio."
        )
    if marked := next((one for one in MARKERS if any(one in each for each in translations)), None):
        mark = marked.strip()
        yield f"The translations hold the subword marker {mark!r}: the data already had it."
