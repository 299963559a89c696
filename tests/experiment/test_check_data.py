"""The command that looks at a corpus, and what training tells of it."""

from __future__ import annotations

import json
import sys

import pytest
from conftest import settings_of
from small_runs import SENTENCES, tiny

from seq2seq.errors import DataError, SettingsError
from seq2seq.experiment import CheckDataSettings, check_data, train


def checked(files, *overrides) -> int:
    paths = [
        f"data.{split}_{name}={files}/{stem}.{side}"
        for split, stem in (("train", "train"), ("validation", "valid"), ("test", "test"))
        for name, side in (("source", "a"), ("target", "b"))
    ]
    given = [
        "data=files",
        *paths,
        "tokenizer.vocabulary_size=70",
        f"output={files}/out/report.json",
    ]
    return check_data(settings_of("check_data", CheckDataSettings, *given, *overrides))


def test_a_corpus_is_described_on_a_page_and_as_json(files, capsys):
    with open(files / "train.a", "a", encoding="utf-8") as file:
        file.write("a\u200b dog  \na b c d e f g h\n")
    with open(files / "train.b", "a", encoding="utf-8") as file:
        file.write("Ein Hund\nx\n")
    assert checked(files, "cleaning.max_ratio=4") == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "train: 6 pairs" in out and "zero-width characters (line 6)" in out
    assert "cleaning drops 1 of 7 training pairs: max_ratio 1" in out
    report = json.loads((files / "out" / "report.json").read_text("utf-8"))
    assert [*report] == ["train", "validation", "test", "tokens", "dropped"]
    assert report["dropped"] == {"max_ratio": 1}
    assert report["tokens"]["test"]["source"]["unknown"] == 0.0
    assert {one["what"]: one["lines"] for one in report["train"]["findings"]}[
        "source: zero-width characters"
    ] == [6]


def test_a_setting_that_has_no_effect_is_refused(files):
    with pytest.raises(SettingsError, match="`resume` has no effect here"):
        checked(files, "resume=run")


def test_a_broken_corpus_ends_with_1_and_stops_training(files, capsys):
    lines = SENTENCES["a"]
    (files / "train.a").write_bytes("\n".join(lines).encode()[:-3] + b"\xff\n")
    assert checked(files) == 1
    said = capsys.readouterr()
    assert "error" in said.out and f"train.a:{len(lines)}:" in said.out
    assert "would spoil training" in said.err
    with pytest.raises(DataError, match=r"train: bytes that are not UTF-8 \(line .*train\.a:5:"):
        train(tiny(files))
    (files / "train.a").write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    assert checked(files) == 1
    with pytest.raises(DataError, match="has 4 lines and"):
        train(tiny(files))


def test_training_tells_what_may_spoil_it_once_for_each_corpus(files, capsys, monkeypatch):
    with open(files / "train.a", "a", encoding="utf-8") as file:
        file.write("A  dog\n")
    with open(files / "train.b", "a", encoding="utf-8") as file:
        file.write("\n")
    expected = "data      train: 1 x a side is blank: the pair is left out of training (line 6)"
    assert train(tiny(files)) == 0
    assert expected in capsys.readouterr().err
    module = sys.modules["seq2seq.experiment.check_data"]
    monkeypatch.setattr(module, "look_at", None)
    assert train(tiny(files, f"run_dir={files}/again")) == 0
    assert expected in capsys.readouterr().err
    assert train(tiny(files, f"run_dir={files}/third", "check_data=false")) == 0
    assert "a side is blank" not in capsys.readouterr().err


def test_cleaning_is_of_training_pairs_and_told(files, capsys):
    assert train(tiny(files, "cleaning.max_words=3", f"cleaning.dropped={files}/dropped")) == 0
    err = capsys.readouterr().err
    assert "cleaning drops 3 of 5 training pairs: max_words 3" in err
    assert "2 training and 5 validation pairs" in err
    assert len((files / "dropped").read_text("utf-8").splitlines()) == 3
