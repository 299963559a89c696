"""Word-level tokenizers and vocabularies, by torchtext: the only module that imports it.

torchtext's last release is 0.18, which loads only under torch 2.3. Its files on disk here are plain
text, so that a checkpoint never depends on how torchtext serialises.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from seq2seq.config import Count
from seq2seq.errors import CheckpointError, DependencyError, SettingsError
from seq2seq.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from seq2seq.tokenizers.base import Side, Tokenizer, TokenizerConfig

VOCABULARY_FILE = "vocabulary.txt"
DEFAULT_LANGUAGE = "en"
_LANGUAGES = {
    "moses": ("[a-z]{2,3}", "fr"),
    "spacy": ("[a-z]{2,3}(_[a-z0-9]+)+", "fr_core_news_sm"),
}
"""Of the splitters that know languages: what these are called, and an example."""
Split = Callable[[str], list[str]]
Join = Callable[[Sequence[str]], str]


def _torchtext() -> Any:
    """The torchtext package, or one line that says how to get it."""
    try:
        import torchtext

        torchtext.disable_torchtext_deprecation_warning()
        import torchtext.data.utils
        import torchtext.vocab
    except (ImportError, OSError) as error:  # OSError: its compiled half under another torch
        raise DependencyError(
            "tokenizer=word needs torchtext 0.18 with torch 2.3, which do not load here "
            f"({type(error).__name__}). Install them with `pip install -e .[torchtext]`, or use "
            "tokenizer=subword."
        ) from None
    return torchtext


class WordTokenizer(Tokenizer):
    """A splitting rule and a torchtext `Vocab`; unknown words become UNK."""

    def __init__(self, split: Split, join: Join, vocabulary: Any) -> None:
        self._split = split
        self._join = join
        self._vocabulary = vocabulary

    @property
    def vocabulary_size(self) -> int:
        return len(self._vocabulary)

    def encode(self, sentence: str) -> list[int]:
        # A word that is spelt like a special token is no special token.
        return [max(one, UNK) for one in self._vocabulary(self._split(sentence))]

    def decode(self, ids: Sequence[int]) -> str:
        return self._join(self.tokens([one for one in ids if one not in (PAD, BOS, EOS)]))

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return list(self._vocabulary.lookup_tokens(list(ids)))

    def surfaces(self, sentence: str) -> list[str]:
        return self._split(sentence)

    def save(self, folder: Path) -> None:
        with open(folder / VOCABULARY_FILE, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(token + "\n" for token in self._vocabulary.get_itos())


@dataclass(frozen=True, kw_only=True)
class WordConfig(TokenizerConfig):
    """One token for each word and punctuation mark.

    Attributes:
        splitter: torchtext's tokenizer. `moses` keeps case, splits punctuation and can be undone;
            `basic_english` folds case and drops some marks; `toktok` (of NLTK) splits punctuation;
            `spacy` follows a language's own rules; `space` splits at white space alone. What but
            `moses` has split is joined by spaces.
        source_language: what the source is in, for `moses` (`fr`) and `spacy` (the name of an
            installed model, `fr_core_news_sm`).
        target_language: likewise.
        min_frequency: rarer words become UNK.
        lowercase: fold the case of what is learned and translated.
    """

    splitter: Literal["moses", "basic_english", "toktok", "spacy", "space"] = "moses"
    source_language: str = DEFAULT_LANGUAGE
    target_language: str = DEFAULT_LANGUAGE
    min_frequency: Count = 2
    lowercase: bool = False

    def check(self) -> None:
        if self.splitter == "basic_english" and not self.lowercase:
            raise SettingsError(
                "lowercase", "must be true with splitter basic_english, which folds case anyway."
            )
        languages = {"source": self.source_language, "target": self.target_language}
        pattern, example = _LANGUAGES.get(self.splitter, (DEFAULT_LANGUAGE, ""))
        for side, language in languages.items():
            if not re.fullmatch(pattern, language):
                hint = f"Name one as {example}." if example else f"{self.splitter} knows none."
                raise SettingsError(f"{side}_language", f"cannot be {language!r}. {hint}")
        if self.joint and len(set(languages.values())) > 1:
            raise SettingsError("joint", "is for one language on both sides.")

    @property
    def packages(self) -> tuple[str, ...]:
        others = {
            "moses": ("sacremoses",),
            "toktok": ("nltk",),
            "spacy": ("spacy", self.source_language, self.target_language),
        }
        return ("torchtext", *others.get(self.splitter, ()))

    def train(self, sentences: Iterable[str], side: Side) -> WordTokenizer:
        torchtext = _torchtext()
        split, join = self._rule(torchtext, side)
        vocabulary = torchtext.vocab.build_vocab_from_iterator(
            map(split, sentences),
            min_freq=self.min_frequency,
            specials=list(SPECIAL_TOKENS),
            special_first=True,
        )
        vocabulary.set_default_index(UNK)
        return WordTokenizer(split, join, vocabulary)

    def load(self, folder: Path, side: Side) -> WordTokenizer:
        torchtext = _torchtext()
        path = folder / VOCABULARY_FILE
        try:
            with open(path, encoding="utf-8", newline="\n") as file:
                *words, rest = file.read().split("\n")
        except (OSError, UnicodeDecodeError):
            raise CheckpointError(f"{path} is missing or is not UTF-8 text.") from None
        is_whole = not rest and len(set(words)) == len(words)
        if tuple(words[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS or not is_whole:
            raise CheckpointError(
                f"{path} is not a whole vocabulary: it must open with {' '.join(SPECIAL_TOKENS)}, "
                "hold no word twice, and end its last line."
            )
        vocabulary = torchtext.vocab.vocab({word: 1 for word in words}, min_freq=1)
        vocabulary.set_default_index(UNK)
        return WordTokenizer(*self._rule(torchtext, side), vocabulary)

    def _rule(self, torchtext: Any, side: Side) -> tuple[Split, Join]:
        """How a sentence of a side becomes words, and words a sentence."""
        language = self.target_language if side == "target" else self.source_language
        get_tokenizer = torchtext.data.utils.get_tokenizer
        join: Join = " ".join
        if self.splitter == "moses":
            raw_split, join = _moses(language)
        elif self.splitter == "toktok":
            raw_split = _toktok(get_tokenizer)
        elif self.splitter == "spacy":
            raw_split = _spacy(get_tokenizer, language)
        else:
            raw_split = get_tokenizer(None if self.splitter == "space" else self.splitter)
        if not self.lowercase:
            return raw_split, join
        return lambda sentence: raw_split(sentence.lower()), join


def _toktok(get_tokenizer: Callable[..., Any]) -> Split:
    """NLTK's, by torchtext. What it writes for a bar, an ampersand and a tab is undone."""
    try:
        split = get_tokenizer("toktok")
    except ImportError:
        raise _lacking("toktok", "nltk", "pip install nltk") from None
    marks = {"&#124;": "|", "&amp;": "&", "&#9;": "\t"}
    return lambda sentence: [marks.get(one, one) for one in split(sentence)]


def _spacy(get_tokenizer: Callable[..., Any], language: str) -> Split:
    """spaCy's, by torchtext, without the tokens that it makes of white space."""
    if importlib.util.find_spec("spacy") is None:
        raise _lacking("spacy", "spacy", "pip install spacy")
    remedy = f"python -m spacy download {language}"
    if importlib.util.find_spec(language) is None:
        raise _lacking("spacy", language, remedy)
    try:
        split = get_tokenizer("spacy", language)
    except (OSError, ValueError, LookupError, AttributeError):
        raise _lacking("spacy", f"{language} as a model of spaCy", remedy) from None
    return lambda sentence: [one for one in split(sentence) if not one.isspace()]


def _lacking(splitter: str, package: str, remedy: str) -> DependencyError:
    return DependencyError(f"tokenizer.splitter={splitter} needs the package {package}: {remedy}.")


def _moses(language: str) -> tuple[Split, Join]:
    """The Moses tokenizer that torchtext takes, told the language, and its detokenizer.

    Unless told otherwise, they write `'` as `&apos;`, and read such marks of the text itself.
    """
    try:
        from sacremoses import MosesDetokenizer, MosesTokenizer
    except ImportError:
        raise DependencyError(
            "tokenizer.splitter=moses needs the package sacremoses. Install it with `pip install "
            "-e .[torchtext]`, or use tokenizer.splitter=space."
        ) from None
    split: Split = partial(MosesTokenizer(language).tokenize, escape=False)
    return split, partial(MosesDetokenizer(language).detokenize, unescape=False)
