"""What every tokenizer offers, and the pair of them that a translation model needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from seq2seq.config import Config, Count

Side = Literal["source", "target", "joint"]


class Tokenizer(ABC):
    """A trained vocabulary: sentences to ids and back.

    Ids never contain BOS or EOS: the collate step alone adds them. Ids 0 to 3 are special tokens.
    """

    @property
    @abstractmethod
    def vocabulary_size(self) -> int:
        """V, the special tokens included."""

    @abstractmethod
    def encode(self, sentence: str) -> list[int]:
        """The ids of one sentence; a blank one gives none."""

    @property
    def samples(self) -> bool:
        """Whether `sample` cuts a sentence differently from time to time."""
        return False

    def encode_all(self, sentences: Sequence[str]) -> list[list[int]]:
        """The ids of each of many sentences."""
        return [self.encode(one) for one in sentences]

    def sample(self, sentences: Iterable[str], seed: int) -> Iterator[list[int]]:
        """The ids of training sentences; where `samples`, cut as `seed` draws it."""
        return map(self.encode, sentences)

    def finest(self, sentence: str) -> list[int]:
        """The longest ids that `sample` may give for a sentence."""
        return self.encode(sentence)

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The sentence of such ids; special tokens other than UNK are passed over."""

    @abstractmethod
    def tokens(self, ids: Sequence[int]) -> list[str]:
        """A readable label for each id."""

    @abstractmethod
    def surfaces(self, sentence: str) -> list[str]:
        """What each id of `encode` stands for in the sentence, also where that is UNK."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes what `TokenizerConfig.load` needs into an existing folder."""


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig(Config, ABC):
    """How to make a tokenizer.

    Attributes:
        joint: one vocabulary, trained on both sides, instead of one for each side.
        num_pairs: of training pairs that the vocabulary is learned from, drawn at random where
            there are more.
    """

    joint: bool = False
    num_pairs: Count = 500_000

    @property
    @abstractmethod
    def packages(self) -> tuple[str, ...]:
        """Those that do the work."""

    def versions(self) -> tuple[tuple[str, str], ...]:
        """Of the packages that do the work, where they are installed: others may cut otherwise."""
        found = []
        for name in self.packages:
            with suppress(PackageNotFoundError):
                found.append((name, version(name)))
        return tuple(found)

    @abstractmethod
    def train(self, sentences: Iterable[str], side: Side) -> Tokenizer:
        """A tokenizer trained on sentences of one side, or of both."""

    @abstractmethod
    def load(self, folder: Path, side: Side) -> Tokenizer:
        """The tokenizer that was saved into `folder`. Raises CheckpointError where that fails."""


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of both sides; one object twice where the vocabulary is joint."""

    source: Tokenizer
    target: Tokenizer

    @classmethod
    def train(
        cls, config: TokenizerConfig, source: Sequence[str], target: Sequence[str]
    ) -> TokenizerPair:
        """Trains on the sentences of the training split."""
        if config.joint:
            joint = config.train([*source, *target], "joint")
            return cls(joint, joint)
        return cls(config.train(source, "source"), config.train(target, "target"))

    @property
    def is_joint(self) -> bool:
        """Whether both sides share one vocabulary."""
        return self.source is self.target

    @property
    def samples(self) -> bool:
        """Whether a side's `sample` cuts a sentence differently from time to time."""
        return self.source.samples or self.target.samples

    def save(self, folder: Path) -> None:
        """Writes `folder/joint`, or `folder/source` and `folder/target`."""
        sides = {"joint": self.source} if self.is_joint else {
            "source": self.source, "target": self.target
        }  # fmt: skip
        for side, tokenizer in sides.items():
            (folder / side).mkdir(parents=True)
            tokenizer.save(folder / side)

    @classmethod
    def load(cls, config: TokenizerConfig, folder: Path) -> TokenizerPair:
        """Reads what `save` wrote. Raises CheckpointError where that fails."""
        if config.joint:
            joint = config.load(folder / "joint", "joint")
            return cls(joint, joint)
        return cls(
            config.load(folder / "source", "source"), config.load(folder / "target", "target")
        )
