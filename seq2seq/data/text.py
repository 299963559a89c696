"""Reading text files by one rule: UTF-8, and a line ends at `\\n` alone."""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from pathlib import Path

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


def split_lines(text: str) -> list[str]:
    """The lines of a text. Only `\\n` ends a line, and a `\\r` before it is dropped.

    `str.splitlines` would also split at U+2028, U+0085 or a form feed and shift every line below.
    """
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


_OTHER_KINDS = {
    b"\x1f\x8b": "a gzip file (one is unpacked if its name ends in .gz)",
    b"\xff\xfe": "UTF-16 (convert it with `iconv -f UTF-16 -t UTF-8`)",
    b"\xfe\xff": "UTF-16 (convert it with `iconv -f UTF-16 -t UTF-8`)",
}


def decode(raw: bytes, name: str) -> str:
    """UTF-8 bytes as text, a byte order mark dropped. Raises DataError with line and byte."""
    if mark := next((kind for mark, kind in _OTHER_KINDS.items() if raw.startswith(mark)), None):
        raise DataError(f"{name} is not UTF-8 text, but {mark}.")
    try:
        return raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise DataError(
            f"{name}, line {line}, byte {column} is not UTF-8 (0x{raw[error.start]:02x}). Convert "
            "the file, for example with `iconv -f LATIN1 -t UTF-8`."
        ) from None


def read_lines(path: Path) -> list[str]:
    """The lines of a file, plain or gzip (by its name's end). Raises DataError."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    if path.suffix == ".gz":
        try:
            if not raw:  # gzip.decompress would take it for an empty text
                raise EOFError
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error):
            raise DataError(f"{path} is not a whole gzip file.") from None
    return split_lines(decode(raw, str(path)))


def read_parallel(source: Path, target: Path) -> ParallelText:
    """Two files whose lines belong together. Raises DataError where their numbers differ."""
    pairs = ParallelText(read_lines(source), read_lines(target), f"{source} and {target}")
    if len(pairs.source) != len(pairs.target):
        raise DataError(
            f"{source} has {len(pairs.source)} lines and {target} has {len(pairs.target)}, but "
            "parallel files have equally many."
        )
    return pairs
