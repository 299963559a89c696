"""The checkpoints of a run under way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.processes import Processes
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.training import atomic
from seq2seq.training.checkpoint import save_checkpoint
from seq2seq.training.keeper import Checkpoints, step_name
from seq2seq.training.state import RunState

OURS = re.compile(rf"{step_name('')}\d+({atomic.PART}|\.new|\.old)?")
"""What a run calls checkpoints of steps, whole or not; other names are the user's."""


@dataclass(frozen=True)
class RunCheckpoints(Checkpoints):
    """What is saved of a run, by the first process; `last` alone can be gone on from."""

    folder: Path
    model: Seq2Seq
    tokenizers: TokenizerPair
    settings: Mapping[str, Any]
    state: RunState
    optimizer: torch.optim.Optimizer
    processes: Processes

    def save(self, name: str) -> None:
        if not self.processes.is_first:
            return
        save_checkpoint(
            self.folder / name,
            model=self.model,
            tokenizers=self.tokenizers,
            settings=self.settings,
            state=self.state,
            optimizer=self.optimizer if name == "last" else None,
        )

    def keep(self, names: set[str]) -> None:
        for path in self.folder.iterdir() if self.processes.is_first else ():
            if OURS.fullmatch(path.name) and path.name not in names and path.is_dir():
                atomic.remove(path)
