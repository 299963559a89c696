"""The optimizer's groups and bounds."""

from __future__ import annotations

import pytest
import torch
from conftest import build_tiny_model

from seq2seq.errors import SettingsError
from seq2seq.optim.optimizers import AdamWConfig


def test_weight_decay_spares_vectors_and_every_parameter_is_trained_once():
    model = build_tiny_model()
    optimizer = AdamWConfig(weight_decay=0.1).build(model.parameters())
    decayed, spared = (group["params"] for group in optimizer.param_groups)
    assert {one.dim() for one in decayed} == {2} and {one.dim() for one in spared} == {1}
    assert [group["weight_decay"] for group in optimizer.param_groups] == [0.1, 0.0]
    assert len(decayed) + len(spared) == len(list(model.parameters()))


def test_one_step_follows_the_paper():
    weight = torch.nn.Parameter(torch.tensor([[2.0]]))
    config = AdamWConfig(learning_rate=0.1, weight_decay=0.5)
    optimizer = config.build([weight])
    weight.grad = torch.tensor([[3.0]])
    optimizer.step()
    # The first step's bias-corrected moments are the gradient and its square.
    assert weight.item() == pytest.approx(2.0 - 0.1 * 0.5 * 2.0 - 0.1 * 3.0 / (3.0 + 1e-8))


@pytest.mark.parametrize("name", ["beta1", "beta2"])
def test_a_beta_of_one_is_refused(name):
    with pytest.raises(SettingsError, match=f"`{name}` must be below 1, but is 1.0"):
        AdamWConfig(**{name: 1.0})
