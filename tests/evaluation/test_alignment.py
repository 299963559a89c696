"""Attention as alignment: hand examples."""

from __future__ import annotations

import pytest
import torch

from seq2seq.evaluation.alignment import alignment_error_rate, peaks


def test_peaks_link_each_target_position_to_its_largest_weight():
    weights = torch.tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2], [0.0, 0.9, 0.1]])
    assert peaks(weights) == {(1, 0), (0, 1), (1, 2)}
    assert peaks(weights[:, :1]) == {(0, 0), (0, 1), (0, 2)}
    assert peaks(weights[:0]) == set()


GOLD = {(0, 0), (1, 1), (2, 2)}


@pytest.mark.parametrize(
    ("pairs", "rate"),
    [
        ([(GOLD, GOLD)], 0),
        ([({(0, 1), (1, 2)}, GOLD)], 1),
        ([({(0, 0), (1, 1)}, GOLD)], 1 - 2 * 2 / 5),  # precise, and one link short
        ([({(0, 0), (1, 1), (2, 2), (2, 3)}, GOLD)], 1 - 2 * 3 / 7),
        ([(set(), GOLD)], 1),
        ([({(0, 0)}, set())], 1),
        ([], 0),
        ([(set(), set())], 0),
        # Links are counted over all sentences, not averaged by sentence.
        ([(GOLD, GOLD), ({(1, 0)}, {(0, 0)})], 1 - 2 * 3 / 8),
        ([(GOLD, GOLD), (set(), set())], 0),
    ],
)
def test_alignment_error_rate(pairs, rate):
    assert alignment_error_rate(iter(pairs)) == pytest.approx(rate)
