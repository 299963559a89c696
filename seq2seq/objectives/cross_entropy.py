"""Cross-entropy with label smoothing (Szegedy et al. 2016, section 7), under teacher forcing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from seq2seq.config import Fraction
from seq2seq.data.batches import Batch
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.objectives.base import Loss, ObjectiveConfig

ROWS_AT_ONCE = 1024
"""Of logits that are held: many enough for fast products."""

ROWS_IN_CACHE = 32
"""Of those, which are passed over several times: few enough for a CPU core's cache."""


@dataclass(frozen=True, kw_only=True)
class CrossEntropyConfig(ObjectiveConfig):
    """Teacher forcing: each position is given the true previous token.

    Attributes:
        label_smoothing: share of each target's probability that is spread over the vocabulary.
    """

    label_smoothing: Fraction = 0.1

    def __call__(self, model: Seq2Seq, batch: Batch, progress: float) -> Loss:
        return loss_when_given(batch.target_input, model, batch, self.label_smoothing)


def loss_when_given(inputs: Tensor, model: Seq2Seq, batch: Batch, smoothing: float) -> Loss:
    """The loss of a batch where the decoder is given `inputs` (B, T) as previous tokens."""
    hidden = model(batch.source, batch.source_mask, inputs).hidden
    # Only real tokens are projected to the vocabulary: (N, R) to (N, V).
    real, projection = batch.target_mask, model.output
    return smoothed_loss(
        hidden[real], projection.weight, projection.bias, batch.target_output[real], smoothing
    )


def smoothed_loss(
    hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
) -> Loss:
    """The loss of hidden vectors (N, R), projected by (V, R) and (V,), against ids (N,).

    Its parts are the unsmoothed `nll`, and where nothing is learned how many tokens are `correct`.
    """
    apply: Any = _ProjectedCrossEntropy.apply
    learns = torch.is_grad_enabled()
    total, nll, correct = apply(hidden, weight, bias, targets, smoothing, learns)
    parts = {"nll": nll} if learns else {"nll": nll, "correct": correct}
    return Loss(total, len(targets), parts)


class _ProjectedCrossEntropy(torch.autograd.Function):
    """The sum over rows, its unsmoothed part, and without a gradient how many rows are right.

    The gradient at logits is softmax - target, and needs nothing that comes later. So it is formed
    at once, where the logits were, and of some rows at a time: (N, V) is never held as a whole.
    What label smoothing spreads evenly over the vocabulary does not pass over the logits at all: a
    row's mean logit is its hidden vector times the mean weight, and so are the gradients of it.

    In fp16 that is before the loss is scaled: words that a row gives less than about 3e-8 get no
    gradient from it.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        targets: Tensor,
        smoothing: float,
        learns: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        nll, log_sums = weight.new_zeros(()), weight.new_zeros(())
        correct = targets.new_zeros(())
        # Under autocast products are of another type; what is made of them here is not.
        dtype = torch.mm(hidden[:1], weight[:1].t()).dtype
        hidden, factor = hidden.to(dtype), weight.to(dtype)
        gradients = [torch.zeros_like(one if learns else one[:0]) for one in (hidden, weight, bias)]
        d_hidden, d_weight, d_bias = gradients
        held = factor.new_empty(min(ROWS_AT_ONCE, len(hidden)), len(factor))
        size = ROWS_IN_CACHE if bias.device.type == "cpu" else ROWS_AT_ONCE
        passed = bias.new_empty(min(size, len(hidden)), len(factor))
        for start in range(0, len(hidden), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            some = hidden[rows]
            block = torch.mm(some, factor.t(), out=held[: len(some)])
            for part, ids in zip(block.split(size), targets[rows].split(size), strict=True):
                right = ids[:, None]
                logits = part.to(weight.dtype).add_(bias)
                scores = torch.log_softmax(logits, dim=1, out=passed[: len(part)])
                right_score = scores.gather(1, right).sum()
                nll -= right_score
                log_sums += logits.gather(1, right).sum() - right_score
                if not learns:
                    correct += (scores.argmax(dim=1) == ids).sum()
                    continue
                gradient = torch.exp(scores, out=logits)
                gradient.scatter_add_(1, right, gradient.new_full((len(ids), 1), smoothing - 1))
                d_bias += gradient.sum(dim=0)
                if gradient is not part:
                    part.copy_(gradient)
            if learns:
                torch.mm(block, factor, out=d_hidden[rows])
                if dtype == weight.dtype:
                    d_weight.addmm_(block.t(), some)
                else:
                    d_weight += block.t() @ some
        count, mean_weight = len(hidden), weight.mean(dim=0)
        sum_hidden = hidden.sum(dim=0, dtype=weight.dtype)
        mean_logits = sum_hidden @ mean_weight + count * bias.mean()
        total = (1 - smoothing) * nll + smoothing * (log_sums - mean_logits)
        if learns:
            share = smoothing / len(weight)
            d_hidden -= smoothing * mean_weight
            d_weight -= share * sum_hidden
            d_bias -= share * count
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(nll, correct)
        return total, nll, correct

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        return *(slope * one for one in ctx.saved_tensors), None, None, None
