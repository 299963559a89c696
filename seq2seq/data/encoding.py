"""Tokenizing many pairs, by several processes where that pays."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from seq2seq.data.base import Pairs
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import DataError
from seq2seq.tokenizers.base import TokenizerConfig, TokenizerPair

CHUNK = 1 << 13
"""Pairs that are encoded at a time."""
MANY = 1 << 17
"""Pairs from which on it pays to start other processes."""
MOST_PROCESSES = 8
"""That one which reads can keep busy; each has loaded torch."""


class Flat(NamedTuple):
    """Some sequences of ids, one behind another, and the length of each."""

    ids: NDArray[numpy.int32]
    lengths: NDArray[numpy.int64]


class Chunk(NamedTuple):
    """Some pairs: their lines, and both sides."""

    lines: NDArray[numpy.int64]
    source: Flat
    target: Flat


def flat(sequences: Sequence[Sequence[int]]) -> Flat:
    """Sequences in one array."""
    lengths = numpy.fromiter(map(len, sequences), numpy.int64, len(sequences))
    ids = numpy.fromiter(chain.from_iterable(sequences), numpy.int32, int(lengths.sum()))
    return Flat(ids, lengths)


Texts = tuple[list[int], list[str], list[str]]
"""Some pairs as they were read: their lines, and both sides."""


def encode(pairs: Pairs, vocabulary: Vocabulary, num_processes: int) -> Iterator[Chunk]:
    """The ids of all pairs, in their order; while some are tokenized, the next are read.

    Args:
        pairs: to encode.
        vocabulary: whose folder is read until the last pair is out.
        num_processes: that tokenize where there are `MANY` pairs; `MOST_PROCESSES` are enough.

    Raises:
        DataError: the pairs cannot be read, or a process died.
    """
    num_processes = min(num_processes, MOST_PROCESSES)
    rest = _texts(pairs)
    first = list(islice(rest, MANY // CHUNK)) if num_processes > 1 else []
    if num_processes == 1 or len(first) < MANY // CHUNK:
        for some in chain(first, rest):
            yield _encoded(vocabulary.tokenizers, *some)
        return
    context = get_context("spawn")  # torch's threads do not survive a fork
    started = (vocabulary.config, vocabulary.folder)
    workers = ProcessPoolExecutor(num_processes, context, _start, started)
    under_way: deque[Future[Chunk]] = deque()
    try:
        with workers, ThreadPoolExecutor(1) as reader:
            texts = chain(first, rest)
            coming = reader.submit(next, texts, None)
            while (read := coming.result()) is not None:
                coming = reader.submit(next, texts, None)
                under_way.append(workers.submit(_encode, *read))
                if len(under_way) > 2 * num_processes:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
    except BrokenProcessPool:
        raise DataError(
            f"{pairs.origin}: a process that tokenizes has died, of too little memory maybe. "
            "runtime.num_threads=1 does without others."
        ) from None


def _texts(pairs: Pairs) -> Iterator[Texts]:
    rest = iter(pairs)
    while some := list(islice(rest, CHUNK)):
        yield (
            [one.line for one in some],
            [one.source for one in some],
            [one.target for one in some],
        )


_own: list[TokenizerPair] = []
"""Of a process that tokenizes."""


def _start(config: TokenizerConfig, folder: Path) -> None:
    _own.append(TokenizerPair.load(config, folder))


def _encode(lines: list[int], sources: list[str], targets: list[str]) -> Chunk:
    """In a process that tokenizes."""
    return _encoded(_own[0], lines, sources, targets)


def _encoded(
    tokenizers: TokenizerPair, lines: list[int], sources: list[str], targets: list[str]
) -> Chunk:
    source, target = tokenizers.source.encode_all(sources), tokenizers.target.encode_all(targets)
    return Chunk(numpy.array(lines, dtype=numpy.int64), flat(source), flat(target))
