"""How the share of true previous tokens falls (Bengio, Vinyals et al. 2015, section 2.4)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from seq2seq.config import AtLeast, Between, Config, Count, Fraction


@dataclass(frozen=True, kw_only=True)
class DecayConfig(Config, ABC):
    """The probability that a token is given as the truth has it, at each step."""

    @abstractmethod
    def truth(self, step: int) -> float:
        """The probability at a step, from 0."""


@dataclass(frozen=True, kw_only=True)
class LinearDecay(DecayConfig):
    """A straight line from 1 down to a floor.

    Attributes:
        steps: where the floor is reached.
        floor: least probability of the truth.
    """

    steps: Count = 10000
    floor: Fraction = 0.5

    def truth(self, step: int) -> float:
        return max(self.floor, 1 - (1 - self.floor) * step / self.steps)


@dataclass(frozen=True, kw_only=True)
class ExponentialDecay(DecayConfig):
    """k^step.

    Attributes:
        base: k, just under 1.
    """

    base: Annotated[float, Between(0, 1)] = 0.9999

    def truth(self, step: int) -> float:
        return float(self.base**step)


@dataclass(frozen=True, kw_only=True)
class InverseSigmoidDecay(DecayConfig):
    """k / (k + exp(step / k)): flat at first, then falling, then flat.

    Attributes:
        speed: k in steps, at least 1; the larger, the later it falls.
    """

    speed: Annotated[float, AtLeast(1)] = 2000.0

    def truth(self, step: int) -> float:
        exponent = step / self.speed
        return 0.0 if exponent > 700 else self.speed / (self.speed + math.exp(exponent))
