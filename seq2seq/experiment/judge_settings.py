"""What each command that judges depends on, as frozen settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seq2seq.config import Config, Count, NonNegative
from seq2seq.data.base import DataConfig
from seq2seq.errors import SettingsError
from seq2seq.runtime import RuntimeConfig
from seq2seq.search.base import SearchConfig


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Config):
    """What `evaluate` depends on; data and search are the checkpoint's unless overridden.

    Attributes:
        checkpoint: a checkpoint, several, or a run: all of its checkpoints.
        split: of the checkpoint's corpus, where no files are given; null is test.
        source: file of sentences to translate.
        target: file of their references.
        output_dir: where translations and results go; null makes a new one beside the checkpoint.
        lowercase_scores: BLEU and chrF fold case, as TER always does.
        comet: file of a COMET model, whose score is told, too; null: none.
    """

    checkpoint: tuple[str, ...]
    split: Literal["train", "validation", "test"] | None = None
    source: str | None = None
    target: str | None = None
    output_dir: str | None = None
    lowercase_scores: bool = False
    comet: str | None = None
    data: DataConfig
    search: SearchConfig
    runtime: RuntimeConfig

    def check(self) -> None:
        _check_files(self)


@dataclass(frozen=True, kw_only=True)
class CompareSettings(Config):
    """What `compare` depends on; data are those of checkpoint `one` unless overridden.

    Attributes:
        one: a checkpoint, or a file of translations.
        other: what is compared with it: likewise.
        split: of the checkpoint's corpus, where no files are given; null is test.
        source: file of the sentences that were translated.
        target: file of their references.
        output_dir: where comparison.json and comparison.html go.
        lowercase_scores: BLEU and chrF fold case, as TER always does.
    """

    one: str
    other: str
    split: Literal["train", "validation", "test"] | None = None
    source: str | None = None
    target: str | None = None
    output_dir: str = "comparison"
    lowercase_scores: bool = False
    data: DataConfig | None = None
    runtime: RuntimeConfig

    def check(self) -> None:
        _check_files(self)
        if self.data is None and self.source is None:
            raise SettingsError(
                "source",
                "and `target` are needed where `one` is no checkpoint: what was translated.",
            )


def _check_files(settings: EvaluateSettings | CompareSettings) -> None:
    """Raises SettingsError where it is not clear which pairs are meant."""
    if (settings.source is None) != (settings.target is None):
        raise SettingsError("source", "and `target` go together: give both files or none.")
    if settings.split is not None and settings.source is not None:
        raise SettingsError("split", "names data of the checkpoint, but files are given, too.")


@dataclass(frozen=True, kw_only=True)
class ScoreSettings(Config):
    """What `score` depends on.

    Attributes:
        checkpoint: its folder.
        source: file of sentences.
        target: file of their translations, as many lines.
        output: file for a JSON object a line; null writes to the standard output.
    """

    checkpoint: str
    source: str
    target: str
    output: str | None = None
    runtime: RuntimeConfig


@dataclass(frozen=True, kw_only=True)
class TuneSearchSettings(Config):
    """What `tune_search` depends on; data and search are the checkpoint's unless overridden.

    Attributes:
        checkpoint: its folder.
        beam_sizes: to try ...
        length_penalties: ... with each of these.
        write: puts the best into the checkpoint's settings.
        lowercase_scores: BLEU folds case.
    """

    checkpoint: str
    beam_sizes: tuple[Count, ...] = (1, 3, 5, 10)
    length_penalties: tuple[NonNegative, ...] = (0.6, 0.8, 1.0, 1.2, 1.4)
    write: bool = True
    lowercase_scores: bool = False
    data: DataConfig
    search: SearchConfig
    runtime: RuntimeConfig

    def check(self) -> None:
        for name in ("beam_sizes", "length_penalties"):
            if not getattr(self, name):
                raise SettingsError(name, "names none. Give at least one.")
