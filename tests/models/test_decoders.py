"""Decoders against torch's cells and layers, as their papers put them together."""

from __future__ import annotations

import pytest
import torch
from conftest import copy_attention, mask_of
from torch import nn

from seq2seq.models.decoders import bahdanau
from seq2seq.models.decoders.bahdanau import BahdanauDecoderConfig
from seq2seq.models.decoders.luong import LuongDecoderConfig
from seq2seq.models.decoders.transformer import TransformerDecoderConfig
from seq2seq.models.encoders.transformer import TransformerEncoderConfig
from seq2seq.models.interfaces import Memory
from seq2seq.nn.attention.additive import AdditiveAttentionConfig
from seq2seq.nn.attention.general import GeneralAttentionConfig
from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig
from seq2seq.nn.positions.none import NoPositionsConfig
from seq2seq.nn.positions.relative import RelativePositionsConfig
from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig
from seq2seq.nn.positions.t5 import T5PositionsConfig

CELLS = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}
EXACTLY = {"rtol": 0, "atol": 1e-12}


def memory_of(states: torch.Tensor) -> Memory:
    return Memory(states, mask_of([states.shape[1], 2]), torch.randn(2, states.shape[2]))


@torch.no_grad()
def torchs_cell(decoder, name: str, *inputs: nn.Linear) -> nn.Module:
    """torch's cell with the weights of a decoder, whose inputs enter through some matrices."""
    weights = torch.cat([one.weight for one in inputs], 1)
    cell = CELLS[name](weights.shape[1], 5)
    cell.weight_ih.copy_(weights)
    cell.bias_ih.copy_(inputs[0].bias)
    cell.weight_hh.copy_(decoder.cell.gates.weight)
    cell.bias_hh.copy_(decoder.cell.gates.bias)
    return cell


def initial_state(decoder, name: str, memory: Memory):
    initial = torch.tanh(decoder.initial(memory.summary))
    return initial if name == "gru" else initial.chunk(2, -1)


def hidden_of(state) -> torch.Tensor:
    return state[0] if isinstance(state, tuple) else state


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", CELLS)
def test_bahdanau_looks_before_each_step(name):
    config = BahdanauDecoderConfig(cell=name, hidden_dim=5)
    decoder = config.build(3, 4, AdditiveAttentionConfig(hidden_dim=6), NoPositionsConfig()).eval()
    cell = torchs_cell(decoder, name, decoder.embedded_gates, decoder.context_gates)
    embedded, memory = torch.randn(2, 4, 3), memory_of(torch.randn(2, 5, 4))
    decoded = decoder(embedded, memory)
    projected = decoder.attention.project(memory.states, memory.summary)
    state = initial_state(decoder, name, memory)
    for t in range(4):
        query = hidden_of(state)[:, None]
        context, weights = decoder.attention(query, projected, memory.mask[:, None])
        state = cell(torch.cat((embedded[:, t], context[:, 0]), -1), state)
        read = torch.tanh(
            decoder.readout_state(hidden_of(state))
            + decoder.readout_context(context[:, 0])
            + decoder.readout_embedded(embedded[:, t])
        )
        torch.testing.assert_close(decoded.hidden[:, t], read, **EXACTLY)
        torch.testing.assert_close(decoded.weights[:, t], weights[:, 0], **EXACTLY)


@pytest.mark.usefixtures("double_precision")
def test_additive_attention_and_a_gru_as_one_operation_equal_themselves(monkeypatch):
    """In values and gradients; with a row that is padding throughout."""
    config = BahdanauDecoderConfig(hidden_dim=5)
    decoder = config.build(3, 4, AdditiveAttentionConfig(hidden_dim=6), NoPositionsConfig()).eval()
    embedded = torch.randn(3, 4, 3, requires_grad=True)
    states = torch.randn(3, 7, 4, requires_grad=True)
    memory = Memory(states, mask_of([7, 3, 0], 7), states.mean(1))

    def one_by_one(from_inputs, *_, **__):
        source, initial = decoder.first(memory)
        return decoder._one_by_one(from_inputs, initial, source)

    found = []
    for operation in (bahdanau.additive_gru, one_by_one):
        monkeypatch.setattr(bahdanau, "additive_gru", operation)
        decoded = decoder(embedded, memory)
        slopes = [torch.arange(one.numel()).view_as(one).cos() for one in decoded]
        total = sum((one * slope).sum() for one, slope in zip(decoded, slopes, strict=True))
        gradients = torch.autograd.grad(total, [embedded, states, *decoder.parameters()])
        found.append([*decoded, *gradients])
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("feeding", [True, False])
@pytest.mark.parametrize("name", CELLS)
def test_luong_looks_after_each_step(name, feeding):
    config = LuongDecoderConfig(cell=name, hidden_dim=5, readout_dim=7, input_feeding=feeding)
    decoder = config.build(3, 4, GeneralAttentionConfig(), NoPositionsConfig()).eval()
    inputs = (decoder.embedded_gates, decoder.fed_gates) if feeding else (decoder.embedded_gates,)
    cell = torchs_cell(decoder, name, *inputs)
    embedded, memory = torch.randn(2, 4, 3), memory_of(torch.randn(2, 5, 4))
    decoded = decoder(embedded, memory)
    projected = decoder.attention.project(memory.states, memory.summary)
    state = initial_state(decoder, name, memory)
    attentional = torch.zeros(2, 7)
    for t in range(4):
        fed = (embedded[:, t], attentional) if feeding else (embedded[:, t],)
        state = cell(torch.cat(fed, -1), state)
        query = hidden_of(state)[:, None]
        context, weights = decoder.attention(query, projected, memory.mask[:, None])
        attentional = torch.tanh(
            decoder.readout_state(hidden_of(state)) + decoder.readout_context(context[:, 0])
        )
        torch.testing.assert_close(decoded.hidden[:, t], attentional, **EXACTLY)
        torch.testing.assert_close(decoded.weights[:, t], weights[:, 0], **EXACTLY)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("norm_first", [True, False])
def test_encoder_and_decoder_equal_torchs_transformer(norm_first):
    sizes = {"num_layers": 2, "num_heads": 2, "feed_forward_dim": 12, "norm_first": norm_first}
    positions = SinusoidalPositionsConfig()
    encoder = TransformerEncoderConfig(**sizes).build(8, positions).eval()
    decoder = TransformerDecoderConfig(**sizes)
    decoder = decoder.build(8, 8, MultiHeadAttentionConfig(num_heads=2), positions).eval()
    theirs = nn.Transformer(8, 2, 2, 2, 12, 0.0, batch_first=True, norm_first=norm_first).eval()
    if not norm_first:  # torch closes with a norm even where each part has closed with one
        theirs.encoder.norm = theirs.decoder.norm = None
    with torch.no_grad():
        for ours, other in zip(encoder.layers, theirs.encoder.layers, strict=True):
            copy_attention(ours.attention.heads, other.self_attn)
            copy_feed_forward(ours, other)
            other.norm1.load_state_dict(ours.around_attention.norm.state_dict())
            other.norm2.load_state_dict(ours.around_feed_forward.norm.state_dict())
        for ours, other in zip(decoder.layers, theirs.decoder.layers, strict=True):
            copy_attention(ours.self_attention.heads, other.self_attn)
            copy_attention(ours.attention, other.multihead_attn)
            copy_feed_forward(ours, other)
            other.norm1.load_state_dict(ours.around_self_attention.norm.state_dict())
            other.norm2.load_state_dict(ours.around_attention.norm.state_dict())
            other.norm3.load_state_dict(ours.around_feed_forward.norm.state_dict())
    source, mask = torch.randn(2, 6, 8), mask_of([6, 4])
    target = torch.randn(2, 5, 8)
    hidden = decoder(target, encoder(source, mask)).hidden
    expected = theirs(
        encoder.positions.add(source * 8**0.5),
        decoder.positions.add(target * 8**0.5),
        tgt_mask=torch.ones(5, 5, dtype=torch.bool).triu(1),
        src_key_padding_mask=~mask,
        memory_key_padding_mask=~mask,
    )
    torch.testing.assert_close(hidden, expected, **EXACTLY)


def copy_feed_forward(ours, other) -> None:
    other.linear1.load_state_dict(ours.feed_forward.widen.state_dict())
    other.linear2.load_state_dict(ours.feed_forward.narrow.state_dict())


def test_layers_share_positions_unless_each_learns_its_own():
    config = TransformerDecoderConfig(num_layers=2, num_heads=2)
    attention = MultiHeadAttentionConfig(num_heads=2)
    for positions, num_objects in ((T5PositionsConfig(), 1), (RelativePositionsConfig(), 2)):
        layers = config.build(8, 8, attention, positions).layers
        assert len({id(one.self_attention.positions) for one in layers}) == num_objects
