"""Several models as one."""

from __future__ import annotations

import torch
from conftest import build_tiny_model, mask_of

from seq2seq.evaluation.ensemble import Ensemble
from seq2seq.search.beam import BeamConfig
from seq2seq.search.greedy import GreedyConfig


def models(count: int):
    found = []
    for seed in range(count):
        torch.manual_seed(seed)
        found.append(build_tiny_model().double())
    return found


def test_twice_the_same_model_is_that_model():
    (one,) = models(1)
    source, mask = torch.randint(4, 20, (4, 5)), mask_of([5, 1, 2, 3])
    for search in (GreedyConfig(), BeamConfig(n_best=2)):
        expected = search(one, source, mask)
        found = search(Ensemble([one, one]), source, mask)
        assert [[each.tokens for each in row] for row in found] == [
            [each.tokens for each in row] for row in expected
        ]


def test_probabilities_and_attention_are_the_models_mean():
    one, other = models(2)
    both = Ensemble([one, other])
    source, mask = torch.randint(4, 20, (4, 5)), mask_of([5, 1, 2, 3])
    target = torch.randint(4, 20, (4, 3))
    given = (source, mask, target)
    expected = (one.scores(*given).exp() + other.scores(*given).exp()) / 2
    scores = both.scores(*given)
    torch.testing.assert_close(scores.exp(), expected, rtol=0, atol=1e-12)
    state = both.start(both.encode(source, mask))
    for position, tokens in enumerate(target.unbind(1)):
        step_scores, state = both.step(tokens, state)
        torch.testing.assert_close(step_scores, scores[:, position], rtol=0, atol=1e-12)
    weights = (one.attention(*given) + other.attention(*given)) / 2
    torch.testing.assert_close(both.attention(*given), weights, rtol=0, atol=1e-12)
    assert both.attends and both.max_length is None
