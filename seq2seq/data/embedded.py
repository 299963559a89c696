"""The embedded corpus: pairs that a grammar makes, so that the first run needs no download."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seq2seq.config import Count, NonNegativeInt
from seq2seq.data.base import DataConfig, Pair, Pairs, Split
from seq2seq.data.phrasebook import grammar
from seq2seq.data.phrasebook.grammar import MAX_PAIRS, PhrasePair, generate
from seq2seq.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class PhrasebookConfig(DataConfig):
    """English-German sentences from a synchronous grammar, each with its gold word alignment.

    Attributes:
        train_pairs: how many pairs to learn from.
        validation_pairs: how many choose the best checkpoint.
        test_pairs: how many judge the result. No pair is in two splits.
        grammar_seed: of the sentences' random choice; part of the corpus, not of the run.
    """

    train_pairs: Count = 20000
    validation_pairs: Count = 500
    test_pairs: Count = 1000
    grammar_seed: NonNegativeInt = 2015

    def check(self) -> None:
        total = self.train_pairs + self.validation_pairs + self.test_pairs
        if total > MAX_PAIRS:
            raise SettingsError(
                "train_pairs",
                f"is {self.train_pairs}: with validation and test that makes {total} pairs, but "
                f"the grammar gives {MAX_PAIRS} distinct ones.",
            )

    def pairs(self, split: Split) -> Pairs:
        return Phrasebook(self, split)

    def phrases(self, split: Split) -> list[PhrasePair]:
        """The pairs of one split with their alignments."""
        # One draw of distinct pairs, cut in three: test and validation first, so that they stay
        # the same when the training split grows.
        kept_out = self.test_pairs + self.validation_pairs
        pairs = generate(kept_out + self.train_pairs, self.grammar_seed)
        if split == "test":
            return pairs[: self.test_pairs]
        return pairs[self.test_pairs : kept_out] if split == "validation" else pairs[kept_out:]


class Phrasebook(Pairs):
    """A split of the embedded corpus."""

    def __init__(self, config: PhrasebookConfig, split: Split) -> None:
        self.config, self.split = config, split
        self.origin = f"phrasebook, {split}"
        self.paths = sorted(Path(grammar.__file__).parent.glob("*.py"))  # what makes them

    def __iter__(self) -> Iterator[Pair]:
        for line, one in enumerate(self.config.phrases(self.split), start=1):
            yield Pair(line, one.source_text, one.target_text)

    def parts(self) -> tuple[object, ...]:
        return (self.config, self.split)
