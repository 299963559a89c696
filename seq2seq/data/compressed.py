"""Opening files that may be compressed, told by the ends of their names."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from seq2seq.errors import DataError, DependencyError


def _open_zstd(path: Path) -> Any:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        module = importlib.import_module(name)
    except ImportError:
        raise DependencyError(
            f"{path} needs a package to be unpacked: pip install backports.zstd"
        ) from None
    return module.open(path, "rb")


_KINDS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    ".gz": ("gzip", gzip.open),
    ".bz2": ("bzip2", bz2.open),
    ".xz": ("xz", lzma.open),
    ".zst": ("Zstandard", _open_zstd),
}


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where its name ends in .gz, .bz2, .xz or .zst.

    Raises DataError where it cannot be read, also in the middle; DependencyError where there is
    nothing to unpack it with.
    """
    kind, open_it = _KINDS.get(path.suffix, ("", _open_plain))
    try:
        if kind and not path.stat().st_size:  # gzip would take it for an empty text
            raise EOFError
        with open_it(path) as file:
            yield file
    except OSError as error:
        if error.errno is not None:
            raise DataError(f"{path} cannot be read: {error.strerror}.") from None
        raise DataError(f"{path} is not a whole {kind} file.") from None
    except (EOFError, zlib.error, lzma.LZMAError):
        raise DataError(f"{path} is not a whole {kind} file.") from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # of a module that need not be there
            raise
        raise DataError(f"{path} is not a whole {kind} file.") from None


def _open_plain(path: Path) -> Any:
    return open(path, "rb")
