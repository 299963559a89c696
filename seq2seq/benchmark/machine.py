"""What the machine can do, and what a process has taken of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch


def matrix_product_rate(
    device: torch.device,
    dtype: torch.dtype = torch.float32,
    dim: int = 2048,
    seconds: float = 0.3,
) -> float:
    """Floating-point operations a second in products of large matrices, on all threads."""
    one, other = (torch.randn(dim, dim, device=device).to(dtype) for _ in range(2))
    torch.mm(one, other)
    wait(device)
    began, num_products = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < seconds:
        torch.mm(one, other)
        wait(device)
        num_products += 1
    return num_products * 2 * dim**3 / spent


def wait(device: torch.device) -> None:
    """Returns when the device has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory(device: torch.device) -> int | None:
    """The most bytes held so far: a GPU's by torch, else the whole process's; None: unknown."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def timed(work: Callable[[], object], device: torch.device) -> float:
    """Seconds that `work` takes, until the device has done it."""
    wait(device)
    began = time.perf_counter()
    work()
    wait(device)
    return time.perf_counter() - began
