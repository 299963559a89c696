"""Encoders against torch's own modules."""

from __future__ import annotations

import pytest
import torch
from conftest import copy_attention, mask_of
from torch import nn

from seq2seq.models.encoders.recurrent import RecurrentEncoderConfig, run_packed
from seq2seq.models.encoders.transformer import TransformerEncoderConfig
from seq2seq.nn.positions.none import NoPositionsConfig
from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig
from seq2seq.nn.recurrence.layers import recur

LENGTHS = [6, 1, 4]


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize(("cell", "network"), [("gru", nn.GRU), ("lstm", nn.LSTM)])
def test_recurrent_equals_torch_on_each_sentence_alone(bidirectional, num_layers, cell, network):
    config = RecurrentEncoderConfig(
        cell=cell, hidden_dim=5, num_layers=num_layers, bidirectional=bidirectional
    )
    encoder = config.build(3, NoPositionsConfig()).eval()
    theirs = network(3, 5, num_layers, batch_first=True, bidirectional=bidirectional)
    theirs.load_state_dict(encoder.network.state_dict())
    embedded = torch.randn(3, 9, 3)  # rows are padded beyond the longest, too
    memory = encoder(embedded, mask_of(LENGTHS, 9))
    for row, length in enumerate(LENGTHS):
        states, last = theirs(embedded[row : row + 1, :length])
        last = last[0] if cell == "lstm" else last
        torch.testing.assert_close(memory.states[row, :length], states[0], rtol=0, atol=1e-12)
        assert (memory.states[row, length:] == 0).all()
        directions = 2 if bidirectional else 1
        expected = last[-directions:, 0].flatten()
        torch.testing.assert_close(memory.summary[row], expected, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("network", [nn.GRU, nn.LSTM])
def test_recurrence_on_a_cpu_equals_the_one_on_a_gpu(bidirectional, num_layers, network):
    """In values and gradients; in batches, whose padding has a part in neither."""
    network = network(3, 5, num_layers, batch_first=True, bidirectional=bidirectional)
    inputs, lengths = torch.randn(3, 9, 3, requires_grad=True), torch.tensor(LENGTHS)
    found = []
    for run in (recur, run_packed):
        states, last = run(network, inputs, lengths)
        slopes = torch.arange(states.numel()).view_as(states).cos()
        total = (states * slopes).sum() + (last * slopes[:, 0]).sum()
        gradients = torch.autograd.grad(total, [inputs, *network.parameters()])
        found.append([states, last, *gradients])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_dropout_between_layers_is_for_training_only():
    network = nn.GRU(3, 5, num_layers=2, batch_first=True, dropout=0.5)
    inputs, lengths = torch.randn(2, 4, 3), torch.tensor([4, 2])
    noisy = [recur(network, inputs, lengths)[0] for _ in range(2)]
    assert not torch.equal(*noisy)
    network.eval()
    torch.testing.assert_close(
        recur(network, inputs, lengths), run_packed(network, inputs, lengths)
    )


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("norm_first", [True, False])
def test_transformer_equals_torch_with_the_same_weights(norm_first):
    config = TransformerEncoderConfig(
        num_layers=2, num_heads=2, feed_forward_dim=12, norm_first=norm_first
    )
    encoder = config.build(8, SinusoidalPositionsConfig()).eval()
    layer = nn.TransformerEncoderLayer(
        8, 2, 12, dropout=0.0, batch_first=True, norm_first=norm_first
    )
    final_norm = nn.LayerNorm(8) if norm_first else None
    theirs = nn.TransformerEncoder(layer, 2, final_norm, enable_nested_tensor=False).eval()
    with torch.no_grad():
        for ours, other in zip(encoder.layers, theirs.layers, strict=True):
            copy_attention(ours.attention.heads, other.self_attn)
            other.linear1.load_state_dict(ours.feed_forward.widen.state_dict())
            other.linear2.load_state_dict(ours.feed_forward.narrow.state_dict())
            other.norm1.load_state_dict(ours.around_attention.norm.state_dict())
            other.norm2.load_state_dict(ours.around_feed_forward.norm.state_dict())
    embedded, mask = torch.randn(3, 6, 8), mask_of(LENGTHS)
    states = encoder(embedded, mask).states
    entering = encoder.positions.add(embedded * 8**0.5)
    expected = theirs(entering, src_key_padding_mask=~mask)
    torch.testing.assert_close(states[mask], expected[mask], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("config", "positions"),
    [
        (RecurrentEncoderConfig(hidden_dim=8, layer_norm=True), NoPositionsConfig()),
        (TransformerEncoderConfig(), SinusoidalPositionsConfig()),
    ],
)
def test_what_stands_in_the_padding_never_matters(config, positions):
    encoder = config.build(16, positions).eval()
    embedded, mask = torch.randn(3, 6, 16), mask_of(LENGTHS)
    first = encoder(embedded, mask)
    wider = torch.cat((embedded.masked_fill(~mask.unsqueeze(-1), 99.0), torch.randn(3, 4, 16)), 1)
    second = encoder(wider, mask_of(LENGTHS, 10))
    torch.testing.assert_close(second.states[:, :6][mask], first.states[mask])
    torch.testing.assert_close(second.summary, first.summary)
