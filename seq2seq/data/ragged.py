"""Sequences of different lengths in one array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

Ids = Sequence[int] | NDArray[Any]


class Ragged:
    """N sequences of ids, one behind another; the arrays may be files that are mapped into memory.

    Attributes:
        values: the ids of all of them.
        ends: (N,), where each ends in `values`.
    """

    def __init__(self, values: NDArray[Any], ends: NDArray[numpy.int64]) -> None:
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
    def lengths(self) -> NDArray[numpy.int64]:
        """(N,): of each sequence."""
        return numpy.diff(self.ends, prepend=0)

    def share_of(self, wanted: int) -> float:
        """Of all ids, those that are one; counted some at a time, since files may be large."""
        step = 1 << 20
        places = range(0, len(self.values), step)
        found = sum(int((self.values[at : at + step] == wanted).sum()) for at in places)
        return found / max(1, len(self.values))
