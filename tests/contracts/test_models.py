"""The whole model: padding never matters, a step equals the pass, and tying shares matrices."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from conftest import every_model, mask_of

from seq2seq.errors import SettingsError
from seq2seq.models.decoders.bahdanau import BahdanauDecoderConfig
from seq2seq.models.encoders.gru import GRUEncoderConfig
from seq2seq.models.encoders.transformer import TransformerEncoderConfig
from seq2seq.models.seq2seq import Seq2SeqConfig
from seq2seq.nn.attention.additive import AdditiveAttentionConfig
from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig
from seq2seq.nn.positions.none import NoPositionsConfig
from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig
from seq2seq.special_tokens import BOS, PAD

GRU = Seq2SeqConfig(
    embedding_dim=8,
    encoder=GRUEncoderConfig(hidden_dim=6, num_layers=2, layer_norm=True),
    decoder=BahdanauDecoderConfig(hidden_dim=8),
    attention=AdditiveAttentionConfig(),
    positions=NoPositionsConfig(),
)
TRANSFORMER = replace(
    GRU,
    encoder=TransformerEncoderConfig(num_layers=2, num_heads=2, feed_forward_dim=16),
    positions=SinusoidalPositionsConfig(),
)
MODELS = dict(every_model())
EXACTLY = {"rtol": 0, "atol": 1e-10}
LENGTHS = [5, 1, 3]


@pytest.fixture(params=MODELS.values(), ids=MODELS)
def model(request):
    return request.param.build(20, 20, is_joint=True).double().eval()


@pytest.fixture
def source():
    return torch.randint(4, 20, (3, 5)).masked_fill(~mask_of(LENGTHS), PAD)


@pytest.fixture
def target():
    return torch.cat((torch.full((3, 1), BOS), torch.randint(4, 20, (3, 5))), 1)


def logits_of(model, source, mask, target):
    decoded = model(source, mask, target)
    return model.project(decoded.hidden), decoded.weights


def test_more_padding_changes_nothing(model, source, target):
    logits, weights = logits_of(model, source, mask_of(LENGTHS), target)
    wider = torch.cat((source, torch.full((3, 4), PAD)), 1)
    longer = torch.cat((target, torch.full((3, 2), PAD)), 1)
    again, more = logits_of(model, wider, mask_of(LENGTHS, 9), longer)
    torch.testing.assert_close(again[:, :6], logits, **EXACTLY)
    torch.testing.assert_close(more[:, :6, :5], weights, **EXACTLY)
    assert (more[:, :, 5:] == 0).all()


def test_what_stands_in_the_padding_changes_nothing(model, source, target):
    mask = mask_of(LENGTHS)
    logits, _ = logits_of(model, source, mask, target)
    other = source.masked_fill(~mask, 7)
    torch.testing.assert_close(logits_of(model, other, mask, target)[0], logits, **EXACTLY)


def test_neighbours_change_nothing(model, source, target):
    logits, weights = logits_of(model, source, mask_of(LENGTHS), target)
    for row, length in enumerate(LENGTHS):
        alone = source[row : row + 1, :length]
        own, looked = logits_of(model, alone, mask_of([length]), target[row : row + 1])
        torch.testing.assert_close(own[0], logits[row], **EXACTLY)
        torch.testing.assert_close(looked[0], weights[row, :, :length], **EXACTLY)


def test_step_by_step_equals_all_at_once(model, source, target):
    logits, _ = logits_of(model, source, mask_of(LENGTHS), target)
    state = model.start(model.encode(source, mask_of(LENGTHS)))
    for position, tokens in enumerate(target.unbind(1)):
        step_logits, state = model.step(tokens, state)
        torch.testing.assert_close(step_logits, logits[:, position], **EXACTLY)


def test_a_source_of_one_token_or_of_none_gives_finite_numbers_and_gradients(model, target):
    for mask in (mask_of([1]), torch.zeros(1, 1, dtype=torch.bool)):
        logits, weights = logits_of(model, torch.tensor([[5]]), mask, target[:1])
        assert logits.isfinite().all()
        assert (weights == mask[:, None]).all()
        logits.sum().backward()
        gradients = [one.grad for one in model.parameters() if one.grad is not None]
        assert gradients and all(one.isfinite().all() for one in gradients)


@pytest.mark.parametrize("config", [GRU, TRANSFORMER])
def test_tying_shares_storage(config):
    def shared(tie):
        model = replace(config, tie=tie).build(20, 20, is_joint=True)
        matrices = (model.source_embedding, model.target_embedding, model.output)
        pointers = [one.weight.data_ptr() for one in matrices]
        return pointers.index(pointers[1]), pointers.index(pointers[2]), model.num_parameters

    *none, untied = shared("none")
    *target_output, tied = shared("target_output")
    *everything, tied_all = shared("all")
    assert (none, target_output, everything) == ([1, 2], [1, 1], [0, 0])
    assert untied - tied == tied - tied_all == 20 * 8


def test_tying_follows_a_move_to_another_precision():
    model = replace(GRU, tie="all").build(20, 20, is_joint=True).double()
    assert model.output.weight is model.source_embedding.weight is model.target_embedding.weight


def test_tying_is_refused_where_it_cannot_be():
    with pytest.raises(SettingsError, match=r"`model.tie` is all, .* set tokenizer.joint=true"):
        replace(GRU, tie="all").build(20, 20, is_joint=False)
    with pytest.raises(SettingsError, match=r"`model.tie` is all, .* set tokenizer.joint=true"):
        replace(GRU, tie="all").build(20, 30, is_joint=False)
    wide = replace(GRU, decoder=BahdanauDecoderConfig(hidden_dim=8, readout_dim=12))
    wide.build(20, 20, is_joint=True)
    for tie in ("all", "target_output"):
        with pytest.raises(SettingsError, match=r"as wide as the embeddings \(8\), but it is 12"):
            replace(wide, tie=tie).build(20, 20, is_joint=True)
    replace(GRU, tie="target_output").build(20, 30, is_joint=False)


def test_a_part_that_does_not_fit_is_named_in_full():
    three_heads = MultiHeadAttentionConfig(num_heads=3)
    with pytest.raises(SettingsError, match=r"`model.attention.num_heads` of 3 must divide"):
        replace(GRU, attention=three_heads).build(20, 20, is_joint=True)
    encoder = replace(TRANSFORMER.encoder, num_heads=3)
    with pytest.raises(SettingsError, match=r"`model.encoder.num_heads` of 3 must divide"):
        replace(TRANSFORMER, encoder=encoder).build(20, 20, is_joint=True)
