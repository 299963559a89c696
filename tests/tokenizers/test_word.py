"""Word tokenizers: ids, round trips, files, and what is said where torchtext does not load."""

from __future__ import annotations

import sys

import pytest

from seq2seq.data.multi30k import Multi30kConfig
from seq2seq.errors import CheckpointError, DependencyError, SettingsError
from seq2seq.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from seq2seq.tokenizers.word import VOCABULARY_FILE, WordConfig

SOURCE = ["The dog sees a cat.", "A dog runs.", "The cat, too!"]
TARGET = ["Der Hund sieht eine Katze.", "Ein Hund läuft.", "Die Katze auch!"]
MOSES = WordConfig(min_frequency=1)
SPACE = WordConfig(min_frequency=1, splitter="space")
ENGLISH = WordConfig(min_frequency=1, splitter="basic_english", lowercase=True)


@pytest.fixture(scope="module")
def torchtext():
    """Skips where torchtext does not load."""
    try:
        import torchtext
    except (ImportError, OSError) as error:
        pytest.skip(f"torchtext does not load here: {error}")
    return torchtext


def write_vocabulary(folder, words) -> None:
    with open(folder / VOCABULARY_FILE, "w", encoding="utf-8", newline="") as file:
        file.write("".join(f"{word}\n" for word in words))


@pytest.mark.usefixtures("torchtext")
@pytest.mark.parametrize("config", [MOSES, SPACE, ENGLISH])
def test_special_tokens_have_their_ids_and_never_come_out_of_text(config):
    tokenizer = config.train([*SOURCE, "<pad> <bos> <eos> <unk>"], "source")
    assert tokenizer.tokens([PAD, BOS, EOS, UNK]) == list(SPECIAL_TOKENS)
    for sentence in [*SOURCE, "<pad> <bos> <eos> <unk>"]:
        assert not {PAD, BOS, EOS} & set(tokenizer.encode(sentence))
    for blank in ("", " ", "\t\u3000", "\xa0", "\u2028"):
        assert tokenizer.encode(blank) == []
    assert tokenizer.decode([]) == ""


@pytest.mark.usefixtures("torchtext")
@pytest.mark.parametrize(
    ("config", "sentence", "tokens", "back"),
    [
        (MOSES, 'It\'s a Dog, (a) "cat".', None, 'It\'s a Dog, (a) "cat".'),
        (MOSES, "It's 5 & 6.", ["It", "'s", "5", "&", "6", "."], "It's 5 & 6."),
        (MOSES, "a &amp; b", ["a", "&", "amp", ";", "b"], "a & amp; b"),
        (SPACE, "A dog , too .", ["A", "dog", ",", "too", "."], "A dog , too ."),
        (ENGLISH, "A Dog, too.", ["a", "dog", ",", "too", "."], "a dog , too ."),
    ],
)
def test_each_splitter_splits_and_joins_by_its_rule(config, sentence, tokens, back):
    tokenizer = config.train([sentence], "source")
    ids = tokenizer.encode(sentence)
    assert tokens is None or tokenizer.tokens(ids) == tokens
    assert tokenizer.decode([BOS, *ids, EOS, PAD]) == back


@pytest.mark.usefixtures("torchtext")
def test_the_vocabulary_is_by_frequency_and_rare_words_are_unknown():
    tokenizer = WordConfig(splitter="space", min_frequency=2).train(
        ["b a b c", "a b d d"], "source"
    )
    assert tokenizer.vocabulary_size == 7
    assert tokenizer.tokens(range(4, 7)) == ["b", "a", "d"]
    assert tokenizer.encode("a b c d e") == [5, 4, UNK, 6, UNK]
    assert tokenizer.decode([5, UNK, 4]) == "a <unk> b"


@pytest.mark.usefixtures("torchtext")
def test_lowercase_folds():
    folding = WordConfig(min_frequency=1, lowercase=True).train(SOURCE, "source")
    assert folding.encode("THE DOG") == folding.encode("the dog")
    assert UNK not in folding.encode("THE DOG")
    assert folding.decode(folding.encode("A CAT!")) == "a cat!"
    assert UNK in MOSES.train(SOURCE, "source").encode("DOG")
    with pytest.raises(SettingsError, match="`lowercase` must be true with splitter basic_english"):
        WordConfig(splitter="basic_english")


@pytest.mark.usefixtures("torchtext")
def test_words_with_odd_white_space_survive_a_file(tmp_path):
    words = [
        *SPECIAL_TOKENS,
        "no\xa0break",
        "line\u2028end",
        "tab\t",
        "\r",
        "\x85",
        "\ufeff",
        "",
        " ",
    ]
    write_vocabulary(tmp_path, words)
    tokenizer = SPACE.load(tmp_path, "source")
    assert tokenizer.tokens(range(tokenizer.vocabulary_size)) == words
    (tmp_path / "again").mkdir()
    tokenizer.save(tmp_path / "again")
    again = (tmp_path / "again" / VOCABULARY_FILE).read_bytes()
    assert again == (tmp_path / VOCABULARY_FILE).read_bytes()


@pytest.mark.usefixtures("torchtext")
@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"a\nb\n",
        b"<pad>\n<bos>\n<eos>\n",
        b"<pad>\n<bos>\n<eos>\n<unk>\nword\nword\n",
        b"<pad>\n<bos>\n<eos>\n<unk>\nwor",
        b"<pad>\n<bos>\n<eos>\n<unk>\n\xff\n",
    ],
)
def test_a_damaged_or_missing_file_is_refused(tmp_path, raw):
    path = tmp_path / VOCABULARY_FILE
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(CheckpointError) as refused:
        MOSES.load(tmp_path, "source")
    assert str(refused.value).startswith(f"{path} is ")
    assert len(str(refused.value).splitlines()) == 1


class Refusing:
    """An import hook: torchtext is there and fails to load, as under another torch."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torchtext":
            raise self.error
        return None


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("No module named 'torchtext'"), OSError("libtorchtext.so: ...")]
)
def test_where_torchtext_does_not_load_one_line_names_the_remedy(tmp_path, monkeypatch, error):
    for name in [one for one in sys.modules if one.partition(".")[0] == "torchtext"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Refusing(error), *sys.meta_path])
    write_vocabulary(tmp_path, SPECIAL_TOKENS)
    for call in (lambda: MOSES.train(SOURCE, "source"), lambda: MOSES.load(tmp_path, "source")):
        with pytest.raises(DependencyError) as refused:
            call()
        message = str(refused.value)
        assert message.startswith("tokenizer=word needs torchtext 0.18 with torch 2.3")
        assert type(error).__name__ in message
        assert "pip install -e .[torchtext]" in message
        assert message.endswith("or use tokenizer=subword.")
        assert len(message.splitlines()) == 1


@pytest.mark.usefixtures("torchtext")
def test_moses_without_its_package_names_the_remedy(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(DependencyError, match=r"needs the package sacremoses\. Install it with"):
        MOSES.train(SOURCE, "source")
    assert SPACE.train(SOURCE, "source").vocabulary_size > 4


@pytest.mark.usefixtures("torchtext")
def test_moses_knows_the_rules_of_each_sides_language():
    config = WordConfig(min_frequency=1, target_language="fr")
    text = "l'homme qu'il voit, c.-\u00e0-d. M. Dupont."
    english, french = (config.train([text], side) for side in ("source", "target"))
    assert french.tokens(french.encode(text))[:4] == ["l'", "homme", "qu'", "il"]
    assert english.tokens(english.encode(text))[:2] == ["l", "'homme"]
    assert french.decode(french.encode(text)) == text
    with pytest.raises(SettingsError, match="`joint` is for one language"):
        WordConfig(joint=True, target_language="fr")


@pytest.mark.usefixtures("torchtext")
@pytest.mark.parametrize(
    ("splitter", "module", "remedy"),
    [
        ("toktok", "nltk.tokenize.toktok", "pip install nltk"),
        ("spacy", "spacy", "pip install spacy"),
    ],
)
def test_a_splitter_without_its_package_is_told(monkeypatch, splitter, module, remedy):
    monkeypatch.setitem(sys.modules, module, None)
    model = "en_core_web_sm"
    languages = {"source_language": model, "target_language": model} if splitter == "spacy" else {}
    with pytest.raises(DependencyError, match=remedy):
        config = WordConfig(splitter=splitter, **languages)
        config.train(["a"], "source")


@pytest.mark.parametrize(
    ("splitter", "language", "hint"),
    [
        ("moses", "fr_core_news_sm", "Name one as fr"),
        ("spacy", "en", "Name one as fr_core_news_sm"),
        ("spacy", "../folder", "Name one as fr_core_news_sm"),
        ("spacy", "numpy", "Name one as fr_core_news_sm"),
        ("space", "de", "space knows none"),
        ("toktok", "de", "toktok knows none"),
    ],
)
def test_a_language_that_a_splitter_does_not_know_is_refused(splitter, language, hint):
    with pytest.raises(SettingsError, match=f"`source_language` cannot be .* {hint}"):
        WordConfig(splitter=splitter, source_language=language)


@pytest.mark.usefixtures("torchtext")
def test_toktok_and_spacy_split_where_they_are_installed():
    pytest.importorskip("nltk")
    toktok = WordConfig(splitter="toktok", min_frequency=1).train(["A dog, too."], "source")
    assert toktok.tokens(toktok.encode("A dog, too.")) == ["A", "dog", ",", "too", "."]
    assert toktok.surfaces("a | b & c") == ["a", "|", "b", "&", "c"]
    pytest.importorskip("spacy")
    with pytest.raises(DependencyError, match="python -m spacy download xx_none"):
        WordConfig(splitter="spacy", source_language="xx_none", target_language="xx_none").train(
            ["a"], "source"
        )


def share_unchanged(tokenizer, sentences) -> float:
    """Of sentences that come back as they were, but for white space."""
    same = sum(
        tokenizer.decode(tokenizer.encode(one)) == " ".join(one.split()) for one in sentences
    )
    return same / len(sentences)


@pytest.mark.usefixtures("torchtext")
@pytest.mark.parametrize("language", ["en", "de", "fr", "cs"])
@pytest.mark.parametrize("split", ["validation", pytest.param("train", marks=pytest.mark.slow)])
def test_most_lines_of_multi30k_survive_the_round_trip(multi30k, language, split):
    source = "de" if language == "en" else "en"
    data = Multi30kConfig(source=source, target=language, root=str(multi30k))
    sentences = data.read(split).target
    config = WordConfig(min_frequency=1, source_language=source, target_language=language)
    assert share_unchanged(config.train(sentences, "target"), sentences) >= 0.98
