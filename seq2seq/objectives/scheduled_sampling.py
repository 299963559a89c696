"""Scheduled sampling (Bengio, Vinyals et al. 2015): the model learns on its own mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from seq2seq.config import Fraction
from seq2seq.data.batches import Batch
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.objectives.base import Loss, ObjectiveConfig
from seq2seq.objectives.cross_entropy import smoothed_loss
from seq2seq.objectives.decay import DecayConfig


@dataclass(frozen=True, kw_only=True)
class ScheduledSamplingConfig(ObjectiveConfig):
    """Each previous token is the true one or the model's own, decided by a coin for each token.

    The coins come from torch's generator, so that a seed fixes them. The choice itself has no
    gradient, as in the paper.

    Attributes:
        label_smoothing: as in cross-entropy.
        choice: the model's own token is its most probable one, or drawn from its distribution.
        decay: how the truth's probability falls from step to step.
    """

    label_smoothing: Fraction = 0.1
    choice: Literal["argmax", "sample"] = "sample"
    decay: DecayConfig

    def __call__(self, model: Seq2Seq, batch: Batch, step: int) -> Loss:
        truth = self.decay.truth(step)
        state = model.start(model.encode(batch.source, batch.source_mask))
        previous = batch.target_input[:, 0]
        steps = []
        num_positions = batch.target_input.shape[1]
        for position in range(num_positions):
            logits, state = model.step(previous, state)
            steps.append(logits)
            if position + 1 < num_positions:
                true = batch.target_input[:, position + 1]
                coins = torch.rand(len(true), device=true.device)
                previous = torch.where(coins < truth, true, self._own(logits.detach()))
        logits = torch.stack(steps, dim=1)[batch.target_mask]  # (N, V)
        return smoothed_loss(logits, batch.target_output[batch.target_mask], self.label_smoothing)

    def _own(self, logits: Tensor) -> Tensor:
        """The model's own next tokens (B,) by its logits (B, V)."""
        if self.choice == "argmax":
            return logits.argmax(dim=-1)
        return torch.multinomial(logits.softmax(dim=-1), 1).squeeze(1)
