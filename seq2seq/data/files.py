"""The user's own parallel files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seq2seq.data.aligned import AlignedFiles
from seq2seq.data.base import Pairs, Split
from seq2seq.data.cut import CuttableConfig
from seq2seq.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class FilesConfig(CuttableConfig):
    """Two line-aligned text files for each split, or more for training.

    Plain, or compressed as .gz, .bz2, .xz or .zst.

    Attributes:
        train_source: files of sentences to learn from, one a line ...
        train_target: ... and as many files of their translations.
        validation_source: sentences that choose the best checkpoint; null where there are none.
        validation_target: their translations.
        test_source: sentences that judge the end result; null where there are none.
        test_target: their translations.
    """

    train_source: tuple[str, ...]
    train_target: tuple[str, ...]
    validation_source: str | None = None
    validation_target: str | None = None
    test_source: str | None = None
    test_target: str | None = None

    def check(self) -> None:
        super().check()
        if len(self.train_source) != len(self.train_target) or not self.train_source:
            raise SettingsError(
                "train_source",
                f"names {len(self.train_source)} files and train_target {len(self.train_target)}, "
                "but they go together, one for one.",
            )
        for split in ("validation", "test"):
            source, target = getattr(self, f"{split}_source"), getattr(self, f"{split}_target")
            if (source is None) != (target is None):
                raise SettingsError(
                    f"{split}_source", f"and {split}_target go together: give both or none."
                )

    def has(self, split: Split) -> bool:
        return getattr(self, f"{split}_source") is not None

    def given(self, split: Split) -> Pairs | None:
        if split == "train":
            sources, targets = self.train_source, self.train_target
        else:
            source, target = getattr(self, f"{split}_source"), getattr(self, f"{split}_target")
            if source is None or target is None:
                return None
            sources, targets = (source,), (target,)
        return AlignedFiles([*map(Path, sources)], [*map(Path, targets)])
