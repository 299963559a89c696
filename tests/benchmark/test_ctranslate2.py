"""CTranslate2 with our weights finds what we find."""

from __future__ import annotations

import pytest
import torch

from seq2seq.benchmark.ctranslate2 import ctranslate2_decoder
from seq2seq.config import from_tree
from seq2seq.errors import SettingsError
from seq2seq.evaluation.translator import Translator
from seq2seq.models.seq2seq import Seq2SeqConfig
from seq2seq.search.beam import BeamConfig
from seq2seq.search.greedy import GreedyConfig
from seq2seq.special_tokens import BOS, PAD, UNK
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.tokenizers.subword import SubwordConfig

SENTENCES = ["the dog sees a cat", "a cat runs home at night", "the old man laughs", "a dog"]


def built(tokenizers, search, **changes) -> Translator:
    heads = {"num_layers": 2, "num_heads": 2, "feed_forward_dim": 24}
    names = {"encoder": "encoders.transformer.TransformerEncoder"}
    names["decoder"] = "decoders.transformer.TransformerDecoder"
    tree = {
        "embedding_dim": 16,
        **{
            side: {"_target_": f"seq2seq.models.{one}Config", **heads}
            for side, one in names.items()
        },
        "attention": {
            "_target_": "seq2seq.nn.attention.multi_head.MultiHeadAttentionConfig",
            "num_heads": 2,
        },
        "positions": {"_target_": "seq2seq.nn.positions.sinusoidal.SinusoidalPositionsConfig"},
        **changes,
    }
    size = tokenizers.source.vocabulary_size
    model = from_tree(tree, Seq2SeqConfig).build(size, size, is_joint=True).eval()
    with torch.no_grad():
        for one in model.parameters():  # so that it has opinions
            one.mul_(2.0)
        model.output.bias[[PAD, BOS, UNK]] = -1000.0  # which CTranslate2 may write
    return Translator(model, tokenizers, search, torch.device("cpu"))


@pytest.fixture(scope="module")
def tokenizers():
    return TokenizerPair.train(SubwordConfig(vocabulary_size=60), SENTENCES, SENTENCES)


@pytest.mark.parametrize("positions", ["sinusoidal.Sinusoidal", "learned.Learned"])
@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=4, max_length_extra=60)])
def test_it_finds_the_same_or_with_a_beam_what_is_no_better(
    tmp_path, tokenizers, search, positions
):
    target = f"seq2seq.nn.positions.{positions}PositionsConfig"
    translator = built(tokenizers, search, positions={"_target_": target})
    sources = translator.encode(SENTENCES)
    beam_size = getattr(search, "beam_size", 1)
    decode = ctranslate2_decoder(translator, tmp_path, beam_size=beam_size, num_threads=1)
    found = decode(sources)
    ours = translator.hypotheses(sources)
    assert len({tuple(one) for one in found}) > 1
    for mine, theirs, scores in zip(ours, found, translator.score(sources, found), strict=True):
        if beam_size == 1:  # ours may be cut earlier
            assert theirs[: len(mine.tokens)] == mine.tokens
            assert len(theirs) == len(mine.tokens) or not mine.is_complete
        elif len(theirs) < 2 * max(map(len, sources)) + 10:  # or they were cut
            # Their beam stops when as many have ended, though others may be better.
            assert mine.score >= sum(scores) / len(scores) - 1e-4


@pytest.mark.parametrize(
    "changes",
    [
        {"positions": {"_target_": "seq2seq.nn.positions.rotary.RotaryPositionsConfig"}},
        {"attention": {"_target_": "seq2seq.nn.attention.dot.DotAttentionConfig"}},
    ],
)
def test_what_it_has_not_is_refused(tmp_path, tokenizers, changes):
    translator = built(tokenizers, GreedyConfig(), **changes)
    with pytest.raises(SettingsError, match="`model` is not what CTranslate2 has"):
        ctranslate2_decoder(translator, tmp_path, beam_size=1, num_threads=1)
