"""The Makefile: what it lists, and what it says where no environment can be made."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs make as from a fresh shell: these tests may themselves run under `make test`."""
    inherited = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES", "MAKEFILES"}
    settings = {"ARGS", "EXTRAS", "PACKAGES", "PYTHON", "VENV"}
    environment = {k: v for k, v in os.environ.items() if k not in inherited | settings}
    return subprocess.run(
        ["make", *map(str, arguments)],
        cwd=ROOT,
        env={**environment, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def own_lines(stderr: str) -> list[str]:
    """The lines of the Makefile itself, without make's closing "make: *** ... Error 1"."""
    return [line for line in stderr.splitlines() if not line.startswith("make: ***")]


def fake_python(folder: Path, body: str) -> Path:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def listed_targets() -> set[str]:
    result = make("help")
    assert result.returncode == 0, result.stderr
    return set(re.findall(r"^  ([a-z-]+)  +\w", result.stdout, flags=re.MULTILINE))


def test_make_alone_prints_the_help() -> None:
    assert make().stdout == make("help").stdout


def test_help_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert phony is not None
    assert listed_targets() == set(phony.group(1).split()) - {"FORCE"}


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_help_lists_every_target_that_is_spoken_of(name: str) -> None:
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"there is no {name}")
    # In code only: "`make test`", or a line of a block that begins with it, after "$" or "step".
    pattern = r"(?:`|^ *(?:\$ |step )?)make ([a-z][a-z-]*)"
    spoken_of = set(re.findall(pattern, path.read_text("utf-8"), flags=re.MULTILINE))
    assert spoken_of <= listed_targets()


def test_a_python_that_is_too_new_is_named_in_one_line(tmp_path: Path) -> None:
    python = fake_python(tmp_path, "echo 3.13.0")
    venv = tmp_path / "venv"
    result = make("env", f"PYTHON={python}", f"VENV={venv}", "EXTRAS=torchtext,dev")
    assert result.returncode != 0
    assert own_lines(result.stderr) == [
        "error: needs Python 3.10, 3.11 or 3.12 (torchtext 0.18 has no build for others), but "
        "found 3.13.0; install one, name it (make env PYTHON=python3.11), or do without torchtext "
        "(make env EXTRAS=dev)"
    ]
    assert result.stdout == ""
    assert not venv.exists()


@pytest.mark.parametrize("target", ["train", "test", "check"])
def test_no_target_runs_without_an_environment(target: str, tmp_path: Path) -> None:
    python = fake_python(tmp_path, "echo 3.9.18")
    result = make(target, f"PYTHON={python}", f"VENV={tmp_path / 'venv'}", "EXTRAS=dev")
    assert result.returncode != 0
    assert own_lines(result.stderr) == [
        "error: needs Python 3.10 or newer, but found 3.9.18; install one, or name it (make env "
        "PYTHON=python3.11)"
    ]


def test_a_python_that_does_not_run_is_said_so(tmp_path: Path) -> None:
    python = fake_python(tmp_path, "echo 'command not found' >&2; exit 127")
    result = make("env", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}")
    assert result.returncode != 0
    (line,) = own_lines(result.stderr)
    assert f"found that {python} does not run;" in line


def test_a_python_without_the_venv_module_is_said_so(tmp_path: Path) -> None:
    body = 'case "$2" in *venv*) exit 1;; *version_info?:3*) echo 3.11.2;; *) echo True;; esac'
    python = fake_python(tmp_path, body)
    result = make("env", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}")
    assert result.returncode != 0
    assert own_lines(result.stderr) == [
        f"error: {python} (3.11.2) lacks the venv module; install it "
        "(Debian, Ubuntu: apt install python3-venv)"
    ]


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    keep = tmp_path / "letters.txt"
    keep.write_text("dear", encoding="utf-8")
    body = 'case "$2" in *version_info?:3*) echo 3.11.2;; *) echo True;; esac'
    fakes = tmp_path.parent / f"{tmp_path.name}-python"
    fakes.mkdir()
    result = make("env", f"PYTHON={fake_python(fakes, body)}", f"VENV={tmp_path}")
    assert result.returncode != 0
    (line,) = own_lines(result.stderr)
    assert line.startswith(f"error: {tmp_path} exists, but is no Python environment;")
    assert keep.read_text("utf-8") == "dear"


def test_an_environment_is_brought_up_to_date_when_other_extras_are_asked_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "bin").mkdir()
    fake_python(tmp_path / "bin", "echo 3.11.7").rename(tmp_path / "bin" / "python")
    (tmp_path / "pyvenv.cfg").touch()
    (tmp_path / ".extras").write_text("dev\n")
    (tmp_path / ".packages").write_text("torch==2.13.0\n")
    (tmp_path / ".ready").write_text(f"{ROOT}\n")
    venv = f"VENV={tmp_path}"
    for same in ([], ["EXTRAS=dev"], ["PACKAGES=torch==2.13.0"]):
        assert "pip" not in make("-n", "env", venv, *same).stdout
    for other in ("EXTRAS=torchtext,dev", "PACKAGES="):
        assert "pip" in make("-n", "env", venv, other).stdout


def test_the_tour_trains_three_models_and_is_given_their_checkpoints(tmp_path: Path) -> None:
    # As if nothing had been made yet: a tour may have been, in the folder that this runs in.
    result = make("--dry-run", "--always-make", "tour", f"VENV={tmp_path / 'venv'}")
    assert result.returncode == 0, result.stderr
    kinds = ("additive", "dot", "multi_head")
    for kind in kinds:
        assert f"run_dir=runs/tour/{kind} model/attention={kind} " in result.stdout
    checkpoints = ",".join(f"runs/tour/{kind}/best" for kind in kinds)
    assert f"scripts/tour.py checkpoints=[{checkpoints}]" in result.stdout
