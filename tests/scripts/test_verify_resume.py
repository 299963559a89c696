"""Killed at random moments and resumed, a run ends as one that was not. Slow."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "verify_resume.py"
SMALL = (
    "data.train_pairs=300",
    "data.validation_pairs=20",
    "tokenizer.vocabulary_size=200",
    "tokenizer.sampling=0.1",
    "batching.max_tokens=100",
    "model.token_dropout=0.1",
    "training.accumulation=2",
    "runtime.num_threads=1",
)


def verified(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["recurrent", "transformer"])
def test_ten_kills_change_nothing(tmp_path, model):
    """In fp16 with a Transformer: its scale is part of what is resumed."""
    precision = {"recurrent": "fp32", "transformer": "fp16"}[model]
    chosen = [f"model={model}", "model.embedding_dim=32", f"runtime.precision={precision}"]
    done = verified(tmp_path, "--steps", "60", "--kills", "10", *chosen, *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 12 and lines[-1] == "equal to the bit"
    reached = [one[1] for line in lines if (one := re.search(r"^kill -9 .* step (\d+)$", line))]
    assert len(set(reached)) > 2  # the kills fell on several places of the run
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_setting_that_is_refused_is_told(tmp_path):
    done = verified(tmp_path, "model.hidden=3")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and "model.hidden" in done.stderr
    assert len(done.stderr.splitlines()) == 1
