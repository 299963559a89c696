"""Encoded pairs, and the tensors of a batch: the one place that adds BOS, EOS and padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2seq.data.batching.base import Lengths
from seq2seq.data.ragged import Ids, Ragged
from seq2seq.data.text import ParallelText
from seq2seq.errors import DataError
from seq2seq.special_tokens import BOS, EOS, PAD
from seq2seq.tokenizers.base import TokenizerPair


@dataclass(frozen=True)
class Batch:
    """Some pairs as tensors.

    Attributes:
        source: ids (B, S), padded.
        source_mask: bool (B, S), True at real tokens.
        target_input: ids (B, T): BOS, then the sentence.
        target_output: ids (B, T): the sentence, then EOS.
        target_mask: bool (B, T), True at real tokens, EOS among them.
    """

    source: Tensor
    source_mask: Tensor
    target_input: Tensor
    target_output: Tensor
    target_mask: Tensor

    @property
    def num_tokens(self) -> int:
        """Real target tokens, EOS counted."""
        return int(self.target_mask.sum())

    def to(self, device: torch.device) -> Batch:
        """The same batch on a device."""
        return Batch(
            source=self.source.to(device),
            source_mask=self.source_mask.to(device),
            target_input=self.target_input.to(device),
            target_output=self.target_output.to(device),
            target_mask=self.target_mask.to(device),
        )


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs as ids without BOS and EOS.

    A pair of which a side has no token (a blank line, or nothing but invisible characters) teaches
    nothing, and is left out as a pair.

    Attributes:
        source: ids of each source.
        target: ids of each target.
        lines: (N,), where each pair stood in its text, from 1.
        num_left_out: pairs without a token on some side.
        num_dropped: by filter, how many pairs cleaning has dropped before.
    """

    source: Ragged
    target: Ragged
    lines: NDArray[numpy.int64]
    num_left_out: int = 0
    num_dropped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, Sequence[int], Sequence[int]]]) -> EncodedPairs:
        """Some pairs, each with its line, in memory."""
        given = list(pairs)
        kept = [one for one in given if one[1] and one[2]]
        return cls(
            Ragged.of(source for _, source, _ in kept),
            Ragged.of(target for _, _, target in kept),
            numpy.array([line for line, _, _ in kept], dtype=numpy.int64),
            len(given) - len(kept),
        )

    @classmethod
    def encode(cls, pairs: ParallelText, tokenizers: TokenizerPair) -> EncodedPairs:
        """Tokenizes both sides. Raises DataError where no pair is left."""
        source, target = tokenizers.source, tokenizers.target
        found = cls.of(
            (line, source.encode(one), target.encode(other))
            for line, (one, other) in enumerate(
                zip(pairs.source, pairs.target, strict=True), start=1
            )
        )
        if not len(found):
            raise DataError(f"{pairs.origin}: no pair has text on both sides.")
        return found

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def lengths(self) -> Lengths:
        """Of each pair: source tokens, and target tokens with EOS."""
        return numpy.stack((self.source.lengths, self.target.lengths + 1), axis=1)

    def num_tokens(self, indices: Ids) -> int:
        """Target tokens of some pairs, EOS counted."""
        return int(self.lengths[indices, 1].sum())

    def batch(self, indices: Ids) -> Batch:
        """The tensors of some pairs."""
        source, source_mask = pad([self.source[index] for index in indices])
        targets = [self.target[index] for index in indices]
        target_input, target_mask = pad([[BOS, *target] for target in targets])
        target_output, _ = pad([[*target, EOS] for target in targets])
        return Batch(source, source_mask, target_input, target_output, target_mask)


PairsOf = Callable[[int], EncodedPairs]
"""The training pairs as the epoch of that number, from 0, sees them."""


def pad(sequences: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Sequences of ids as one tensor (B, longest) and its mask; at least one position wide."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    longest = max(1, int(lengths.max()))
    ids: NDArray[Any] = numpy.full((len(sequences), longest), PAD, dtype=numpy.int64)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(ids), torch.arange(longest) < lengths[:, None]
