"""One step of a cell against torch's own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from seq2seq.nn.cells import build_cell


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize(("name", "theirs"), [("gru", nn.GRUCell), ("lstm", nn.LSTMCell)])
def test_a_step_equals_torchs_cell(name, theirs):
    cell, torchs = build_cell(name, 5), theirs(3, 5)
    with torch.no_grad():
        torchs.weight_hh.copy_(cell.gates.weight)
        torchs.bias_hh.copy_(cell.gates.bias)
    inputs = torch.randn(2, 3)
    state = tuple(torch.randn(2, 5) for _ in range(cell.num_states))
    found = cell(inputs @ torchs.weight_ih.T + torchs.bias_ih, state)
    expected = torchs(inputs, state[0] if len(state) == 1 else state)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_recurrent_weights_start_orthogonal_and_an_lstm_remembers():
    cell = build_cell("lstm", 6)
    for gate in cell.gates.weight.chunk(4):
        torch.testing.assert_close(gate @ gate.T, torch.eye(6))
    assert (cell.gates.bias[6:12] > 0.5).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_under_autocast_a_state_stays_in_the_precision_of_the_weights(name, dtype):
    cell = build_cell(name, 5)
    inputs = torch.randn(2, cell.num_gates * 5)
    state = tuple(torch.randn(2, 5) for _ in range(cell.num_states))
    expected = cell(inputs, state)
    with torch.autocast("cpu", dtype):
        found = cell(inputs.to(dtype), tuple(one.to(dtype) for one in state))
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=0, atol=0.03)
