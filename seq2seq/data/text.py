"""Reading text files by one rule: UTF-8, and a line ends at `\\n` alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from seq2seq.data.compressed import opened
from seq2seq.errors import DataError


@dataclass(frozen=True)
class ParallelText:
    """N sentence pairs in order.

    Attributes:
        source: N sentences.
        target: N sentences.
        origin: where they come from, for messages.
    """

    source: list[str]
    target: list[str]
    origin: str

    def __len__(self) -> int:
        return len(self.source)


_OTHER_KINDS = {
    b"\x1f\x8b": "a gzip file (one is unpacked if its name ends in .gz)",
    b"BZh": "a bzip2 file (one is unpacked if its name ends in .bz2)",
    b"\xfd7zXZ": "an xz file (one is unpacked if its name ends in .xz)",
    b"\x28\xb5\x2f\xfd": "a Zstandard file (one is unpacked if its name ends in .zst)",
    b"\xff\xfe": "UTF-16 (convert it with `iconv -f UTF-16 -t UTF-8`)",
    b"\xfe\xff": "UTF-16 (convert it with `iconv -f UTF-16 -t UTF-8`)",
}


def iterate_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """The lines of UTF-8 bytes, one after another, a byte order mark dropped.

    Only `\\n` ends a line, and a `\\r` before it is dropped: `str.splitlines` would also split at
    U+2028, U+0085 or a form feed and shift every line below. Raises DataError with line and byte.
    """
    for number, raw in enumerate(file, start=1):
        if number == 1:
            for mark, kind in _OTHER_KINDS.items():
                if raw.startswith(mark):
                    raise DataError(f"{name} is not UTF-8 text, but {kind}.")
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"{name}, line {number}, byte {error.start + 1} is not UTF-8 "
                f"(0x{raw[error.start]:02x}). Convert the file, for example with `iconv -f LATIN1 "
                "-t UTF-8`."
            ) from None
        if number == 1:
            line = line.removeprefix("\ufeff")
        if line:
            yield line.removesuffix("\n").removesuffix("\r")


def lines_of(path: Path) -> Iterator[str]:
    """The lines of a file, plain or compressed (by its name's end), as they are read.

    Raises DataError, at the first line or at any later one.
    """
    with opened(path) as file:
        yield from iterate_lines(file, str(path))


def read_lines(path: Path) -> list[str]:
    """All lines of a file. Raises DataError."""
    return list(lines_of(path))


def folded(text: str) -> str:
    """What texts have in common that differ by case, white space or form of characters alone."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])")  # noqa: RUF001


def sentences_of(text: str) -> list[str]:
    """A text cut behind marks that end a sentence: its parts without the white space between."""
    parts, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        parts.append(text[start : end.end()].strip())
        start = end.end()
    parts.append(text[start:].strip())
    return [one for one in parts if one] or [text]
