"""Learning-rate schedules: pure functions, so that there is nothing to save but the step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from seq2seq.config import Config, Fraction, NonNegativeInt
from seq2seq.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig(Config, ABC):
    """How the learning rate moves.

    Attributes:
        warmup_steps: optimizer steps over which the rate rises in a straight line to its peak.
    """

    warmup_steps: NonNegativeInt = 0

    def factor(self, step: int, progress: float) -> float:
        """The factor on the learning rate for a step.

        Args:
            step: optimizer steps done before it, from 0.
            progress: share of the run's budget used, from 0 to 1, be it epochs, steps or minutes:
                a budget in minutes has no last step that a schedule could know.
        """
        warm = (step + 1) / self.warmup_steps if step < self.warmup_steps else 1.0
        return warm * self.after_warmup(step, progress)

    @abstractmethod
    def after_warmup(self, step: int, progress: float) -> float:
        """The factor but for the warm-up."""


@dataclass(frozen=True, kw_only=True)
class ConstantSchedule(ScheduleConfig):
    """The peak rate, always."""

    def after_warmup(self, step: int, progress: float) -> float:
        return 1.0


@dataclass(frozen=True, kw_only=True)
class LinearSchedule(ScheduleConfig):
    """A straight line that ends with the budget.

    Attributes:
        final_factor: where it ends.
    """

    warmup_steps: NonNegativeInt = 100
    final_factor: Fraction = 0.0

    def after_warmup(self, step: int, progress: float) -> float:
        return 1 - (1 - self.final_factor) * progress


@dataclass(frozen=True, kw_only=True)
class CosineSchedule(ScheduleConfig):
    """Half a cosine that ends with the budget (Loshchilov and Hutter 2017).

    Attributes:
        final_factor: where it ends.
    """

    final_factor: Fraction = 0.0

    def after_warmup(self, step: int, progress: float) -> float:
        half_wave = (1 + math.cos(math.pi * progress)) / 2
        return self.final_factor + (1 - self.final_factor) * half_wave


@dataclass(frozen=True, kw_only=True)
class InverseSqrtSchedule(ScheduleConfig):
    """Falls as 1 / sqrt(step) from the end of the warm-up (Vaswani et al. 2017, section 5.3)."""

    warmup_steps: NonNegativeInt = 500

    def check(self) -> None:
        if self.warmup_steps < 1:
            raise SettingsError("warmup_steps", "must be at least 1 for this schedule, but is 0.")

    def after_warmup(self, step: int, progress: float) -> float:
        return min(1.0, math.sqrt(self.warmup_steps / (step + 1)))
