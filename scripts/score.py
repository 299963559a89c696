"""Scores given translations: `python scripts/score.py checkpoint=C source=FILE target=FILE`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import ScoreSettings, score

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(launch.for_settings("score"), ScoreSettings, score, CONFIGS)
