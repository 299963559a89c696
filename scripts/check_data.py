"""Looks at a corpus before training: `python scripts/check_data.py [KEY=VALUE ...]`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import CheckDataSettings, check_data

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(launch.for_settings("check_data"), CheckDataSettings, check_data, CONFIGS)
