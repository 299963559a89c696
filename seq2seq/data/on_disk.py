"""Whole numbers in a file, of which nothing is held that is not asked for."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from seq2seq.errors import DataError


class OnDisk:
    """The numbers of a file, read a slice at a time.

    Were the file mapped into memory, whatever was touched would count as memory of the process:
    after an epoch all of it.
    """

    def __init__(self, path: Path, code: str, count: int) -> None:
        """Opens a file of `count` numbers of numpy's kind `code`.

        Raises OSError, or ValueError where there are not so many.
        """
        self.path, self.dtype, self._count = path, numpy.dtype(code), count
        self._file = path.open("rb")  # moved or removed, it stays readable
        weakref.finalize(self, self._file.close)
        if (size := path.stat().st_size) != count * self.dtype.itemsize:
            raise ValueError(f"{path} has {size} bytes, which are not {count} numbers")

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, place: slice) -> NDArray[Any]:
        """The numbers of a slice without a step. Raises DataError where they are gone."""
        start, stop, _ = place.indices(self._count)
        size = self.dtype.itemsize
        self._file.seek(start * size)
        wanted = max(0, stop - start) * size
        if len(found := self._file.read(wanted)) < wanted:
            raise DataError(f"{self.path} was cut short meanwhile. Start again.")
        return numpy.frombuffer(found, self.dtype)
