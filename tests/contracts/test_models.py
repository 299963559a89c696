"""The whole model: padding never matters, a step equals the pass, and tying shares matrices."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from conftest import VARIANTS, covering_models, every_model, mask_of, model_options

from seq2seq.data.batches import EncodedPairs
from seq2seq.errors import SettingsError
from seq2seq.models.decoders.bahdanau import BahdanauDecoderConfig
from seq2seq.models.decoders.transformer import TransformerDecoderConfig
from seq2seq.models.encoders.recurrent import RecurrentEncoderConfig
from seq2seq.models.encoders.transformer import TransformerEncoderConfig
from seq2seq.models.seq2seq import Seq2SeqConfig
from seq2seq.nn.attention.additive import AdditiveAttentionConfig
from seq2seq.nn.attention.dot import DotAttentionConfig
from seq2seq.nn.attention.multi_head import MultiHeadAttentionConfig
from seq2seq.nn.positions.none import NoPositionsConfig
from seq2seq.nn.positions.relative import RelativePositionsConfig
from seq2seq.nn.positions.rotary import RotaryPositionsConfig
from seq2seq.nn.positions.sinusoidal import SinusoidalPositionsConfig
from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.search.beam import BeamConfig
from seq2seq.search.greedy import GreedyConfig
from seq2seq.special_tokens import BOS, PAD
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.training.checkpoint import Checkpoint, save_checkpoint
from seq2seq.training.state import RunState

GRU = Seq2SeqConfig(
    embedding_dim=8,
    encoder=RecurrentEncoderConfig(hidden_dim=6, num_layers=2, layer_norm=True),
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


class NoTokenizer:
    """Stands where a checkpoint keeps tokenizers."""

    def save(self, folder):
        pass


COVER = dict(covering_models())


@pytest.fixture(params=COVER.values(), ids=COVER)
def model(request):
    """Encoders and decoders with each attention and with each encoding; the rest are too many."""
    model = request.param.build(20, 20, is_joint=True).double().eval()
    for name, parameter in model.named_parameters():
        if ".positions." in name:
            torch.nn.init.normal_(parameter)  # T5's start at zero, where they do nothing
    return model


def test_the_matrix_is_whole():
    encoders, decoders, attentions, positions = (
        len(model_options(group)) for group in ("encoder", "decoder", "attention", "positions")
    )
    recurrent = (encoders - 1) * (decoders - 1) * attentions  # without positions
    self_attentive = (encoders + decoders - 1) * attentions * positions
    assert len(MODELS) == recurrent + self_attentive + sum(map(len, VARIANTS.values()))


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


def test_a_later_token_changes_no_earlier_output(model, source, target):
    before, weights = logits_of(model, source, mask_of(LENGTHS), target)
    target[:, 3] = 4 + (target[:, 3] - 3) % 16
    after, looked = logits_of(model, source, mask_of(LENGTHS), target)
    torch.testing.assert_close(after[:, :3], before[:, :3], **EXACTLY)
    torch.testing.assert_close(looked[:, :3], weights[:, :3], **EXACTLY)
    assert not torch.allclose(after[:, 3:], before[:, 3:])


@pytest.mark.parametrize("config", MODELS.values(), ids=MODELS)
def test_it_trains_translates_and_comes_back_from_a_file(config, source, target, tmp_path):
    model = config.build(20, 20, is_joint=True)
    pairs = EncodedPairs.of(
        (line, one.tolist(), other[1:].tolist())
        for line, (one, other) in enumerate(zip(source, target, strict=True))
    )
    loss = CrossEntropyConfig(label_smoothing=0.1)(model, pairs.batch([0, 1, 2]), 0.0)
    loss.total.backward()
    # Where nothing is compared with a query, what makes it learns nothing.
    used = [
        one
        for name, one in model.named_parameters()
        if model.attends or "around_attention.norm" not in name
    ]
    assert all(one.grad is not None and one.grad.isfinite().all() for one in used)
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    model.eval()
    found = []
    for search in (GreedyConfig(), BeamConfig(beam_size=3)):
        found.append(search(model, source, mask_of(LENGTHS)))
        assert max(len(one.tokens) for (one,) in found[-1]) <= (model.max_length or 2 * 5 + 10)
    tokenizers = TokenizerPair(NoTokenizer(), NoTokenizer())
    save_checkpoint(
        tmp_path / "c", model=model, tokenizers=tokenizers, settings={}, state=RunState()
    )
    again = config.build(20, 20, is_joint=True).eval()
    Checkpoint.open(tmp_path / "c").load_weights(again)
    for search, one in zip((GreedyConfig(), BeamConfig(beam_size=3)), found, strict=True):
        assert search(again, source, mask_of(LENGTHS)) == one


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
        assert (weights == (mask[:, None] if model.attends else 0)).all()
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


SELF_ATTENTIVE = TransformerDecoderConfig(num_layers=1, num_heads=2, feed_forward_dim=16)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            replace(GRU, attention=MultiHeadAttentionConfig(num_heads=3)),
            r"`model.attention.num_heads` of 3 must divide the decoder's width 8",
        ),
        (
            replace(TRANSFORMER, encoder=TransformerEncoderConfig(num_heads=3)),
            r"`model.encoder.num_heads` of 3 must divide model.embedding_dim, which is 8",
        ),
        (
            replace(TRANSFORMER, decoder=TransformerDecoderConfig(num_heads=3)),
            r"`model.decoder.num_heads` of 3 must divide model.embedding_dim, which is 8",
        ),
        (
            replace(GRU, attention=DotAttentionConfig()),
            r"`model.attention` multiplies the decoder's states, 8 wide, with the encoder's, 12",
        ),
        (
            replace(GRU, decoder=SELF_ATTENTIVE),
            r"`model.attention` gives contexts 12 wide, .* cannot add to its states, 8 wide",
        ),
        (
            replace(
                TRANSFORMER,
                encoder=TransformerEncoderConfig(scoring="additive"),
                positions=RotaryPositionsConfig(),
            ),
            r"`model.encoder.scoring` is additive, but these positions act within a dot product",
        ),
        (
            replace(
                TRANSFORMER,
                decoder=replace(SELF_ATTENTIVE, scoring="additive"),
                positions=RelativePositionsConfig(),
            ),
            r"`model.decoder.scoring` is additive, but these positions act within a dot product",
        ),
        (
            replace(TRANSFORMER, embedding_dim=6, positions=RotaryPositionsConfig()),
            r"`model.embedding_dim` must be an even multiple of the 2 heads .* but is 6",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused_with_the_reason(config, expected):
    with pytest.raises(SettingsError, match=expected):
        config.build(20, 20, is_joint=True)


def test_positions_where_nothing_reads_them_are_refused():
    with pytest.raises(SettingsError, match="has no effect on a recurrent model"):
        replace(GRU, positions=SinusoidalPositionsConfig())
    replace(GRU, positions=SinusoidalPositionsConfig(), decoder=SELF_ATTENTIVE)
