"""The commands themselves on a few sentences: what they leave, print and refuse, and resuming."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import torch
import yaml
from conftest import CONFIGS, settings_of
from safetensors.torch import load_file
from torch.amp.grad_scaler import GradScaler

import seq2seq
from seq2seq import load_translator, runtime
from seq2seq.config import from_tree
from seq2seq.errors import CheckpointError, DataError, RunError, SettingsError
from seq2seq.experiment import (
    AlignSettings,
    AverageSettings,
    EvaluateSettings,
    TrainSettings,
    TranslateSettings,
    align,
    average,
    evaluate,
    run_checkpoints,
    train,
    translate,
)
from seq2seq.training import atomic
from seq2seq.training.checkpoint import Checkpoint
from seq2seq.training.keeper import KeepingConfig
from seq2seq.training.trainer import Trainer

PAIRS = {
    "the dog sees a cat": "der Hund sieht eine Katze",
    "a cat runs": "eine Katze läuft",
    "the old man laughs": "der alte Mann lacht",
    "a dog": "ein Hund",
    "the cat sees the man": "die Katze sieht den Mann",
}
SENTENCES = {"a": list(PAIRS), "b": list(PAIRS.values())}


@pytest.fixture(autouse=True)
def keep_process():
    """Commands set threads for the whole process."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def files(tmp_path) -> Path:
    for split in ("train", "valid", "test"):
        for side, lines in SENTENCES.items():
            (tmp_path / f"{split}.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


SIZES = ("embedding_dim=16", "encoder.hidden_dim=8", "decoder.hidden_dim=16")


def tiny(files: Path, *overrides: str, model_sizes: Sequence[str] = SIZES) -> TrainSettings:
    """A run of the real command that takes a second, with all that draws random numbers.

    Its 4 epochs have 2 steps each: the first of two batches, the second of one.
    """
    paths = [
        f"data.{split}_{name}={files}/{stem}.{side}"
        for split, stem in (("train", "train"), ("validation", "valid"), ("test", "test"))
        for name, side in (("source", "a"), ("target", "b"))
    ]
    return settings_of(
        "train",
        TrainSettings,
        "data=files",
        *paths,
        *(f"model.{one}" for one in model_sizes),
        "tokenizer.vocabulary_size=70",
        "objective=scheduled_sampling",
        "batching.max_sentences=2",
        "training.accumulation=2",
        "training.max_epochs=4",
        "training.num_samples=0",
        "runtime.num_threads=1",
        f"run_dir={files}/run",
        *overrides,
    )


def resumed(folder: Path, **changes) -> TrainSettings:
    """What `resume=FOLDER` composes: the settings of its last checkpoint."""
    tree = Checkpoint.open(folder / "last").settings
    for key, value in changes.items():
        node = tree
        *above, last = key.split("__")
        for part in above:
            node = node[part]
        node[last] = value
    return from_tree({**tree, "resume": str(folder)}, TrainSettings)


def weights_of(folder: Path, name: str = "last") -> bytes:
    return (folder / name / "weights.safetensors").read_bytes()


def records_of(folder: Path) -> list[dict]:
    """The run's records, without what depends on the clock."""
    timed = {"seconds", "target_tokens_per_second"}
    lines = (folder / "metrics.jsonl").read_text("utf-8").splitlines()
    return [
        {key: value for key, value in json.loads(line).items() if key not in timed}
        for line in lines
    ]


def stop_at(monkeypatch, step: int) -> None:
    """Has this process asked to stop during a step of the next training."""
    steps = count(1)
    show = Trainer._show

    def stopping(self):
        show(self)
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Trainer, "_show", stopping)


def assert_same_run(one: Path, other: Path) -> None:
    """Two runs ended alike: to the bit in their weights, to the digit in what they measured."""
    assert records_of(one) == records_of(other)
    for name in ("best", "last"):
        assert weights_of(one, name) == weights_of(other, name)
    states = [vars(Checkpoint.open(folder / "last").state) for folder in (one, other)]
    for key in states[0].keys() - {"seconds", "history"}:
        assert states[0][key] == states[1][key], key
    hypotheses = [(folder / "test" / "hypotheses.txt").read_bytes() for folder in (one, other)]
    assert hypotheses[0] == hypotheses[1]


def on_checkpoint(settings_class, files: Path, **values):
    saved = Checkpoint.open(files / "run" / "best").settings
    groups = {
        key: saved[key] for key in ("data", "search") if key in settings_class.__annotations__
    }
    runtime = yaml.safe_load((CONFIGS / "runtime" / "default.yaml").read_text("utf-8"))
    tree = {**groups, "runtime": runtime, "checkpoint": str(files / "run" / "best"), **values}
    return from_tree(tree, settings_class)


@pytest.fixture
def run(files) -> Path:
    assert train(tiny(files, "training.num_samples=2")) == 0
    return files / "run"


def test_a_run_leaves_all_that_it_promises(run, capsys):
    names = {path.name for path in run.iterdir()}
    assert names == {"attention", "best", "last", "metrics.jsonl", "settings.yaml", "test"}
    assert [path.name for path in sorted((run / "attention").iterdir())] == ["0001.png", "0002.png"]
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert [record["epoch"] for record in records] == [1, 2, 3, 4]
    assert all("13a" in record["signature"] for record in records)
    results = json.loads((run / "test" / "results.json").read_text("utf-8"))
    assert [one["name"] for one in results["scores"]] == ["BLEU", "chrF2", "TER"]
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


def assert_resumed_alike(files: Path, monkeypatch, settings_for) -> None:
    """Runs what `settings_for(NAME)` says: `straight`, and `second` with a stop and a resume."""
    assert train(settings_for("straight")) == 0
    with monkeypatch.context() as patched:
        stop_at(patched, 4)
        assert train(settings_for("second")) == 128 + signal.SIGTERM
    assert train(resumed(files / "second")) == 0
    assert_same_run(files / "second", files / "straight")


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
        ("data__train_source", "other"),
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


@pytest.mark.parametrize("name", ["train.a", "train.a/below"])
def test_an_unwritable_run_folder_is_refused(files, name):
    settings = tiny(files)
    with pytest.raises(RunError, match=f"{name} cannot be written"):
        train(replace(settings, run_dir=f"{files}/{name}"))


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (lambda files: (files / "test.b").unlink(), "test.b cannot be read: No such file"),
        (lambda files: (files / "train.b").write_text("eins\n"), "has 5 lines and .* has 1"),
        (
            lambda files: (files / "valid.a").write_bytes(b"ok\n\xff\n"),
            "valid.a, line 2, byte 1 is",
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
    with pytest.raises(DataError, match=r"no test split: set data\.test_source"):
        evaluate(on_checkpoint(EvaluateSettings, files))
    with pytest.raises(SettingsError, match="test_source` and test_target go together"):
        tiny(files, "data.test_source=null")


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


def test_evaluations_do_not_overwrite_each_other(files, run):
    for _ in range(2):
        assert evaluate(on_checkpoint(EvaluateSettings, files)) == 0
    assert (run / "best-test").is_dir() and (run / "best-test-2").is_dir()


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
        with pytest.raises(SettingsError, match="`output` is the input file itself"):
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


# Precision


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


# What is in the run folder beside a run's own


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


# Averages


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
