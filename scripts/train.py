"""Trains a translation model end to end: `python scripts/train.py [KEY=VALUE ...]`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import TrainSettings, best_validation, train

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(launch.for_training, TrainSettings, train, CONFIGS, best_validation)
