"""The composition root: the commands, and the settings that each of them takes."""

from seq2seq.experiment.align import align
from seq2seq.experiment.apply import evaluate, load_translator, translate
from seq2seq.experiment.average import average
from seq2seq.experiment.settings import (
    AlignSettings,
    AverageSettings,
    EvaluateSettings,
    TrainSettings,
    TranslateSettings,
)
from seq2seq.experiment.train import train

__all__ = [
    "AlignSettings",
    "AverageSettings",
    "EvaluateSettings",
    "TrainSettings",
    "TranslateSettings",
    "align",
    "average",
    "evaluate",
    "load_translator",
    "train",
    "translate",
]
