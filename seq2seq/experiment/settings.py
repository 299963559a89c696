"""What each command depends on, as frozen settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from seq2seq.config import Config, Count
from seq2seq.data.base import DataConfig
from seq2seq.data.batching.base import BatchingConfig
from seq2seq.data.cleaning import CleaningConfig
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
        check_data: looks at the corpus before training, and stops where it would spoil that.
    """

    run_dir: str
    resume: str | None = None
    lowercase_scores: bool = False
    check_data: bool = True
    data: DataConfig
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
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
class CheckDataSettings(TrainSettings):
    """What `check_data` depends on: what training does.

    Attributes:
        output: file for the findings as JSON; one that is there is replaced.
    """

    output: str = "data_report.json"


@dataclass(frozen=True, kw_only=True)
class TranslateSettings(Config):
    """What `translate` depends on; search is the checkpoint's unless overridden.

    Attributes:
        checkpoint: its folder.
        input: file of sentences, one a line; null reads the standard input.
        output: file for the translations; null writes to the standard output.
        heatmaps: folder for one picture of the attention for each sentence; null draws none.
        ensemble: more checkpoints with the same vocabulary; their probabilities are averaged.
        prefix: file of what each translation opens with, a line for each line; null: of nothing.
        format: translations alone, or a JSON object for each line with all hypotheses, their
            scores and tokens.
        alignments: where the decoder looked for each token, as Pharaoh's pairs of positions; in
            JSON.
        replace_unknown: writes the source word that the decoder looked at in place of <unk> ...
        lexicon: ... or what this file has for it: word, TAB, translation.
        long: lines of more source tokens are named at the end.
        split: such lines are translated a sentence at a time.
    """

    checkpoint: str
    input: str | None = None
    output: str | None = None
    heatmaps: str | None = None
    ensemble: tuple[str, ...] = ()
    prefix: str | None = None
    format: Literal["text", "json"] = "text"
    alignments: bool = False
    replace_unknown: bool = False
    lexicon: str | None = None
    long: Count = 250
    split: bool = False
    search: SearchConfig
    runtime: RuntimeConfig

    def check(self) -> None:
        if self.alignments and self.format != "json":
            raise SettingsError("alignments", "are told with format=json.")
        if self.lexicon and not self.replace_unknown:
            raise SettingsError("lexicon", "has no effect without replace_unknown=true.")
        if self.format == "text" and not self.search.ranks_texts and self.search.num_found > 1:
            raise SettingsError(
                "search", "finds several translations: add format=json to see them."
            )
        if self.split and self.heatmaps:
            raise SettingsError("split", "and `heatmaps` exclude each other.")


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
