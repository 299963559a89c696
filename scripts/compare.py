"""Compares two checkpoints or files of translations: `python scripts/compare.py one=A other=B`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import CompareSettings, compare

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(
        launch.for_checkpoint("compare", "data", "lowercase_scores", key="one"),
        CompareSettings,
        compare,
        CONFIGS,
    )
