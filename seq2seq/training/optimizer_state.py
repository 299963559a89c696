"""What an optimizer keeps of each parameter, as named tensors and back."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import torch
from torch import Tensor


def pack(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Tensors by names such as `3.exp_avg`: the parameter's number, and what is kept of it."""
    return {
        f"{index}.{name}": value.contiguous()
        for index, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def unpack(
    tensors: Mapping[str, Tensor], optimizer: torch.optim.Optimizer, *, may_be_empty: bool
) -> None:
    """Restores what `pack` gave: something of each parameter, or nothing before the first step.

    Raises ValueError where it is not what this optimizer keeps.
    """
    kept = _nested(tensors)
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    is_whole = sorted(kept) == list(range(len(parameters)))
    if not (is_whole or (may_be_empty and not kept)):
        raise ValueError("it is of another optimizer")
    wanted = _example(optimizer, parameters[0])
    for index, values in kept.items():
        _check(values, wanted, parameters[index].shape)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": kept, "param_groups": groups})


def _example(optimizer: torch.optim.Optimizer, like: Tensor) -> Mapping[str, Tensor]:
    """What such an optimizer keeps after a step of a vector of the type of another tensor."""
    example = like.new_zeros(2, requires_grad=True)
    example.grad = torch.zeros_like(example)
    # A newer torch's AdamW has defaults that it does not take.
    taken = inspect.signature(type(optimizer)).parameters
    chosen = {name: value for name, value in optimizer.defaults.items() if name in taken}
    other = type(optimizer)([example], **chosen)
    other.step()
    kept: Mapping[str, Tensor] = other.state[example]
    return kept


def _check(values: Mapping[str, Tensor], wanted: Mapping[str, Tensor], shape: torch.Size) -> None:
    """Raises ValueError where what is kept of a parameter of a shape is not as in an example."""
    if wrong := sorted(wanted.keys() ^ values.keys()):
        raise ValueError(f"{wrong[0]} is {'missing' if wrong[0] in wanted else 'unknown'}")
    for name, one in wanted.items():
        expected = shape if one.dim() else one.shape
        if (values[name].shape, values[name].dtype) != (expected, one.dtype):
            raise ValueError(f"{name} is {shape_text(values[name])} of {values[name].dtype}")


def _nested(tensors: Mapping[str, Tensor]) -> dict[int, dict[str, Tensor]]:
    """`{"0.exp_avg": x}` as `{0: {"exp_avg": x}}`."""
    nested: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        index, _, rest = name.partition(".")
        nested.setdefault(int(index), {})[rest] = tensor
    return nested


def shape_text(tensor: Tensor) -> str:
    """(2, 3) as 2 x 3."""
    return " x ".join(map(str, tensor.shape))
