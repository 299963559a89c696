"""Finds the best beam of a checkpoint: `python scripts/tune_search.py checkpoint=RUN/best`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import TuneSearchSettings, tune_search

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(
        launch.for_checkpoint("tune_search", "data", "search", "lowercase_scores"),
        TuneSearchSettings,
        tune_search,
        CONFIGS,
    )
