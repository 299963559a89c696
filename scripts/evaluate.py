"""Scores a checkpoint by BLEU, chrF and TER: `python scripts/evaluate.py [KEY=VALUE ...]`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import EvaluateSettings, evaluate

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(
        launch.for_checkpoint("evaluate", "data", "search", "lowercase_scores"),
        EvaluateSettings,
        evaluate,
        CONFIGS,
    )
