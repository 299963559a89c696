"""Losses against torch's own, and scheduled sampling at its ends."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from seq2seq.data.batches import EncodedPairs
from seq2seq.models.interfaces import log_probabilities
from seq2seq.objectives import cross_entropy
from seq2seq.objectives.cross_entropy import CrossEntropyConfig, smoothed_loss
from seq2seq.objectives.decay import ExponentialDecay, InverseSigmoidDecay, LinearDecay
from seq2seq.objectives.scheduled_sampling import ScheduledSamplingConfig
from seq2seq.special_tokens import BOS, PAD


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("rows_at_once", [3, 7, 100])
def test_loss_and_gradient_equal_torchs(smoothing, rows_at_once, monkeypatch):
    monkeypatch.setattr(cross_entropy, "ROWS_AT_ONCE", rows_at_once)
    shapes = ((7, 5), (11, 5), (11,))
    parts = [torch.randn(one, dtype=torch.float64, requires_grad=True) for one in shapes]
    targets = torch.randint(11, (7,))
    loss = smoothed_loss(*parts, targets, smoothing)
    logits = functional.linear(*parts)
    expected = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(loss.total, expected)
    ours = torch.autograd.grad(loss.total / 3, parts)
    theirs = torch.autograd.grad(expected / 3, parts)
    torch.testing.assert_close(ours, theirs)
    nll = functional.cross_entropy(logits, targets, reduction="sum")
    torch.testing.assert_close(loss.parts["nll"], nll.detach())
    assert loss.num_tokens == 7 and not loss.parts["nll"].requires_grad
    with torch.no_grad():
        again = smoothed_loss(*parts, targets, smoothing)
    torch.testing.assert_close(again.total, expected)
    assert again.parts["correct"] == (logits.argmax(-1) == targets).sum()


def test_always_the_truth_is_teacher_forcing(tiny_model, tiny_batch):
    truth = LinearDecay(final=1.0)
    sampled = ScheduledSamplingConfig(decay=truth)(tiny_model, tiny_batch, progress=0.5)
    forced = CrossEntropyConfig()(tiny_model, tiny_batch, progress=0.5)
    torch.testing.assert_close(sampled.total, forced.total)
    assert sampled.num_tokens == forced.num_tokens == tiny_batch.num_tokens


@pytest.mark.parametrize("choice", ["argmax", "sample"])
def test_a_model_that_diverged_gives_a_loss_that_is_not_finite(tiny_model, tiny_batch, choice):
    torch.nn.init.constant_(tiny_model.output.bias, float("nan"))
    never = ScheduledSamplingConfig(decay=LinearDecay(final=0.0), choice=choice)
    assert not never(tiny_model, tiny_batch, progress=1.0).total.isfinite()


@pytest.mark.parametrize("choice", ["argmax", "sample"])
def test_never_the_truth_ignores_it_and_repeats_under_a_seed(tiny_model, tiny_batch, choice):
    never = ScheduledSamplingConfig(decay=LinearDecay(final=0.0), choice=choice)
    losses = []
    for _ in range(2):
        torch.manual_seed(3)
        losses.append(float(never(tiny_model, tiny_batch, progress=1.0).total.detach()))
    assert losses[0] == losses[1]
    tiny_batch.target_input[:, 1:] = 4  # what it is never shown
    torch.manual_seed(3)
    assert float(never(tiny_model, tiny_batch, progress=1.0).total.detach()) == losses[0]


@pytest.mark.usefixtures("double_precision")
def test_what_is_learned_is_what_was_written(tiny_model, tiny_batch):
    """The loss of free-running steps, each given the most probable token of the one before."""
    model = tiny_model.double().eval()
    never = ScheduledSamplingConfig(decay=LinearDecay(final=0.0), choice="argmax")
    loss = never(model, tiny_batch, progress=1.0).total
    state = model.start(model.encode(tiny_batch.source, tiny_batch.source_mask))
    token, expected = tiny_batch.target_input[:, 0], torch.zeros(())
    for target in tiny_batch.target_output.unbind(1):
        logits, state = model.step(token, state)
        token = log_probabilities(logits.detach()).argmax(-1)
        expected = expected + functional.cross_entropy(
            logits, target, ignore_index=PAD, reduction="sum", label_smoothing=0.1
        )
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-10)
    parameters = list(model.parameters())
    torch.testing.assert_close(
        torch.autograd.grad(loss, parameters), torch.autograd.grad(expected, parameters)
    )


def test_the_coin_is_tossed_for_each_token(tiny_model):
    """At a truth of one half, half of the tokens are true, in no pattern of rows or columns."""
    pairs = EncodedPairs.of((line, [5], [19] * 50) for line in range(64))
    batch = pairs.batch(range(64))
    given = []

    class Spied:
        encode, start = tiny_model.encode, tiny_model.start

        def step(self, tokens, state):
            given.append(tokens)
            logits, state = tiny_model.step(tokens, state)
            return torch.zeros_like(logits).index_fill_(1, torch.tensor([7]), 99.0), state

        output = tiny_model.output

        def __call__(self, source, mask, inputs):
            given.append(inputs)
            return tiny_model(source, mask, inputs)

    half = ScheduledSamplingConfig(decay=LinearDecay(final=0.5), choice="argmax")
    half(Spied(), batch, progress=1.0)
    *fed, learned_from = given
    assert torch.equal(torch.stack(fed, 1), learned_from[:, :-1])
    assert (learned_from[:, 0] == BOS).all()
    fed = learned_from[:, 1:]
    assert set(fed.unique().tolist()) == {7, 19}
    is_true = (fed == 19).double()
    assert is_true.mean() == pytest.approx(0.5, abs=0.03)
    for means, size in ((is_true.mean(0), 64), (is_true.mean(1), 50)):
        # Of independent coins these means scatter by 0.5 / sqrt(size); of shared ones by 0.5.
        assert means.std() == pytest.approx(0.5 / size**0.5, rel=0.4)


def test_special_tokens_that_a_search_would_not_produce_are_not_fed(tiny_model, tiny_batch):
    logits = torch.zeros(3, 20)
    logits[:, :2] = 50.0
    for choice in ("argmax", "sample"):
        own = ScheduledSamplingConfig(decay=LinearDecay(), choice=choice)._own(logits)
        assert (own >= 2).all()


def test_decays_follow_the_paper():
    linear = LinearDecay(final=0.2)
    assert [linear.truth(share) for share in (0, 0.5, 1)] == pytest.approx([1, 0.6, 0.2])
    exponential = ExponentialDecay(final=0.9**100)  # k = 0.9 over 100 steps
    assert exponential.truth(0.03) == pytest.approx(0.9**3)
    k, steps = 100.0, 2000  # the paper's curve is this one with its midpoint at k ln k steps
    sigmoid = InverseSigmoidDecay(midpoint=k * math.log(k) / steps, steepness=steps / k)
    for step in (0, 500, 2000):
        assert sigmoid.truth(step / steps) == pytest.approx(k / (k + math.exp(step / k)))
    assert InverseSigmoidDecay(steepness=10**9).truth(1.0) == 0.0
