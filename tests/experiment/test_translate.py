"""Translating and scoring lines: as many out as in, in their order."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml
from conftest import CONFIGS
from small_runs import SENTENCES, on_checkpoint, searching, tiny

import seq2seq
from seq2seq import load_translator
from seq2seq.config import from_tree
from seq2seq.errors import CheckpointError, DataError, RunError, SettingsError
from seq2seq.experiment import (
    AlignSettings,
    EvaluateSettings,
    ScoreSettings,
    TranslateSettings,
    align,
    evaluate,
    score,
    streams,
    train,
    translate,
)
from seq2seq.training import atomic


def test_translate_reads_and_writes_files_and_draws_what_it_wrote(files, run):
    (files / "in.txt").write_bytes(b"the dog\r\n\nthe cat sees\xe2\x80\xa8a man")
    chosen = {"input": f"{files}/in.txt", "output": f"{files}/out.txt"}
    pictures = files / "pictures"
    assert translate(on_checkpoint(TranslateSettings, files, **chosen, heatmaps=str(pictures))) == 0
    lines = (files / "out.txt").read_bytes().decode("utf-8").split("\n")
    assert len(lines) == 4 and lines[1] == lines[3] == ""
    assert sorted(path.name for path in pictures.iterdir()) == ["0001.png", "0003.png"]
    assert not list(files.glob("*.part"))


def test_translate_refuses_what_it_cannot_write_before_it_translates(files, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match="standard input is closed"):
        translate(on_checkpoint(TranslateSettings, files))
    for output in (files, files / "train.a" / "below"):
        with pytest.raises(RunError, match="cannot be written"):
            translate(on_checkpoint(TranslateSettings, files, output=str(output)))


def test_translate_never_replaces_its_input(files, run):
    before = (files / "test.a").read_bytes()
    (files / "other").symlink_to(files / "test.a")
    for output in ("test.a", "other"):
        chosen = {"input": f"{files}/test.a", "output": f"{files}/{output}"}
        with pytest.raises(SettingsError, match=r"`output` is .*test.a, which is read"):
            translate(on_checkpoint(TranslateSettings, files, **chosen))
    assert (files / "test.a").read_bytes() == before


def test_translate_never_replaces_what_it_is_fed_from(files, run, monkeypatch):
    before = (files / "test.a").read_bytes()
    with open(files / "test.a", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(SettingsError, match="`output` is the file that is read"):
            translate(on_checkpoint(TranslateSettings, files, output=f"{files}/test.a"))
    assert (files / "test.a").read_bytes() == before


def test_translate_tells_of_what_the_model_cannot_read(files, run, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("the dog\n漢字 🙂\n".encode())))
    assert translate(on_checkpoint(TranslateSettings, files)) == 0
    assert "1 of 2 lines hold what the model's vocabulary does not" in capsys.readouterr().err


def test_translate_never_replaces_a_device(files, run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the dog\n")))
    assert translate(on_checkpoint(TranslateSettings, files, output=os.devnull)) == 0
    assert Path(os.devnull).is_char_device()


def test_the_python_door_translates_and_leaves_the_process_alone(files, run):
    torch.manual_seed(5)
    before = torch.get_rng_state(), torch.get_num_threads()
    translator = seq2seq.load_translator(run / "best")
    drawn = torch.get_rng_state()
    found = translator.translate(SENTENCES["a"])
    assert torch.equal(drawn, torch.get_rng_state()) and before[1] == torch.get_num_threads()
    assert found == (run / "test" / "hypotheses.txt").read_text("utf-8").splitlines()
    assert translator.explain(" ") is None
    with pytest.raises(TypeError, match=r"translate takes a list of sentences"):
        translator.translate(SENTENCES["a"][0])


def test_settings_of_another_version_are_refused_by_name(files, run):
    path = run / "best" / "settings.yaml"
    path.write_text(path.read_text("utf-8").replace("bidirectional", "bothways"), "utf-8")
    atomic.seal(run / "best")
    with pytest.raises(
        CheckpointError, match=r"settings that do not fit: `model.encoder.bothways`"
    ):
        seq2seq.load_translator(run / "best")


def test_without_attention_there_is_nothing_to_draw(files, capsys):
    assert train(tiny(files, "model/attention=none")) == 0
    assert not (files / "run" / "attention").exists()
    assert "attention pictures" not in capsys.readouterr().err
    chosen = {"input": f"{files}/test.a", "heatmaps": f"{files}/pictures"}
    with pytest.raises(SettingsError, match=r"`model\.attention` is none in this checkpoint"):
        translate(on_checkpoint(TranslateSettings, files, **chosen))
    assert not (files / "pictures").exists()
    with pytest.raises(SettingsError, match="no attention to look at"):
        seq2seq.load_translator(files / "run" / "best").explain("the dog")


def test_align_needs_the_corpus_that_knows_the_truth(files, run):
    with pytest.raises(DataError, match="Only data=phrasebook has a gold alignment"):
        align(on_checkpoint(AlignSettings, files))


def translated(files: Path, lines: Sequence[str], **chosen) -> list[str]:
    """What `translate` writes for some lines."""
    (files / "in.txt").write_text("".join(one + "\n" for one in lines), "utf-8")
    paths = {"input": f"{files}/in.txt", "output": f"{files}/out.txt"}
    assert translate(on_checkpoint(TranslateSettings, files, **paths, **chosen)) == 0
    return (files / "out.txt").read_text("utf-8").splitlines()


MANY = [*SENTENCES["a"], "", "the cat", "a man sees a dog", " ", "the old dog"] * 3


def test_lines_are_translated_a_window_at_a_time_and_come_out_alike(files, run, monkeypatch):
    whole = translated(files, MANY)
    assert len(whole) == len(MANY) and whole[5] == whole[8] == ""
    for most_lines, most_characters in ((3, 1 << 20), (4096, 40), (1, 1)):
        monkeypatch.setattr(streams, "MOST_LINES", most_lines)
        monkeypatch.setattr(streams, "MOST_CHARACTERS", most_characters)
        assert translated(files, MANY) == whole


def test_an_endless_input_is_translated_as_it_comes(files, run, monkeypatch, capsys):
    """The first window is out before the second is read."""
    monkeypatch.setattr(streams, "MOST_CHARACTERS", 30)

    def lines():
        for number in count():
            yield b"the dog sees a cat\n"
            if number == 4:
                assert len(capsys.readouterr().out.splitlines()) >= 2
                yield b"\xff\n"

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines(), isatty=lambda: False))
    with pytest.raises(DataError, match="standard input, line 6, byte 1 is not UTF-8"):
        translate(on_checkpoint(TranslateSettings, files))


def test_what_fails_in_the_middle_leaves_no_half_file(files, run):
    (files / "in.txt").write_bytes(b"the dog\n" * 500 + b"\xff\n")
    chosen = {"input": f"{files}/in.txt", "output": f"{files}/out.txt"}
    with pytest.raises(DataError, match="line 501"):
        translate(on_checkpoint(TranslateSettings, files, **chosen))
    assert not list(files.glob("*out.txt*")) and not list(files.glob(".*part"))


def test_json_tells_all_hypotheses_with_scores_tokens_and_alignments(files, run):
    search = searching(files, "beam", n_best=3)
    plain = translated(files, MANY[:6], search={**search, "n_best": 1})
    with pytest.raises(SettingsError, match="`search` finds several translations: add format=json"):
        translated(files, MANY[:6], search=search)
    told = translated(files, MANY[:6], search=search, format="json", alignments=True)
    for number, (line, text) in enumerate(zip(told, plain, strict=True), start=1):
        about = json.loads(line)
        assert (about["line"], about["source"]) == (number, MANY[number - 1])
        texts = [one["text"] for one in about["translations"]]
        assert len(set(texts)) == len(texts) <= 3
        assert texts[:1] == ([text] if MANY[number - 1] else [])
        scores = [one["score"] for one in about["translations"]]
        assert scores == sorted(scores, reverse=True)
        for one in about["translations"]:
            links = [tuple(map(int, each.split("-"))) for each in one["alignment"].split()]
            assert [target for _, target in links] == list(range(len(one["tokens"])))
            assert all(source < len(about["source_tokens"]) for source, _ in links)


def test_translations_open_with_their_prefixes(files, run):
    (files / "prefixes").write_text("der alte\n\neine\n", "utf-8")
    lines = ["a cat runs", "a dog", "the cat"]
    found = translated(files, lines, prefix=f"{files}/prefixes")
    assert found[0].startswith("der alte") and found[2].startswith("eine")
    assert found[1] == translated(files, lines)[1]
    for text, problem in (
        ("eins\n", "has 1 lines, but the input has more"),
        ("\n" * 4, "has more"),
    ):
        (files / "prefixes").write_text(text, "utf-8")
        with pytest.raises(DataError, match=f"`prefix` {problem}"):
            translated(files, lines, prefix=f"{files}/prefixes")


def test_long_lines_are_named_and_translated_a_sentence_at_a_time_when_asked(files, run, capsys):
    lines = ["a dog", "the dog sees a cat. a cat runs. the old man laughs", "a cat"]
    whole = translated(files, lines, long=8)
    assert "1 of 3 lines are longer than 8 tokens (lines 2); split=true cuts" in (
        capsys.readouterr().err
    )
    parts = translated(files, ["the dog sees a cat.", "a cat runs.", "the old man laughs"])
    found = translated(files, lines, long=8, split=True)
    assert found == [whole[0], " ".join(parts), whole[2]]
    about = json.loads(translated(files, lines, long=8, split=True, format="json")[1])
    assert [one["translations"][0]["text"] for one in about["parts"]] == parts


def test_checkpoints_of_one_vocabulary_translate_together(files, run):
    assert train(tiny(files, f"run_dir={files}/other", "runtime.seed=2")) == 0
    other = str(files / "other" / "best")
    assert translated(files, MANY, ensemble=[str(run / "best")]) == translated(files, MANY)
    together = load_translator(run / "best", other)
    assert translated(files, MANY, ensemble=[other]) == together.translate(MANY)
    sizes = ("tokenizer.vocabulary_size=60", f"run_dir={files}/third")
    assert train(tiny(files, *sizes)) == 0
    with pytest.raises(CheckpointError, match="third/best has another vocabulary than"):
        load_translator(run / "best", files / "third" / "best")


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"alignments": True}, "`alignments` are told with format=json"),
        ({"lexicon": "x"}, "`lexicon` has no effect without replace_unknown=true"),
        ({"split": True, "heatmaps": "x"}, "`split` and `heatmaps` exclude each other"),
    ],
)
def test_translate_refuses_what_has_no_effect(files, run, chosen, problem):
    with pytest.raises(SettingsError, match=problem):
        on_checkpoint(TranslateSettings, files, **chosen)


def test_given_translations_are_scored_line_by_line(files, run, capsys):
    settings = {"checkpoint": str(run / "best"), "source": f"{files}/test.a"}
    runtime_tree = yaml.safe_load((CONFIGS / "runtime" / "default.yaml").read_text("utf-8"))
    tree = {**settings, "target": f"{files}/test.b", "runtime": runtime_tree}
    assert score(from_tree(tree, ScoreSettings)) == 0
    told = capsys.readouterr()
    found = [json.loads(line) for line in told.out.splitlines()]
    assert [one["line"] for one in found] == [1, 2, 3, 4, 5]
    for one in found:
        assert sum(one["log_probabilities"]) == pytest.approx(one["log_probability"])
        assert len(one["log_probabilities"]) == len(one["tokens"]) and one["tokens"][-1] == "<eos>"
    clash = {**tree, "output": f"{files}/test.b"}
    with pytest.raises(SettingsError, match=r"`output` is .*test.b, which is read"):
        score(from_tree(clash, ScoreSettings))
    evaluate(on_checkpoint(EvaluateSettings, files))
    results = json.loads((run / "best-test" / "results.json").read_text("utf-8"))
    assert told.err.rstrip().endswith(f"perplexity {results['perplexity']:.2f}")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_input(files, run):
    """A pipe of 200,000 lines takes hardly more than one of 2,000, and as many come out."""
    script = CONFIGS.parent / "scripts" / "translate.py"
    short = ("search.max_length_ratio=1", "search.max_length_extra=0", "runtime.num_threads=1")
    peaks = []
    for num_lines in (2_000, 200_000):
        given, written = files / "given", files / "written"
        given.write_text(
            "a dog\n\nthe cat\n" * (num_lines // 3) + "a dog\n" * (num_lines % 3), "utf-8"
        )
        command = [sys.executable, str(script), f"checkpoint={run / 'best'}", *short]
        with open(given, "rb") as source, open(written, "wb") as target:
            started = subprocess.Popen(command, stdin=source, stdout=target)
            _, status, usage = os.wait4(started.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        lines = written.read_text("utf-8").split("\n")
        assert len(lines) == num_lines + 1 and lines[1] == "" != lines[0]
        peaks.append(usage.ru_maxrss * 1024)
    assert peaks[1] - peaks[0] < 100e6
