"""Judges attention as a word alignment on the embedded corpus: `python scripts/align.py ...`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.experiment import AlignSettings, align

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(launch.for_checkpoint("align", "data"), AlignSettings, align, CONFIGS)
