"""What the report counts, and what it takes for a disease."""

from __future__ import annotations

import pytest

from seq2seq.evaluation.free_running import Counts, FreeRunning, diseases
from seq2seq.search.interfaces import Hypothesis
from seq2seq.special_tokens import UNK


def hypothesis(*tokens: int, is_complete: bool = True) -> Hypothesis:
    return Hypothesis(list(tokens), 0.0, 0.0, is_complete)


def test_counts_are_those_of_counting():
    found = Counts.of(
        [
            hypothesis(5, 6, 7, 8, 5, 6, 7, 8),
            hypothesis(5, 6, 7, 8, 5, 6, 7),
            None,
            hypothesis(),
            hypothesis(UNK, 5, UNK, is_complete=False),
            hypothesis(5, 5, 5, 5, 5, is_complete=False),
        ],
        num_errors=2,
    )
    assert found == Counts(5, cut=2, repeating=2, empty=1, unknown=2, tokens=23, errors=2)
    report = FreeRunning.of(found, ["a", "b", "", "", "b", "c"], 0.9, greedy_bleu=30.0)
    assert report == FreeRunning(0.9, 0.4, 0.4, 0.2, 2 / 6, 2 / 23, 30.0, 0.4)
    assert FreeRunning.of(found, ["a"], 0.9).search_errors is None
    assert FreeRunning.of(Counts(), [""], 0.0) == FreeRunning(0.0, 0, 0, 0, 0, 0)
    assert "greedy 30.00 (better in 40.0%)" in str(report)


FINE = FreeRunning(1.0, 0.0, 0.01, 0.0, 0.02, 0.0)
TEXTS = [f"sentence {number}" for number in range(20)]


@pytest.mark.parametrize(
    ("changes", "bleu", "accuracy", "texts", "expected"),
    [
        ({}, 30, 0.6, TEXTS, []),
        ({}, 0.5, 0.2, TEXTS, []),  # it has only begun
        ({}, 0.5, 0.6, TEXTS, ["Teacher forcing has 60% of the tokens right, but BLEU is 0.5"]),
        ({"same": 0.9}, 0.5, 0.6, TEXTS, ["90% of the translations are one sentence"]),
        ({"same": 1.0}, 30, 0.6, ["a"], []),
        ({"cut": 0.5}, 30, 0.6, TEXTS, ["50% of the translations do not end"]),
        ({}, 30, 0.6, [*TEXTS, "\u2581a"], ["The translations hold the subword marker"]),
        ({}, 30, 0.6, [*TEXTS, "sub@@ word"], ["The translations hold the subword marker '@@'"]),
    ],
)
def test_known_diseases_are_named(changes, bleu, accuracy, texts, expected):
    report = FreeRunning(**{**FINE.as_dict(), **changes})
    found = list(diseases(report, bleu, accuracy, texts))
    assert len(found) == len(expected)
    for one, start in zip(found, expected, strict=True):
        assert one.startswith(start)
