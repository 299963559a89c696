"""Filters of training pairs: each explicit, off by default, and counted."""

from __future__ import annotations

import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Any, Literal

import numpy
from numpy.typing import NDArray

from seq2seq.config import AtLeast, Config, Count
from seq2seq.data.base import Pair, Pairs
from seq2seq.errors import SettingsError

Script = Literal[
    "arabic",
    "armenian",
    "bengali",
    "cjk",
    "cyrillic",
    "devanagari",
    "georgian",
    "greek",
    "hangul",
    "hebrew",
    "japanese",
    "latin",
    "tamil",
    "thai",
]
_IDEOGRAMS = {"cjk", "ideographic"}
_NAMES_OF = {
    "cjk": _IDEOGRAMS,
    "japanese": {*_IDEOGRAMS, "hiragana", "katakana", "katakana-hiragana"},
}
"""The words that open the Unicode names of a script's letters, where that is not its own name."""


@dataclass(frozen=True, kw_only=True)
class CleaningConfig(Config):
    """What is done to training pairs before anything is learned from them, in this order.

    A pair goes as a whole or stays as a whole. Validation and test pairs stay as they are.

    Attributes:
        normalize: Unicode's form that both sides are brought into; null leaves them.
        strip: takes white space off both ends of both sides.
        min_words: fewest words, parted by white space, on either side.
        max_words: most words on either side; null sets no limit.
        max_ratio: most words on one side for each word on the other; null sets no limit.
        source_script: what most letters of the source must be of; null accepts any.
        target_script: likewise.
        no_copies: a pair whose sides are alike goes.
        no_duplicates: a pair that was there before goes.
        dropped: a file for what goes, as JSON lines: its line, the filter, and both sides.
    """

    normalize: Literal["nfc", "nfkc"] | None = None
    strip: bool = False
    min_words: Count | None = None
    max_words: Count | None = None
    max_ratio: Annotated[float, AtLeast(1)] | None = None
    source_script: Script | None = None
    target_script: Script | None = None
    no_copies: bool = False
    no_duplicates: bool = False
    dropped: str | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether all pairs stay as they are."""
        return replace(self, dropped=None) == CleaningConfig()

    def check(self) -> None:
        if self.dropped is not None and self.changes_nothing:
            raise SettingsError("dropped", "has no effect without a filter, such as max_words=100.")
        if self.min_words and self.max_words and self.min_words > self.max_words:
            raise SettingsError(
                "min_words",
                f"of {self.min_words} must not be above max_words, which is {self.max_words}.",
            )

    def clean(self, pairs: Pairs) -> Pairs:
        """The pairs that stay."""
        return pairs if self.changes_nothing else Cleaned(pairs, self)


class Cleaned(Pairs):
    """What filters leave of some pairs; lines keep their numbers."""

    num_dropped: Counter[str]

    def __init__(self, pairs: Pairs, config: CleaningConfig) -> None:
        self.whole, self.config = pairs, config
        self.origin, self.paths, self.texts = pairs.origin, pairs.paths, pairs.texts
        self.num_dropped = Counter[str]()
        self._checks = [
            (name, check)
            for name, check in _CHECKS.items()
            if getattr(config, name) not in (None, False)
        ]

    def __iter__(self) -> Iterator[Pair]:
        self.num_dropped.clear()
        for one, reason in self._judged():
            if reason is None:
                yield one
            else:
                self.num_dropped[reason] += 1

    def place(self, line: int) -> int | str:
        return self.whole.place(line)

    def parts(self) -> tuple[object, ...]:
        return (self.whole.digest(), replace(self.config, dropped=None))

    def dropped(self) -> Iterator[dict[str, Any]]:
        """What goes: its line, the filter, and both sides."""
        for one, reason in self._judged():
            if reason is not None:
                about = {"line": self.place(one.line), "filter": reason}
                yield {**about, "source": one.source, "target": one.target}

    def _judged(self) -> Iterator[tuple[Pair, str | None]]:
        """All pairs, each with the first filter that drops it, or None."""
        repeated = self._repeated() if self.config.no_duplicates else None
        number = 0  # of pairs that no other filter drops
        for one in self._normalised():
            reason = self._reason(one)
            if reason is None:
                if repeated is not None and repeated[number]:
                    reason = "no_duplicates"
                number += 1
            yield one, reason

    def _normalised(self) -> Iterator[Pair]:
        form: Literal["NFC", "NFKC"] = "NFC" if self.config.normalize == "nfc" else "NFKC"
        for line, source, target in self.whole:
            if self.config.normalize:
                source, target = (unicodedata.normalize(form, one) for one in (source, target))
            if self.config.strip:
                source, target = source.strip(), target.strip()
            yield Pair(line, source, target)

    def _reason(self, pair: Pair) -> str | None:
        """The first filter that drops a pair."""
        for name, drops in self._checks:
            if drops(pair, getattr(self.config, name)):
                return name
        return None

    def _repeated(self) -> NDArray[numpy.bool_]:
        """Of the pairs that no other filter drops, which were there before.

        Takes a pass of its own, and some 30 bytes a pair.
        """
        kept = (one for one in self._normalised() if self._reason(one) is None)
        return is_repeated(array("Q", (hash_of(one.source, one.target) for one in kept)))


def is_repeated(hashes: array[int]) -> NDArray[numpy.bool_]:
    """Which of some numbers of 64 bits were there before."""
    values = numpy.asarray(hashes)
    order = values.argsort(kind="stable")
    found = numpy.zeros(len(values), dtype=bool)
    found[order[1:]] = values[order[1:]] == values[order[:-1]]
    return found


def hash_of(*texts: str) -> int:
    """64 bits of a hash that tells texts apart."""
    found = blake2b("\n".join(texts).encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(found.digest(), "little")


def _too_short(pair: Pair, least: int) -> bool:
    return min(len(pair.source.split()), len(pair.target.split())) < least


def _too_long(pair: Pair, most: int) -> bool:
    return max(len(pair.source.split()), len(pair.target.split())) > most


def _too_uneven(pair: Pair, most: float) -> bool:
    less, more = sorted((len(pair.source.split()), len(pair.target.split())))
    return more > most * less


def _not_in(script: str, text: str) -> bool:
    names = _NAMES_OF.get(script, {script})
    letters = [one for one in text if one.isalpha()]
    return 2 * sum(name_of(one) in names for one in letters) < len(letters)


_CHECKS: dict[str, Callable[[Pair, Any], bool]] = {
    "min_words": _too_short,
    "max_words": _too_long,
    "max_ratio": _too_uneven,
    "source_script": lambda pair, script: _not_in(script, pair.source),
    "target_script": lambda pair, script: _not_in(script, pair.target),
    "no_copies": lambda pair, _: pair.source == pair.target,
}


@lru_cache(1 << 16)
def name_of(letter: str) -> str:
    """What opens a letter's name in Unicode, but for its width: `latin`, `cjk`, `hiragana` ..."""
    words = unicodedata.name(letter, "").casefold().split()
    if words and words[0] in ("fullwidth", "halfwidth"):
        del words[0]
    return words[0] if words else ""
