"""Training as a tutorial writes it: what speed is compared with, and the oracle of the tests.

Sentences of any lengths share a batch; a recurrent decoder goes from step to step and projects the
keys anew at each; padding is projected to the vocabulary like words; autograd keeps all of it.
"""

from __future__ import annotations

import random

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.data.batches import Batch
from seq2seq.models.decoders.base import RecurrentDecoder
from seq2seq.models.interfaces import State
from seq2seq.models.seq2seq import Seq2Seq
from seq2seq.runtime import FP32, Precision

IGNORED = -100
"""The target that torch's loss passes over."""


def plain_loss(model: Seq2Seq, batch: Batch, label_smoothing: float) -> Tensor:
    """The sum of the smoothed loss over the real target tokens."""
    if isinstance(model.decoder, RecurrentDecoder):
        logits = _step_by_step(model, batch)
    else:
        hidden = model(batch.source, batch.source_mask, batch.target_input).hidden
        logits = model.project(hidden)
    targets = batch.target_output.masked_fill(~batch.target_mask, IGNORED)
    return F.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
        reduction="sum",
    )


def _step_by_step(model: Seq2Seq, batch: Batch) -> Tensor:
    """Logits (B, T, V)."""
    memory = model.encode(batch.source, batch.source_mask)
    moving = model.start(memory).moving
    found = []
    for tokens in batch.target_input.unbind(1):
        fixed = model.start(memory).fixed
        logits, state = model.step(tokens, State(fixed, moving))
        moving = state.moving
        found.append(logits)
    return torch.stack(found, 1)


def plain_step(
    model: Seq2Seq,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    label_smoothing: float,
    max_gradient_norm: float,
    precision: Precision = FP32,
) -> None:
    """One optimizer step on a batch."""
    optimizer.zero_grad()
    with precision():
        loss = plain_loss(model, batch, label_smoothing)
    (loss / batch.num_tokens).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_gradient_norm)
    optimizer.step()


def plain_plan(num_pairs: int, num_sentences: int, seed: int) -> list[list[int]]:
    """An epoch in batches of so many pairs, of any lengths."""
    order = random.Random(seed).sample(range(num_pairs), num_pairs)
    return [order[at : at + num_sentences] for at in range(0, num_pairs, num_sentences)]
