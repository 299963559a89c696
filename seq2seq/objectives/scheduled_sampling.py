"""Scheduled sampling (Bengio, Vinyals et al. 2015): the model learns on its own mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from seq2seq.config import Fraction
from seq2seq.data.batches import Batch
from seq2seq.models.interfaces import log_probabilities
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

    def __call__(self, model: Seq2Seq, batch: Batch, progress: float) -> Loss:
        truth = self.decay.truth(progress)
        state = model.start(model.encode(batch.source, batch.source_mask))
        own: Tensor | None = None  # the first token is BOS, always
        logits_of_steps, targets_of_steps = [], []
        for true, target, real in zip(
            batch.target_input.unbind(1),
            batch.target_output.unbind(1),
            batch.target_mask.unbind(1),
            strict=True,
        ):
            if own is not None:
                coins = torch.rand(len(true), device=true.device)
                true = torch.where(coins < truth, true, own)
            logits, state = model.step(true, state)
            own = self._own(logits.detach())
            logits_of_steps.append(logits[real])
            targets_of_steps.append(target[real])
        return smoothed_loss(
            torch.cat(logits_of_steps), torch.cat(targets_of_steps), self.label_smoothing
        )

    def _own(self, logits: Tensor) -> Tensor:
        """The model's own next tokens (B,) by its logits (B, V), as a search would produce them."""
        scores = log_probabilities(logits)
        if self.choice == "argmax":
            return scores.argmax(dim=-1)
        # Of exponential waiting times at these rates, the shortest is a draw from the distribution.
        # (torch.multinomial is the same, but raises where the model has diverged.)
        return (scores.exp() / torch.empty_like(scores).exponential_()).argmax(dim=-1)
