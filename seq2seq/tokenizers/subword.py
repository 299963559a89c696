"""Subword tokenizers: byte-pair encoding and unigram models, by sentencepiece."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Annotated, Literal

import sentencepiece as spm

from seq2seq.config import AtLeast, AtMost, Below, Between
from seq2seq.errors import CheckpointError, SettingsError
from seq2seq.special_tokens import BOS, EOS, PAD, SPECIAL_TOKENS, UNK
from seq2seq.tokenizers.base import Side, Tokenizer, TokenizerConfig

MODEL_FILE = "sentencepiece.model"
NUM_CUTS = 32
"""Of each word, drawn from at each occurrence: so that most are found in the cache."""
CACHE_SIZE = 1 << 19
WORD_START = "\u2581"
"""sentencepiece's mark of a space."""


class BpeDropout:
    """Cuts words with some merges left out at random (Provilkov et al. 2020).

    sentencepiece can do it, but its seed gives other cuts in other processes (0.2.3 does), and a
    resumed run has to go on with the same ones.
    """

    def __init__(self, ranks: Mapping[str, int], share: float) -> None:
        """Takes pieces by their rank, the first that was merged lowest, and the share left out."""
        self.ranks = ranks
        self.share = share
        self._cut = lru_cache(CACHE_SIZE)(self._cut_anew)

    def cut(self, word: str, random: Random) -> tuple[str, ...]:
        """The pieces of a word: one of `NUM_CUTS`, drawn from `random`."""
        return self._cut(word, int(random.random() * NUM_CUTS))

    def _cut_anew(self, word: str, number: int) -> tuple[str, ...]:
        """The paper's algorithm 1, with dice that depend on the word and the number alone."""
        random = Random(f"{number} {word}").random
        pieces = list(word)
        while True:
            merges = [
                (rank, at)
                for at in range(len(pieces) - 1)
                if (rank := self.ranks.get(pieces[at] + pieces[at + 1])) is not None
                and random() >= self.share
            ]
            if not merges:
                return tuple(pieces)
            _, at = min(merges)
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]


class SubwordTokenizer(Tokenizer):
    """A sentencepiece model behind the interface of all tokenizers."""

    def __init__(self, model: bytes, sampling: float = 0.0, symbols: Sequence[str] = ()) -> None:
        self._model = model
        self._processor = spm.SentencePieceProcessor()
        self._processor.load_from_serialized_proto(model)
        self._piece_ids = {
            str(self._processor.id_to_piece(one)): one
            for one in range(len(SPECIAL_TOKENS), self.vocabulary_size)
        }
        names = (f"<0x{one:02X}>" for one in range(256))
        self._byte_ids = [self._piece_ids[one] for one in names if one in self._piece_ids]
        merged = {
            piece: one
            for piece, one in self._piece_ids.items()
            if piece not in symbols and not self._processor.is_byte(one)
        }
        self._dropout = BpeDropout(merged, sampling) if sampling else None
        longest_first = sorted(symbols, key=lambda one: -len(one))
        self._symbols = re.compile("|".join(map(re.escape, longest_first))) if symbols else None

    @property
    def vocabulary_size(self) -> int:
        return int(self._processor.get_piece_size())

    def encode(self, sentence: str) -> list[int]:
        return list(self._processor.encode(sentence))

    @property
    def samples(self) -> bool:
        return self._dropout is not None

    def encode_all(self, sentences: Sequence[str]) -> list[list[int]]:
        return list(self._processor.encode(list(sentences), num_threads=1))

    def sample(self, sentences: Iterable[str], seed: int) -> Iterator[list[int]]:
        if self._dropout is None:
            return super().sample(sentences, seed)
        random, cut = Random(seed), self._dropout.cut
        return (
            self._ids(
                piece
                for part, is_symbol in self._parts(one)
                for piece in ([part] if is_symbol else cut(part, random))
            )
            for one in sentences
        )

    def finest(self, sentence: str) -> list[int]:
        if self._dropout is None:
            return super().finest(sentence)
        return self._ids(
            piece
            for part, is_symbol in self._parts(sentence)
            for piece in ([part] if is_symbol else part)
        )

    def _parts(self, sentence: str) -> Iterator[tuple[str, bool]]:
        """The normalised words, each with the mark of its space, and the symbols in them.

        No piece reaches across their borders.
        """
        normalised = str(self._processor.normalize(sentence))
        for word in normalised.split(WORD_START)[1:]:
            word, start = WORD_START + word, 0
            for symbol in self._symbols.finditer(word) if self._symbols else ():
                if word[start : symbol.start()]:
                    yield word[start : symbol.start()], False
                yield symbol[0], True
                start = symbol.end()
            if word[start:]:
                yield word[start:], False

    def _ids(self, pieces: Iterable[str]) -> list[int]:
        """As sentencepiece has it: what is unknown is bytes, or in a row one unknown token."""
        ids: list[int] = []
        for piece in pieces:
            one = self._piece_ids.get(piece, UNK)
            if one == UNK and self._byte_ids:
                ids += [self._byte_ids[byte] for byte in piece.encode()]
            elif not (one == UNK and ids and ids[-1] == UNK):
                ids.append(one)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._processor.decode([one for one in ids if one not in (PAD, BOS, EOS)]))

    def tokens(self, ids: Sequence[int]) -> list[str]:
        return [_label(str(self._processor.id_to_piece(one))) for one in ids]

    def surfaces(self, sentence: str) -> list[str]:
        pieces = self._processor.encode(sentence, out_type=str)
        return [str(one).replace(WORD_START, "") for one in pieces]

    def save(self, folder: Path) -> None:
        (folder / MODEL_FILE).write_bytes(self._model)


def _label(piece: str) -> str:
    """A piece for people: bare where it opens a word, with a hyphen where it goes on with one."""
    if piece.startswith(WORD_START):
        return piece.removeprefix(WORD_START) or piece
    return f"-{piece}" if piece[0].isalnum() else piece


@dataclass(frozen=True, kw_only=True)
class SubwordConfig(TokenizerConfig):
    """Byte-pair encoding (Sennrich et al. 2016) or a unigram model (Kudo 2018).

    Attributes:
        vocabulary_size: V, special tokens included; a bound that small corpora need not reach.
        algorithm: `bpe` or `unigram`.
        character_coverage: share of the text's characters that get a piece of their own; 1 for
            alphabets, 0.9995 for Chinese or Japanese.
        normalization: sentencepiece's rule; `identity` keeps every character as it is.
        lowercase: fold the case of what is learned and translated.
        byte_fallback: characters without a piece become the bytes of their UTF-8, so that nothing
            is unknown.
        symbols: pieces that are never cut and need not be in the text, such as `<url>`.
        sampling: the share of merges left out at random each time that a training sentence is cut
            (BPE-dropout, Provilkov et al. 2020), for `bpe` alone. Other text is cut without it.
    """

    joint: bool = True
    vocabulary_size: Annotated[int, AtLeast(8), AtMost(1_000_000)] = 4000
    algorithm: Literal["bpe", "unigram"] = "bpe"
    character_coverage: Annotated[float, Between(0.98, 1)] = 1.0
    normalization: Literal["nmt_nfkc", "nfkc", "identity"] = "nmt_nfkc"
    lowercase: bool = False
    byte_fallback: bool = False
    symbols: tuple[str, ...] = ()
    sampling: Annotated[float, AtLeast(0), Below(1)] = 0.0

    @property
    def packages(self) -> tuple[str, ...]:
        return ("sentencepiece",)

    def check(self) -> None:
        if self.lowercase and self.normalization == "identity":
            raise SettingsError("lowercase", "cannot be true with normalization identity.")
        if self.sampling and self.algorithm != "bpe":
            raise SettingsError("sampling", "leaves out merges, which only algorithm bpe has.")
        for one in self.symbols:
            if any(mark.isspace() for mark in one) or one in SPECIAL_TOKENS:
                raise SettingsError("symbols", f"cannot hold {one!r}: no blank, no special token.")

    def train(self, sentences: Iterable[str], side: Side) -> SubwordTokenizer:
        model = io.BytesIO()
        rule = self.normalization + ("_cf" if self.lowercase else "")
        try:
            spm.SentencePieceTrainer.train(
                sentence_iterator=iter(sentences),
                model_writer=model,
                model_type=self.algorithm,
                vocab_size=self.vocabulary_size,
                hard_vocab_limit=False,
                max_sentence_length=1 << 30,  # longer ones would be left out without a word
                character_coverage=self.character_coverage,
                byte_fallback=self.byte_fallback,
                user_defined_symbols=list(self.symbols),
                normalization_rule_name=rule,
                pad_id=PAD,
                bos_id=BOS,
                eos_id=EOS,
                unk_id=UNK,
                pad_piece=SPECIAL_TOKENS[PAD],
                bos_piece=SPECIAL_TOKENS[BOS],
                eos_piece=SPECIAL_TOKENS[EOS],
                unk_piece=SPECIAL_TOKENS[UNK],
                unk_surface=" " + SPECIAL_TOKENS[UNK] + " ",
                num_threads=1,  # several threads may order equal counts differently
                minloglevel=2,
            )
        except RuntimeError as error:
            if needed := re.search(r"smaller than required_chars. \d+ vs (\d+)", str(error)):
                raise SettingsError(
                    "tokenizer.vocabulary_size",
                    f"must be at least {needed[1]} for the characters of this text ({side}), but "
                    f"is {self.vocabulary_size}.",
                ) from None
            cause = str(error).strip().splitlines()[-1]
            raise SettingsError(
                "tokenizer", f"cannot be trained on this text ({side}): {cause}"
            ) from None
        return SubwordTokenizer(model.getvalue(), self.sampling, self.symbols)

    def load(self, folder: Path, side: Side) -> SubwordTokenizer:
        path = folder / MODEL_FILE
        try:
            return SubwordTokenizer(path.read_bytes(), self.sampling, self.symbols)
        except (OSError, RuntimeError):
            raise CheckpointError(f"{path} is missing or is not a sentencepiece model.") from None
