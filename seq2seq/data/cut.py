"""Splits that are cut from the training text where they have no files of their own."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from seq2seq.config import Between
from seq2seq.data.base import DataConfig, Pair, Pairs, Split, digest_of
from seq2seq.data.cache import place_of, put_text
from seq2seq.data.text import ParallelText, folded
from seq2seq.errors import DataError, SettingsError

MOST = 0.9
FORMAT = 1
Share = Annotated[float, Between(0, MOST)]


@dataclass(frozen=True, kw_only=True)
class CuttableConfig(DataConfig, ABC):
    """A corpus whose validation and test splits may be cut from its training text.

    A source sentence, folded, is hashed to a number in [0, 1). What is below `validation_share` is
    validation, what is below both shares together is test, the rest remains. So no source is in two
    splits, whatever its translations, and a pair stays in its split when others come or go.

    Attributes:
        validation_share: of the training text, where there is no validation text; 0 cuts none.
        test_share: likewise.
    """

    validation_share: Share = 0.0
    test_share: Share = 0.0

    @abstractmethod
    def given(self, split: Split) -> Pairs | None:
        """A split that there is; None: there is none. Raises DataError."""

    @abstractmethod
    def has(self, split: Split) -> bool:
        """Whether a split is there without being cut."""

    def check(self) -> None:
        if self.validation_share + self.test_share > MOST:
            raise SettingsError(
                "validation_share", f"and test_share must leave something: {MOST} at most together."
            )
        for split in ("validation", "test"):
            if self.has(split) and getattr(self, f"{split}_share"):
                raise SettingsError(
                    f"{split}_share",
                    f"cuts a {split} split from the training text, but one is given.",
                )

    def has_test(self) -> bool:
        return self.test_share > 0 or self.has("test")

    def pairs(self, split: Split) -> Pairs:
        if split != "train" and (own := self.given(split)):
            return own
        training = self.given("train")
        assert training is not None, "it is required"
        shares = self.validation_share, self.test_share
        if not any(shares) and split == "train":
            return training
        if split != "train" and not getattr(self, f"{split}_share"):
            raise DataError(
                f"There is no {split} split: name its files, or cut it from the training text with "
                f"data.{split}_share=0.01."
            )
        return Cut(training, split, *shares)


class Cut(Pairs):
    """What falls to one split."""

    def __init__(
        self, pairs: Pairs, split: Split, validation_share: float, test_share: float
    ) -> None:
        self.whole, self.split = pairs, split
        self.paths, self.texts = pairs.paths, pairs.texts
        self.validation_share, self.test_share = validation_share, test_share
        self.origin = f"{pairs.origin} ({split})"

    def __iter__(self) -> Iterator[Pair]:
        for one in self.whole:
            if self.split_of(one.source) == self.split:
                yield one

    def as_text(self) -> ParallelText:
        """All of them in memory; held-out ones are few of many, and kept in the cache."""
        if self.split == "train":
            return super().as_text()
        stamp = self.stamp()
        path = place_of("held-out", f"{digest_of(FORMAT, self.digest())}.json")
        with suppress(OSError, ValueError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            if is_parallel(kept):
                return ParallelText(kept[0], kept[1], self.origin)
        found = super().as_text()
        self.check_unchanged(stamp)
        put_text(path, json.dumps([found.source, found.target]))
        return found

    def split_of(self, source: str) -> Split:
        """Where a pair with this source belongs."""
        digest = hashlib.sha256(folded(source).encode("utf-8", "surrogatepass")).digest()
        number = int.from_bytes(digest[:8], "big") / (1 << 64)
        if number < self.validation_share:
            return "validation"
        return "test" if number < self.validation_share + self.test_share else "train"

    def place(self, line: int) -> int | str:
        return self.whole.place(line)

    def parts(self) -> tuple[object, ...]:
        return (self.whole.digest(), self.split, self.validation_share, self.test_share)


def is_parallel(kept: object) -> bool:
    """Whether it is two lists of as many texts."""
    return (
        isinstance(kept, list)
        and len(kept) == 2
        and all(isinstance(side, list) for side in kept)
        and len(kept[0]) == len(kept[1])
        and all(isinstance(one, str) for side in kept for one in side)
    )
