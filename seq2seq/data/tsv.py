"""Corpora of tab-separated columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from seq2seq.config import Count
from seq2seq.data.base import Pair
from seq2seq.data.records import RecordsConfig
from seq2seq.data.text import lines_of
from seq2seq.errors import DataError, SettingsError


@dataclass(frozen=True, kw_only=True)
class TsvConfig(RecordsConfig):
    """A record a line, its columns parted by tabs; a quotation mark is a character like others.

    Attributes:
        source_column: number, from 1, of the column with the sentences ...
        target_column: ... and of that with their translations.
        header: whether the first line names the columns.
    """

    source_column: Count = 1
    target_column: Count = 2
    header: bool = False

    def check(self) -> None:
        super().check()
        if self.source_column == self.target_column:
            raise SettingsError(
                "target_column",
                f"must not be source_column, but both are {self.source_column}.",
            )

    def records(self, path: Path) -> Iterator[Pair]:
        needed = max(self.source_column, self.target_column)
        for number, line in enumerate(lines_of(path), start=1):
            if self.header and number == 1:
                continue
            columns = line.split("\t")
            if len(columns) < needed:
                raise DataError(
                    f"{path}, line {number} has {len(columns)} columns parted by tabs, but column "
                    f"{needed} is wanted. Set data.source_column and data.target_column."
                )
            yield Pair(number, columns[self.source_column - 1], columns[self.target_column - 1])
