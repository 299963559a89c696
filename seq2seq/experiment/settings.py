"""What each command depends on, as frozen settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seq2seq.config import Config, Count
from seq2seq.data.base import DataConfig
from seq2seq.data.batching.base import BatchingConfig
from seq2seq.errors import SettingsError
from seq2seq.models.seq2seq import Seq2SeqConfig
from seq2seq.objectives.base import ObjectiveConfig
from seq2seq.optim.optimizers import OptimizerConfig
from seq2seq.optim.schedules import ScheduleConfig
from seq2seq.runtime import RuntimeConfig
from seq2seq.search.base import SearchConfig
from seq2seq.tokenizers.base import TokenizerConfig
from seq2seq.training.config import TrainingConfig


@dataclass(frozen=True, kw_only=True)
class TrainSettings(Config):
    """All that a training run depends on.

    Attributes:
        run_dir: folder for checkpoints, metrics, translations and pictures.
        resume: a run folder whose last checkpoint is where training goes on.
        lowercase_scores: BLEU and chrF fold case, as TER always does.
    """

    run_dir: str
    resume: str | None = None
    lowercase_scores: bool = False
    data: DataConfig
    tokenizer: TokenizerConfig
    batching: BatchingConfig
    model: Seq2SeqConfig
    objective: ObjectiveConfig
    optimizer: OptimizerConfig
    schedule: ScheduleConfig
    search: SearchConfig
    training: TrainingConfig
    runtime: RuntimeConfig


@dataclass(frozen=True, kw_only=True)
class EvaluateSettings(Config):
    """What `evaluate` depends on; data and search are the checkpoint's unless overridden.

    Attributes:
        checkpoint: its folder.
        split: of the checkpoint's corpus, where no files are given; null is test.
        source: file of sentences to translate.
        target: file of their references.
        output_dir: where translations and results go; null makes a new one beside the checkpoint.
        lowercase_scores: BLEU and chrF fold case, as TER always does.
    """

    checkpoint: str
    split: Literal["train", "validation", "test"] | None = None
    source: str | None = None
    target: str | None = None
    output_dir: str | None = None
    lowercase_scores: bool = False
    data: DataConfig
    search: SearchConfig
    runtime: RuntimeConfig

    def check(self) -> None:
        if (self.source is None) != (self.target is None):
            raise SettingsError("source", "and `target` go together: give both files or none.")
        if self.split is not None and self.source is not None:
            raise SettingsError("split", "names data of the checkpoint, but files are given, too.")


@dataclass(frozen=True, kw_only=True)
class TranslateSettings(Config):
    """What `translate` depends on; search is the checkpoint's unless overridden.

    Attributes:
        checkpoint: its folder.
        input: file of sentences, one a line; null reads the standard input.
        output: file for the translations; null writes to the standard output.
        heatmaps: folder for one picture of the attention for each sentence; null draws none.
    """

    checkpoint: str
    input: str | None = None
    output: str | None = None
    heatmaps: str | None = None
    search: SearchConfig
    runtime: RuntimeConfig


@dataclass(frozen=True, kw_only=True)
class AlignSettings(Config):
    """What `align` depends on; data are the checkpoint's unless overridden.

    Attributes:
        checkpoint: its folder.
        split: of the embedded corpus.
    """

    checkpoint: str
    split: Literal["train", "validation", "test"] = "test"
    data: DataConfig
    runtime: RuntimeConfig


@dataclass(frozen=True, kw_only=True)
class AverageSettings(Config):
    """What `average` depends on.

    Attributes:
        run: a run's folder, of whose kept checkpoints ...
        of: ... the best or the last ...
        num: ... so many are averaged; or those ...
        steps: ... of these steps.
        output: folder of the new checkpoint; null is RUN/average.
    """

    run: str
    of: Literal["best", "last"] = "best"
    num: Count = 5
    steps: tuple[Count, ...] | None = None
    output: str | None = None

    def check(self) -> None:
        if self.steps == ():
            raise SettingsError("steps", "names none. Give them as steps=[100,200].")
