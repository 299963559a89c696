"""Averages the weights of checkpoints of one model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from seq2seq.errors import CheckpointError, RunError
from seq2seq.experiment.apply import load_checkpoint
from seq2seq.experiment.outputs import check_writable
from seq2seq.experiment.settings import AverageSettings
from seq2seq.runtime import RuntimeConfig
from seq2seq.training.checkpoint import Checkpoint, save_checkpoint
from seq2seq.training.keeper import step_name, wanted_steps

ON_CPU = RuntimeConfig(device="cpu")


def average(settings: AverageSettings) -> int:
    """Writes a checkpoint with the mean weights of others."""
    run = Path(settings.run)
    if settings.steps:
        checkpoints = [Checkpoint.open(run / step_name(one)) for one in settings.steps]
    else:
        checkpoints = kept(run, settings.of, settings.num)
    folder = Path(settings.output or run / "average")
    if folder.exists():
        raise RunError(f"{folder} is there already. Choose another output.")
    check_writable(folder)
    average_into(folder, checkpoints)
    print(f"the average of {len(checkpoints)} checkpoints is {folder}", file=sys.stderr)
    for one in checkpoints:
        print(f"    {one.folder}", file=sys.stderr)
    return 0


def kept(run: Path, of: str, num: int) -> list[Checkpoint]:
    """A run's checkpoints of so many best or last validations. Raises CheckpointError."""
    state = Checkpoint.open(run / "last").state
    steps = wanted_steps(state, num if of == "best" else 0, num if of == "last" else 0)
    if missing := [one for one in steps if not (run / step_name(one)).is_dir()]:
        raise CheckpointError(
            f"{run / step_name(missing[0])} is not there. Train with training.keeping.num_{of}="
            f"{num}, or average fewer."
        )
    return [Checkpoint.open(run / step_name(one)) for one in steps]


def average_into(folder: Path, checkpoints: Sequence[Checkpoint]) -> None:
    """Saves the mean of checkpoints. Raises CheckpointError where they differ."""
    first, newest = checkpoints[0], max(checkpoints, key=lambda one: one.state.step)
    translator = load_checkpoint(first, None, ON_CPU)
    sums: dict[str, Tensor] = {}
    for checkpoint in checkpoints:
        if differing := _difference(first, checkpoint):
            raise CheckpointError(
                f"{checkpoint.folder} has another {differing} than {first.folder}: their weights "
                "have no mean."
            )
        checkpoint.load_weights(translator.model)
        for name, one in translator.model.named_parameters():
            sums[name] = sums.get(name, 0) + one.detach().double()
    with torch.no_grad():
        for name, one in translator.model.named_parameters():
            one.copy_(sums[name] / len(checkpoints))
    save_checkpoint(
        folder,
        model=translator.model,
        tokenizers=translator.tokenizers,
        settings=first.settings,
        state=newest.state,
    )


def _difference(one: Checkpoint, other: Checkpoint) -> str | None:
    """What keeps two checkpoints from being averaged: model, tokenizer or vocabulary."""
    for group in ("model", "tokenizer"):
        if one.settings.get(group) != other.settings.get(group):
            return group
    return None if one.vocabulary_sums == other.vocabulary_sums else "vocabulary"
