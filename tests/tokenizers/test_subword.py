"""Subword tokenizers: ids, round trips, files, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from seq2seq.data.multi30k import Multi30kConfig
from seq2seq.errors import CheckpointError, SettingsError
from seq2seq.special_tokens import BOS, EOS, PAD, UNK
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.tokenizers.subword import MODEL_FILE, SubwordConfig

SOURCE = ["The dog sees a cat .", "a dog runs .", "the cat sees The dog , too ."] * 3
TARGET = ["Der Hund sieht eine Katze .", "ein Hund läuft .", "Größe und Übermut !"] * 3
SMALL = SubwordConfig(vocabulary_size=60)


def folded(sentence: str) -> str:
    return " ".join(sentence.split())


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_special_tokens_have_their_ids_and_never_come_out_of_text(algorithm):
    config = SubwordConfig(vocabulary_size=60, algorithm=algorithm)
    tokenizer = config.train([*SOURCE, "<pad> <bos> <eos> </s>"], "source")
    assert tokenizer.tokens([PAD, BOS, EOS, UNK]) == ["<pad>", "<bos>", "<eos>", "<unk>"]
    for sentence in [*SOURCE, "<pad> <bos> <eos> </s>", "<unk>", "漢字"]:
        assert not {PAD, BOS, EOS} & set(tokenizer.encode(sentence))
    ids = tokenizer.encode("the dog sees")
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == "the dog sees"


def test_labels_are_bare_at_a_words_start_and_hyphened_within():
    tokenizer = SubwordConfig(vocabulary_size=12).train(["ab ab ab c, d"], "source")
    ids = tokenizer.encode("ab abcd, c")
    assert tokenizer.tokens(ids) == ["ab", "ab", "-c", "-d", ",", "▁", "-c"]


def test_what_was_never_seen_is_unknown_and_a_zero_width_space_is_nothing():
    tokenizer = SMALL.train(SOURCE, "source")
    assert UNK in tokenizer.encode("Ω")
    assert tokenizer.decode([*tokenizer.encode("dog"), UNK]) == "dog <unk> "
    assert tokenizer.encode("\u200b") == []


def test_the_vocabulary_size_is_a_bound():
    assert SMALL.train(SOURCE, "source").vocabulary_size == 60
    assert SubwordConfig(vocabulary_size=5000).train(SOURCE, "source").vocabulary_size < 200


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_too_small_a_vocabulary_is_refused_with_the_least_size(algorithm):
    config = SubwordConfig(vocabulary_size=8, algorithm=algorithm)
    with pytest.raises(SettingsError) as refused:
        config.train(["hello there"], "target")
    assert str(refused.value) == (
        "`tokenizer.vocabulary_size` must be at least 11 for the characters of this text "
        "(target), but is 8."
    )
    least = SubwordConfig(vocabulary_size=11, algorithm="bpe").train(["hello there"], "target")
    assert least.decode(least.encode("here")) == "here"


def test_text_of_nothing_is_refused_with_one_line():
    with pytest.raises(
        SettingsError, match="`tokenizer` cannot be trained on this text"
    ) as refused:
        SMALL.train(["\u200b"], "source")
    assert len(str(refused.value).splitlines()) == 1


def test_a_very_long_sentence_is_learned_from():
    tokenizer = SubwordConfig(vocabulary_size=200).train([*SOURCE, "word " * 2000 + "Ω"], "source")
    assert UNK not in tokenizer.encode("word Ω")


@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_two_trainings_give_the_same_bytes(tmp_path, algorithm):
    config = SubwordConfig(vocabulary_size=60, algorithm=algorithm)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        config.train(SOURCE + TARGET, "joint").save(tmp_path / name)
    one, two = ((tmp_path / name / MODEL_FILE).read_bytes() for name in ("one", "two"))
    assert one == two


def test_lowercase_folds_and_normalization_can_be_off():
    folding = SubwordConfig(vocabulary_size=60, lowercase=True).train(SOURCE + TARGET, "joint")
    assert folding.encode("THE DOG") == folding.encode("the dog")
    assert folding.decode(folding.encode("ein HUND")) == "ein hund"
    text = "ﬁne x\u00b2"
    keeping = SubwordConfig(vocabulary_size=60, normalization="identity").train([text], "joint")
    assert keeping.decode(keeping.encode(text)) == text
    folding = SubwordConfig(vocabulary_size=60).train([text], "joint")
    assert folding.decode(folding.encode(text)) == "fine x2"
    with pytest.raises(SettingsError, match="`lowercase` cannot be true with normalization"):
        SubwordConfig(lowercase=True, normalization="identity")


def test_sampling_cuts_anew_with_each_seed_and_only_in_training():
    plain = SMALL.train(SOURCE, "source")
    sampling = replace(SMALL, sampling=0.5).train(SOURCE, "source")
    assert sampling.samples and not plain.samples
    assert [*plain.sample(SOURCE, 7)] == [plain.encode(one) for one in SOURCE]
    assert [sampling.encode(one) for one in SOURCE] == [plain.encode(one) for one in SOURCE]
    one, same, other = ([*sampling.sample(SOURCE, seed)] for seed in (7, 7, 8))
    assert one == same
    assert one != other
    assert [sampling.decode(ids) for ids in one] == SOURCE
    assert one[0] != one[3]  # the same sentence
    assert sum(map(len, one)) > sum(len(plain.encode(sentence)) for sentence in SOURCE)


def test_with_byte_fallback_nothing_is_unknown():
    config = SubwordConfig(vocabulary_size=330, byte_fallback=True)
    plain = config.train(SOURCE, "source")
    text = "a dog \u6f22\U0001f600 \u00e9"
    ids = plain.encode(text)
    assert UNK not in ids and plain.decode(ids) == text
    sampling = replace(config, sampling=1e-9).train(SOURCE, "source")  # cuts all but as usual
    assert [*sampling.sample([text, *SOURCE], 1)] == [plain.encode(one) for one in [text, *SOURCE]]
    assert UNK in SMALL.train(SOURCE, "source").encode(text)
    with pytest.raises(SettingsError, match="vocabulary_size` must be at least"):
        SubwordConfig(vocabulary_size=100, byte_fallback=True).train(SOURCE, "source")


def test_symbols_are_never_cut():
    config = SubwordConfig(vocabulary_size=60, symbols=("<url>", "<u", "@@"))
    plain = config.train(SOURCE, "source")
    text = "see <url>the<url> <u dog@@"
    assert plain.decode(plain.encode(text)) == text
    assert [one for one in plain.tokens(plain.encode(text)) if one in ("<url>", "<u", "@@")] == [
        *("<url>", "<url>", "<u", "@@")
    ]
    sampling = replace(config, sampling=1e-9).train(SOURCE, "source")
    assert [*sampling.sample([text], 1)] == [plain.encode(text)]
    random = replace(config, sampling=0.9).train(SOURCE, "source")
    (cut,) = random.sample([text], 1)
    assert random.decode(cut) == text and "<url>" in random.tokens(cut)
    assert len(random.finest(text)) >= len(cut)
    for one in ("a b", "<unk>"):
        with pytest.raises(SettingsError, match="`symbols` cannot hold"):
            SubwordConfig(symbols=(one,))


CHINESE = ["\u4ed6\u559c\u6b22\u6c34\u679c\u3002", "\u5979\u5728\u56ed\u91cc\u770b\u4e66\u3002"]
ARABIC = [
    "\u064a\u0642\u0631\u0623 \u0627\u0644\u0648\u0644\u062f \u0643\u062a\u0627\u0628.",
    "\u0627\u0644\u0628\u0646\u062a \u062a\u0644\u0639\u0628.",
]


@pytest.mark.parametrize("sentences", [CHINESE, ARABIC], ids=["chinese", "arabic"])
@pytest.mark.parametrize("algorithm", ["bpe", "unigram"])
def test_other_scripts_come_back_as_they_were(sentences, algorithm):
    config = SubwordConfig(vocabulary_size=60, algorithm=algorithm)
    tokenizer = config.train(sentences * 5, "source")
    for one in sentences:
        assert UNK not in tokenizer.encode(one)
        assert tokenizer.decode(tokenizer.encode(one)) == one
    assert len(tokenizer.encode(sentences[0])) > 1  # without spaces, too


def test_another_process_cuts_the_same():
    program = (
        "from seq2seq.tokenizers.subword import SubwordConfig\n"
        "config = SubwordConfig(vocabulary_size=60, sampling=0.5)\n"
        f"tokenizer = config.train({SOURCE!r}, 'source')\n"
        f"print([*tokenizer.sample({SOURCE!r}, 7)])"
    )
    here = [*replace(SMALL, sampling=0.5).train(SOURCE, "source").sample(SOURCE, 7)]
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
        )
        assert json.loads(done.stdout) == here


def test_a_word_that_loses_no_merge_is_cut_as_sentencepiece_cuts_it(multi30k):
    pairs = Multi30kConfig(root=str(multi30k)).read("train")
    sentences = [*pairs.source[:1500], *pairs.target[:1500], "漢字 <unk>😀 <pad> ½  \u200bx", ""]
    tokenizer = SubwordConfig(vocabulary_size=3000, sampling=1e-9).train(sentences[:2000], "joint")
    assert [*tokenizer.sample(sentences, 1)] == [tokenizer.encode(one) for one in sentences]


def test_no_cut_is_longer_than_the_finest():
    tokenizer = replace(SMALL, sampling=0.9).train(SOURCE + TARGET, "joint")
    letters = ["▁", *"dog", "▁", *"a"]
    assert tokenizer.tokens(tokenizer.finest("dog a")) == [
        one if one == "▁" else f"-{one}" for one in letters
    ]
    for seed in range(20):
        for sentence, ids in zip(TARGET, tokenizer.sample(TARGET, seed), strict=True):
            assert len(ids) <= len(tokenizer.finest(sentence))
    plain = SMALL.train(SOURCE, "source")
    assert plain.finest(SOURCE[0]) == plain.encode(SOURCE[0])


def test_the_more_sampling_the_smaller_the_pieces(multi30k):
    sentences = Multi30kConfig(root=str(multi30k)).read("train").source[:2000]
    lengths = [
        sum(map(len, replace(SubwordConfig(vocabulary_size=2000), sampling=share)
            .train(sentences, "source").sample(sentences, 1)))
        for share in (0.0, 0.1, 0.5, 0.999)
    ]  # fmt: skip
    assert lengths == sorted(lengths)
    num_characters = sum(len("".join(one.split())) + len(one.split()) for one in sentences)
    assert lengths[-1] == pytest.approx(num_characters, rel=0.02)


def test_sampling_leaves_out_merges_so_it_needs_them():
    with pytest.raises(SettingsError, match="`sampling` leaves out merges, which only"):
        SubwordConfig(algorithm="unigram", sampling=0.1)


@pytest.mark.parametrize("damage", [None, b"", b"not a model", "half", "folder"])
def test_a_damaged_or_missing_file_is_refused(tmp_path, capfd, damage):
    SMALL.train(SOURCE, "source").save(tmp_path)
    path = tmp_path / MODEL_FILE
    whole = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage is not None:
        path.write_bytes(whole[: len(whole) // 2] if damage == "half" else damage)
    with pytest.raises(CheckpointError) as refused:
        SMALL.load(tmp_path, "source")
    assert str(refused.value) == f"{path} is missing or is not a sentencepiece model."
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("target", "exceptions"),
    [("de", 0), ("fr", 0), ("cs", 1)],  # train.cs has U+200B twice in a line
)
@pytest.mark.slow
def test_every_line_of_multi30k_survives_the_round_trip(multi30k, target, exceptions):
    pairs = Multi30kConfig(target=target, root=str(multi30k)).read("train")
    joint = TokenizerPair.train(SubwordConfig(vocabulary_size=4000), pairs.source, pairs.target)
    changed = 0
    for sentence in (*pairs.source, *pairs.target):
        ids = joint.source.encode(sentence)
        assert not {PAD, BOS, EOS, UNK} & set(ids)
        changed += joint.target.decode(ids) != folded(sentence)
    assert changed == exceptions


def test_some_lines_of_multi30k_survive_the_round_trip(multi30k):
    pairs = Multi30kConfig(root=str(multi30k)).read("train")
    tokenizer = SubwordConfig(vocabulary_size=4000).train(pairs.target[:5000], "target")
    for sentence in pairs.target[:5000:10]:
        assert tokenizer.decode(tokenizer.encode(sentence)) == folded(sentence)
