"""How the share of true previous tokens falls (Bengio, Vinyals et al. 2015, section 2.4).

The paper's curves, over the share of the run's budget that is used instead of over steps: so a
curve does all it is meant to do in a run of any length.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

from seq2seq.config import Above, Between, Config, Fraction, Positive


@dataclass(frozen=True, kw_only=True)
class DecayConfig(Config, ABC):
    """The probability that a token is given as the truth has it."""

    @abstractmethod
    def truth(self, progress: float) -> float:
        """The probability when a share of the budget is used, from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class LinearDecay(DecayConfig):
    """A straight line from 1 down to where it ends.

    Attributes:
        final: probability of the truth at the end.
    """

    final: Fraction = 0.5

    def truth(self, progress: float) -> float:
        return 1 - (1 - self.final) * progress


@dataclass(frozen=True, kw_only=True)
class ExponentialDecay(DecayConfig):
    """k^i at step i, with the k that ends at a given probability.

    Attributes:
        final: probability of the truth at the end.
    """

    final: Annotated[float, Above(0), Between(0, 1)] = 0.5

    def truth(self, progress: float) -> float:
        return float(self.final**progress)


@dataclass(frozen=True, kw_only=True)
class InverseSigmoidDecay(DecayConfig):
    """k / (k + exp(i / k)) at step i: flat at first, then falling, then flat.

    With x for the share of the budget that is 1 / (1 + exp(steepness (x - midpoint))).

    Attributes:
        midpoint: share of the budget after which truth and model are equally likely.
        steepness: the larger, the more sudden the fall.
    """

    midpoint: Fraction = 0.75
    steepness: Positive = 10.0

    def truth(self, progress: float) -> float:
        exponent = self.steepness * (progress - self.midpoint)
        return 0.0 if exponent > 700 else 1 / (1 + math.exp(exponent))
