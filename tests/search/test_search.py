"""Greedy and beam search against exhaustive search on a tiny vocabulary."""

from __future__ import annotations

import itertools

import pytest
import torch
from conftest import build_tiny_model, mask_of

from seq2seq.models.interfaces import State
from seq2seq.search.base import Hypothesis
from seq2seq.search.beam import BeamConfig
from seq2seq.search.greedy import GreedyConfig
from seq2seq.special_tokens import BOS, EOS

LIMIT = 3


class TableModel:
    """Next-token probabilities by the last two tokens and the source: a model without a network."""

    max_length = None

    def __init__(self, vocabulary_size: int = 7, seed: int = 0) -> None:
        generator = torch.Generator().manual_seed(seed)
        size = (vocabulary_size,) * 4
        self.table = torch.randn(*size, generator=generator, dtype=torch.float64) * 2

    def encode(self, source, source_mask):
        return source[:, 0]

    def start(self, memory):
        return State(fixed=(memory,), moving=(torch.zeros_like(memory),))

    def step(self, tokens, state):
        logits = self.table[state.fixed[0], state.moving[0], tokens]
        return logits, State(state.fixed, (tokens,))


def exhaustive(model: TableModel, source: int, length_penalty: float) -> Hypothesis:
    """The best complete hypothesis of at most LIMIT tokens, by trying all."""
    words = [one for one in range(model.table.shape[-1]) if one > EOS]
    best = None
    for length in range(LIMIT + 1):
        for tokens in itertools.product(words, repeat=length):
            history, total = [0, BOS], 0.0
            for token in (*tokens, EOS):
                logits = model.table[source, history[-2], history[-1]]
                total += float(logits.log_softmax(-1)[token])
                history.append(token)
            score = total / (length + 1) ** length_penalty
            if best is None or score > best.score:
                best = Hypothesis(list(tokens), total, score, True)
    return best


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_equals_exhaustive_search(length_penalty, seed):
    model = TableModel(seed=seed)
    source = torch.arange(3, 7)[:, None]
    search = BeamConfig(
        beam_size=64,
        length_penalty=length_penalty,
        max_length_ratio=0.0,
        max_length_extra=LIMIT,
    )
    found = search(model, source, torch.ones_like(source, dtype=torch.bool))
    for row, hypothesis in zip(source[:, 0].tolist(), found, strict=True):
        expected = exhaustive(model, row, length_penalty)
        assert hypothesis.tokens == expected.tokens
        assert hypothesis.score == pytest.approx(expected.score, abs=1e-9)
        assert hypothesis.is_complete


@pytest.mark.parametrize("limit", [0, 1, 4, 30])
def test_a_beam_of_one_equals_greedy(limit):
    source = torch.arange(3, 7)[:, None]
    mask = torch.ones_like(source, dtype=torch.bool)
    settings = {"max_length_ratio": 0.0, "max_length_extra": limit}
    for seed in range(10):
        model = TableModel(seed=seed)
        greedy = GreedyConfig(**settings)(model, source, mask)
        beam = BeamConfig(beam_size=1, length_penalty=0.0, **settings)(model, source, mask)
        for one, other in zip(greedy, beam, strict=True):
            assert one.tokens == other.tokens
            assert len(one.tokens) <= limit
            assert one.is_complete == other.is_complete
            assert one.log_probability == pytest.approx(other.log_probability, abs=1e-9)


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(), BeamConfig(length_penalty=0.3)])
def test_neighbours_order_and_padding_never_matter(search):
    model = build_tiny_model().double()
    source, mask = torch.randint(4, 20, (6, 5)), mask_of([5, 1, 2, 3, 4, 5])
    together = search(model, source, mask)
    wide = torch.cat((source, torch.randint(4, 20, (6, 3))), 1)
    padded = search(model, wide, torch.cat((mask, torch.zeros(6, 3, dtype=torch.bool)), 1))
    backwards = search(model, source.flip(0), mask.flip(0))[::-1]
    for row in range(6):
        length = int(mask[row].sum())
        alone = search(model, source[row : row + 1, :length], mask[row : row + 1, :length])[0]
        for other in (padded[row], backwards[row], alone):
            assert other.tokens == together[row].tokens
            assert other.score == pytest.approx(together[row].score, abs=1e-9)


def test_scores_are_those_of_a_teacher_forced_pass():
    model = build_tiny_model().double()
    source, mask = torch.randint(4, 20, (4, 5)), mask_of([5, 1, 2, 3])
    for search in (GreedyConfig(), BeamConfig()):
        for row, found in enumerate(search(model, source, mask)):
            ends = [EOS] if found.is_complete else []
            target = torch.tensor([[BOS, *found.tokens, *ends]])
            hidden = model(source[row : row + 1], mask[row : row + 1], target[:, :-1]).hidden
            scores = model.project(hidden).log_softmax(-1)
            total = scores[0].gather(1, target[0, 1:, None]).sum()
            assert found.log_probability == pytest.approx(float(total), abs=1e-9)
