"""From sentences to translations: as many as there were, in their order, whatever the batches."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from conftest import build_tiny_model

from seq2seq.evaluation.translator import Translator
from seq2seq.search.base import Hypothesis
from seq2seq.search.beam import BeamConfig
from seq2seq.search.greedy import GreedyConfig
from seq2seq.special_tokens import BOS
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.tokenizers.subword import SubwordConfig

SENTENCES = [
    "the dog sees a cat",
    "a dog",
    "",
    "cat",
    "the cat sees the dog and the dog",
    " \t",
    "cat",
]
CPU = torch.device("cpu")


class Echo:
    """A search that gives each source back, and notes how many it was asked for."""

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self.asked: list[int] = []

    def __call__(self, model, source, mask):
        self.asked.append(len(source))
        rows = [row[real].tolist() for row, real in zip(source, mask, strict=True)]
        return [Hypothesis(row, 0.0, 0.0, True) for row in rows]


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    return TokenizerPair.train(SubwordConfig(vocabulary_size=40), SENTENCES, SENTENCES)


@pytest.fixture
def model(tokenizers):
    return build_tiny_model(tokenizers.source.vocabulary_size).double()


@pytest.mark.parametrize("batch_size", [1, 2, 3, 64])
def test_each_sentence_gives_one_translation_in_its_place(model, tokenizers, batch_size):
    search, heard = Echo(batch_size), []
    translator = Translator(model, tokenizers, search, CPU)
    expected = [sentence.strip() for sentence in SENTENCES]
    assert translator.translate(SENTENCES, heard.append) == expected
    assert sum(search.asked) == 5  # a blank sentence asks nothing
    assert max(search.asked) <= batch_size
    assert sum(heard) == len(SENTENCES)


def test_blanks_alone_never_ask_the_model(tokenizers):
    translator = Translator(build_tiny_model(1), tokenizers, Echo(4), CPU)
    blanks = ["", " ", "\t", "\xa0", "\u2028", "\u3000", "\u200b"]
    assert translator.translate(blanks) == [""] * len(blanks)
    assert translator.translate([]) == []
    assert translator.search.asked == []
    assert translator.explain(" ") is None


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig(beam_size=3)])
def test_batches_change_nothing(model, tokenizers, search):
    found = []
    for batch_size in (1, 2, 64):
        translator = Translator(model, tokenizers, replace(search, batch_size=batch_size), CPU)
        found.append(translator.translate(SENTENCES))
        backwards = translator.translate(SENTENCES[::-1])
        assert backwards[::-1] == found[-1]
    assert found[0] == found[1] == found[2]
    assert found[0][3] == found[0][6] != ""
    assert len(set(found[0])) == 5


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig()])
@pytest.mark.parametrize("ids", [[7], list(range(4, 24)) * 10, [3], [3, 3, 3, 3]])
def test_sources_of_any_length_and_of_unknown_words_are_translated(model, tokenizers, search, ids):
    translator = Translator(model, tokenizers, search, CPU)
    (found,) = translator.hypotheses([ids])
    assert len(found.tokens) <= 2 * len(ids) + 10
    assert len(translator.texts([found])[0].splitlines()) <= 1


def test_a_sentence_of_unknown_characters_is_translated(model, tokenizers):
    translator = Translator(model, tokenizers, GreedyConfig(), CPU)
    (translation,) = translator.translate(["漢字 Ω"])
    assert isinstance(translation, str)


def test_a_translation_is_one_line(model):
    tokenizer = SubwordConfig(vocabulary_size=10, normalization="identity").train(["a\nb"], "joint")
    translator = Translator(model, TokenizerPair(tokenizer, tokenizer), Echo(4), CPU)
    assert translator.translate(["a\nb"]) == ["a b"]


@pytest.mark.parametrize("search", [GreedyConfig(), BeamConfig()])
def test_an_explanation_shows_the_attention_of_each_step(model, tokenizers, search):
    translator = Translator(model, tokenizers, search, CPU)
    explanation = translator.explain("the cat sees a dog")
    assert explanation.text == translator.translate(["the cat sees a dog"])[0]
    source = tokenizers.source.encode("the cat sees a dog")
    (hypothesis,) = translator.hypotheses([source])
    assert explanation.source_tokens == tokenizers.source.tokens(source)
    assert explanation.target_tokens == [
        *tokenizers.target.tokens(hypothesis.tokens), "<eos>"
    ]  # fmt: skip
    shape = (len(explanation.target_tokens), len(explanation.source_tokens))
    assert explanation.weights.shape == shape
    torch.testing.assert_close(explanation.weights.sum(-1), torch.ones(shape[0]).double())

    seen = []
    model.decoder.attention.register_forward_hook(lambda *call: seen.append(call[2][1][0, 0]))
    with torch.no_grad():
        ids = torch.tensor([source])
        state = model.start(model.encode(ids, torch.ones_like(ids, dtype=torch.bool)))
        for token in (BOS, *hypothesis.tokens):
            _, state = model.step(torch.tensor([token]), state)
    torch.testing.assert_close(explanation.weights, torch.stack(seen), rtol=0, atol=1e-12)


@pytest.mark.parametrize("was_training", [True, False])
def test_dropout_is_off_inside_and_as_it_was_afterwards(model, tokenizers, was_training):
    translator = Translator(model, tokenizers, GreedyConfig(), CPU)
    model.eval()
    expected = translator.translate(SENTENCES)
    model.train(was_training)
    assert translator.translate(SENTENCES) == expected
    assert translator.explain("a dog").text == expected[1]
    assert model.training == was_training
    with pytest.raises(IndexError):
        translator.hypotheses([[1000]])  # no such id
    assert model.training == was_training


def test_a_batch_that_is_too_large_for_the_memory_is_split(model, tokenizers, capsys):
    sizes = []

    class Greedy:
        batch_size = 5

        def __call__(self, model, source, mask):
            sizes.append(len(source))
            if len(source) > most:
                raise MemoryError
            return GreedyConfig()(model, source, mask)

    most = 2
    translator = Translator(model, tokenizers, Greedy(), CPU)
    sentences = [*SENTENCES, *SENTENCES]
    expected = Translator(model, tokenizers, GreedyConfig(), CPU).translate(sentences)
    assert translator.translate(sentences) == expected
    assert sizes[:4] == [5, 3, 2, 2]
    assert capsys.readouterr().err.splitlines() == [
        "Out of memory with 5 sentences at a time: going on with 3.",
        "Out of memory with 3 sentences at a time: going on with 2.",
    ]
    most = 0
    with pytest.raises(MemoryError):
        translator.translate(sentences)
