"""Averages of checkpoints, during a run and after it."""

from __future__ import annotations

import json
import re
import shutil

import pytest
import torch
from safetensors.torch import load_file
from small_runs import records_of, resumed, tiny, weights_of

from seq2seq import load_translator
from seq2seq.errors import CheckpointError, RunError, SettingsError
from seq2seq.experiment import (
    AverageSettings,
    average,
    train,
)
from seq2seq.training.keeper import KeepingConfig

KEEP_THREE = ("training.keeping.num_best=3", "training.keeping.average=best")


def test_the_best_are_averaged_at_the_end_when_asked_for(files, capsys):
    assert train(tiny(files, *KEEP_THREE)) == 0
    run = files / "run"
    kept = sorted(run.glob("step-*"))
    assert len(kept) == 3
    of_steps = [load_file(one / "weights.safetensors") for one in kept]
    mean = load_file(run / "average" / "weights.safetensors")
    for name, value in mean.items():
        expected = sum(one[name].double() for one in of_steps) / 3
        torch.testing.assert_close(value, expected.float(), rtol=0, atol=0)
    said = re.search(r"average of the best 3 \(.*\): .* BLEU ([\d.]+)(.*)", capsys.readouterr().err)
    best = max(record["validation_bleu"] for record in records_of(run))
    results = json.loads((run / "test" / "results.json").read_text("utf-8"))
    is_tested = results["checkpoint"] == str(run / "average")
    assert is_tested == ("so it is tested" in said[2])
    if f"{best:.2f}" != said[1]:
        assert is_tested == (float(said[1]) > best)


def test_what_a_run_kept_is_averaged_afterwards(files, capsys):
    assert train(tiny(files, *KEEP_THREE)) == 0
    run = files / "run"
    kept = tuple(sorted(str(one) for one in run.glob("step-*")))
    expected = weights_of(run, "average")
    shutil.rmtree(run / "average")
    capsys.readouterr()
    assert average(AverageSettings(run=str(run), num=3)) == 0
    assert capsys.readouterr().err.splitlines()[1:] == [f"    {one}" for one in kept]
    steps = tuple(int(one.rpartition("-")[2]) for one in kept)
    mean = AverageSettings(run=str(run), steps=steps, output=str(files / "mean"))
    assert average(mean) == 0
    assert weights_of(run, "average") == weights_of(files, "mean") == expected
    assert load_translator(run / "average").translate(["the cat"]) != [""]

    with pytest.raises(RunError, match="average is there already"):
        average(AverageSettings(run=str(run), num=3))
    with pytest.raises(CheckpointError, match=r"step-\d is not there\. Train with .*num_last=2"):
        average(AverageSettings(run=str(run), of="last", num=2, output=str(files / "other")))
    assert train(tiny(files, f"run_dir={files}/other", "model.encoder.hidden_dim=9")) == 0
    (files / "other" / "best").rename(run / "step-1000")
    unlike = AverageSettings(run=str(run), steps=(steps[0], 1000), output=str(files / "third"))
    with pytest.raises(CheckpointError, match=r"step-1000 has another model than .*step"):
        average(unlike)
    assert not (files / "third").exists()


def test_an_average_asked_for_too_late_costs_no_test(files, run, capsys):
    late = {"training__keeping": {"num_best": 3, "average": "best"}, "training__max_epochs": 5}
    (run / "test" / "results.json").unlink()
    assert train(resumed(run, **late)) == 0
    assert "no average: " in capsys.readouterr().err
    assert (run / "test" / "results.json").exists()


def test_what_cannot_be_averaged_is_refused():
    with pytest.raises(SettingsError, match="`average` is best, which needs num_best of 2"):
        KeepingConfig(average="best")
    with pytest.raises(SettingsError, match="`steps` names none"):
        AverageSettings(run="run", steps=())
