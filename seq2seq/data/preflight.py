"""Looking at parallel text before anything is learned from it."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy
from numpy.typing import NDArray
from tqdm import tqdm

from seq2seq.data.base import Pairs, Split
from seq2seq.data.cleaning import hash_of, is_repeated
from seq2seq.data.compressed import opened
from seq2seq.data.shift import shift_of
from seq2seq.data.text import folded
from seq2seq.errors import DataError

NUM_SHOWN = 3
"""Lines that a finding names."""
RANKS = {"least": 0, "1 %": 1, "half": 50, "99 %": 99, "most": 100}
"""Percentiles of lengths by what they are called."""

Level = Literal["error", "warning", "note"]
"""What would spoil training, what may, and what is good to know."""

ODD_CHARACTERS = {
    # C0 but for the tab, and C1, among them U+0085
    "control characters": r"[\x00-\x08\x0a-\x1f\x7f-\x9f]",
    "tabs": r"\t",
    "no-break spaces": r"[\xa0\u202f]",
    "zero-width characters": r"[\u200b-\u200f\u2060\ufeff]",
    "line or paragraph separators": r"[\u2028\u2029]",
    "replacement characters": "\ufffd",  # where another program met bytes that it could not read
}
_ODD = re.compile("|".join(f"({one})" for one in ODD_CHARACTERS.values()))
_NAMES = list(ODD_CHARACTERS)


@dataclass
class Finding:
    """Something that was found in a text.

    Attributes:
        what: in words.
        level: how bad it is.
        count: of lines.
        lines: the first of them, from 1, or places such as `train.de:7:3`.
    """

    what: str
    level: Level
    count: int = 0
    lines: list[int | str] = field(default_factory=list)

    def add(self, line: int | str) -> None:
        """Counts a line."""
        self.count += 1
        if len(self.lines) < NUM_SHOWN:
            self.lines.append(line)


class Findings:
    """Findings by what they are, made when the first line of a kind is met."""

    def __init__(self) -> None:
        self._found: dict[str, Finding] = {}

    def add(self, what: str, line: int | str, level: Level = "note") -> None:
        """Counts a line under what was found in it."""
        self._found.setdefault(what, Finding(what, level)).add(line)

    def __iter__(self) -> Iterator[Finding]:
        """The worst first."""
        order = ("error", "warning", "note")
        return iter(sorted(self._found.values(), key=lambda one: order.index(one.level)))


@dataclass(frozen=True)
class SplitReport:
    """What was found of a split.

    Attributes:
        origin: where it comes from.
        num_pairs: all that there are.
        findings: the worst first.
        words: of each side, and of the target's words for each of the source: some percentiles.
        sources: hashes of the sources as they are and folded, for overlap with other splits.
    """

    origin: str
    num_pairs: int
    findings: list[Finding]
    words: dict[str, dict[str, float]] = field(default_factory=dict)
    sources: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def is_bad(self) -> bool:
        """Whether it would spoil training."""
        return any(one.level == "error" for one in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        about = {"origin": self.origin, "num_pairs": self.num_pairs, "words": self.words}
        return {**about, "findings": [asdict(one) for one in self.findings]}


def look_at(splits: Mapping[Split, Pairs]) -> dict[Split, SplitReport]:
    """Goes once through all splits; what cannot be read is among the findings.

    Memory grows by some 100 bytes a pair.
    """
    reports: dict[Split, SplitReport] = {}
    for split, pairs in sorted(splits.items(), key=lambda one: one[0] == "train"):
        found = Findings()
        for path in pairs.texts:
            _examine_bytes(path, found)
        try:
            reports[split] = _examine(pairs, found, reports if split == "train" else {})
        except DataError as error:
            if not any(one.level == "error" for one in found):
                found.add(str(error), pairs.origin, "error")
            reports[split] = SplitReport(pairs.origin, 0, list(found))
        for one in reports[split].findings:
            one.lines = [pairs.place(line) if isinstance(line, int) else line for line in one.lines]
    return {split: reports[split] for split in splits}


def _examine(pairs: Pairs, found: Findings, held_out: Mapping[Split, SplitReport]) -> SplitReport:
    """Goes once through a split. Raises DataError where it cannot be read to its end."""
    words, sizes = ({side: array("i") for side in ("source", "target")} for _ in range(2))
    hashes = {name: array("Q") for name in ("pair", "exact", "folded")}
    lines = array("q")
    for line, source, target in tqdm(pairs, unit=" pairs", desc="looking", disable=None):
        lines.append(line)
        for side, text in (("source", source), ("target", target)):
            words[side].append(len(text.split()))
            sizes[side].append(len(text))
            _examine_text(side, text, line, found)
        if not (source.strip() and target.strip()):
            found.add("a side is blank: the pair is left out of training", line, "warning")
        elif source == target:
            found.add("both sides are alike", line)
        hashes["pair"].append(hash_of(source, target))
        hashes["exact"].append(hash_of(source))
        hashes["folded"].append(hash_of(folded(source)))
    if not lines:
        raise DataError(f"{pairs.origin}: there are no pairs.")
    numbers = numpy.asarray(lines)
    for name, thing in (("pair", "pair"), ("exact", "source")):
        for line in numbers[is_repeated(hashes[name])].tolist():
            found.add(f"the {thing} was there before", line)
    arrays = {name: numpy.asarray(hashes[name]) for name in ("exact", "folded")}
    for split, report in held_out.items():
        _examine_overlap(split, report, numbers, arrays, found)
    shift = shift_of(*(numpy.asarray(one) for one in sizes.values()))
    if shift is not None:
        start, by = shift
        what = f"from about here on, targets are those of the sources {by:+} lines away"
        found.add(what, int(numbers[start]), "error")
    counts = {side: numpy.asarray(one) for side, one in words.items()}
    return SplitReport(pairs.origin, len(lines), list(found), _lengths(counts), arrays)


def _examine_overlap(
    split: Split,
    report: SplitReport,
    lines: NDArray[Any],
    hashes: Mapping[str, NDArray[Any]],
    found: Findings,
) -> None:
    """Which sources are in another split, too."""
    if not report.sources:
        return
    exact, alike = (numpy.isin(hashes[name], report.sources[name]) for name in ("exact", "folded"))
    for line in lines[exact].tolist():
        found.add(f"the source is in {split}, too", line, "warning")
    for line in lines[alike & ~exact].tolist():
        what = f"the source is in {split}, too, but for case, white space or form of characters"
        found.add(what, line, "warning")


def _examine_text(side: str, text: str, line: int, found: Findings) -> None:
    """What is odd in one side of a pair."""
    for name in {_NAMES[(one.lastindex or 1) - 1] for one in _ODD.finditer(text)}:
        is_bad = name in ("control characters", "replacement characters")
        found.add(f"{side}: {name}", line, "warning" if is_bad else "note")
    if text != text.strip():
        found.add(f"{side}: white space at an end", line)
    if not unicodedata.is_normalized("NFC", text):
        found.add(f"{side}: not in Unicode's form NFC", line, "warning")


def _examine_bytes(path: Path, found: Findings) -> None:
    """Looks for bytes that are not UTF-8, byte order marks and line ends of other systems."""
    try:
        with opened(path) as file:
            for number, raw in enumerate(file, start=1):
                if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                    found.add("a byte order mark, which is dropped", f"{path}:1")
                if raw.endswith(b"\r\n"):
                    what = "lines that end in CR LF, of which both are dropped"
                    found.add(what, f"{path}:{number}")
                try:
                    raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    place = f"{path}:{number}:{error.start + 1}"
                    found.add("bytes that are not UTF-8", place, "error")
    except DataError as error:
        found.add(str(error), str(path), "error")


def _lengths(counts: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, float]]:
    """Percentiles of words on each side and of the ratio between them, of pairs without a blank."""
    real = (counts["source"] > 0) & (counts["target"] > 0)
    if not real.any():
        return {}
    chosen = {side: one[real] for side, one in counts.items()}
    chosen["target / source"] = chosen["target"] / chosen["source"]
    return {
        name: {rank: float(numpy.percentile(one, at)) for rank, at in RANKS.items()}
        for name, one in chosen.items()
    }
