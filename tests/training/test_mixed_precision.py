"""Steps in fp16: scaled up, never wrong, and the same after a stop."""

from __future__ import annotations

import json

import pytest
import torch
from conftest import build_tiny_model

from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.optim.schedules import ConstantSchedule
from seq2seq.runtime import Precision
from seq2seq.training.state import RunState
from seq2seq.training.step import Stepper


def stepper_of(name: str, max_gradient_norm: float | None = None) -> Stepper:
    torch.manual_seed(0)
    model = build_tiny_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    rule = ConstantSchedule()
    precision = Precision(name)
    return Stepper(
        model, CrossEntropyConfig(), optimizer, rule, max_gradient_norm, precision=precision
    )


def weights_of(stepper: Stepper) -> torch.Tensor:
    return torch.cat([one.detach().flatten() for one in stepper.model.parameters()])


@pytest.mark.parametrize("max_gradient_norm", [None, 0.05])
@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_a_step_is_that_of_float32_but_for_rounding_and_clipped_as_much(
    name, max_gradient_norm, tiny_batch
):
    moves = []
    for one in ("fp32", name):
        stepper = stepper_of(one, max_gradient_norm)
        before = weights_of(stepper)
        done = stepper([tiny_batch, tiny_batch], 2 * tiny_batch.num_tokens, 0, 0.0)
        assert done.is_finite
        moves.append(weights_of(stepper) - before)
    right, found = moves
    share = {"bf16": 0.1, "fp16": 0.02}[name]
    assert 0 < (found - right).norm() < share * right.norm()
    if max_gradient_norm:
        assert found.norm() == pytest.approx(0.5 * max_gradient_norm, rel=1e-3)


def test_a_gradient_too_large_for_fp16_moves_nothing_and_is_scaled_less(tiny_batch):
    stepper = stepper_of("fp16")
    scale = 2.0**30
    stepper.scaler.load_state_dict({**stepper.scaler.state_dict(), "scale": scale})
    before = weights_of(stepper)
    while scale > 1:
        assert stepper([tiny_batch], tiny_batch.num_tokens, 0, 0.0).is_finite
        if (weights_of(stepper) != before).any():
            break
        scale /= 2
        assert stepper.scaler.get_scale() == scale
    assert 1 < scale < 2.0**30  # neither at once nor never


def test_a_loss_that_is_not_finite_is_told_from_a_scale_that_was_too_large(tiny_batch):
    stepper = stepper_of("fp16")
    torch.nn.init.constant_(stepper.model.output.bias, float("nan"))
    before = weights_of(stepper)
    assert not stepper([tiny_batch], tiny_batch.num_tokens, 0, 0.0).is_finite
    assert torch.equal(weights_of(stepper).nan_to_num(), before.nan_to_num())


def test_a_gradient_that_no_scale_makes_finite_is_said_to_be_so(tiny_batch):
    stepper = stepper_of("fp16")
    stepper.scaler.load_state_dict({**stepper.scaler.state_dict(), "scale": 1.0})
    weight = stepper.model.decoder.readout_state.weight
    weight.register_hook(lambda gradient: gradient * float("inf"))
    assert not stepper([tiny_batch], tiny_batch.num_tokens, 0, 0.0).is_finite


def test_the_scale_comes_back_with_the_state():
    scaler = stepper_of("fp16").scaler.state_dict()
    state = RunState(scaler={**scaler, "scale": 8.0, "_growth_tracker": 3})
    again = RunState.from_dict(json.loads(json.dumps(state.as_dict())))
    assert again == state
    older = {name: value for name, value in state.as_dict().items() if name != "scaler"}
    assert RunState.from_dict(older).scaler == {}
    for wrong in ([], {"scale": "8"}, {"scale": float("nan")}, {**scaler, "more": 1}, {"scale": 8}):
        with pytest.raises(ValueError, match="its state"):
            RunState.from_dict({**state.as_dict(), "scaler": wrong})


def test_a_process_without_a_share_takes_part_in_the_first_step(tiny_batch):
    """It has no loss to scale."""
    stepper = stepper_of("fp16")
    before = weights_of(stepper)
    assert stepper([], tiny_batch.num_tokens, 0, 0.0).is_finite
    assert torch.equal(weights_of(stepper), before)
    assert stepper([tiny_batch], tiny_batch.num_tokens, 1, 0.0).is_finite
    assert not torch.equal(weights_of(stepper), before)


def test_a_loss_that_is_not_finite_moves_nothing_though_the_gradient_is(tiny_batch):
    for name in ("fp32", "fp16"):
        stepper = stepper_of(name)
        before = weights_of(stepper)
        stepper.gradients([tiny_batch], tiny_batch.num_tokens, 0.0)
        assert not stepper.move(float("inf"), 0, 0.0).is_finite
        assert torch.equal(weights_of(stepper), before)
