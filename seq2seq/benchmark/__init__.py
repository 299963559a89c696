"""How fast a configuration trains and translates, and where its time goes."""

from seq2seq.benchmark.decoding import BenchmarkDecodeSettings, benchmark_decode
from seq2seq.benchmark.training import BenchmarkTrainSettings, benchmark_train

__all__ = [
    "BenchmarkDecodeSettings",
    "BenchmarkTrainSettings",
    "benchmark_decode",
    "benchmark_train",
]
