"""English-French sentences of Tatoeba, as Dive into Deep Learning (Zhang et al. 2023) has them."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, cast

from seq2seq.data.base import Pair, Pairs, Split
from seq2seq.data.cache import cache_folder
from seq2seq.data.cut import CuttableConfig, Share
from seq2seq.data.download import fetch
from seq2seq.data.text import iterate_lines
from seq2seq.errors import DataError, SettingsError

ADDRESS = "http://d2l-data.s3-accelerate.amazonaws.com/fra-eng.zip"
SHA1 = "94646ad1522d915e7b0f9296181140edcf86a4f5"
"""As the book publishes it."""
INSIDE = "fra-eng/fra.txt"

BROKEN = (zlib.error, lzma.LZMAError)
"""What damage inside an archive raises."""

Language = Literal["en", "fr"]


@dataclass(frozen=True, kw_only=True)
class TatoebaConfig(CuttableConfig):
    """Short sentences and their translations, many of them with several; cut into splits here.

    Attributes:
        source: language to translate from.
        target: language to translate into.
        root: folder that holds the archive, or null: downloads into the cache.
    """

    source: Language = "en"
    target: Language = "fr"
    validation_share: Share = 0.01
    test_share: Share = 0.01
    root: str | None = None

    def check(self) -> None:
        super().check()
        if self.source == self.target:
            raise SettingsError(
                "target", f"must differ from the source, but both are {self.source}."
            )

    def has(self, split: Split) -> bool:
        return split == "train"

    def given(self, split: Split) -> Pairs | None:
        if split != "train":
            return None
        if self.root is None:
            advice = f"put {ADDRESS} into a folder and pass data.root=FOLDER"
            path = fetch(ADDRESS, SHA1, cache_folder() / "tatoeba", advice)
        else:
            path = Path(self.root) / "fra-eng.zip"
        return _Archive(path, is_reversed=self.source == "fr")


class _Archive(Pairs):
    """The one file inside, read in place: nothing is unpacked onto the disk."""

    def __init__(self, path: Path, *, is_reversed: bool) -> None:
        self.path, self.is_reversed = path, is_reversed
        self.paths = [path]
        self.origin = f"{path}, {INSIDE}"

    def __iter__(self) -> Iterator[Pair]:
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(INSIDE) as file:
                for number, line in enumerate(
                    iterate_lines(cast(BinaryIO, file), self.origin), start=1
                ):
                    columns = line.split("\t")
                    if len(columns) < 2:
                        raise DataError(f"{self.origin}, line {number} has no tab.")
                    both = columns[1::-1] if self.is_reversed else columns[:2]
                    yield Pair(number, *both)
        except (zipfile.BadZipFile, KeyError, EOFError, RuntimeError, *BROKEN):
            raise DataError(f"{self.path} is not the archive with {INSIDE} in it.") from None
        except OSError as error:
            reason = error.strerror or "it is damaged"
            raise DataError(f"{self.path} cannot be read: {reason}.") from None

    def parts(self) -> tuple[object, ...]:
        return (self.is_reversed,)
