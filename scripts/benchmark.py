"""Measures speed: `python scripts/benchmark.py train|decode [KEY=VALUE ...]`."""

import sys
from pathlib import Path

from seq2seq import launch
from seq2seq.benchmark import (
    BenchmarkDecodeSettings,
    BenchmarkTrainSettings,
    benchmark_decode,
    benchmark_train,
)

CONFIGS = Path(__file__).resolve().parents[1] / "configs"

if __name__ == "__main__":
    kind = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if kind == "train":
        launch.run(
            launch.for_settings("benchmark_train"),
            BenchmarkTrainSettings,
            benchmark_train,
            CONFIGS,
        )
    elif kind == "decode":
        launch.run(
            launch.for_checkpoint("benchmark_decode", "data", "lowercase_scores"),
            BenchmarkDecodeSettings,
            benchmark_decode,
            CONFIGS,
        )
    else:
        print("usage: python scripts/benchmark.py train|decode [KEY=VALUE ...]", file=sys.stderr)
        sys.exit(0 if kind in ("--help", "-h") else 2)
