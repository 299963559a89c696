"""Several processes train what one would, and none is left waiting."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from seq2seq import processes
from seq2seq.processes import ALONE

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / "scripts" / "train.py"
SMALL = (
    "data.train_pairs=200",
    "data.validation_pairs=11",
    "data.test_pairs=5",
    "tokenizer.vocabulary_size=200",
    "batching.max_tokens=100",
    "model.embedding_dim=16",
    "runtime.num_threads=1",
    "training.num_samples=0",
)


class Group:
    """A command in several processes, as torchrun would start them."""

    def __init__(self, size: int, folder: Path, *command: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        about = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(size)}
        self.processes = [
            subprocess.Popen(
                [sys.executable, *command],
                cwd=folder,
                env={**os.environ, **about, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
            )
            for rank in range(size)
        ]

    def ended(self, seconds: float = 120) -> list[tuple[int, str, str]]:
        """Exit code, output and errors of each."""
        try:
            told = [one.communicate(timeout=seconds) for one in self.processes]
        finally:
            for one in self.processes:
                one.kill()
        return [(one.returncode, *texts) for one, texts in zip(self.processes, told, strict=True)]


def test_by_itself_a_process_has_everything():
    assert ALONE.share([1, 2, 3]) == [1, 2, 3]
    assert ALONE.sum(1.5, 2) == [1.5, 2] and ALONE.max(3) == [3]
    assert ALONE.gather([[1], []]) == [[[1], []]]
    assert ALONE.agree("ü") == "ü" and ALONE.gather_texts(["a", ""], 2) == ["a", ""]
    ALONE.leave()


def test_a_process_does_not_end_before_gloo_has_dropped_the_last_tensor():
    """Else the interpreter's end aborts it, once in a hundred runs."""
    exchanged = [torch.zeros(1)]
    processes._EXCHANGED.add(exchanged[0])
    dropping = threading.Timer(0.2, exchanged.clear)
    dropping.start()
    processes._let_go()
    assert not exchanged
    began = time.monotonic()
    processes._let_go()
    assert time.monotonic() - began < 0.1


EXCHANGE = """
import json, sys, tempfile, torch
from pathlib import Path
from seq2seq.processes import Processes
ours = Processes.join(torch.device("cpu"))
one, other = (torch.nn.Parameter(torch.zeros(size)) for size in (3, 2))
one.grad = torch.arange(3.0) if ours.is_first else torch.zeros(3)
other.grad = torch.full((2,), float(ours.rank + 1))
ours.sum_gradients([one, other])
folder = Path(tempfile.mkdtemp())
if ours.is_first:
    (folder / "below").mkdir()
    (folder / "below" / "file").write_bytes(bytes(range(256)))
    (folder / "empty").touch()
ours.copy(folder)
copied = {path.name: list(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}
found = [one.grad.tolist(), other.grad.tolist(), ours.sum(1.5, ours.rank), ours.max(ours.rank)]
found += [ours.gather([[ours.rank] * 3, [7]] if ours.rank else [[], [5, 6]])]
found += [ours.agree(f"{ours.rank} ü"), ours.gather_texts(list(ours.share(["a", "ü", ""])), 3)]
print(json.dumps([*found, copied]))
ours.leave()
"""


def test_what_is_exchanged_is_the_same_for_all(tmp_path):
    ends = Group(2, tmp_path, "-c", EXCHANGE).ended()
    expected = [[0, 1, 2], [3, 3], [3, 1], [1], [[[], [5, 6]], [[1, 1, 1], [7]]], "0 ü"]
    expected += [["a", "ü", ""], {"file": list(range(256)), "empty": []}]
    for code, output, errors in ends:
        assert code == 0, errors
        assert json.loads(output) == expected


STEPS = """
import sys, torch
sys.path.insert(0, "TESTS")
from conftest import build_tiny_model
from safetensors.torch import save_file
from seq2seq.data.batches import EncodedPairs
from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.optim.optimizers import AdamWConfig
from seq2seq.optim.schedules import ConstantSchedule
from seq2seq.processes import Processes
from seq2seq.training.step import Stepper
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
ours = Processes.join(torch.device("cpu"))
source = [[5, 6], [7, 8, 9], [4], [10, 11, 12, 13], [6, 5], [9], [4] * 9]
target = [[14, 15], [16], [17, 18, 19, 4], [5, 6, 7], [8], [9, 10, 11, 12], [3]]
pairs = EncodedPairs.of(zip(range(7), source, target))
model = build_tiny_model().double().eval()
optimizer = AdamWConfig(learning_rate=0.01).build(model.parameters())
step = Stepper(model, CrossEntropyConfig(), optimizer, ConstantSchedule(), 1.0, ours)
for number in range(12):
    group = [[number % 7, (number + 3) % 7, (number + 4) % 7], [(number + 1) % 7]]
    shares = [ours.share(one) for one in group]
    batches = [pairs.batch(one) for one in shares if one]
    step(batches, sum(map(pairs.num_tokens, group)), number, 0.0)
save_file(dict(model.named_parameters()), f"{ours.size}-{ours.rank}.safetensors")
ours.leave()
"""


def test_two_processes_take_the_steps_of_one(tmp_path):
    """With ragged lengths, accumulation, and a batch of which one process has nothing."""
    script = tmp_path / "steps.py"
    script.write_text(STEPS.replace("TESTS", str(ROOT / "tests")), encoding="utf-8")
    for size in (1, 2):
        for code, _, errors in Group(size, tmp_path, str(script)).ended():
            assert code == 0, errors
    one, first, second = (load_file(tmp_path / f"{n}.safetensors") for n in ("1-0", "2-0", "2-1"))
    for name, value in one.items():
        assert (first[name] - value).abs().max() < 1e-10
        assert (first[name] == second[name]).all()


def step_of(run: Path) -> int:
    about = json.loads((run / "last" / "checkpoint.json").read_text("utf-8"))
    return about["state"]["step"]


@pytest.mark.slow
def test_two_processes_train_stop_early_and_the_first_one_speaks(tmp_path):
    """And go on as one, and as two again."""
    frozen = ("optimizer.learning_rate=1e-9", "training.patience=2", "training.max_epochs=50")
    command = (str(TRAIN), *SMALL, "run_dir=run", *frozen, "training.validate_every_steps=3")
    (first, output, said), (second, *silence) = Group(2, tmp_path, *command).ended()
    assert (first, second) == (0, 0), said
    assert silence == ["", ""]
    assert "2 processes" in said and "test BLEU" in output
    assert step_of(tmp_path / "run") == 9

    settings = ("resume=run", "optimizer.learning_rate=0.002", "training.patience=null")
    for size, steps in ((1, 15), (2, 21)):
        budget = ("training.max_epochs=null", f"training.max_steps={steps}")
        for code, _, errors in Group(size, tmp_path, str(TRAIN), *settings, *budget).ended():
            assert code == 0, errors
        assert step_of(tmp_path / "run") == steps


def wait_for(path: Path) -> None:
    began = time.monotonic()
    while not path.is_dir():
        assert time.monotonic() - began < 60
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_ends_one_process_ends_the_other(tmp_path, rank, number):
    endless = ("training.max_epochs=null", "training.max_steps=100000")
    group = Group(2, tmp_path, str(TRAIN), *SMALL, "run_dir=run", *endless)
    wait_for(tmp_path / "run" / "best")
    group.processes[rank].send_signal(number)
    began = time.monotonic()
    ends = group.ended(60)
    assert time.monotonic() - began < 60
    if number == signal.SIGTERM:
        assert [code for code, _, _ in ends] == [143, 143]
        assert "python scripts/train.py resume=run" in ends[0][2]
        assert step_of(tmp_path / "run") > 0
    else:
        code, _, errors = ends[1 - rank]
        assert code == 2
        assert re.search(r"^error: A process of this run has ended .* resume=RUN\.$", errors, re.M)
        assert "Traceback" not in errors
