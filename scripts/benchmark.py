"""Measures speed: `python scripts/benchmark.py train|decode|data [KEY=VALUE ...]`."""

import sys
from pathlib import Path

from seq2seq import launch
from seq2seq.benchmark import (
    BenchmarkDataSettings,
    BenchmarkDecodeSettings,
    BenchmarkTrainSettings,
    benchmark_data,
    benchmark_decode,
    benchmark_train,
)

USAGE = "python scripts/benchmark.py train|decode|data [KEY=VALUE ...]"
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
    elif kind == "data":
        launch.run(
            launch.for_settings("benchmark_data"), BenchmarkDataSettings, benchmark_data, CONFIGS
        )
    else:
        print(f"usage: {USAGE}", file=sys.stderr)
        sys.exit(0 if kind in ("--help", "-h") else 2)
