"""Two systems side by side, against counting by hand."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

import pytest

from seq2seq.data.text import ParallelText
from seq2seq.evaluation.comparison import Group, compare, nearness, rarity
from seq2seq.evaluation.comparison_page import page
from seq2seq.evaluation.metrics import all_scores, bleu, chrf_of_one, p_values

SOURCES = [
    "a b c d",
    "a b c d e f g h i j",
    "x y z",
    "a b <script> & c",
    "a b c d e f g h i j k l m n o p q r s t",
    "a",
]
RIGHT = [
    "ein bett",
    "er lief durch den wald nach haus",
    "xyz",
    "<b> & so",
    "lang " * 19 + "aus",
    "a",
]
ONE = ["ein bett", "er lief durch den wald", "uvw", "<b> & so", "lang " * 10, "a"]
OTHER = ["ein brett", "er lief durch den wald nach haus", "xyz", "<i> und so", "lang " * 18, "a"]
PAIRS = ParallelText(SOURCES, RIGHT, "here")


@pytest.fixture(scope="module")
def found():
    return compare(("one", "other"), (ONE, OTHER), PAIRS, ["a b c d", "a b c", "x q"])


def test_scores_and_chances_are_those_of_the_systems(found):
    assert found.scores == (all_scores(ONE, RIGHT), all_scores(OTHER, RIGHT))
    systems = {"one": ONE, "other": OTHER}
    for test, ours in (("bs", found.bootstrap), ("ar", found.randomisation)):
        expected = p_values(systems, RIGHT, test=test)
        assert ours == {metric: of_them["other"] for metric, of_them in expected.items()}
    assert (found.num_sentences, found.num_equal) == (6, 1)


def test_groups_have_all_sentences_and_the_bleu_of_theirs(found):
    assert list(found.groups) == [
        "words of the source",
        "rarest source word in training",
        "nearest source in training",
    ]
    for groups in found.groups.values():
        assert sum(one.num_sentences for one in groups) == 6
    lengths = found.groups["words of the source"]
    assert [(one.name, one.num_sentences) for one in lengths] == [
        ("up to 8", 4), ("above 8, up to 11", 1), ("above 18", 1)
    ]  # fmt: skip
    rows = [0, 2, 3, 5]
    assert lengths[0].one == bleu([ONE[row] for row in rows], [RIGHT[row] for row in rows]).value
    assert lengths[1].other == pytest.approx(100)


def test_the_rarest_word_counts():
    training = ["a b", "a c", "a a A"]
    found = [name for _, name in rarity(["a", "a b", "a q", "A", ""], training)]
    assert found == ["2 to 5 times", "once", "unseen", "2 to 5 times", "unseen"]


def test_the_nearest_training_source_counts():
    training = ["a b c d", "e f", "a x y z"]
    sources = ["A b c d", "a b c q", "e g", "q r", "", *["e f"] * 200]
    found = [name for _, name in nearness(sources, training)]
    expected = []
    for source in sources:
        words = set(source.lower().split())
        shares = [
            2 * len(words & set(one.split())) / (len(words) + len(one.split())) for one in training
        ]
        expected.append(max(shares))
    assert expected[:5] == [1, 0.75, 0.5, 0, 0]
    assert found[:5] == [
        "above 90 %",
        "above 70 %, up to 90 %",
        "up to 50 %",
        "up to 50 %",
        "up to 50 %",
    ]
    assert Counter(found)["above 90 %"] == 201


def test_the_sentences_that_changed_most_come_first(found):
    gains = {
        row + 1: chrf_of_one(OTHER[row], RIGHT[row]) - chrf_of_one(ONE[row], RIGHT[row])
        for row in range(5)
    }
    order = sorted(gains, key=lambda line: -abs(gains[line]))
    assert [one.line for one in found.changed] == order
    assert [one.gain for one in found.changed] == pytest.approx([gains[line] for line in order])


def test_the_page_is_whole_and_shows_text_as_text(found):
    text = page(found)
    assert text.startswith("<!doctype html>") and text.endswith("</html>")
    assert "a b &lt;script&gt; &amp; c" in text and "<script" not in text
    assert "http" not in text.replace("http-equiv", "") and "src=" not in text
    assert "<mark>brett</mark>" in text and "<mark>bett</mark>" in text
    assert text.count("<article") == 5


def test_systems_are_named_in_full_once(found):
    text = page(replace(found, names=("runs/<a>/best", "runs/b/best")))
    title, body = text.split("</title>")
    assert "<dt>one</dt><dd>runs/&lt;a&gt;/best</dd><dt>other</dt><dd>runs/b/best</dd>" in body
    assert body.count("runs/b/best") == 1 and "runs/b/best" in title
    assert body.count("<dt>one</dt>") == 1 + len(found.changed)


def test_gains_go_right_and_losses_left_of_the_middle(found):
    groups = {"length": [Group("short", 3, 30.0, 35.0), Group("long", 2, 30.0, 5.0)]}
    text = page(replace(found, groups=groups))
    gain, loss = re.findall(r'<span class="(\w+)" style="width:([\d.]+%)">', text)
    assert gain == ("up", "25.0%") and loss == ("down", "50.0%")
