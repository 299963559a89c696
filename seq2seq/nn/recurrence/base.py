"""Gradients of the functions that gates are made of, written where they belong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

aten: Any = torch.ops.aten  # type: ignore[attr-defined]


def sigmoid_backward(slope: Tensor, value: Tensor, out: Tensor) -> None:
    """The gradient at a sigmoid's input, from that at its output and its value."""
    aten.sigmoid_backward.grad_input(slope, value, grad_input=out)


def tanh_backward(slope: Tensor, value: Tensor, out: Tensor) -> None:
    """The same for a tanh."""
    aten.tanh_backward.grad_input(slope, value, grad_input=out)


def softmax_backward(slope: Tensor, value: Tensor, out: Tensor) -> None:
    """The same for a softmax over the last dimension."""
    aten._softmax_backward_data.out(slope, value, -1, value.dtype, grad_input=out)
