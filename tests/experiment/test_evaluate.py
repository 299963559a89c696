"""Evaluating, comparing and tuning on a few sentences."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
import torch
import yaml
from conftest import CONFIGS
from small_runs import on_checkpoint, records_of, searching, tiny, weights_of

from seq2seq import load_translator
from seq2seq.config import from_tree
from seq2seq.errors import DataError, RunError, SettingsError
from seq2seq.evaluation.metrics import bleu
from seq2seq.experiment import (
    CompareSettings,
    EvaluateSettings,
    TuneSearchSettings,
    compare,
    evaluate,
    train,
    tune_search,
)
from seq2seq.training.checkpoint import Checkpoint


@pytest.mark.parametrize("name", ["train.a", "train.a/below"])
def test_an_unwritable_run_folder_is_refused(files, name):
    settings = tiny(files)
    with pytest.raises(RunError, match=f"{name} cannot be written"):
        train(replace(settings, run_dir=f"{files}/{name}"))


def test_validation_counts_blank_lines_as_evaluate_does(files, capsys):
    for side, blank in (("a", ""), ("b", "etwas")):
        with open(files / f"valid.{side}", "a", encoding="utf-8") as file:
            file.write(blank + "\n")
    assert train(tiny(files)) == 0
    best = max(
        json.loads(line)["validation_bleu"]
        for line in (files / "run" / "metrics.jsonl").read_text("utf-8").splitlines()
    )
    folder = files / "scores"
    evaluate(on_checkpoint(EvaluateSettings, files, split="validation", output_dir=str(folder)))
    results = json.loads((folder / "results.json").read_text("utf-8"))
    assert results["scores"][0]["value"] == best
    assert results["num_sentences"] == 6


def test_evaluations_do_not_overwrite_each_other_and_are_not_done_twice(files, run, capsys):
    other = searching(files, "beam")
    said = []
    for chosen in ({}, {"search": other}, {}, {"search": other}):
        assert evaluate(on_checkpoint(EvaluateSettings, files, **chosen)) == 0
        said.append(capsys.readouterr())
    assert sorted(one.name for one in run.glob("best-test*")) == ["best-test", "best-test-2"]
    assert said[0].out == said[2].out and said[1].out == said[3].out
    assert [("was evaluated before" in one.err) for one in said] == [False, False, True, True]
    (run / "best-test" / "results.json").write_text("{", "utf-8")
    assert evaluate(on_checkpoint(EvaluateSettings, files)) == 0
    assert (run / "best-test-3").is_dir()


def test_a_run_is_evaluated_in_one_table_with_the_best_first(files, capsys):
    keep = ("training.keeping.num_last=2", "training.keeping.num_best=2")
    assert train(tiny(files, *keep, "training.keeping.average=best")) == 0
    capsys.readouterr()
    run = files / "run"
    chosen = on_checkpoint(EvaluateSettings, files)
    assert evaluate(replace(chosen, checkpoint=(str(run),))) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["checkpoint", "BLEU", "p", "chrF++", "TER", "length", "ppl"]
    rows = [one.split() for one in rows if one.startswith("run/")]
    names = {one[0].removeprefix("run/") for one in rows}
    assert names == {one.parent.name for one in run.glob("*/checkpoint.json")}
    assert {"best", "last", "average"} < names
    bleus = [float(one[1]) for one in rows]
    assert bleus == sorted(bleus, reverse=True)
    assert all(0 < float(one[4]) <= 1 for one in rows[1:])
    some = (str(run / "last"), str(run / "best"))
    assert evaluate(replace(chosen, checkpoint=some)) == 0
    assert capsys.readouterr().err.count("was evaluated before") == 2


@pytest.mark.parametrize("name", sorted(one.stem for one in (CONFIGS / "search").glob("*.yaml")))
def test_every_search_scores_a_checkpoint_and_is_described(files, run, name, capsys):
    assert evaluate(on_checkpoint(EvaluateSettings, files, search=searching(files, name))) == 0
    assert re.search(rf"^  search: {name} \(.*batch_size \d+.*\)$", capsys.readouterr().out, re.M)


def test_results_that_were_torn_are_found_anew(files, run, capsys):
    chosen = on_checkpoint(EvaluateSettings, files, output_dir=f"{files}/out")
    assert evaluate(chosen) == 0
    expected = capsys.readouterr().out
    path = files / "out" / "hypotheses.txt"
    before = path.read_bytes()
    for spoil in (lambda: path.write_bytes(b"x\n" * 5), path.unlink):
        spoil()
        assert evaluate(chosen) == 0
        assert (path.read_bytes(), capsys.readouterr().out) == (before, expected)


def test_what_else_results_depend_on_is_not_taken_from_others(files, run, capsys):
    chosen = on_checkpoint(EvaluateSettings, files)
    for change in ({}, {"matmul_precision": "medium"}, {"precision": "bf16"}):
        assert evaluate(replace(chosen, runtime=replace(chosen.runtime, **change))) == 0
        assert "evaluated before" not in capsys.readouterr().err
    torch.set_float32_matmul_precision("highest")
    assert len(list(run.glob("best-test*"))) == 3


def test_a_text_without_lines_is_refused(files, run):
    (files / "empty").touch()
    paths = {"source": f"{files}/empty", "target": f"{files}/empty"}
    with pytest.raises(DataError, match="has no lines: there is nothing to score"):
        evaluate(on_checkpoint(EvaluateSettings, files, **paths))


def test_where_a_reference_is_too_long_the_perplexity_is_unknown(files, capsys):
    learned = ("model=transformer", "model/positions=learned", "model.positions.max_length=30")
    sizes = ("model.embedding_dim=16", "model.encoder.num_layers=1", "model.decoder.num_layers=1")
    assert train(tiny(files, *learned, *sizes, model_sizes=())) == 0
    (files / "test.b").write_text("eine Katze " * 40 + "\nx\nx\nx\nx\n", "utf-8")
    capsys.readouterr()
    assert evaluate(on_checkpoint(EvaluateSettings, files)) == 0
    assert "perplexity unknown" in capsys.readouterr().out


def test_the_perplexity_of_validation_is_that_of_evaluation(files):
    for side, blank in (("a", ""), ("b", "etwas")):
        with open(files / f"valid.{side}", "a", encoding="utf-8") as file:
            file.write(blank + "\n")
    assert train(tiny(files)) == 0
    run = files / "run"
    evaluate(on_checkpoint(EvaluateSettings, files, split="validation"))
    results = json.loads((run / "best-validation" / "results.json").read_text("utf-8"))
    step = Checkpoint.open(run / "best").state.step
    (expected,) = (one for one in records_of(run) if one["step"] == step)
    assert results["perplexity"] == pytest.approx(expected["validation_perplexity"], rel=1e-4)


def test_files_can_be_evaluated_but_not_beside_a_split(files, run):
    chosen = {"source": f"{files}/test.a", "target": f"{files}/test.b"}
    assert evaluate(on_checkpoint(EvaluateSettings, files, **chosen)) == 0
    assert (run / "best-test.a" / "hypotheses.txt").read_bytes() == (
        run / "test" / "hypotheses.txt"
    ).read_bytes()
    with pytest.raises(SettingsError, match="`split` names data"):
        on_checkpoint(EvaluateSettings, files, split="test", **chosen)
    with pytest.raises(SettingsError, match="`source` and `target` go together"):
        on_checkpoint(EvaluateSettings, files, source=f"{files}/test.a")


def test_checkpoints_and_files_are_compared(files, run, capsys):
    hypotheses = run / "test" / "hypotheses.txt"
    folder = files / "comparison"

    def compared(**chosen):
        saved = Checkpoint.open(run / "best").settings
        runtime_tree = yaml.safe_load((CONFIGS / "runtime" / "default.yaml").read_text("utf-8"))
        data = {} if "source" in chosen else {"data": saved["data"]}
        tree = {**data, "runtime": runtime_tree, "output_dir": str(folder), **chosen}
        assert compare(from_tree(tree, CompareSettings)) == 0
        return json.loads((folder / "comparison.json").read_text("utf-8"))

    found = compared(one=str(run / "best"), other=str(hypotheses))
    assert found["num_equal"] == found["num_sentences"] == 5
    assert found["scores"][0] == found["scores"][1] and found["changed"] == []
    assert (folder / "comparison.html").read_text("utf-8").startswith("<!doctype html>")
    paths = {"source": f"{files}/test.a", "target": f"{files}/test.b"}
    capsys.readouterr()
    found = compared(one=str(hypotheses), other=f"{files}/test.b", **paths)
    assert list(found["groups"]) == ["words of the source"]
    out = capsys.readouterr().out
    assert "line " in out and max(map(len, out.splitlines()[2:12])) <= 80
    with pytest.raises(SettingsError, match="`source` and `target` are needed where `one` is no"):
        from_tree({"one": "a", "other": "b", "runtime": {}}, CompareSettings)
    (files / "short").write_text("eins\n", "utf-8")
    with pytest.raises(DataError, match=r"short has 1 lines, but .* has 5"):
        compared(one=str(files / "short"), other=str(hypotheses), **paths)


def test_the_best_search_on_validation_becomes_the_checkpoints_own(files, run, capsys):
    chosen = {
        "search": searching(files, "beam", beam_size=2, n_best=2),
        "beam_sizes": [1, 4],
        "length_penalties": [0.0, 2.0],
    }
    weights = weights_of(run, "best")
    assert tune_search(on_checkpoint(TuneSearchSettings, files, **chosen, write=False)) == 0
    assert Checkpoint.open(run / "best").settings["search"]["_target_"].endswith("GreedyConfig")
    assert tune_search(on_checkpoint(TuneSearchSettings, files, **chosen)) == 0
    rows = [one.split() for one in capsys.readouterr().out.splitlines()[-4:-1]]
    penalties = list(map(float, rows[0]))
    scores = {
        (int(size), penalty): float(score)
        for size, *of_size in rows[1:]
        for penalty, score in zip(penalties, of_size, strict=True)
    }
    tuned = load_translator(run / "best")
    mine = (tuned.search.beam_size, tuned.search.length_penalty)
    assert scores[mine] == max(scores.values())
    assert weights_of(run, "best") == weights
    pairs = [one.read_text("utf-8").splitlines() for one in (files / "valid.a", files / "valid.b")]
    assert bleu(tuned.translate(pairs[0]), pairs[1]).value == pytest.approx(scores[mine], abs=0.01)
    with pytest.raises(SettingsError, match=r"is .*last, from which training goes on"):
        tree = {"checkpoint": str(run / "last"), "search": searching(files, "beam")}
        tune_search(on_checkpoint(TuneSearchSettings, files, **tree))
    with pytest.raises(SettingsError, match="`search` is not beam"):
        greedy = searching(files, "greedy")
        tune_search(on_checkpoint(TuneSearchSettings, files, search=greedy))
