"""The user's own parallel files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seq2seq.data.base import DataConfig, Split
from seq2seq.data.text import ParallelText, read_parallel
from seq2seq.errors import DataError, SettingsError


@dataclass(frozen=True, kw_only=True)
class FilesConfig(DataConfig):
    """Two line-aligned text files for each split, plain or `.gz`.

    Attributes:
        train_source: sentences to learn from, one a line.
        train_target: their translations.
        validation_source: sentences that choose the best checkpoint.
        validation_target: their translations.
        test_source: sentences that judge the end result; null where there are none.
        test_target: their translations.
    """

    train_source: str
    train_target: str
    validation_source: str
    validation_target: str
    test_source: str | None = None
    test_target: str | None = None

    def check(self) -> None:
        if (self.test_source is None) != (self.test_target is None):
            raise SettingsError("test_source", "and test_target go together: give both or none.")

    def has_test(self) -> bool:
        return self.test_source is not None

    def read(self, split: Split) -> ParallelText:
        source, target = getattr(self, f"{split}_source"), getattr(self, f"{split}_target")
        if source is None or target is None:
            raise DataError("There is no test split: set data.test_source and data.test_target.")
        return read_parallel(Path(source), Path(target))
