"""What stands in place of <unk>."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from seq2seq.errors import DataError
from seq2seq.evaluation.unknown import read_lexicon, replaced
from seq2seq.search.interfaces import Hypothesis
from seq2seq.special_tokens import UNK


def translator_looking_at(*places: int):
    """What a translator offers here: step t looks at source position places[t]."""
    weights = torch.full((len(places) + 1, 4), 0.1)
    for step, place in enumerate(places):
        weights[step, place] = 0.7
    source = SimpleNamespace(surfaces=str.split)
    return SimpleNamespace(
        attention=lambda ids, tokens: weights, tokenizers=SimpleNamespace(source=source)
    )


@pytest.mark.parametrize(
    ("tokens", "translation", "places", "lexicon", "expected"),
    [
        ([7, UNK, 8], "a <unk> b", (0, 2, 3), {}, "a Ulm b"),
        ([UNK, 7, UNK], "<unk> a <unk>.", (3, 0, 1), {}, "here a lies."),
        ([UNK, UNK], "<unk> <unk>", (2, 3), {"here": "hier"}, "Ulm hier"),
        ([7, 8], "a b", (0, 1), {}, "a b"),
        ([7, UNK], "only words", (0, 1), {}, "only words"),  # not as it should be: left alone
    ],
)
def test_the_word_that_was_looked_at_is_copied_or_looked_up(
    tokens, translation, places, lexicon, expected
):
    hypothesis = Hypothesis(tokens, 0.0, 0.0, True)
    sentence = "there lies Ulm here"
    found = replaced(
        translator_looking_at(*places), sentence, [1, 2, 3, 4], hypothesis, translation, lexicon
    )
    assert found == expected


def test_a_lexicon_has_a_word_a_tab_and_a_translation_on_each_line(tmp_path):
    path = tmp_path / "lexicon"
    path.write_text("here\thier\nthere\tdort, da\nhere\tda\n", "utf-8")
    assert read_lexicon(path) == {"here": "hier", "there": "dort, da"}
    for wrong in ("here hier", "\thier", "here\t", ""):
        path.write_text(f"a\tb\n{wrong}\n", "utf-8")
        with pytest.raises(DataError, match=r"lexicon, line 2 is not a word, a TAB and its"):
            read_lexicon(path)
