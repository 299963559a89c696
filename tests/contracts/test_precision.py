"""Every model in mixed precision: about the same numbers, in the types that were promised."""

from __future__ import annotations

import pytest
import torch
from conftest import build_tiny_model, covering_models

from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.objectives.decay import LinearDecay
from seq2seq.objectives.scheduled_sampling import ScheduledSamplingConfig
from seq2seq.runtime import FP32, Precision
from seq2seq.search.beam import BeamConfig

# Each attention, each encoding and each cell once is enough here.
ONCE = ("gru-bahdanau-", "lstm-luong-", "transformer-transformer-multi_head-")
COVER = {name: one for name, one in covering_models() if name.startswith(ONCE)}
NARROW = pytest.mark.parametrize("name", ["bf16", "fp16"])


def gradient_of(model, objective, batch, precision):
    """The loss of a batch and its gradient as one vector."""
    model.zero_grad()
    with precision():
        loss = objective(model, batch, 1.0)
    loss.total.backward()
    assert loss.total.dtype == loss.parts["nll"].dtype == torch.float32
    gradients = [one.grad for one in model.parameters() if one.grad is not None]
    assert all(one.dtype == torch.float32 for one in gradients)
    return float(loss.parts["nll"]), torch.cat([one.flatten() for one in gradients])


@NARROW
@pytest.mark.parametrize("config", COVER.values(), ids=COVER)
def test_loss_and_gradient_are_those_of_float32_but_for_rounding(config, name, tiny_batch):
    model = config.build(20, 20, is_joint=True).eval()
    expected, right = gradient_of(model, CrossEntropyConfig(), tiny_batch, FP32)
    nll, gradient = gradient_of(model, CrossEntropyConfig(), tiny_batch, Precision(name))
    assert nll != expected and nll == pytest.approx(expected, rel=0.01)
    # Much of it comes from single units of a ReLU that rounding has moved over its edge.
    assert (gradient - right).norm() < 0.2 * right.norm()


@NARROW
@pytest.mark.parametrize("config", COVER.values(), ids=COVER)
def test_step_by_step_is_all_at_once_but_for_rounding_and_is_searched(config, name, tiny_batch):
    model = config.build(20, 20, is_joint=True).eval()
    source, mask, target = tiny_batch.source, tiny_batch.source_mask, tiny_batch.target_input
    with torch.inference_mode(), Precision(name)():
        logits = model.project(model(source, mask, target).hidden)
        state = model.start(model.encode(source, mask))
        for position, tokens in enumerate(target.unbind(1)):
            step_logits, state = model.step(tokens, state)
            torch.testing.assert_close(step_logits, logits[:, position], rtol=0, atol=0.1)
        for (found,) in BeamConfig(beam_size=3)(model, source, mask):
            assert found.score == found.score  # no NaN


@pytest.mark.parametrize("config", COVER.values(), ids=COVER)
def test_in_int8_scores_are_those_of_float32_but_for_rounding_and_are_searched(config, tiny_batch):
    model = config.build(20, 20, is_joint=True).eval()
    source, mask, target = tiny_batch.source, tiny_batch.source_mask, tiny_batch.target_input
    quantised = Precision("int8").prepared(model)
    with torch.inference_mode():
        precise, rough = (one.scores(source, mask, target) for one in (model, quantised))
        error = (rough - precise)[tiny_batch.target_mask].abs()
        assert 0 < error.mean() < 0.1 * precise[tiny_batch.target_mask].std()
        for (found,) in BeamConfig(beam_size=3)(quantised, source, mask):
            assert found.score == pytest.approx(found.score)  # no NaN


@NARROW
def test_what_is_sampled_without_a_gradient_takes_none_from_the_pass_that_learns(name, tiny_batch):
    """autocast keeps each weight that it has cast, and would keep those of the first pass."""
    model = build_tiny_model()
    sampled = ScheduledSamplingConfig(decay=LinearDecay(final=0.5))
    _, gradient = gradient_of(model, sampled, tiny_batch, Precision(name))
    assert len(gradient) == model.num_parameters
    assert all(one.grad.abs().sum() > 0 for one in model.parameters())
