"""The study of attentions: its runs are of one size, and it ends with a table of them."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import settings_of

from seq2seq.experiment import TrainSettings

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "study.py"


@pytest.fixture(scope="module")
def study() -> dict:
    return runpy.run_path(str(SCRIPT))


def test_all_models_are_of_one_size(study):
    sizes = []
    for encoder in study["ENCODERS"]:
        for attention in study["ATTENTIONS"]:
            chosen = study["overrides"](encoder, attention)
            settings = settings_of("train", TrainSettings, *chosen, "run_dir=x")
            sizes.append(settings.model.build(4000, 4000, is_joint=True).num_parameters)
    assert len(sizes) == 12
    assert max(sizes) <= 1.05 * min(sizes)


@pytest.mark.slow
def test_it_trains_what_is_missing_and_tells_of_all(tmp_path, study):
    for split, number in (("train", 40), ("validation", 5), ("test", 5)):
        for side, word in (("source", "dog"), ("target", "Hund")):
            lines = [" ".join([word] * (1 + count % 4)) for count in range(number)]
            (tmp_path / f"{split}.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    data = [
        f"data.{split}_{side}={split}.{side}"
        for split in ("train", "validation", "test")
        for side in ("source", "target")
    ]
    command = [sys.executable, str(SCRIPT), "data=files", *data, "training.max_steps=2"]

    def table() -> list[str]:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert done.returncode == 0, done.stderr
        return done.stdout[done.stdout.index("| encoder") :].splitlines()

    first = table()
    assert (tmp_path / "runs/study/study.png").read_bytes().startswith(b"\x89PNG")
    assert len(first) == 14
    expected = (
        r"\| gru \| none \| 1\.\d\d M \| 2 \| [\d.]+ \| [\d.]+ \| [\d.]+ \| [\d.]+ \| \*\*.+ \|"
    )
    assert re.fullmatch(expected, first[2])
    assert [line.split(" | ")[1] for line in first[2:]] == 2 * list(study["ATTENTIONS"])
    made = tmp_path / "runs/study/gru-dot/best/weights.safetensors"
    before = made.stat().st_mtime_ns
    assert table() == first
    assert made.stat().st_mtime_ns == before


def test_it_ends_with_the_first_run_that_fails(tmp_path):
    for budget in (["training.max_steps=2"], []):  # without one it begins with the speeds
        command = [sys.executable, str(SCRIPT), "data.root=nowhere", *budget]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8")
        assert done.returncode == 2
        assert done.stderr.splitlines()[-1].startswith("error: nowhere/train.en.gz is not there.")
        assert done.stderr.count("error: ") == 1
        assert not list((tmp_path / "runs/study").glob("*/*"))


def test_a_budget_is_the_steps_of_eight_minutes_at_the_speed_of_the_middle_round(
    tmp_path, monkeypatch, study
):
    """Measured in rounds over all, and once."""
    monkeypatch.chdir(tmp_path)
    asked = []

    def run(script, settings):
        asked.append((script.name, settings))
        path = Path(settings[-2].removeprefix("run_dir="))
        path.mkdir(parents=True, exist_ok=True)
        speed = 1000.0 * (1 + len(asked) % 7) if "model/attention=dot" in settings else 5000.0
        found = {"tokens_per_second": speed, "tokens_per_step": 1000.0}
        (path / "benchmark.json").write_text(json.dumps(found), "utf-8")

    monkeypatch.setitem(study["budgets"].__globals__, "run", run)
    found = study["budgets"](["data.root=x"])
    assert found["gru-none"] == ["training.max_minutes=null", "training.max_steps=2400"]
    assert len(asked) == 5 * 12 and {name for name, _ in asked} == {"benchmark.py"}
    rounds = [[settings[2:4] for _, settings in asked[at : at + 12]] for at in range(0, 60, 12)]
    assert all(one == rounds[0] for one in rounds) and len(set(map(tuple, rounds[0]))) == 12
    speeds = json.loads((tmp_path / "runs/study/speeds.json").read_text("utf-8"))
    middle = sorted(speeds["gru-dot"])[2]
    assert found["gru-dot"][1] == f"training.max_steps={round(480 * middle)}"
    assert len(set(speeds["gru-dot"])) > 1
    assert study["budgets"](["data.root=x"]) == found and len(asked) == 60
    speeds["transformer-dot"].pop()  # stopped before the last round came to it
    (tmp_path / "runs/study/speeds.json").write_text(json.dumps(speeds), "utf-8")
    study["budgets"](["data.root=x"])
    assert len(asked) == 61 and asked[-1][1][2:4] == [
        "model/encoder=transformer", "model/attention=dot"
    ]  # fmt: skip
    assert study["budgets"](["training.max_steps=7"])["gru-none"] == []


def refusal(folder, monkeypatch, capsys, *arguments: str) -> str:
    """What the script ends with, called in a folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    assert ended.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("argument", ["--cfg", "-m", "run_dir=x", "resume=x", "hydra.mode=x", "x"])
def test_what_cannot_go_to_every_run_is_refused(tmp_path, monkeypatch, capsys, argument):
    expected = f"error: {argument!r} cannot go to every run. Settings are written KEY=VALUE.\n"
    assert refusal(tmp_path, monkeypatch, capsys, argument) == expected


def test_a_result_that_cannot_be_read_is_named(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "runs/study/gru-none/test"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text("{}", "utf-8")
    found = refusal(tmp_path, monkeypatch, capsys, "training.max_steps=1")
    assert found.startswith("error: runs/study/gru-none holds no result of a test")
