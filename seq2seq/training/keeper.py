"""Which checkpoints a run has, and when they are written."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

from seq2seq.config import Config, Count, NonNegativeInt, Positive
from seq2seq.errors import SettingsError
from seq2seq.training.state import RunState


class Checkpoints(ABC):
    """The checkpoints in a run's folder, by name."""

    @abstractmethod
    def save(self, name: str) -> None:
        """Writes the run as it stands. Raises RunError; what was saved before is whole."""

    @abstractmethod
    def keep(self, names: set[str]) -> None:
        """Removes those of single steps that have other names."""


@dataclass(frozen=True, kw_only=True)
class KeepingConfig(Config):
    """When a run is saved, and what it keeps besides `best` and `last`.

    `last` is what a run goes on from. It is saved at each validation and when training ends, too.

    Attributes:
        every_steps: optimizer steps between saves.
        every_minutes: wall-clock between saves.
        num_best: checkpoints of this many best validations stay, as RUN/step-N ...
        num_last: ... and of this many last ones.
        average: whose weights are averaged at the end, into RUN/average; null: nobody's.
    """

    every_steps: Count | None = None
    every_minutes: Positive | None = 5.0
    num_best: NonNegativeInt = 0
    num_last: NonNegativeInt = 0
    average: Literal["best", "last"] | None = None

    def check(self) -> None:
        if self.average and getattr(self, f"num_{self.average}") < 2:
            raise SettingsError(
                "average", f"is {self.average}, which needs num_{self.average} of 2 or more."
            )


class Keeper:
    """Saves when it is time, and keeps what was asked for."""

    def __init__(self, config: KeepingConfig, state: RunState, checkpoints: Checkpoints) -> None:
        self.config = config
        self.state = state
        self.checkpoints = checkpoints
        self.saved_step = -1
        self.saved_at = time.monotonic()

    def after_step(self) -> None:
        """Saves `last` where steps or minutes say so."""
        config = self.config
        steps_are_over = config.every_steps and self.state.step % config.every_steps == 0
        minutes = (time.monotonic() - self.saved_at) / 60
        if steps_are_over or (config.every_minutes and minutes >= config.every_minutes):
            self.save_last()

    def save_last(self) -> None:
        """Saves `last`, unless it stands where the run does."""
        if self.saved_step != self.state.step:
            self.checkpoints.save("last")
            self.saved_step, self.saved_at = self.state.step, time.monotonic()

    def after_validation(self, *, is_best: bool) -> None:
        """Saves what a validation's score deserves, and removes what is not wanted any more."""
        if is_best:
            self.checkpoints.save("best")
        wanted = wanted_steps(self.state, self.config.num_best, self.config.num_last)
        if self.state.step in wanted:
            self.checkpoints.save(step_name(self.state.step))
        self.save_last()
        self.checkpoints.keep({step_name(step) for step in wanted})


def wanted_steps(state: RunState, num_best: int, num_last: int) -> list[int]:
    """The steps of the validations that were best or last, in the order of time."""
    by_score = sorted(state.history, key=lambda record: -float(record["validation_bleu"]))
    best = by_score[:num_best]
    last = state.history[-num_last:] if num_last else []
    return sorted({int(record["step"]) for record in (*best, *last)})


def step_name(step: int | str) -> str:
    """The name of a checkpoint that is kept for its step; how all of them begin, for nothing."""
    return f"step-{step}"
