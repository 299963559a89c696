"""Measures the speed of a configuration: `python scripts/benchmark.py train [KEY=VALUE ...]`."""

import sys
from pathlib import Path

from seq2seq import launch
from seq2seq.benchmark import BenchmarkTrainSettings, benchmark_train

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    if sys.argv[1:2] != ["train"]:
        print("usage: python scripts/benchmark.py train [KEY=VALUE ...]", file=sys.stderr)
        sys.exit(0 if "--help" in sys.argv else 2)
    del sys.argv[1]
    launch.run(
        launch.for_settings("benchmark_train"),
        BenchmarkTrainSettings,
        benchmark_train,
        CONFIGS,
    )
