"""Optimizers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from torch import nn

from seq2seq.config import Above, AtLeast, AtMost, Below, Config, NonNegative, Positive

Momentum = Annotated[float, AtLeast(0), Below(1)]


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(Config, ABC):
    """How weights follow their gradients.

    Attributes:
        learning_rate: at its peak; the schedule multiplies it by a factor from 0 to 1.
    """

    learning_rate: Annotated[float, Above(0), AtMost(1000)] = 0.002

    @abstractmethod
    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimizer of some parameters."""


@dataclass(frozen=True, kw_only=True)
class AdamWConfig(OptimizerConfig):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019).

    Attributes:
        beta1: decay of the mean of gradients.
        beta2: decay of the mean of their squares.
        epsilon: added to the denominator.
        weight_decay: on matrices; biases, norms and other vectors are spared.
    """

    beta1: Momentum = 0.9
    beta2: Momentum = 0.999
    epsilon: Positive = 1e-8
    weight_decay: NonNegative = 0.0

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.AdamW:
        chosen = list(parameters)
        decayed = [one for one in chosen if one.dim() > 1]
        spared = [one for one in chosen if one.dim() <= 1]

        def optimizer(**settings: Any) -> torch.optim.AdamW:
            groups = [
                {"params": decayed, "weight_decay": self.weight_decay},
                {"params": spared, "weight_decay": 0.0},
            ]
            betas = (self.beta1, self.beta2)
            return torch.optim.AdamW(
                groups, lr=self.learning_rate, betas=betas, eps=self.epsilon, **settings
            )

        try:
            return optimizer(fused=True)  # goes through memory once instead of ten times
        except RuntimeError:  # this torch has no such step for this device: 2.3 on a CPU
            return optimizer()
