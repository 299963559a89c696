"""Checkpoints: a folder with all that a model needs, which appears whole or not at all.

No pickle: weights and tensors in safetensors, the rest in JSON, YAML and the tokenizers' own files.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from seq2seq.errors import CheckpointError, RunError
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.training import atomic, optimizer_state
from seq2seq.training.atomic import PART
from seq2seq.training.optimizer_state import shape_text
from seq2seq.training.state import RunState

FORMAT = 3
"""Of what is written here; a reader refuses what is newer."""

ABOUT_FILE = "checkpoint.json"
SETTINGS_FILE = "settings.yaml"
WEIGHTS_FILE = "weights.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
TOKENIZER_FOLDER = "tokenizer"


@dataclass(frozen=True)
class Checkpoint:
    """A folder that has been found to be a checkpoint."""

    folder: Path
    settings: dict[str, Any]
    state: RunState
    identity: int | None

    @classmethod
    def open(cls, folder: Path) -> Checkpoint:
        """Verifies all and reads all but tensors. Raises CheckpointError: this is no checkpoint."""
        given = folder if folder.name else folder.resolve()  # `.` has no name
        found = atomic.whole(given)
        if found is None:
            problem = "is a file" if given.exists() else "is not there"
            raise CheckpointError(f"{folder} {problem}. A checkpoint is a folder such as RUN/best.")
        identity = _identity(found)
        try:
            checkpoint = cls(found, *_contents(found), identity)
        except CheckpointError:
            if _identity(found) == identity:
                raise
        else:
            if _identity(found) == identity:
                return checkpoint
        return cls.open(folder)  # its run has replaced it meanwhile

    @property
    def tokenizer_folder(self) -> Path:
        """Where the tokenizers' files are."""
        return self.folder / TOKENIZER_FOLDER

    @property
    def vocabulary_sums(self) -> dict[str, str]:
        """The checksums of the tokenizers' files: equal where two vocabularies are."""
        sums = atomic.sums(self.folder)
        return {name: one for name, one in sums.items() if name.startswith(TOKENIZER_FOLDER)}

    @property
    def content_sums(self) -> dict[str, str]:
        """The checksums of weights and tokenizers: of what translates, whatever the search."""
        return {WEIGHTS_FILE: atomic.sums(self.folder)[WEIGHTS_FILE], **self.vocabulary_sums}

    def load_weights(self, model: nn.Module) -> None:
        """Fills a model of these settings. Raises CheckpointError where the weights do not fit."""
        path = self.folder / WEIGHTS_FILE
        try:
            found = load_file(str(path))
        except (OSError, SafetensorError, RuntimeError) as error:
            raise CheckpointError(f"{path} cannot be used: {_first_line(error)}") from None
        # By name and in place, not by safetensors' load_model: that one refuses a GPU's recurrent
        # networks, whose weights are slices of one block of memory.
        wanted = dict(model.named_parameters())
        if wrong := sorted(wanted.keys() ^ found.keys()):
            problem = "lacks" if wrong[0] in wanted else "holds more than the model:"
            raise CheckpointError(f"{path} {problem} {wrong[0]}. It is of another model.")
        with torch.no_grad():
            for name, parameter in wanted.items():
                if found[name].shape != parameter.shape:
                    raise CheckpointError(
                        f"{path}: {name} is {shape_text(found[name])}, but the model's is "
                        f"{shape_text(parameter)}."
                    )
                if found[name].dtype != parameter.dtype or not found[name].isfinite().all():
                    raise CheckpointError(f"{path} is damaged: {name} is not made of numbers.")
                parameter.copy_(found[name])
        self._check_that_it_is_still_there()

    def load_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        """Restores what the optimizer keeps. Raises CheckpointError."""
        path = self.folder / OPTIMIZER_FILE
        try:
            tensors = load_file(str(path))
            optimizer_state.unpack(tensors, optimizer, may_be_empty=not self.state.has_moved)
        except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(f"{path} cannot be used: {_first_line(error)}") from None

    def _check_that_it_is_still_there(self) -> None:
        if _identity(self.folder) != self.identity:
            raise CheckpointError(
                f"{self.folder} was replaced while it was read, since its run goes on. Try again, "
                "or copy it first."
            )


def checkpoints_in(folder: Path) -> list[Path]:
    """The checkpoints of a run, its best and last first; what is no run stands for itself."""
    named = [folder / name for name in ("best", "last", "average")]
    steps = sorted(folder.glob("step-*"), key=lambda one: (len(one.name), one.name))
    found = [one for one in (*named, *steps) if (one / ABOUT_FILE).is_file()]
    return [folder] if (folder / ABOUT_FILE).exists() or not found else found


def _identity(folder: Path) -> int | None:
    """What tells a folder from another that takes its place."""
    try:
        return folder.stat().st_ino
    except OSError:
        return None


def _contents(folder: Path) -> tuple[dict[str, Any], RunState]:
    """Settings and state of a checkpoint that is whole. Raises CheckpointError."""
    about = _read(folder, ABOUT_FILE, json.loads)
    if not isinstance(about, dict) or "format" not in about:
        raise CheckpointError(f"{folder} is not a checkpoint of this program.")
    if about["format"] != FORMAT:
        raise CheckpointError(
            f"{folder} has format {about['format']}, but this version reads {FORMAT}. Use the "
            "version that wrote it."
        )
    try:
        damaged = atomic.first_damaged(folder, (ABOUT_FILE, SETTINGS_FILE, WEIGHTS_FILE))
    except OSError as error:
        raise CheckpointError(f"{folder} cannot be read: {_first_line(error)}") from None
    if damaged is not None:
        is_there = (folder / damaged).is_file()
        problem = "is damaged: it is not what was saved" if is_there else "is not there"
        raise CheckpointError(f"{folder / damaged} {problem}.")
    settings = _read(folder, SETTINGS_FILE, _load_yaml)
    try:
        if isinstance(settings, dict):
            return settings, RunState.from_dict(about["state"])
        raise CheckpointError(f"{folder / SETTINGS_FILE} is damaged.")
    except (KeyError, TypeError, ValueError):
        raise CheckpointError(f"{folder / ABOUT_FILE} is damaged.") from None


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases: we write none, and a few lines of them can stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("it holds an alias.")
        return super().compose_node(parent, index)


def save_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Writes a settings tree as YAML; the file appears whole."""
    part = path.with_name(path.name + PART)
    atomic.write_text(part, yaml.safe_dump(dict(settings), sort_keys=False, allow_unicode=True))
    part.replace(path)


def save_checkpoint(
    folder: Path,
    *,
    model: nn.Module,
    tokenizers: TokenizerPair,
    settings: Mapping[str, Any],
    state: RunState,
    optimizer: torch.optim.Optimizer | None = None,
) -> None:
    """Writes a checkpoint aside, then puts it in the place of the one before.

    Args:
        folder: its final name.
        model: weights to keep.
        tokenizers: kept beside them.
        settings: the run's, as a tree.
        state: where the run stands.
        optimizer: given where training can go on from here.

    Raises:
        RunError: it cannot be written; the one before is untouched.
    """
    folder = folder.resolve()  # a link stays one: what it leads to is replaced
    part = folder.with_name(folder.name + PART)
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        # Tied matrices stand once. (With save_model, equal weights would not make equal files.)
        weights = {name: one.data.contiguous() for name, one in model.named_parameters()}
        save_file(weights, str(part / WEIGHTS_FILE))
        tokenizers.save(part / TOKENIZER_FOLDER)
        save_settings(part / SETTINGS_FILE, settings)
        if optimizer is not None:
            save_file(optimizer_state.pack(optimizer), str(part / OPTIMIZER_FILE))
        about = {"format": FORMAT, "state": state.as_dict()}
        atomic.write_text(part / ABOUT_FILE, json.dumps(about, indent=2))
        for one in part.glob("*.safetensors"):  # that library has them read by their owner alone
            shutil.copymode(part / ABOUT_FILE, one)
        atomic.seal(part)
        atomic.sync(part)
        atomic.replace(folder, part)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise RunError(
            f"{folder} cannot be written: {_first_line(error)} It takes about "
            f"{_megabytes(model, optimizer):.1f} MB. What was saved before is whole."
        ) from None


def _megabytes(model: nn.Module, optimizer: torch.optim.Optimizer | None) -> float:
    """What the tensors of a checkpoint take."""
    kept = [*model.parameters(), *(optimizer_state.pack(optimizer).values() if optimizer else ())]
    return float(sum(one.numel() * one.element_size() for one in kept)) / 1e6


def _read(folder: Path, name: str, parse: Any) -> Any:
    path = folder / name
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        inside = [one.name for one in sorted(folder.iterdir()) if (one / ABOUT_FILE).is_file()]
        advice = f" Did you mean {folder / inside[0]}?" if inside else ""
        raise CheckpointError(f"{folder} is not a checkpoint: it has no {name}.{advice}") from None
    except (OSError, ValueError, LookupError, RecursionError, yaml.YAMLError) as error:
        raise CheckpointError(f"{path} is damaged: {_first_line(error)}") from None


def _load_yaml(text: str) -> Any:
    return _PlainLoader(text).get_single_data()


def _first_line(error: Exception) -> str:
    """What an error says, on one line; torch opens some messages with a mere heading."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    lines = [line.strip() for line in str(text).strip().splitlines()]
    said = next((line for line in lines if not line.endswith(":")), lines[0])
    return f"{said.rstrip('.')}."
