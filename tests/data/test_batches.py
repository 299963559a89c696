"""The tensors of a batch, to the number."""

from __future__ import annotations

import numpy
import pytest
import torch

from seq2seq.data.batches import EncodedPairs, pad
from seq2seq.data.ragged import Ragged
from seq2seq.data.text import ParallelText
from seq2seq.errors import DataError
from seq2seq.special_tokens import BOS, EOS, PAD
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.tokenizers.subword import SubwordConfig

PAIRS = EncodedPairs(
    Ragged.of([[5, 6, 7], [8], []]), Ragged.of([[9], [10, 11, 12], []]), numpy.array([1, 2, 3])
)


def test_a_batch_is_exactly_this():
    batch = PAIRS.batch([1, 0])
    assert batch.source.tolist() == [[8, PAD, PAD], [5, 6, 7]]
    assert batch.source_mask.tolist() == [[True, False, False], [True, True, True]]
    assert batch.target_input.tolist() == [[BOS, 10, 11, 12], [BOS, 9, PAD, PAD]]
    assert batch.target_output.tolist() == [[10, 11, 12, EOS], [9, EOS, PAD, PAD]]
    assert batch.target_mask.tolist() == [[True] * 4, [True, True, False, False]]
    assert batch.source.dtype == batch.target_input.dtype == torch.long
    assert batch.source_mask.dtype == batch.target_mask.dtype == torch.bool
    assert batch.num_tokens == 6
    assert PAIRS.lengths.tolist() == [[3, 2], [1, 4], [0, 1]]
    assert PAIRS.num_tokens([0, 1]) == 6
    assert len(PAIRS) == 3


def test_an_empty_side_still_has_a_position():
    batch = PAIRS.batch([2])
    assert batch.source.tolist() == [[PAD]]
    assert batch.source_mask.tolist() == [[False]]
    assert batch.target_input.tolist() == [[BOS]]
    assert batch.target_output.tolist() == [[EOS]]
    beside = PAIRS.batch([2, 1])
    assert beside.source.tolist() == [[PAD], [8]]
    assert beside.source_mask.tolist() == [[False], [True]]


def test_a_batch_moves_with_all_its_tensors():
    batch = PAIRS.batch([0, 1])
    moved = batch.to(torch.device("meta"))
    tensors = [one for one in vars(moved).values() if isinstance(one, torch.Tensor)]
    assert len(tensors) == 5 and all(one.is_meta for one in tensors)


def test_padding_gives_ids_and_their_mask():
    ids, mask = pad([[4, 5], [6], []])
    assert ids.tolist() == [[4, 5], [6, PAD], [PAD, PAD]]
    assert mask.tolist() == [[True, True], [True, False], [False, False]]


def test_encoding_adds_neither_bos_nor_eos():
    text = ParallelText(["a b", "b"], ["c", "c d c"], "here")
    tokenizers = TokenizerPair.train(SubwordConfig(vocabulary_size=12), text.source, text.target)
    pairs = EncodedPairs.encode(text, tokenizers)
    source, target = ([ids.tolist() for ids in side] for side in (pairs.source, pairs.target))
    assert source == [tokenizers.source.encode(one) for one in text.source]
    assert target == [tokenizers.target.encode(one) for one in text.target]
    assert not {PAD, BOS, EOS} & {one for ids in source + target for one in ids}


def test_a_pair_without_text_on_a_side_is_left_out_as_a_pair_and_counted():
    text = ParallelText(["a b", " ", "b", "c"], ["c", "d", "", "d"], "here")
    tokenizers = TokenizerPair.train(SubwordConfig(vocabulary_size=12), text.source, text.target)
    pairs = EncodedPairs.encode(text, tokenizers)
    assert (len(pairs), pairs.lines.tolist(), pairs.num_left_out) == (2, [1, 4], 2)
    expected = [tokenizers.target.encode("c"), tokenizers.target.encode("d")]
    assert [ids.tolist() for ids in pairs.target] == expected
    with pytest.raises(DataError, match="here: no pair has text on both sides"):
        EncodedPairs.encode(ParallelText(["a", ""], ["", "b"], "here"), tokenizers)
