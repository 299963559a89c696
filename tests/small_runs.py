"""Runs of the real commands that take a second, for tests of what they leave."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
import torch
import yaml
from conftest import CONFIGS, settings_of

from seq2seq.config import from_tree
from seq2seq.experiment import (
    TrainSettings,
    train,
)
from seq2seq.training.checkpoint import Checkpoint
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


def assert_resumed_alike(files: Path, monkeypatch, settings_for) -> None:
    """Runs what `settings_for(NAME)` says: `straight`, and `second` with a stop and a resume."""
    assert train(settings_for("straight")) == 0
    with monkeypatch.context() as patched:
        stop_at(patched, 4)
        assert train(settings_for("second")) == 128 + signal.SIGTERM
    assert train(resumed(files / "second")) == 0
    assert_same_run(files / "second", files / "straight")


def searching(files: Path, name: str, **chosen) -> dict:
    tree = yaml.safe_load((CONFIGS / "search" / f"{name}.yaml").read_text("utf-8"))
    return {**tree, **chosen}
