"""From sentences to translations: as many as there were, in their order, whatever the batches."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from conftest import build_tiny_model

from seq2seq.evaluation.metrics import chrf_of_one
from seq2seq.evaluation.translator import Translator
from seq2seq.search.beam import BeamConfig
from seq2seq.search.greedy import GreedyConfig
from seq2seq.search.interfaces import Hypothesis
from seq2seq.search.mbr import MBRConfig
from seq2seq.search.sampling import SamplingConfig
from seq2seq.special_tokens import BOS, EOS
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

    ranks_texts = False

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self.asked: list[int] = []

    def __call__(self, model, source, mask):
        self.asked.append(len(source))
        rows = [row[real].tolist() for row, real in zip(source, mask, strict=True)]
        return [[Hypothesis(row, 0.0, 0.0, True)] for row in rows]


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
        batch_size, ranks_texts = 5, False

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


# More than one hypothesis, and given ones


def test_the_best_of_several_is_the_translation(model, tokenizers):
    sources = [tokenizers.source.encode(one) if one.strip() else [] for one in SENTENCES]
    translator = Translator(model, tokenizers, BeamConfig(n_best=4), CPU)
    found = translator.n_best(sources)
    assert [len(one) for one in found] == [4 if one else 0 for one in sources]
    best = Translator(model, tokenizers, BeamConfig(), CPU).hypotheses(sources)
    assert [one[0] if one else None for one in found] == best
    for one in filter(None, found):
        assert len({tuple(each.tokens) for each in one}) == 4
        assert [each.score for each in one] == sorted((each.score for each in one), reverse=True)


def test_each_translation_opens_with_its_own_prefix(model, tokenizers):
    sources = [tokenizers.source.encode(one) for one in ("a dog", "the cat sees a dog", "cat")]
    prefixes = [[7, 8], [], [9]]
    translator = Translator(model, tokenizers, GreedyConfig(batch_size=2), CPU)
    found = translator.n_best(sources, prefixes=prefixes)
    for one, prefix in zip(found, prefixes, strict=True):
        assert one[0].tokens[: len(prefix)] == prefix
    assert found[1][0] == translator.hypotheses(sources)[1]


@pytest.mark.parametrize("batch_size", [1, 64])
def test_given_translations_are_scored_as_a_search_scores_its_own(model, tokenizers, batch_size):
    sources = [tokenizers.source.encode(one) if one.strip() else [] for one in SENTENCES]
    model.output.bias.data[EOS] += 3
    translator = Translator(model, tokenizers, BeamConfig(batch_size=batch_size), CPU)
    found = [one for one in translator.hypotheses(sources) if one and one.is_complete]
    assert found
    asked = [
        source
        for source, one in zip(sources, translator.hypotheses(sources), strict=True)
        if one and one.is_complete
    ]
    scores = translator.score(asked, [one.tokens for one in found])
    for given, one in zip(scores, found, strict=True):
        assert len(given) == len(one.tokens) + 1
        assert sum(given) == pytest.approx(one.log_probability, abs=1e-9)
    (blank,) = translator.score([[]], [[5]])
    assert len(blank) == 2 and all(one < 0 for one in blank)


def test_least_risk_is_judged_by_texts(model, tokenizers):
    samples = SamplingConfig(num_samples=8)
    translator = Translator(model, tokenizers, MBRConfig(candidates=samples), CPU)
    sources = [tokenizers.source.encode("the dog sees a cat")]
    (found,) = translator.n_best(sources)
    candidates = Translator(model, tokenizers, samples, CPU)
    texts = candidates.texts(candidates.n_best(sources)[0])
    worth = {one: sum(chrf_of_one(one, other) for other in texts) / 8 for one in texts}
    best = max(worth, key=worth.get)
    assert translator.texts(found[:1]) == [best] == translator.translate(["the dog sees a cat"])
    assert found[0].score == pytest.approx(worth[best])
