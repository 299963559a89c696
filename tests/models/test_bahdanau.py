"""The Bahdanau decoder against torch's cell and against itself."""

from __future__ import annotations

import pytest
import torch
from conftest import mask_of
from torch import nn

from seq2seq.models.decoders.bahdanau import BahdanauDecoderConfig
from seq2seq.models.interfaces import Memory
from seq2seq.nn.attention.additive import AdditiveAttentionConfig


@pytest.fixture
def decoder():
    config = BahdanauDecoderConfig(hidden_dim=5)
    return config.build(3, 4, AdditiveAttentionConfig(hidden_dim=6)).eval()


def memory_of(states: torch.Tensor) -> Memory:
    return Memory(states, mask_of([states.shape[1], 2]), torch.randn(2, states.shape[2]))


@pytest.mark.usefixtures("double_precision")
def test_it_equals_the_paper_step_by_step_with_torchs_cell(decoder):
    cell = nn.GRUCell(3 + 4, 5)
    with torch.no_grad():
        inputs = (decoder.embedded_gates.weight, decoder.context_gates.weight)
        cell.weight_ih.copy_(torch.cat(inputs, 1))
        cell.bias_ih.copy_(decoder.embedded_gates.bias)
        cell.weight_hh.copy_(decoder.state_gates.weight)
        cell.bias_hh.copy_(decoder.state_gates.bias)
    embedded, memory = torch.randn(2, 4, 3), memory_of(torch.randn(2, 5, 4))
    decoded = decoder(embedded, memory)
    projected = decoder.attention.project(memory.states)
    state = torch.tanh(decoder.initial(memory.summary))
    for t in range(4):
        context, weights = decoder.attention(state[:, None], projected, memory.mask[:, None])
        state = cell(torch.cat((embedded[:, t], context[:, 0]), -1), state)
        read = torch.tanh(
            decoder.readout_state(state)
            + decoder.readout_context(context[:, 0])
            + decoder.readout_embedded(embedded[:, t])
        )
        torch.testing.assert_close(decoded.hidden[:, t], read, rtol=0, atol=1e-12)
        torch.testing.assert_close(decoded.weights[:, t], weights[:, 0], rtol=0, atol=1e-12)


def test_a_later_token_changes_no_earlier_output(decoder):
    embedded, memory = torch.randn(2, 4, 3), memory_of(torch.randn(2, 5, 4))
    before = decoder(embedded, memory).hidden
    embedded[:, 2] += 1.0
    after = decoder(embedded, memory).hidden
    assert torch.equal(after[:, :2], before[:, :2])
    assert not torch.equal(after[:, 2:], before[:, 2:])
