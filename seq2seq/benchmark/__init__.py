"""How fast a configuration trains and translates and a corpus is read, and where time goes."""

from seq2seq.benchmark.data import BenchmarkDataSettings, benchmark_data
from seq2seq.benchmark.decoding import BenchmarkDecodeSettings, benchmark_decode
from seq2seq.benchmark.training import BenchmarkTrainSettings, benchmark_train

__all__ = [
    "BenchmarkDataSettings",
    "BenchmarkDecodeSettings",
    "BenchmarkTrainSettings",
    "benchmark_data",
    "benchmark_decode",
    "benchmark_train",
]
