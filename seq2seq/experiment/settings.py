"""What each command depends on, as frozen settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from seq2seq.config import Config, Count, NonNegative
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
class EvaluateSettings(Config):
    """What `evaluate` depends on; data and search are the checkpoint's unless overridden.

    Attributes:
        checkpoint: a checkpoint, several, or a run: all of its checkpoints.
        split: of the checkpoint's corpus, where no files are given; null is test.
        source: file of sentences to translate.
        target: file of their references.
        output_dir: where translations and results go; null makes a new one beside the checkpoint.
        lowercase_scores: BLEU and chrF fold case, as TER always does.
    """

    checkpoint: tuple[str, ...]
    split: Literal["train", "validation", "test"] | None = None
    source: str | None = None
    target: str | None = None
    output_dir: str | None = None
    lowercase_scores: bool = False
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
