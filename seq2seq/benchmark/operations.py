"""Counting the floating-point operations of matrix products."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

COUNTS = {packet.__name__: count for packet, count in flop_registry.items()}


class OperationCounter(TorchDispatchMode):
    """Counts within its context, backward passes included, by torch's own formulas.

    torch's counter fails at products that write to `out=`, and passes over those in place, those of
    a matrix and a vector, and attention on a CPU.

    Attributes:
        total: multiplications and additions so far.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.total = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__.removesuffix("_").replace("_for_cpu", "")
        if name in COUNTS:
            self.total += COUNTS[name](*args, **{k: v for k, v in kwargs.items() if k != "out"})
        elif name in {"mv", "addmv"}:
            self.total += 2 * args[-2].numel()
        return func(*args, **kwargs)
