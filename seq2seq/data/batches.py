"""Encoded pairs, and the tensors of a batch: the one place that adds BOS, EOS and padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.data.batching.base import Lengths, epoch_seed
from seq2seq.data.text import ParallelText
from seq2seq.errors import DataError
from seq2seq.special_tokens import BOS, EOS, PAD
from seq2seq.tokenizers.base import TokenizerPair

Ids = Sequence[int]


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
        lines: where each pair stood in its text, from 1.
        num_left_out: pairs without a token on some side.
    """

    source: list[list[int]]
    target: list[list[int]]
    lines: list[int]
    num_left_out: int = 0

    @classmethod
    def encode(
        cls, pairs: ParallelText, tokenizers: TokenizerPair, *, finest: bool = False
    ) -> EncodedPairs:
        """Tokenizes both sides; `finest`: each sentence as long as `sample` can make it.

        Raises DataError where no pair is left.
        """
        source, target = (
            [one.finest(sentence) if finest else one.encode(sentence) for sentence in side]
            for one, side in ((tokenizers.source, pairs.source), (tokenizers.target, pairs.target))
        )
        return cls._of(pairs, source, target)

    @classmethod
    def sample(cls, pairs: ParallelText, tokenizers: TokenizerPair, seed: int) -> EncodedPairs:
        """The same, with sentences cut as `seed` draws it where the tokenizers do that."""
        source = tokenizers.source.sample(pairs.source, 2 * seed)
        target = tokenizers.target.sample(pairs.target, 2 * seed + 1)
        return cls._of(pairs, source, target)

    @classmethod
    def _of(
        cls, pairs: ParallelText, source: list[list[int]], target: list[list[int]]
    ) -> EncodedPairs:
        kept = [
            (*ids, line)
            for line, ids in enumerate(zip(source, target, strict=True), start=1)
            if all(ids)
        ]
        if not kept:
            raise DataError(f"{pairs.origin}: no pair has text on both sides.")
        sources, targets, lines = (list(column) for column in zip(*kept, strict=True))
        return cls(sources, targets, lines, len(pairs) - len(kept))

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> Lengths:
        """Of each pair: source tokens, and target tokens with EOS."""
        return [
            (len(source), len(target) + 1)
            for source, target in zip(self.source, self.target, strict=True)
        ]

    def num_tokens(self, indices: Iterable[int]) -> int:
        """Target tokens of some pairs, EOS counted."""
        return sum(len(self.target[index]) + 1 for index in indices)

    def batch(self, indices: Sequence[int]) -> Batch:
        """The tensors of some pairs."""
        source, source_mask = pad([self.source[index] for index in indices])
        targets = [self.target[index] for index in indices]
        target_input, target_mask = pad([[BOS, *target] for target in targets])
        target_output, _ = pad([[*target, EOS] for target in targets])
        return Batch(source, source_mask, target_input, target_output, target_mask)


PairsOf = Callable[[int], EncodedPairs]
"""The training pairs as the epoch of that number, from 0, sees them."""


def pairs_by_epoch(
    pairs: ParallelText, encoded: EncodedPairs, tokenizers: TokenizerPair, seed: int
) -> PairsOf:
    """The training pairs of each epoch: the encoded ones, or cut anew where tokenizers sample."""
    if not tokenizers.samples:
        return lambda epoch: encoded
    return lambda epoch: EncodedPairs.sample(pairs, tokenizers, epoch_seed(seed, epoch))


def pad(sequences: Sequence[Ids]) -> tuple[Tensor, Tensor]:
    """Sequences of ids as one tensor (B, longest) and its mask; at least one position wide."""
    longest = max(1, *(len(sequence) for sequence in sequences))
    ids = torch.full((len(sequences), longest), PAD, dtype=torch.long)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.tensor(sequence, dtype=torch.long)
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    return ids, torch.arange(longest) < lengths[:, None]
