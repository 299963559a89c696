"""A tour of attention: numbers and pictures from trained checkpoints, also for notebooks."""

from seq2seq.tour.command import TourSettings, tour

__all__ = ["TourSettings", "tour"]
