"""Looking at a corpus: what is there is found, counted and named by its lines."""

from __future__ import annotations

import random

import numpy
import pytest
from test_cleaning import Listed

from seq2seq.data.aligned import AlignedFiles
from seq2seq.data.cleaning import CleaningConfig
from seq2seq.data.multi30k import Multi30kConfig
from seq2seq.data.preflight import look_at
from seq2seq.data.shift import BLOCK, shift_of
from seq2seq.data.tsv import TsvConfig


def found_in(report) -> dict[str, tuple[str, int, list]]:
    return {one.what: (one.level, one.count, one.lines) for one in report.findings}


def test_each_oddity_is_found_where_it_is():
    pairs = Listed(
        ("a\tb", "A\xa0B"),
        ("a\u200b", "\ufeffA"),
        ("a\x07\x85", "A\u2028B\u202fC"),
        (" a", "A "),
        ("e\u0301", "\ufffd"),
        ("", "A"),
        ("Same", "Same"),
        ("a b", "A B"),
        ("a b", "A B"),
        ("a b", "A"),
    )
    found = found_in(look_at({"train": pairs})["train"])
    assert found == {
        "source: control characters": ("warning", 1, [3]),
        "source: not in Unicode's form NFC": ("warning", 1, [5]),
        "target: replacement characters": ("warning", 1, [5]),
        "a side is blank: the pair is left out of training": ("warning", 1, [6]),
        "source: tabs": ("note", 1, [1]),
        "target: no-break spaces": ("note", 2, [1, 3]),
        "source: zero-width characters": ("note", 1, [2]),
        "target: zero-width characters": ("note", 1, [2]),
        "target: line or paragraph separators": ("note", 1, [3]),
        "source: white space at an end": ("note", 2, [3, 4]),  # U+0085 is some, too
        "target: white space at an end": ("note", 1, [4]),
        "both sides are alike": ("note", 1, [7]),
        "the pair was there before": ("note", 1, [9]),
        "the source was there before": ("note", 2, [9, 10]),
    }
    levels = [one.level for one in look_at({"train": pairs})["train"].findings]
    assert levels == sorted(levels, key=("error", "warning", "note").index)


def test_a_finding_counts_all_lines_and_names_the_first():
    found = look_at({"train": Listed(*[("a\tb", str(number)) for number in range(50)])})["train"]
    assert found_in(found)["source: tabs"] == ("note", 50, [1, 2, 3])
    assert found.num_pairs == 50


def test_overlap_is_of_sources_as_they_are_and_folded():
    splits = {
        "train": Listed(("A dog", "x"), ("a  DOG", "y"), ("a cat", "z"), ("a man", "w")),
        "validation": Listed(("a cat", "other")),
        "test": Listed(("a dog", "x"), ("a cat", "z")),
    }
    reports = look_at(splits)
    assert [*reports] == ["train", "validation", "test"]
    found = found_in(reports["train"])
    folded = "the source is in {}, too, but for case, white space or form of characters"
    assert found["the source is in validation, too"] == ("warning", 1, [3])
    assert found["the source is in test, too"] == ("warning", 1, [3])
    assert found[folded.format("test")] == ("warning", 2, [1, 2])
    assert found_in(reports["test"]) == {}


def test_lengths_are_told_by_percentiles():
    pairs = Listed(*((" ".join("a" * n), " ".join("b" * 2 * n)) for n in range(1, 102)), ("", "b"))
    words = look_at({"train": pairs})["train"].words
    assert words["source"] == {"least": 1, "1 %": 2, "half": 51, "99 %": 100, "most": 101}
    assert words["target"]["most"] == 202
    assert set(words["target / source"].values()) == {2.0}


def test_lines_that_belong_to_others_are_an_error_that_says_from_where():
    draw = random.Random(1)
    sizes = [draw.randrange(3, 25) for _ in range(3 * BLOCK)]
    source = ["a" * one for one in sizes]
    target = ["b" * (one + draw.randrange(3)) for one in sizes]

    def told(source, target):
        pairs = Listed(*zip(source, target, strict=False))
        return [one for one in look_at({"train": pairs})["train"].findings if one.level == "error"]

    assert told(source, target) == []
    (found,) = told(source, target[: BLOCK + 3] + target[BLOCK + 5 :])  # two are missing
    assert (found.what, found.lines) == (
        "from about here on, targets are those of the sources +2 lines away",
        [BLOCK + 1],
    )
    (found,) = told(source[1:], target)
    assert "sources -1 lines away" in found.what and found.lines == [1]
    # What has nothing to do with each other, or is all of one size, tells nothing.
    assert told(source, ["b" * draw.randrange(3, 25) for _ in sizes]) == []
    assert told(source, ["b"] * len(sizes)) == []
    assert told(source[1:90], target[:89]) == []  # too few


def test_bytes_and_counts_that_are_wrong_are_errors_with_their_places(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"\xef\xbb\xbfa\r\nb\xff\nc\xe4c\nd\n")
    other.write_bytes(b"A\nB\nC\n")
    report = look_at({"train": AlignedFiles([one], [other])})["train"]
    assert report.is_bad
    assert found_in(report) == {
        "bytes that are not UTF-8": ("error", 2, [f"{one}:2:2", f"{one}:3:2"]),
        "a byte order mark, which is dropped": ("note", 1, [f"{one}:1"]),
        "lines that end in CR LF, of which both are dropped": ("note", 1, [f"{one}:1"]),
    }
    one.write_bytes(b"a\nb\nc\nd\n")
    report = look_at({"train": AlignedFiles([one], [other])})["train"]
    assert [one.level for one in report.findings] == ["error"]
    assert "has 4 lines and" in report.findings[0].what
    other.unlink()
    assert look_at({"train": AlignedFiles([one], [other])})["train"].is_bad
    one.write_bytes(b"")
    (worst,) = look_at({"train": AlignedFiles([one], [one])})["train"].findings
    assert worst.what.endswith("there are no pairs.")


def test_of_several_files_a_place_is_told_with_its_file(tmp_path):
    paths = [tmp_path / name for name in ("one", "other", "last", "blank")]
    for path, text in zip(paths, ("a b\nc d\n", "e f\ng  \n", "\n", "x\n"), strict=True):
        path.write_text(text, "utf-8")
    pairs = AlignedFiles(paths[:3], [*paths[:2], paths[3]])
    for _ in range(2):  # the second time as the first
        found = found_in(look_at({"train": pairs})["train"])
        assert found["both sides are alike"][2] == [
            f"{paths[0]}:1",
            f"{paths[0]}:2",
            f"{paths[1]}:1",
        ]
        assert found["source: white space at an end"][2] == [f"{paths[1]}:2"]
        (blank,) = (one for what, one in found.items() if "blank" in what)
        assert blank[2] == [f"{paths[2]}:1"]
    filtered = CleaningConfig(no_copies=True).clean(pairs)
    assert [one["line"] for one in filtered.dropped()][-1] == f"{paths[1]}:2"
    tsv = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    tsv[0].write_text("source\ttarget\na\tb\n", "utf-8")
    tsv[1].write_text("source\ttarget\nc\td\ne\te\n", "utf-8")
    config = TsvConfig(train=(*map(str, tsv), str(tsv[1])), header=True, validation_share=1e-9)
    report = look_at({"train": config.pairs("train")})["train"]
    found = found_in(report)
    assert found["both sides are alike"][2] == [f"{tsv[1]}:3", f"{tsv[1]}:3"]


def test_multi30ks_oddities_are_known(multi30k):
    data = Multi30kConfig(root=str(multi30k))
    splits = {split: data.pairs(split) for split in ("train", "validation", "test")}
    reports = look_at(splits)
    found = found_in(reports["train"])
    german = data.read("train").target
    assert sum(one.count("\xa0") for one in german) == 47
    assert found["target: no-break spaces"][1] == sum("\xa0" in one for one in german)
    assert found["target: tabs"][1:] == (1, [7366])
    assert found["the pair was there before"][1] > 0
    assert not any(one.is_bad for one in reports.values())
    czech = Multi30kConfig(target="cs", root=str(multi30k)).pairs("train")
    assert found_in(look_at({"train": czech})["train"])["target: zero-width characters"][1] > 0


@pytest.mark.parametrize("language", ["de", "fr", "cs"])
@pytest.mark.parametrize("distance", [1, 3])
def test_multi30k_shifted_is_told(multi30k, language, distance):
    text = Multi30kConfig(target=language, root=str(multi30k)).read("train")
    source, target = (numpy.array([*map(len, side)]) for side in (text.source, text.target))
    assert shift_of(source, target) is None
    assert shift_of(source, target[distance:]) == (0, distance)
    assert shift_of(source[distance:], target) == (0, -distance)
    late = numpy.concatenate((target[:20_000], target[20_000 + distance :]))
    assert shift_of(source, late) == (20_000, distance)
    assert numpy.corrcoef(source, target)[0, 1] > 0.75
