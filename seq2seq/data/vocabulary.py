"""Tokenizers that are trained once for a corpus and kept in the cache."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from seq2seq.data.base import Pair, Pairs, digest_of
from seq2seq.data.cache import aside, place_of, put
from seq2seq.errors import CheckpointError, DataError
from seq2seq.tokenizers.base import TokenizerConfig, TokenizerPair

FORMAT = 1


def make_vocabulary(config: TokenizerConfig, pairs: Pairs, folder: Path) -> None:
    """Puts tokenizers for some training pairs into an empty folder, as `TokenizerPair.load` reads.

    They come from the cache where the same were made before. Raises DataError or SettingsError.
    """
    stamp = pairs.stamp()
    key = digest_of(FORMAT, pairs.digest(), config, config.versions())
    kept = place_of("vocabularies", key)
    is_damaged = False
    if kept.is_dir():
        with suppress(CheckpointError, OSError):
            TokenizerPair.load(config, kept)
            shutil.copytree(kept, folder, dirs_exist_ok=True)
            return
        is_damaged = True
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    some = sample_of(pairs, config.num_pairs)
    if not any(one.source.strip() and one.target.strip() for one in some):
        raise DataError(f"{pairs.origin}: no pair has text on both sides.")
    sources, targets = [one.source for one in some], [one.target for one in some]
    TokenizerPair.train(config, sources, targets).save(folder)
    pairs.check_unchanged(stamp)
    with suppress(OSError):  # a cache that cannot be written does no harm
        part = aside(kept)
        shutil.copytree(folder, part, dirs_exist_ok=True)
        put(part, kept, is_damaged=is_damaged)
        shutil.rmtree(part, ignore_errors=True)


@dataclass(frozen=True)
class Vocabulary:
    """Tokenizers that are saved in a folder.

    Attributes:
        tokenizers: for both sides.
        config: that they were made by.
        folder: where they are saved.
    """

    tokenizers: TokenizerPair
    config: TokenizerConfig
    folder: Path

    @classmethod
    def load(cls, config: TokenizerConfig, folder: Path) -> Vocabulary:
        """What `make_vocabulary` has made, or a checkpoint kept. Raises CheckpointError."""
        return cls(TokenizerPair.load(config, folder), config, folder)

    def digest(self) -> str:
        """What is the same only for tokenizers that do the same."""
        files = sorted(one for one in self.folder.rglob("*") if one.is_file())
        sums = [
            (one.relative_to(self.folder).as_posix(), hashlib.sha256(one.read_bytes()).hexdigest())
            for one in files
        ]
        return digest_of(self.config, self.config.versions(), sums)


def sample_of(pairs: Pairs, count: int) -> list[Pair]:
    """So many pairs in their order, all with the same chance to be among them."""
    random, found = Random(1), []
    for number, one in enumerate(pairs):
        if number < count:
            found.append(one)
        elif (place := int(random.random() * (number + 1))) < count:
            found[place] = one
    return sorted(found)
