"""What shows only in a run that is long, or on a disk that is small. Slow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TRAIN = Path(__file__).resolve().parents[2] / "scripts" / "train.py"
SMALL = (
    "data.train_pairs=300",
    "data.validation_pairs=20",
    "data.test_pairs=10",
    "tokenizer.vocabulary_size=200",
    "batching.max_tokens=100",
    "runtime.num_threads=1",
    "training.num_samples=0",
    "training.max_epochs=null",
    "run_dir=run",
)
pytestmark = pytest.mark.slow


def train(folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TRAIN), *overrides]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 40 MB."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(tmp_path)]
    try:
        is_mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        is_mounted = False
    if not is_mounted:
        pytest.skip("file systems cannot be mounted here")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_disk_that_fills_up_keeps_what_was_saved(small_disk):
    """The run's checkpoints take 4 and 13 MB; then something else takes the rest."""
    steps = ("training.max_steps=12", "training.validate_every_steps=4")
    done = train(small_disk, *SMALL, "training.max_steps=4", "training.validate_every_steps=4")
    assert done.returncode == 0, done.stderr
    saved = {one: one.read_bytes() for one in (small_disk / "run").glob("*/*") if one.is_file()}
    ballast = small_disk / "ballast"
    with open(ballast, "wb") as file, pytest.raises(OSError):
        while True:
            file.write(bytes(1 << 16))
            file.flush()
    full = train(small_disk, "resume=run", *steps)
    assert full.returncode == 2
    last_line = full.stderr.splitlines()[-1]
    assert last_line.startswith("error: ")
    assert "No space left on device" in last_line
    assert all(path.read_bytes() == content for path, content in saved.items())
    ballast.unlink()
    done = train(small_disk, "resume=run", *steps)
    assert done.returncode == 0, done.stderr


MEMORY = """
import runpy, sys
from pathlib import Path
from seq2seq.training.trainer import Trainer
found = []
show = Trainer._show
def shown(self):
    show(self)
    if self.state.step % 50 == 0:
        found.append(int(Path("/proc/self/statm").read_text().split()[1]))
Trainer._show = shown
try:
    runpy.run_path(sys.argv[1], run_name="__main__")
finally:
    print("pages", *found)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells it this way")
def test_memory_does_not_grow(tmp_path):
    script = tmp_path / "memory.py"
    script.write_text(MEMORY.replace("sys.argv[1]", repr(str(TRAIN))), encoding="utf-8")
    budget = ("training.max_steps=2000", "training.validate_every_steps=500")
    done = subprocess.run(
        [sys.executable, str(script), *SMALL, *budget],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    pages = next(line for line in done.stdout.splitlines() if line.startswith("pages"))
    found = [int(one) for one in pages.split()[1:]]
    assert len(found) == 40
    settled = found[20:]
    # 1 % over a thousand steps; a leak of one batch a step would be tens of times as much.
    assert max(settled) - settled[0] < 0.01 * settled[0]
