"""Losses against torch's own, and scheduled sampling at its ends."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from seq2seq.objectives.cross_entropy import CrossEntropyConfig, smoothed_loss
from seq2seq.objectives.decay import ExponentialDecay, InverseSigmoidDecay, LinearDecay
from seq2seq.objectives.scheduled_sampling import ScheduledSamplingConfig


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_closed_form_equals_torch(smoothing):
    logits = torch.randn(7, 11, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(11, (7,))
    loss = smoothed_loss(logits, targets, smoothing)
    expected = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss.total, expected)
    (ours,) = torch.autograd.grad(loss.total, logits)
    (theirs,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(ours, theirs)
    nll = functional.cross_entropy(logits, targets, reduction="sum")
    torch.testing.assert_close(loss.parts["nll"], nll.detach())
    assert loss.num_tokens == 7


def test_always_the_truth_is_teacher_forcing(tiny_model, tiny_batch):
    truth = LinearDecay(steps=1, floor=1.0)
    sampled = ScheduledSamplingConfig(decay=truth)(tiny_model, tiny_batch, step=5)
    forced = CrossEntropyConfig()(tiny_model, tiny_batch, step=5)
    torch.testing.assert_close(sampled.total, forced.total)
    assert sampled.num_tokens == forced.num_tokens == tiny_batch.num_tokens


@pytest.mark.parametrize("choice", ["argmax", "sample"])
def test_never_the_truth_ignores_it_and_repeats_under_a_seed(tiny_model, tiny_batch, choice):
    never = ScheduledSamplingConfig(decay=LinearDecay(steps=1, floor=0.0), choice=choice)
    losses = []
    for _ in range(2):
        torch.manual_seed(3)
        losses.append(float(never(tiny_model, tiny_batch, step=1).total.detach()))
    assert losses[0] == losses[1]
    tiny_batch.target_input[:, 1:] = 4  # what it is never shown
    torch.manual_seed(3)
    assert float(never(tiny_model, tiny_batch, step=1).total.detach()) == losses[0]


def test_decays_follow_the_paper():
    linear = LinearDecay(steps=10, floor=0.2)
    assert [linear.truth(step) for step in (0, 5, 10, 99)] == pytest.approx([1, 0.6, 0.2, 0.2])
    assert ExponentialDecay(base=0.9).truth(3) == pytest.approx(0.729)
    sigmoid = InverseSigmoidDecay(speed=100.0)
    assert sigmoid.truth(0) == pytest.approx(100 / 101)
    assert sigmoid.truth(500) == pytest.approx(100 / (100 + math.e**5))
    assert sigmoid.truth(10**9) == 0.0
