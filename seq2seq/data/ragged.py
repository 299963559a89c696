"""Sequences of different lengths in one array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from seq2seq.data.on_disk import OnDisk

Ids = Sequence[int] | NDArray[Any]
STEP = 1 << 20
"""How much of an array, which may be a large file, is worked on at a time."""


class Ragged:
    """N sequences of ids, one behind another, in memory or in files.

    Attributes:
        values: the ids of all of them.
        ends: (N,), where each ends in `values`.
    """

    def __init__(self, values: NDArray[Any] | OnDisk, ends: NDArray[numpy.int64]) -> None:
        self.values = values
        self.ends = ends

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> Ragged:
        """The same in memory."""
        found = [numpy.asarray(one, dtype=numpy.int32) for one in sequences]
        ends = numpy.cumsum([len(one) for one in found], dtype=numpy.int64)
        return cls(numpy.concatenate(found) if found else numpy.empty(0, numpy.int32), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> NDArray[Any]:
        start = self.ends[index - 1] if index else 0
        ids: NDArray[Any] = self.values[start : self.ends[index]]
        return ids

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self[index] for index in range(len(self)))

    @property
    def lengths(self) -> NDArray[Any]:
        """(N,): of each sequence, in 16 bits where that is enough."""
        found = numpy.empty(len(self), numpy.int32)
        for at in range(0, len(self), STEP):
            before = self.ends[at - 1] if at else 0
            found[at : at + STEP] = numpy.diff(self.ends[at : at + STEP], prepend=before)
        return found.astype(numpy.uint16) if found.max(initial=0) < (1 << 16) - 1 else found

    def share_of(self, wanted: int) -> float:
        """Of all ids, those that are one; counted some at a time, since files may be large."""
        places = range(0, len(self.values), STEP)
        found = sum(int((self.values[at : at + STEP] == wanted).sum()) for at in places)
        return found / max(1, len(self.values))
