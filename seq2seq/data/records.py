"""Corpora of files that hold both sides."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

from seq2seq.data.base import Pair, Pairs, Split
from seq2seq.data.cut import CuttableConfig
from seq2seq.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class RecordsConfig(CuttableConfig, ABC):
    """Files of records, each a sentence and its translation; plain, .gz, .bz2, .xz or .zst.

    Attributes:
        train: files to learn from.
        validation: a file that chooses the best checkpoint; null where there is none.
        test: a file that judges the end result; null where there is none.
    """

    train: tuple[str, ...]
    validation: str | None = None
    test: str | None = None

    is_text: ClassVar[bool] = True
    """Whether its files are lines of UTF-8."""

    @abstractmethod
    def records(self, path: Path) -> Iterator[Pair]:
        """The records of a file, each with its line. Raises DataError, at any of them."""

    def check(self) -> None:
        super().check()
        if not self.train:
            raise SettingsError("train", "names no file. Give at least one.")

    def has(self, split: Split) -> bool:
        return getattr(self, split) is not None

    def given(self, split: Split) -> Pairs | None:
        if split == "train":
            return Records(self, [*map(Path, self.train)])
        path = getattr(self, split)
        return None if path is None else Records(self, [Path(path)])


class Records(Pairs):
    """The records of some files, one file after another; each is one line, whatever it held."""

    def __init__(self, config: RecordsConfig, paths: Sequence[Path]) -> None:
        self.config, self.paths = config, paths
        self.texts = paths if config.is_text else ()
        self.origin = ", ".join(map(str, paths))
        self.starts: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[Pair]:
        line = 0
        for index, path in enumerate(self.paths):
            before = line
            if index == len(self.starts):
                self.starts.append((before, str(path)))
            for number, source, target in self.config.records(path):
                line = before + number
                yield Pair(line, one_line(source), one_line(target))

    def parts(self) -> tuple[object, ...]:
        """How a record is read; not which files there are beside these."""
        others = {field.name for field in fields(RecordsConfig)}
        chosen = [field.name for field in fields(self.config) if field.name not in others]
        return tuple((name, getattr(self.config, name)) for name in chosen)


def one_line(text: str) -> str:
    """A text with each run of line ends in it made a space."""
    return re.sub(r"[\r\n]+", " ", text) if "\n" in text or "\r" in text else text
