"""The scripts as a person runs them: trained for real, on the embedded corpus. Slow."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow
BESIDE_THE_RUN = pytest.mark.xdist_group("default run")  # in one process, which trains it once


def run(script: str, *overrides: str, cwd: Path, text: str | None = None) -> str:
    """The standard output of a script that must end well, under a locale that knows ASCII only."""
    command = [sys.executable, str(ROOT / "scripts" / f"{script}.py"), *overrides]
    locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    done = subprocess.run(
        command,
        cwd=cwd,
        input=text,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **locale},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def bleu_of(folder: Path) -> float:
    """The BLEU in a results file."""
    scores = json.loads((folder / "results.json").read_text(encoding="utf-8"))["scores"]
    return next(one["value"] for one in scores if one["name"] == "BLEU")


@pytest.fixture(scope="module")
def default_run(tmp_path_factory) -> Path:
    """The run that `python scripts/train.py` makes without any override but its folder."""
    folder = tmp_path_factory.mktemp("default") / "run"
    run("train", f"run_dir={folder}", cwd=folder.parent)
    return folder


@BESIDE_THE_RUN
def test_the_first_run_learns_to_translate(default_run):
    assert bleu_of(default_run / "test") >= 90.0
    assert len(list((default_run / "attention").glob("*.png"))) == 3


@BESIDE_THE_RUN
def test_evaluate_gives_to_the_digit_what_training_logged(default_run, tmp_path):
    again = tmp_path / "again"
    run("evaluate", f"checkpoint={default_run}/best", f"output_dir={again}", cwd=tmp_path)
    assert bleu_of(again) == bleu_of(default_run / "test")
    assert (again / "hypotheses.txt").read_bytes() == (
        default_run / "test" / "hypotheses.txt"
    ).read_bytes()

    records = (default_run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    best = max(json.loads(record)["validation_bleu"] for record in records)
    run(
        "evaluate",
        f"checkpoint={default_run}/best",
        "split=validation",
        f"output_dir={again}",
        cwd=tmp_path,
    )
    assert bleu_of(again) == best


@BESIDE_THE_RUN
def test_sacrebleu_in_the_shell_agrees(default_run, tmp_path):
    from seq2seq.data.embedded import PhrasebookConfig

    references = tmp_path / "references.txt"
    references.write_text("\n".join(PhrasebookConfig().read("test").target) + "\n", "utf-8")
    hypotheses = default_run / "test" / "hypotheses.txt"
    command = [sys.executable, "-m", "sacrebleu", str(references), "-i", str(hypotheses), "-b"]
    printed = subprocess.run([*command, "-w", "6"], capture_output=True, check=True, text=True)
    assert float(printed.stdout) == pytest.approx(bleu_of(default_run / "test"), abs=1e-6)


@BESIDE_THE_RUN
def test_as_many_lines_come_out_as_go_in_and_blank_ones_stay_blank(default_run, tmp_path):
    text = "The dog sees a cat.\n\n  \nI laugh.\r\n字 ∑\nThe dog sees a cat."
    out = run("translate", f"checkpoint={default_run}/best", cwd=tmp_path, text=text)
    lines = out.split("\n")
    assert len(lines) == 7 and lines[6] == ""
    assert lines[1] == lines[2] == ""
    assert lines[0] == lines[5] != ""


def test_attention_of_words_recovers_the_gold_alignment(tmp_path):
    try:
        import torchtext  # noqa: F401
    except (ImportError, OSError):
        pytest.skip("torchtext does not load here")
    folder = tmp_path / "run"
    run("train", "tokenizer=word", f"run_dir={folder}", cwd=tmp_path)
    assert bleu_of(folder / "test") >= 90.0
    printed = run("align", f"checkpoint={folder}/best", cwd=tmp_path)
    rate = float(re.fullmatch(r"alignment error rate ([0-9.]+) \(.*\)", printed.strip()).group(1))
    assert rate <= 0.15
