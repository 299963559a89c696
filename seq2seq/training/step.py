"""One optimizer step: what training does again and again, and what a benchmark times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from seq2seq.data.batches import Batch
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.objectives.base import ObjectiveConfig
from seq2seq.optim.schedules import ScheduleConfig
from seq2seq.processes import ALONE, Processes
from seq2seq.runtime import FP32, Precision


@dataclass(frozen=True)
class StepResult:
    """What a step found.

    Attributes:
        nll: sum of unsmoothed negative log-likelihoods of all processes' tokens, in nats.
        learning_rate: of the first group of parameters.
        is_finite: whether loss and gradient were; where not, no weight has moved. (Nor has it where
            a gradient was too large for fp16, as scaled: the next step's is scaled less.)
    """

    nll: float
    learning_rate: float
    is_finite: bool


class Stepper:
    """Moves a model's weights by the gradient of some batches."""

    def __init__(
        self,
        model: Seq2Seq,
        objective: ObjectiveConfig,
        optimizer: torch.optim.Optimizer,
        schedule: ScheduleConfig,
        max_gradient_norm: float | None,
        processes: Processes = ALONE,
        precision: Precision = FP32,
    ) -> None:
        self.model = model
        self.objective = objective
        self.optimizer = optimizer
        self.schedule = schedule
        self.max_gradient_norm = max_gradient_norm or float("inf")
        self.processes = processes
        self.precision = precision
        self.scaler = precision.scaler()
        # It makes its scale at the first loss, which a process without a share has not.
        self.scaler.scale(torch.zeros((), device=precision.device_type))
        self.peak_rates = [group["lr"] for group in optimizer.param_groups]

    def __call__(
        self, batches: Sequence[Batch], num_tokens: int, step: int, progress: float
    ) -> StepResult:
        """One step.

        Args:
            batches: this process's share.
            num_tokens: real target tokens of all processes, EOS counted.
            step: its number, from 0.
            progress: the share of the budget that is used.
        """
        return self.move(self.gradients(batches, num_tokens, progress), step, progress)

    def gradients(self, batches: Sequence[Batch], num_tokens: int, progress: float) -> float:
        """Forms this process's share of the gradient; arguments as of a step.

        May be done again after `forget`, where memory did not suffice: nothing has moved. Returns
        the sum of unsmoothed negative log-likelihoods of its tokens.
        """
        nll = 0.0
        for batch in batches:
            with self.precision():
                loss = self.objective(self.model, batch, progress)
            self.scaler.scale(loss.total / num_tokens).backward()
            nll += float(loss.parts["nll"])
        return nll

    def forget(self) -> None:
        """Drops the gradient."""
        self.optimizer.zero_grad(set_to_none=True)

    def move(self, nll: float, step: int, progress: float) -> StepResult:
        """Moves the weights by the gradients of all processes, of which this one found `nll`."""
        factor = self.schedule.factor(step, progress)
        for rate, group in zip(self.peak_rates, self.optimizer.param_groups, strict=True):
            group["lr"] = rate * factor
        for one in self.model.parameters():
            if one.grad is None:  # nothing depends on it: the optimizer must know it all the same
                one.grad = torch.zeros_like(one)
        self.processes.sum_gradients(self.model.parameters())
        (nll,) = self.processes.sum(nll)
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.max_gradient_norm)
        is_finite = math.isfinite(nll) and bool(torch.isfinite(norm))
        if self.scaler.is_enabled():
            # It skips the step itself, and halves the scale. Below 1 that is not what is wrong.
            is_finite = math.isfinite(nll) and (is_finite or self.scaler.get_scale() > 1)
            if math.isfinite(nll):
                self.scaler.step(self.optimizer)
            self.scaler.update()
        elif is_finite:
            self.optimizer.step()
        self.forget()
        return StepResult(nll, self.peak_rates[0] * factor, is_finite)
