"""Training pairs that are encoded once and kept in the cache."""

from __future__ import annotations

import shutil
import sys
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from itertools import islice, tee
from pathlib import Path

import numpy
import torch
from tqdm import tqdm

from seq2seq.data.base import Pairs, digest_of
from seq2seq.data.batches import EncodedPairs, PairsOf
from seq2seq.data.batching.base import epoch_seed
from seq2seq.data.cache import aside, cache_folder, place_of, put
from seq2seq.data.encoding import CHUNK, Chunk, encode, flat
from seq2seq.data.mapped import read_pairs, write_pairs
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import DataError
from seq2seq.tokenizers.base import TokenizerPair

FORMAT = 1


def stored(pairs: Pairs, vocabulary: Vocabulary) -> EncodedPairs:
    """The encoded pairs, from the cache where they were encoded before.

    Raises:
        DataError: the pairs cannot be read or change meanwhile, none has text on both sides, or
            there is no room.
    """
    stamp = pairs.stamp()
    folder = place_of("encoded", digest_of(FORMAT, pairs.digest(), vocabulary.digest()))
    if found := read_pairs(folder):
        return found
    chunks = _shown(encode(pairs, vocabulary, torch.get_num_threads()))
    try:
        part = aside(folder)
    except OSError as error:
        print(f"{folder.parent} cannot be written ({error.strerror}): not kept.", file=sys.stderr)
        return _scratch(pairs, chunks, vocabulary.tokenizers)
    try:
        found = _write(part, pairs, chunks, vocabulary.tokenizers)
        pairs.check_unchanged(stamp)
        put(part, folder, is_damaged=folder.exists() and read_pairs(folder) is None)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return found


def _shown(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    with tqdm(unit=" pairs", desc="encoding", disable=None) as bar:
        for chunk in chunks:
            yield chunk
            bar.update(len(chunk.lines))


def sampled(pairs: Pairs, tokenizers: TokenizerPair, seed: int) -> EncodedPairs:
    """The pairs cut as `seed` draws it, in files that go with the object. Raises DataError."""

    def chunks() -> Iterator[Chunk]:
        lines, sources, targets = tee(pairs, 3)  # gone through side by side: little is held
        source = tokenizers.source.sample((one.source for one in sources), 2 * seed)
        target = tokenizers.target.sample((one.target for one in targets), 2 * seed + 1)
        while some := [one.line for one in islice(lines, CHUNK)]:
            sides = (flat([*islice(side, len(some))]) for side in (source, target))
            yield Chunk(numpy.array(some, dtype=numpy.int64), *sides)

    return _scratch(pairs, chunks(), tokenizers)


def pairs_by_epoch(
    pairs: Pairs, encoded: EncodedPairs, tokenizers: TokenizerPair, seed: int
) -> PairsOf:
    """The training pairs of each epoch: the encoded ones, or cut anew where tokenizers sample.

    The latter raises DataError where the text has changed since.
    """
    if not tokenizers.samples:
        return lambda epoch: encoded
    stamp = pairs.stamp()

    def of(epoch: int) -> EncodedPairs:
        pairs.check_unchanged(stamp)
        return sampled(pairs, tokenizers, epoch_seed(seed, epoch))

    return of


def longest_of(pairs: Pairs, tokenizers: TokenizerPair) -> EncodedPairs:
    """The pairs with the longest sides that `sampled` can give. Raises DataError."""
    found: list[tuple[int, list[int], list[int]]] = []
    for line, one, other in pairs:
        source, target = tokenizers.source.finest(one), tokenizers.target.finest(other)
        if source and target:
            found.append((line, source, target))
            longest = max(found, key=lambda pair: len(pair[1]))
            found = [longest, max(found, key=lambda pair: len(pair[2]))]
    return EncodedPairs.of(found)


def _scratch(pairs: Pairs, chunks: Iterable[Chunk], tokenizers: TokenizerPair) -> EncodedPairs:
    """Encoded pairs in files that go with the object, whatever happens to this process."""
    place = cache_folder() / "scratch"
    try:
        part = aside(place)
    except OSError:
        part = Path(tempfile.mkdtemp(prefix="seq2seq-"))
    try:
        found = _write(part, pairs, chunks, tokenizers)
    finally:  # files that are mapped stay until they are let go, but under Windows
        shutil.rmtree(part, ignore_errors=True)
    weakref.finalize(found, shutil.rmtree, part, ignore_errors=True)
    return found


def _write(
    folder: Path, pairs: Pairs, chunks: Iterable[Chunk], tokenizers: TokenizerPair
) -> EncodedPairs:
    """Writes encoded pairs into a folder and maps them. Raises DataError."""
    sizes = {"source": tokenizers.source.vocabulary_size}
    sizes["target"] = tokenizers.target.vocabulary_size
    try:
        write_pairs(folder, chunks, sizes, pairs.num_dropped)
    except OSError as error:
        raise DataError(
            f"{folder} cannot be written ({error.strerror}). Make room there, or name another "
            "folder in SEQ2SEQ_CACHE."
        ) from None
    found = read_pairs(folder)
    assert found is not None, "it was written just now"
    if not len(found):
        raise DataError(f"{pairs.origin}: no pair has text on both sides.")
    return found
