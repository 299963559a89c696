"""Plans of an epoch: each pair once, within the budget, little padding, an order by the seed."""

from __future__ import annotations

import numpy
import pytest
import torch

from seq2seq.data.batches import EncodedPairs
from seq2seq.data.batching import token_budget
from seq2seq.data.batching.base import epoch_generator
from seq2seq.data.batching.token_budget import TokenBudgetConfig
from seq2seq.data.multi30k import Multi30kConfig
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.tokenizers.subword import SubwordConfig

LENGTHS = numpy.array([(length * 7 % 13 + 1, length * 5 % 17 + 1) for length in range(500)])


def planned(batching, lengths, seed=1, epoch=0) -> list[list[int]]:
    plan = batching.plan(numpy.asarray(lengths), epoch_generator(seed, epoch))
    return [batch.tolist() for batch in plan]


@pytest.mark.parametrize("max_tokens", [1, 17, 64, 1000, 10**6])
@pytest.mark.parametrize("max_sentences", [1, 3, 1000])
@pytest.mark.parametrize("sorted_at_once", [64, 1 << 20])
def test_each_pair_comes_once_and_the_budget_is_kept(
    max_tokens, max_sentences, sorted_at_once, monkeypatch
):
    monkeypatch.setattr(token_budget, "SORTED_AT_ONCE", sorted_at_once)
    batching = TokenBudgetConfig(max_tokens=max_tokens, max_sentences=max_sentences)
    plan = planned(batching, LENGTHS)
    assert sorted(index for batch in plan for index in batch) == list(range(len(LENGTHS)))
    for batch in plan:
        padded = len(batch) * max(LENGTHS[index][1] for index in batch)
        assert padded <= max_tokens or len(batch) == 1
        assert 1 <= len(batch) <= max_sentences


def test_a_sentence_beyond_the_budget_is_alone():
    lengths = [(3, 3), (3, 50), (3, 3), (90, 2), (3, 10), (3, 11)]
    plan = planned(TokenBudgetConfig(max_tokens=10), lengths)
    assert sorted(sorted(batch) for batch in plan) == [[0, 2, 3], [1], [4], [5]]


def test_a_batch_is_filled_as_far_as_the_budget_goes():
    plan = planned(TokenBudgetConfig(max_tokens=20), [(1, 5)] * 10)
    assert sorted(len(batch) for batch in plan) == [2, 4, 4]
    assert planned(TokenBudgetConfig(), numpy.empty((0, 2), int)) == []


def test_seed_and_epoch_decide_the_plan():
    batching = TokenBudgetConfig(max_tokens=64)
    plan = planned(batching, LENGTHS, 3, 5)
    torch.rand(7)  # the global generator has no part in it
    assert planned(batching, LENGTHS, 3, 5) == plan
    for seed, epoch in ((3, 6), (4, 5), (0, 5), (5, 3)):
        other = planned(batching, LENGTHS, seed, epoch)
        assert other != plan
        assert sorted(map(sorted, other)) != sorted(map(sorted, plan))  # other neighbours, too


def test_neighbours_are_of_about_one_length_and_lengths_come_mixed():
    plan = planned(TokenBudgetConfig(max_tokens=64), LENGTHS)
    longest = [max(LENGTHS[index][1] for index in batch) for batch in plan]
    assert longest != sorted(longest) and longest != sorted(longest, reverse=True)
    for batch in plan:
        targets = [LENGTHS[index][1] for index in batch]
        assert max(targets) - min(targets) <= 2 or len(batch) > 20


def test_most_of_multi30ks_batches_are_real_tokens(multi30k):
    pairs = Multi30kConfig(root=str(multi30k)).read("train")
    tokenizers = TokenizerPair.train(
        SubwordConfig(vocabulary_size=4000), pairs.source, pairs.target
    )
    lengths = EncodedPairs.encode(pairs, tokenizers).lengths
    plan = planned(TokenBudgetConfig(), lengths)
    for side in (0, 1):
        real = sum(pair[side] for pair in lengths)
        padded = sum(len(batch) * max(lengths[index][side] for index in batch) for batch in plan)
        assert real / padded >= 0.9


@pytest.mark.parametrize("max_tokens", [1, 20, 300, 2048])
@pytest.mark.parametrize("max_sentences", [1, 7, 1000])
def test_the_plan_is_that_of_a_plain_loop(max_tokens, max_sentences):
    shuffled = torch.randperm(len(LENGTHS), generator=epoch_generator(4, 2)).tolist()
    batches, batch = [], []
    for index in sorted(shuffled, key=lambda one: (LENGTHS[one][1], LENGTHS[one][0])):
        size = len(batch) + 1
        if batch and (size * LENGTHS[index][1] > max_tokens or size > max_sentences):
            batches.append(batch)
            batch = []
        batch.append(index)
    batching = TokenBudgetConfig(max_tokens=max_tokens, max_sentences=max_sentences)
    assert sorted(planned(batching, LENGTHS, 4, 2)) == sorted([*batches, batch])
