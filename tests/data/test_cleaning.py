"""Filters of training pairs."""

from __future__ import annotations

import pytest

from seq2seq.data.base import Pair, Pairs
from seq2seq.data.cleaning import CleaningConfig, name_of
from seq2seq.errors import SettingsError


class Listed(Pairs):
    """Pairs that a test names."""

    origin = "a test"

    def __init__(self, *pairs: tuple[str, str]) -> None:
        self.given = pairs

    def __iter__(self):
        for line, both in enumerate(self.given, start=1):
            yield Pair(line, *both)

    def parts(self):
        return (self.given,)


PAIRS = Listed(
    ("a b c", "A B C"),
    ("  a b c ", "A B C"),
    ("e\u0301", "\ufb01n"),
    ("", "A"),
    ("a b c d e f g", "A B C D E F G"),
    ("a", "A B C D"),
    ("alike", "alike"),
    ("a b c", "A B C"),
    ("\u043f\u0440\u0438\u0432\u0435\u0442 a", "Hallo"),
    ("123 !", "123 ?"),
)


def left(**settings) -> list[int]:
    return [one.line for one in CleaningConfig(**settings).clean(PAIRS)]


def test_nothing_is_done_unless_it_is_asked_for():
    assert CleaningConfig().clean(PAIRS) is PAIRS
    with pytest.raises(SettingsError, match="`dropped` has no effect without a filter"):
        CleaningConfig(dropped="file")
    with pytest.raises(SettingsError, match="`min_words` of 3 must not be above max_words"):
        CleaningConfig(min_words=3, max_words=2)


@pytest.mark.parametrize(
    ("settings", "gone"),
    [
        ({"min_words": 1}, [4]),
        ({"min_words": 2}, [3, 4, 6, 7, 9]),
        ({"max_words": 6}, [5]),
        ({"max_words": 3}, [5, 6]),
        ({"max_ratio": 3.0}, [4, 6]),
        ({"max_ratio": 4.0}, [4]),
        ({"source_script": "latin"}, [9]),
        ({"source_script": "cyrillic"}, [1, 2, 3, 5, 6, 7, 8]),
        ({"target_script": "cyrillic"}, [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ({"no_copies": True}, [7]),
        ({"no_duplicates": True}, [8]),
        ({"no_duplicates": True, "strip": True}, [2, 8]),
        ({"no_duplicates": True, "max_words": 2}, [1, 2, 5, 6, 8]),
    ],
)
def test_each_filter_drops_what_it_says(settings, gone):
    assert left(**settings) == [one for one in range(1, 11) if one not in gone]


def test_text_is_normalised_before_it_is_judged():
    _, second, third, *_ = CleaningConfig(normalize="nfkc", strip=True).clean(PAIRS)
    assert second == Pair(2, "a b c", "A B C") and third == Pair(3, "\u00e9", "fin")
    assert [*CleaningConfig(normalize="nfc").clean(PAIRS)][2].target == "\ufb01n"


def test_what_goes_is_counted_and_told():
    cleaned = CleaningConfig(max_words=6, no_duplicates=True).clean(PAIRS)
    for _ in range(2):  # each time that they are gone through
        assert len([*cleaned]) == 8
        assert cleaned.num_dropped == {"max_words": 1, "no_duplicates": 1}
    assert [*cleaned.dropped()] == [
        {
            "line": 5,
            "filter": "max_words",
            "source": "a b c d e f g",
            "target": "A B C D E F G",
        },
        {"line": 8, "filter": "no_duplicates", "source": "a b c", "target": "A B C"},
    ]


def test_the_digest_is_of_the_pairs_and_the_filters_but_not_of_where_the_rest_goes():
    digests = [
        CleaningConfig(**settings).clean(PAIRS).digest()
        for settings in ({}, {"strip": True}, {"no_copies": True}, {"max_words": 3})
    ]
    assert len(set(digests)) == 4
    aside = CleaningConfig(max_words=3, dropped="x").clean(PAIRS)
    assert aside.digest() == digests[-1]


def test_scripts_are_told_by_the_names_of_letters():
    letters = {
        "z": "latin",
        "\u00df": "latin",
        "\uff21": "latin",  # full width
        "\u0436": "cyrillic",
        "\u4e2d": "cjk",
        "\u0639": "arabic",
        "\u3042": "hiragana",
    }
    assert {one: name_of(one) for one in letters} == letters
    japanese = Listed(
        ("\u6771\u4eac\u3078\u884c\u304f", "x"), ("\u4eba\u3005", "x"), ("Tokyo", "x")
    )
    for script, kept in (("japanese", [1, 2]), ("cjk", [1, 2]), ("latin", [3])):
        left = CleaningConfig(source_script=script).clean(japanese)
        assert [one.line for one in left] == kept
