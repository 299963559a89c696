"""Averages the weights of checkpoints: `python scripts/average.py run=RUN [KEY=VALUE ...]`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import AverageSettings, average

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(launch.for_settings("average"), AverageSettings, average, CONFIGS)
