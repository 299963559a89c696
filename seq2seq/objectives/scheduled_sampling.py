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
from seq2seq.objectives.cross_entropy import loss_when_given
from seq2seq.objectives.decay import DecayConfig


@dataclass(frozen=True, kw_only=True)
class ScheduledSamplingConfig(ObjectiveConfig):
    """Each previous token is the true one or the model's own, decided by a coin for each token.

    The coins come from torch's generator, so that a seed fixes them. The choice itself has no
    gradient, as in the paper: it is made in a pass of its own, step by step, and what the model
    learns from is then given to it for all steps at once. (Dropout differs between the two.)

    Attributes:
        label_smoothing: as in cross-entropy.
        choice: the model's own token is its most probable one, or drawn from its distribution.
        decay: how the truth's probability falls from step to step.
    """

    label_smoothing: Fraction = 0.1
    choice: Literal["argmax", "sample"] = "sample"
    decay: DecayConfig

    def __call__(self, model: Seq2Seq, batch: Batch, progress: float) -> Loss:
        inputs = self._inputs(model, batch, self.decay.truth(progress))
        return loss_when_given(inputs, model, batch, self.label_smoothing)

    @torch.no_grad()
    def _inputs(self, model: Seq2Seq, batch: Batch, truth: float) -> Tensor:
        """Previous tokens (B, T), each of them true with the probability `truth`."""
        if truth == 1:
            return batch.target_input
        state = model.start(model.encode(batch.source, batch.source_mask))
        given = [batch.target_input[:, 0]]  # BOS, always
        for true in batch.target_input[:, 1:].unbind(1):
            logits, state = model.step(given[-1], state)
            coins = torch.rand(len(true), device=true.device)
            given.append(torch.where(coins < truth, true, self._own(logits)))
        torch.clear_autocast_cache()  # of weights that were cast here, without a gradient
        return torch.stack(given, dim=1)

    def _own(self, logits: Tensor) -> Tensor:
        """The model's own next tokens (B,) by its logits (B, V), as a search would produce them."""
        scores = log_probabilities(logits)
        if self.choice == "argmax":
            return scores.argmax(dim=-1)
        # Of exponential waiting times at these rates, the shortest is a draw from the distribution.
        # (torch.multinomial is the same, but raises where the model has diverged.)
        return (scores.exp() / torch.empty_like(scores).exponential_()).argmax(dim=-1)
