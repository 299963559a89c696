"""The composition root: the commands, and the settings that each of them takes."""

from seq2seq.experiment.align import align
from seq2seq.experiment.apply import load_translator
from seq2seq.experiment.average import average
from seq2seq.experiment.check_data import check_data
from seq2seq.experiment.compare import compare
from seq2seq.experiment.evaluate import evaluate
from seq2seq.experiment.judge_settings import (
    CompareSettings,
    EvaluateSettings,
    ScoreSettings,
    TuneSearchSettings,
)
from seq2seq.experiment.score import score
from seq2seq.experiment.settings import (
    AlignSettings,
    AverageSettings,
    CheckDataSettings,
    TrainSettings,
    TranslateSettings,
)
from seq2seq.experiment.train import best_validation, train
from seq2seq.experiment.translate import translate
from seq2seq.experiment.tune_search import tune_search

__all__ = [
    "AlignSettings",
    "AverageSettings",
    "CheckDataSettings",
    "CompareSettings",
    "EvaluateSettings",
    "ScoreSettings",
    "TrainSettings",
    "TranslateSettings",
    "TuneSearchSettings",
    "align",
    "average",
    "best_validation",
    "check_data",
    "compare",
    "evaluate",
    "load_translator",
    "score",
    "train",
    "translate",
    "tune_search",
]
