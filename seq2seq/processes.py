"""Several processes that train one model, started by torchrun: the only module that knows."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import WeakSet

import torch
import torch.distributed as dist
from numpy.typing import NDArray
from torch import Tensor, nn

from seq2seq.errors import RunError

Items = TypeVar("Items", bound="Sequence[Any] | NDArray[Any]")


@dataclass(frozen=True)
class Processes:
    """This process among those that train together; by itself, all methods are idle.

    Each call is made by all of them, in the same order. Raises RunError where one has ended.

    Attributes:
        rank: from 0; the first is the one that writes.
        size: how many there are.
        local_rank: on this machine, from 0.
        device: of what is exchanged.
    """

    rank: int = 0
    size: int = 1
    device: str = "cpu"
    local_rank: int = 0

    @classmethod
    def join(cls, device: torch.device) -> Processes:
        """Meets the others, where torchrun has started several."""
        rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        if size == 1:
            return cls()
        if device.type == "cuda":
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        # Not destroyed when a run is over: a sweep's next run takes it again.
        if not dist.is_initialized():
            atexit.register(_let_go)
            _call(lambda: dist.init_process_group("nccl" if device.type == "cuda" else "gloo"))
        return cls(rank, size, device.type, int(os.environ.get("LOCAL_RANK", 0)))

    @property
    def is_first(self) -> bool:
        """Whether this process speaks and writes for all."""
        return self.rank == 0

    @property
    def is_first_here(self) -> bool:
        """Whether this process does what is done once on each machine."""
        return self.local_rank == 0

    def wait(self) -> None:
        """Returns when all have come here, for which some may have hours of work to do."""
        if self.size > 1:
            _call(lambda: dist.barrier(group=_patient()))

    def share(self, items: Items) -> Items:
        """What this process has to do of something: every so manieth."""
        return cast(Items, items[self.rank :: self.size])

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Gives all processes the sum of their gradients, which all have."""
        if self.size == 1:
            return
        chosen = list(parameters)
        flat = torch.cat([one.grad.flatten() for one in chosen if one.grad is not None])
        _call(lambda: dist.all_reduce(flat), flat)
        sizes = [one.numel() for one in chosen]
        for one, summed in zip(chosen, flat.detach().split(sizes), strict=True):
            one.grad = summed.view_as(one)

    def sum(self, *values: float) -> list[float]:
        """The sum of each value over all processes."""
        return self._reduced(values, dist.ReduceOp.SUM)

    def max(self, *values: float) -> list[float]:
        """The largest of each value over all processes."""
        return self._reduced(values, dist.ReduceOp.MAX)

    def _reduced(self, values: Sequence[float], operation: dist.ReduceOp.RedOpType) -> list[float]:
        if self.size == 1:
            return list(values)
        # NCCL has no doubles on some devices; what is exchanged here are counts and scores.
        found = torch.tensor(values, dtype=torch.float64, device=self.device)
        _call(lambda: dist.all_reduce(found, operation), found)
        reduced: list[float] = found.tolist()
        return reduced

    def gather(self, lists: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        """The lists of whole numbers of each process, by rank."""
        if self.size == 1:
            return [[list(one) for one in lists]]
        lengths = self._gathered([len(one) for one in lists])
        numbers = self._gathered([number for one in lists for number in one])
        return [
            [part.tolist() for part in flat.split(sizes.tolist())]
            for flat, sizes in zip(numbers, lengths, strict=True)
        ]

    def _gathered(self, numbers: list[int]) -> list[Tensor]:
        """The numbers of each process."""
        told = (len(numbers) * (self.rank == one) for one in range(self.size))
        sizes = [int(one) for one in self.sum(*told)]
        mine = torch.zeros(max(sizes), dtype=torch.int64, device=self.device)
        mine[: len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
        found = [torch.empty_like(mine) for _ in sizes]
        if len(mine):  # gloo waits for ever for nothing
            _call(lambda: dist.all_gather(found, mine), mine, *found)
        return [one[:size].cpu() for one, size in zip(found, sizes, strict=True)]

    def agree(self, text: str) -> str:
        """The first process's text."""
        return self._gather_bytes([text.encode()])[0][0].decode()

    def gather_texts(self, texts: Sequence[str], total: int) -> list[str]:
        """All texts, of which this process has its share, in their order."""
        found = [""] * total
        for rank, share in enumerate(self._gather_bytes([one.encode() for one in texts])):
            found[rank :: self.size] = [one.decode() for one in share]
        return found

    def copy(self, folder: Path) -> None:
        """Gives each process the files of the first one's folder in its own."""
        names = sorted(one for one in folder.rglob("*") if one.is_file())
        told = self.agree("\n".join(one.relative_to(folder).as_posix() for one in names))
        for name in told.splitlines():
            path = folder / name
            content = self._gather_bytes([path.read_bytes()] if self.is_first else [])[0][0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def _gather_bytes(self, texts: Sequence[bytes]) -> list[list[bytes]]:
        return [[bytes(one) for one in share] for share in self.gather([[*one] for one in texts])]

    def leave(self) -> None:
        """Parts when all have come here: nothing will be exchanged from now on."""
        self.sum(0.0)


ALONE = Processes()


_EXCHANGED: WeakSet[Tensor] = WeakSet()


@cache
def _patient() -> dist.ProcessGroup:
    """All processes, in a group that waits longer than others."""
    group: dist.ProcessGroup = dist.new_group(backend="gloo", timeout=timedelta(days=2))
    return group


def _let_go() -> None:
    """Waits until gloo's threads have dropped the last tensors.

    They can hold one for a moment after the exchange is done. If Python holds it no longer, they
    need Python's lock to drop it, and asking for that while the interpreter ends aborts all.
    """
    deadline = time.monotonic() + 5
    while len(_EXCHANGED) and time.monotonic() < deadline:
        time.sleep(0.001)


def _call(exchange: Callable[[], object], *tensors: Tensor) -> None:
    """Exchanges tensors with the others. Raises RunError where one of them is gone."""
    for one in tensors:
        _EXCHANGED.add(one)
    try:
        exchange()
    except (RuntimeError, ValueError) as error:
        reason = str(error).strip().splitlines()[-1] if str(error).strip() else "no reason given"
        raise RunError(
            f"A process of this run has ended or cannot be reached ({reason}). What was saved is "
            "whole: start all of them again, with resume=RUN."
        ) from None
