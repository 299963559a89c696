"""Cross-entropy with label smoothing (Szegedy et al. 2016, section 7), under teacher forcing."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from seq2seq.config import Fraction
from seq2seq.data.batches import Batch
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.objectives.base import Loss, ObjectiveConfig


@dataclass(frozen=True, kw_only=True)
class CrossEntropyConfig(ObjectiveConfig):
    """Teacher forcing: each position is given the true previous token.

    Attributes:
        label_smoothing: share of each target's probability that is spread over the vocabulary.
    """

    label_smoothing: Fraction = 0.1

    def __call__(self, model: Seq2Seq, batch: Batch, progress: float) -> Loss:
        hidden = model(batch.source, batch.source_mask, batch.target_input).hidden
        # Only real tokens are projected to the vocabulary: (N, R) to (N, V).
        logits = model.project(hidden[batch.target_mask])
        return smoothed_loss(logits, batch.target_output[batch.target_mask], self.label_smoothing)


def smoothed_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Loss:
    """The loss of logits (N, V) against ids (N,).

    In closed form: the smoothed term is logsumexp minus the mean logit, so that no matrix of
    log-probabilities is made.
    """
    normalizer = logits.logsumexp(dim=-1)  # (N,)
    nll = (normalizer - logits.gather(1, targets[:, None]).squeeze(1)).sum()
    total = nll
    if smoothing:
        total = (1 - smoothing) * nll + smoothing * (normalizer - logits.mean(dim=-1)).sum()
    return Loss(total, len(targets), {"nll": nll.detach()})
