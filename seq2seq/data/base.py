"""What every corpus offers."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from seq2seq.config import Config
from seq2seq.data.text import ParallelText
from seq2seq.errors import DataError

Split = Literal["train", "validation", "test"]


class Pair(NamedTuple):
    """A sentence and its translation.

    Attributes:
        line: where it stands in what it was read from, from 1; in several files, one after another.
        source: without the end of its line.
        target: likewise.
    """

    line: int
    source: str
    target: str


class Pairs(ABC):
    """The pairs of a split, read anew each time that they are gone through.

    Attributes:
        origin: where they come from, for messages.
        paths: of all files that they are read from ...
        texts: ... and of those of them that are lines of UTF-8.
        num_dropped: by filter, how many there were beside them when they were last gone through.
        starts: how many lines stand before each file that was opened so far, and its name.
    """

    origin: str
    paths: Sequence[Path] = ()
    texts: Sequence[Path] = ()
    num_dropped: Mapping[str, int] = MappingProxyType({})
    starts: Sequence[tuple[int, str]] = ()

    def place(self, line: int) -> int | str:
        """The line of a pair that was read, for messages: `file:line` where there are several."""
        if len(self.starts) < 2:
            return line
        before, name = self.starts[bisect_left(self.starts, (line,)) - 1]
        return f"{name}:{line - before}"

    @abstractmethod
    def __iter__(self) -> Iterator[Pair]:
        """All pairs in their order. Raises DataError, at the first or at any later one."""

    @abstractmethod
    def parts(self) -> tuple[object, ...]:
        """What the pairs depend on beside the content of their files, told apart by `repr`."""

    def digest(self) -> str:
        """What is the same for the same pairs alone. Raises DataError."""
        return digest_of(type(self).__name__, *self.parts(), self._sum_of_files)

    @cached_property
    def _sum_of_files(self) -> str:
        """SHA-256 of the content of all files; read once."""
        with ThreadPoolExecutor() as pool:  # summing leaves the interpreter's lock
            sums = [*pool.map(_sum_of, self.paths)]
        return hashlib.sha256(b"".join(sums)).hexdigest()

    def stamp(self) -> tuple[object, ...]:
        """What tells whether a file has changed since. Raises DataError."""
        try:
            found = [path.stat() for path in self.paths]
        except OSError as error:
            raise DataError(f"{error.filename} cannot be read: {error.strerror}.") from None
        return tuple((one.st_size, one.st_mtime_ns, one.st_ino) for one in found)

    def check_unchanged(self, stamp: tuple[object, ...]) -> None:
        """Raises DataError where a file has changed since a stamp was taken."""
        if self.stamp() != stamp:
            raise DataError(f"{self.origin} has changed while it was read. Start again.")

    def as_text(self) -> ParallelText:
        """All of them in memory."""
        sources, targets = [], []
        for _, source, target in self:
            sources.append(source)
            targets.append(target)
        return ParallelText(sources, targets, self.origin)


@dataclass(frozen=True, kw_only=True)
class DataConfig(Config, ABC):
    """Where parallel text comes from."""

    def has_test(self) -> bool:
        """Whether there is a test split."""
        return True

    @abstractmethod
    def pairs(self, split: Split) -> Pairs:
        """The pairs of one split. Raises DataError where they cannot be had."""

    def read(self, split: Split) -> ParallelText:
        """The pairs of one split in memory. Raises DataError where they cannot be had."""
        return self.pairs(split).as_text()


def digest_of(*parts: object) -> str:
    """SHA-256 of some values, in hexadecimal; their `repr` must tell them apart."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _sum_of(path: Path) -> bytes:
    """SHA-256 of a file. Raises DataError."""
    if path.exists() and not path.is_file():
        raise DataError(
            f"{path} is no regular file, and is read more than once: write it to the disk first."
        )
    try:
        about = path.stat()
        return _sum_of_content(path, about.st_size, about.st_mtime_ns, about.st_ino)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None


@lru_cache(1 << 10)
def _sum_of_content(path: Path, *stamp: int) -> bytes:
    """SHA-256 of a file: splits may come from the same one, which is read once for all of them."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.digest()
