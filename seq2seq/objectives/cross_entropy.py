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

ROWS_AT_ONCE = 512
"""Of logits: few enough to stay in a CPU's cache, many enough for fast products."""


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
    at once, where the logits were, and of a few rows at a time: (N, V) is never held as a whole.

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
        correct = targets.new_zeros(())
        total, nll = weight.new_zeros(()), weight.new_zeros(())
        # Under autocast products are of another type; what is made of them here is not.
        dtype = torch.mm(hidden[:1], weight[:1].t()).dtype
        hidden, factor, added = hidden.to(dtype), weight.to(dtype), bias.to(dtype)
        gradients = [torch.zeros_like(one) for one in (hidden, weight, bias)] if learns else []
        for start in range(0, len(hidden), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            some, right = hidden[rows], targets[rows, None]
            logits = torch.addmm(added, some, factor.t()).to(weight.dtype)
            log_sum = logits.logsumexp(dim=1)
            some_nll = (log_sum - logits.gather(1, right)[:, 0]).sum()
            nll += some_nll
            total += (1 - smoothing) * some_nll + smoothing * (log_sum - logits.mean(dim=1)).sum()
            if not gradients:
                correct += (logits.argmax(dim=1) == targets[rows]).sum()
            else:
                d_hidden, d_weight, d_bias = gradients
                gradient = logits.sub_(log_sum[:, None]).exp_().sub_(smoothing / logits.shape[1])
                gradient.scatter_add_(1, right, torch.full_like(log_sum[:, None], smoothing - 1))
                d_bias += gradient.sum(dim=0)
                gradient = gradient.to(dtype)
                torch.mm(gradient, factor, out=d_hidden[rows])
                if dtype == weight.dtype:
                    d_weight.addmm_(gradient.t(), some)
                else:
                    d_weight += gradient.t() @ some
        ctx.save_for_backward(*gradients)
        ctx.mark_non_differentiable(nll, correct)
        return total, nll, correct

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        return *(slope * one for one in ctx.saved_tensors), None, None, None
