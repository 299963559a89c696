"""The training command on a few sentences: what it leaves, prints and refuses, and resuming."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from itertools import count

import pytest
import torch
from small_runs import (
    SENTENCES,
    assert_resumed_alike,
    assert_same_run,
    on_checkpoint,
    records_of,
    resumed,
    stop_at,
    tiny,
    weights_of,
)
from torch.amp.grad_scaler import GradScaler

from seq2seq import load_translator, runtime
from seq2seq.errors import DataError, RunError, SettingsError
from seq2seq.experiment import (
    EvaluateSettings,
    evaluate,
    run_checkpoints,
    train,
)
from seq2seq.training.checkpoint import Checkpoint
from seq2seq.training.trainer import Trainer


def test_a_run_leaves_all_that_it_promises(run, capsys):
    names = {path.name for path in run.iterdir()}
    assert names == {"attention", "best", "last", "metrics.jsonl", "settings.yaml", "test"}
    assert [path.name for path in sorted((run / "attention").iterdir())] == ["0001.png", "0002.png"]
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert [record["epoch"] for record in records] == [1, 2, 3, 4]
    assert all("13a" in record["signature"] for record in records)
    results = json.loads((run / "test" / "results.json").read_text("utf-8"))
    assert [one["name"] for one in results["scores"]] == ["BLEU", "chrF2++", "TER"]
    assert results["step"] == Checkpoint.open(run / "best").state.step
    assert len((run / "test" / "hypotheses.txt").read_text("utf-8").splitlines()) == 5


@pytest.mark.parametrize("step", [1, 4, 5])
def test_stopped_and_resumed_it_ends_like_one_that_was_not(files, run, monkeypatch, capsys, step):
    stop_at(monkeypatch, step)
    assert train(tiny(files, f"run_dir={files}/second")) == 128 + signal.SIGTERM
    assert f"resume={files}/second" in capsys.readouterr().err
    assert Checkpoint.open(files / "second" / "last").state.step == step
    (files / "second").rename(files / "moved")
    torch.rand(5)
    assert train(resumed(files / "moved")) == 0
    assert_same_run(files / "moved", run)


@pytest.mark.parametrize("positions", ["t5", "relative"])
def test_what_layers_share_or_own_comes_back_on_resume(files, monkeypatch, positions):
    sizes = ["model.embedding_dim=8", "model.attention.num_heads=2"]
    parts = [
        f"model.{part}.{one}"
        for part in ("encoder", "decoder")
        for one in ("num_heads=2", "num_layers=2", "feed_forward_dim=8")
    ]
    model = ["model=transformer", f"model/positions={positions}", *sizes, *parts]

    def transformer(name):
        return tiny(files, *model, f"run_dir={files}/{name}", model_sizes=[])

    assert_resumed_alike(files, monkeypatch, transformer)


def test_killed_before_its_first_checkpoint_a_run_can_be_started_again(files, monkeypatch):
    def killed(path, **_):
        path.parent.mkdir(exist_ok=True)
        (path.parent / "last.part").mkdir()
        (path.parent / ".probe").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(run_checkpoints, "save_checkpoint", killed)
        with pytest.raises(KeyboardInterrupt):
            train(tiny(files))
    (files / "run" / ".lock").touch()
    assert train(tiny(files)) == 0
    assert not list((files / "run").glob("*.part"))


def test_a_start_that_fails_leaves_no_folder_of_its_own(files):
    (files / "valid.a").write_text("too few\n", "utf-8")
    for was_there in (False, True):
        if was_there:
            (files / "run").mkdir()
        with pytest.raises(DataError):
            train(tiny(files))
        assert (files / "run").exists() == was_there


def test_a_resumed_run_says_where_it_stands(files, run, capsys):
    assert train(resumed(run)) == 0
    assert "resume    nothing is left to train: raise the budget" in capsys.readouterr().err
    assert train(resumed(run, training__max_epochs=5)) == 0
    assert "resume    after step 8\n" in capsys.readouterr().err


def test_what_is_cut_at_random_is_cut_the_same_on_resume(files, run, monkeypatch):
    def sampling(name):
        return tiny(files, "tokenizer.sampling=0.5", f"run_dir={files}/{name}")

    assert_resumed_alike(files, monkeypatch, sampling)
    assert weights_of(files / "straight") != weights_of(run)


@pytest.mark.parametrize("killed_at", [1, 4, 5])
def test_killed_and_resumed_it_ends_like_one_that_was_not(files, run, monkeypatch, killed_at):
    steps = count(1)
    step = Trainer._step

    def killed(self, group):
        if next(steps) == killed_at:
            raise KeyboardInterrupt
        step(self, group)

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_step", killed)
        with pytest.raises(KeyboardInterrupt):
            train(tiny(files, f"run_dir={files}/second"))
    assert train(resumed(files / "second")) == 0
    assert_same_run(files / "second", run)


def test_the_seed_decides_the_run(files, run):
    for name, seed in (("same", 1), ("other", 2)):
        assert train(tiny(files, f"run_dir={files}/{name}", f"runtime.seed={seed}")) == 0
    assert_same_run(files / "same", run)
    assert weights_of(files / "other") != weights_of(run)


def test_a_handful_of_pairs_is_learned_by_heart(files):
    sizes = ["embedding_dim=32", "encoder.hidden_dim=32", "decoder.hidden_dim=32"]
    parts = ("", "encoder.", "decoder.")
    overrides = [f"model.{one}" for one in (*sizes, *(f"{part}dropout=0" for part in parts))]
    rate = ["optimizer.learning_rate=0.02", "training.accumulation=1"]
    length = ["training.max_epochs=60", "training.validate_every_epochs=60"]
    settings = tiny(files, "objective=cross_entropy", *overrides, *rate, *length)
    assert train(settings) == 0
    found = (files / "run" / "test" / "hypotheses.txt").read_text("utf-8").splitlines()
    assert found == SENTENCES["b"]
    (record,) = records_of(files / "run")
    assert record["validation_bleu"] == pytest.approx(100)
    assert record["validation_perplexity"] < 1.5


def test_more_epochs_can_be_asked_for_on_resume(run, capsys):
    capsys.readouterr()
    assert train(resumed(run, training__max_epochs=6, optimizer__learning_rate=0.5)) == 0
    assert Checkpoint.open(run / "last").state.epoch == 6
    said = [one for one in capsys.readouterr().err.splitlines() if " -> " in one]
    assert said[-2:] == [
        "resume    optimizer.learning_rate: 0.002 -> 0.5",
        "resume    training.max_epochs: 4 -> 6",
    ]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("batching__max_sentences", 3),
        ("runtime__seed", 2),
        ("search__max_length_extra", 3),
        ("model__encoder__hidden_dim", 9),
        ("lowercase_scores", True),
        ("data__train_source", ["other"]),
    ],
)
def test_what_cannot_change_on_resume_is_refused(run, key, value):
    before = weights_of(run)
    with pytest.raises(SettingsError) as refused:
        train(resumed(run, **{key: value}))
    name = key.replace("__", ".")
    assert str(refused.value).startswith(f"`{name}` cannot change on resume from ")
    assert str(refused.value).endswith(f"to {value!r}. Start a new run.")
    assert weights_of(run) == before


def test_a_folder_in_use_is_refused(files, run):
    with pytest.raises(RunError, match=rf"{run} is not empty. .* go on with resume={run}"):
        train(tiny(files))
    (files / "other").mkdir()
    (files / "other" / "thesis.txt").touch()
    with pytest.raises(RunError, match=r"other is not empty. Choose another run_dir\.$"):
        train(tiny(files, f"run_dir={files}/other"))


def test_a_folder_of_another_process_is_refused(files):
    fcntl = pytest.importorskip("fcntl")
    (files / "run").mkdir()
    with open(files / "run" / ".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RunError, match="run is in use by another process"):
            train(tiny(files))
    assert train(tiny(files)) == 0  # a lock file that a kill left does not matter


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_a_line_too_long_for_the_model_is_found_before_the_first_step(files, split):
    for side in ("a", "b"):
        with open(files / f"{split}.{side}", "a", encoding="utf-8") as file:
            file.write("dog " * 40 + "\n")
    model = ["model=transformer", "model.embedding_dim=8", "model/positions=learned"]
    settings = tiny(files, *model, "model.positions.max_length=30", model_sizes=[])
    with pytest.raises(DataError, match=r"positions, but model\.positions\.max_length is 30"):
        train(settings)
    assert not (files / "run").exists()


def test_a_cut_too_long_for_the_model_is_found_before_the_first_step(files):
    model = ["model=transformer", "model.embedding_dim=8", "model/positions=learned"]
    length, sampling = "model.positions.max_length=20", "tokenizer.sampling=0.9"
    assert train(tiny(files, *model, length, model_sizes=[])) == 0
    again = tiny(files, *model, length, sampling, f"run_dir={files}/again", model_sizes=[])
    with pytest.raises(DataError, match=r"positions, but model\.positions\.max_length is 20"):
        train(again)


def test_a_new_budget_that_is_spent_already_still_ends_with_a_checkpoint(files, monkeypatch):
    with monkeypatch.context() as patched:
        stop_at(patched, 4)
        settings = tiny(files, "training.validate_every_epochs=4")
        assert train(settings) == 128 + signal.SIGTERM
    assert not (files / "run" / "best").exists()
    assert train(resumed(files / "run", training__max_epochs=2)) == 0
    assert len(records_of(files / "run")) == 1
    assert (files / "run" / "test" / "results.json").exists()


def test_nobody_who_listens_is_no_reason_to_lose_a_validation(files, monkeypatch):
    def broken(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr("seq2seq.training.journal.tqdm.write", broken)
    assert train(tiny(files)) == 0
    assert len(records_of(files / "run")) == 4


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda files: (files / "test.b").unlink(), "test.b cannot be read: No such file"),
        (lambda files: (files / "train.b").write_text("eins\n"), "has 5 lines and .* has 1"),
        (
            lambda files: (files / "valid.a").write_bytes(b"ok\n\xff\n"),
            r"bytes that are not UTF-8 \(line .*valid\.a:2:1\)",
        ),
        (lambda files: (files / "train.a").write_text("\n" * 5), "no pair has text on both sides"),
    ],
)
def test_bad_data_are_refused_before_the_first_step(files, spoil, expected):
    spoil(files)
    with pytest.raises(DataError, match=expected):
        train(tiny(files))
    assert not (files / "run" / "last").exists()


def test_without_a_test_split_there_is_no_test(files):
    assert train(tiny(files, "data.test_source=null", "data.test_target=null")) == 0
    assert not (files / "run" / "test").exists()
    with pytest.raises(DataError, match=r"There is no test split: name its files"):
        evaluate(on_checkpoint(EvaluateSettings, files))
    with pytest.raises(SettingsError, match="test_source` and test_target go together"):
        tiny(files, "data.test_source=null")


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_run_in_mixed_precision_ends_elsewhere_and_like_one_that_was_stopped(
    files, monkeypatch, precision
):
    """Its scale falls at first, and is back where it was after a resume."""
    growth = GradScaler("cpu").state_dict() | {"scale": 2.0**30}

    def settings_for(name):
        return tiny(files, f"run_dir={files}/{name}", f"runtime.precision={precision}")

    plain = tiny(files, f"run_dir={files}/plain")
    if precision == "fp16":
        scaler = runtime.Precision.scaler
        monkeypatch.setattr(runtime.Precision, "scaler", lambda self: _high(scaler(self), growth))
    assert_resumed_alike(files, monkeypatch, settings_for)
    assert train(plain) == 0
    assert weights_of(files / "straight") != weights_of(files / "plain")
    if precision == "fp16":
        assert 1 < Checkpoint.open(files / "second" / "last").state.scaler["scale"] < 2.0**30


def _high(scaler: GradScaler, state: dict) -> GradScaler:
    if scaler.is_enabled():
        scaler.load_state_dict(state)
    return scaler


def test_precision_goes_from_the_command_to_the_translations(files, run):
    found = {}
    for precision in ("fp32", "bf16"):
        translator = load_translator(run / "best", precision=precision)
        source = translator.encode(["the dog sees a cat"])[0]
        found[precision] = translator.attention(source, source)
    assert not torch.equal(found["fp32"], found["bf16"])
    torch.testing.assert_close(found["fp32"], found["bf16"], rtol=0, atol=0.02)
    chosen = on_checkpoint(EvaluateSettings, files)
    chosen = replace(chosen, runtime=replace(chosen.runtime, precision="bf16"))
    assert evaluate(chosen) == 0
    results = json.loads((run / "best-test" / "results.json").read_text("utf-8"))
    assert results["precision"] == "bf16"


def test_what_a_user_puts_beside_the_checkpoints_stays(files):
    mine = ("step-notes.txt", "step-4-keep", "step-mean", "steps")
    (files / "run").mkdir()
    settings = tiny(files, "training.keeping.num_last=1", "training.max_epochs=2")
    assert train(settings) == 0
    for name in mine:
        (files / "run" / name).mkdir()
        (files / "run" / name / "file").touch()
    (files / "run" / "step-notes.txt" / "file").unlink()
    (files / "run" / "step-notes.txt").rmdir()
    (files / "run" / "step-notes.txt").touch()
    assert train(resumed(files / "run", training__max_epochs=4)) == 0
    assert {one.name for one in (files / "run").glob("step*")} == {*mine, "step-8"}


def test_a_weight_that_nothing_depends_on_does_not_keep_a_run_from_going_on(files, monkeypatch):
    unused = ("model/attention=none", "model.encoder.layer_norm=true")

    def settings_for(name):
        return tiny(files, f"run_dir={files}/{name}", *unused)

    assert_resumed_alike(files, monkeypatch, settings_for)
