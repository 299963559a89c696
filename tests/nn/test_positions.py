"""Position encodings against their formulas."""

from __future__ import annotations

import math

import pytest
import torch

from seq2seq.errors import DataError, SettingsError
from seq2seq.nn.positions.learned import LearnedPositionsConfig
from seq2seq.nn.positions.none import NoPositionsConfig
from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig, sinusoids


def test_sinusoids_follow_the_paper():
    table = sinusoids(50, 6, dtype=torch.float64)
    for t in (0, 1, 7, 49):
        for i in range(3):
            angle = t / 10000 ** (2 * i / 6)
            assert float(table[t, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-12)
            assert float(table[t, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-12)


@pytest.mark.parametrize("recipe", [SinusoidalPositionsConfig(), LearnedPositionsConfig()])
def test_step_by_step_equals_all_at_once(recipe):
    positions = recipe.build(8)
    embedded = torch.randn(2, 5, 8)
    at_once = positions.add(embedded)
    steps = [positions.add(embedded[:, t : t + 1], start=t) for t in range(5)]
    torch.testing.assert_close(torch.cat(steps, 1), at_once)
    assert not torch.equal(at_once, embedded)


def test_none_changes_nothing():
    embedded = torch.randn(2, 5, 8)
    assert torch.equal(NoPositionsConfig().build(8).add(embedded), embedded)


def test_learned_positions_end_somewhere():
    positions = LearnedPositionsConfig(max_length=4).build(8)
    positions.add(torch.randn(1, 4, 8))
    with pytest.raises(DataError, match=r"of 5 tokens is longer than .*max_length, which is 4"):
        positions.add(torch.randn(1, 5, 8))


def test_sinusoids_need_an_even_width():
    with pytest.raises(SettingsError, match=r"embedding_dim` must be even .* but is 7"):
        SinusoidalPositionsConfig().build(7)
