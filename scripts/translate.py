"""Translates lines with a checkpoint: `python scripts/translate.py [KEY=VALUE ...]`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import TranslateSettings, translate

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(
        launch.for_checkpoint("translate", "search"),
        TranslateSettings,
        translate,
        CONFIGS,
    )
