"""Word-level tokenizers and vocabularies, by torchtext: the only module that imports it.

torchtext's last release is 0.18, which loads only under torch 2.3. Its files on disk here are plain
text, so that a checkpoint never depends on how torchtext serialises.
"""

from __future__ import annotations

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
            `basic_english` folds case and drops some marks; `space` splits at white space alone.
        min_frequency: rarer words become UNK.
        lowercase: fold the case of what is learned and translated.
    """

    splitter: Literal["moses", "basic_english", "space"] = "moses"
    min_frequency: Count = 2
    lowercase: bool = False

    def check(self) -> None:
        if self.splitter == "basic_english" and not self.lowercase:
            raise SettingsError(
                "lowercase", "must be true with splitter basic_english, which folds case anyway."
            )

    def train(self, sentences: Iterable[str], side: Side) -> WordTokenizer:
        torchtext = _torchtext()
        split, join = self._rule(torchtext)
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
        return WordTokenizer(*self._rule(torchtext), vocabulary)

    def _rule(self, torchtext: Any) -> tuple[Split, Join]:
        """How a sentence becomes words, and words a sentence."""
        get_tokenizer = torchtext.data.utils.get_tokenizer
        if self.splitter == "moses":
            raw_split, join = _moses(get_tokenizer)
        else:
            raw_split = get_tokenizer(None if self.splitter == "space" else self.splitter)
            join = " ".join
        if not self.lowercase:
            return raw_split, join
        return lambda sentence: raw_split(sentence.lower()), join


def _moses(get_tokenizer: Callable[[str], Any]) -> tuple[Split, Join]:
    """torchtext's Moses tokenizer and the detokenizer of the package that is behind it.

    Unless told otherwise, they write `'` as `&apos;`, and read such marks of the text itself.
    """
    try:
        from sacremoses import MosesDetokenizer
    except ImportError:
        raise DependencyError(
            "tokenizer.splitter=moses needs the package sacremoses. Install it with `pip install "
            "-e .[torchtext]`, or use tokenizer.splitter=space."
        ) from None
    split: Split = partial(get_tokenizer("moses"), escape=False)
    return split, partial(MosesDetokenizer().detokenize, unescape=False)
