"""Proves that a run that was killed ends as one that was not.

    python scripts/verify_resume.py [--steps N] [--kills N] [--seed N] [KEY=VALUE ...]

Trains once without interruption, and once with kill -9 at random moments and a resume after each.
All tensors of both last checkpoints, the optimizer's among them, must be equal to the bit, and so
must the best one's weights, and all that is known of the run but for what the clock decides.
Settings go to both runs; a budget in minutes cannot be among them, as the clock decides where
it ends.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

TRAIN = Path(__file__).resolve().with_name("train.py")
TENSORS = ("last/weights.safetensors", "last/optimizer.safetensors", "best/weights.safetensors")
TIMED = {"seconds", "target_tokens_per_second"}


def main() -> int:
    """The exit code: 0 where the runs are equal, 1 where they are not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40, help="optimizer steps of each run")
    parser.add_argument("--kills", type=int, default=3, help="how often the second is killed")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    given = parser.parse_args()
    if given.steps < 1 or given.kills < 0:
        fail("--steps must be 1 or more, and --kills 0 or more.")
    budget = ["training.max_epochs=null", f"training.max_steps={given.steps}"]
    saved_often = f"training.keeping.every_steps={max(1, given.steps // 10)}"
    command = [*given.settings, *budget, "training.max_minutes=null", saved_often]
    moments = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="verify_resume") as folder:
        straight, killed = Path(folder, "straight"), Path(folder, "killed")
        began = time.monotonic()
        print(f"{given.steps} steps without interruption: ", end="", flush=True)
        finish(start([*command, f"run_dir={straight}"], straight), straight)
        seconds = time.monotonic() - began
        print(f"{seconds:.1f} s", flush=True)
        for target in sorted(moments.randrange(given.steps) for _ in range(given.kills)):
            process = go_on(killed, command)
            while process.poll() is None and (step_of(killed) or 0) < target:
                time.sleep(0.002)
            time.sleep(moments.uniform(0, seconds / 10))  # into a step, a save or a validation
            if process.poll() is not None:
                finish(process, killed)
                print("the run had ended before it was to be killed", flush=True)
                continue
            process.kill()
            process.wait()
            print(f"kill -9 with the last checkpoint at step {step_of(killed)}", flush=True)
        finish(go_on(killed, command), killed)
        differ = [
            name
            for name in TENSORS
            if (straight / name).read_bytes() != (killed / name).read_bytes()
        ]
        if state_of(straight) != state_of(killed):
            differ.append("what is known of the run")
    print(f"{', '.join(differ)}: not equal" if differ else "equal to the bit")
    return 1 if differ else 0


def go_on(run: Path, command: list[str]) -> "subprocess.Popen[bytes]":
    """A run from its last checkpoint, or from the start where it has none."""
    has_begun = step_of(run) is not None
    return start([f"resume={run}"] if has_begun else [*command, f"run_dir={run}"], run)


def start(command: list[str], run: Path) -> "subprocess.Popen[bytes]":
    """A training under way, which says what it says into a file beside its run."""
    with open(log_of(run), "wb") as log:
        return subprocess.Popen([sys.executable, str(TRAIN), *command], stdout=log, stderr=log)


def log_of(run: Path) -> Path:
    """Where a run's words go: nobody reads a pipe meanwhile, and a full one would stop the run."""
    return run.with_suffix(".log")


def finish(process: "subprocess.Popen[bytes]", run: Path) -> None:
    """Waits for the end of a training; ends the program where it fails."""
    if process.wait():
        said = log_of(run).read_text(encoding="utf-8").strip() or "error: it said nothing"
        fail(said.splitlines()[-1].removeprefix("error: "))


def state_of(run: Path) -> dict[str, object]:
    """All that the last checkpoint knows of its run, but for what the clock decides."""
    about = json.loads((run / "last" / "checkpoint.json").read_text(encoding="utf-8"))
    records = [
        {name: value for name, value in record.items() if name not in TIMED}
        for record in about["state"].pop("history")
    ]
    known = {name: value for name, value in about["state"].items() if name not in TIMED}
    return {**known, "history": records}


def step_of(run: Path) -> int | None:
    """Where a run's last checkpoint stands; None where there is none.

    A kill in the middle of a save leaves it under one of the other names.
    """
    for name in ("last", "last.new", "last.old"):
        try:
            about = json.loads((run / name / "checkpoint.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        return int(about["state"]["step"])
    return None


def fail(problem: str) -> NoReturn:
    """Ends the program."""
    print(f"error: {problem}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    sys.exit(main())
