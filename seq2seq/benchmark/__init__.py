"""How fast a configuration trains, and where its time goes."""

from seq2seq.benchmark.training import BenchmarkTrainSettings, benchmark_train

__all__ = ["BenchmarkTrainSettings", "benchmark_train"]
