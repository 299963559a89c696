"""Writes a tour of attention from trained checkpoints: `python scripts/tour.py ...`."""

from pathlib import Path

from seq2seq import launch
from seq2seq.tour import TourSettings, tour

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    launch.run(launch.for_settings("tour"), TourSettings, tour, CONFIGS)
