"""Pairs from files whose lines belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from seq2seq.data.base import Pair, Pairs
from seq2seq.data.text import ParallelText, lines_of
from seq2seq.errors import DataError


class AlignedFiles(Pairs):
    """One pair of files, or several one after another: line n belongs to line n."""

    def __init__(self, sources: Sequence[Path], targets: Sequence[Path]) -> None:
        self.sides = list(zip(sources, targets, strict=True))
        self.paths = self.texts = [path for both in self.sides for path in both]
        self.origin = ", ".join(f"{source} and {target}" for source, target in self.sides)
        self.starts: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[Pair]:
        line = 0
        for number, (source, target) in enumerate(self.sides):
            if number == len(self.starts):
                self.starts.append((line, str(source)))
            for one, other in zip_longest(lines_of(source), lines_of(target)):
                if one is None or other is None:
                    counts = [sum(1 for _ in lines_of(path)) for path in (source, target)]
                    raise DataError(
                        f"{source} has {counts[0]} lines and {target} has {counts[1]}, but "
                        "parallel files have equally many."
                    )
                line += 1
                yield Pair(line, one, other)

    def parts(self) -> tuple[object, ...]:
        return ()


def read_parallel(source: Path, target: Path) -> ParallelText:
    """Two files whose lines belong together. Raises DataError where their numbers differ."""
    return AlignedFiles([source], [target]).as_text()
