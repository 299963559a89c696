"""One step of a recurrent network, its gates split by where they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

CellName = Literal["gru", "lstm"]
CellState = tuple[Tensor, ...]
"""The hidden state (B, D) first; an LSTM's cell state (B, D) after it."""


class Cell(nn.Module, ABC):
    """A step of width D, with G gates, in the layout of torch's own cells.

    What its inputs add to the gates, G D wide, is handed in: so a decoder can compute the share of
    all its embedded tokens at once.

    The state keeps the precision of the weights, whatever precision the gates are computed in.
    """

    num_gates: ClassVar[int]
    num_states: ClassVar[int]

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim
        self.gates = nn.Linear(dim, self.num_gates * dim)
        for gate in self.gates.weight.chunk(self.num_gates):
            nn.init.orthogonal_(gate)

    def forward(self, from_inputs: Tensor, state: CellState) -> CellState:
        """The next state, from the inputs' share of the gates (B, G D) and the state."""
        weight: Tensor | Any = self.gates.weight  # of int8 layers a method
        dtype = weight.dtype if isinstance(weight, Tensor) else torch.float32
        state = tuple(one.to(dtype) for one in state)
        return self.next(from_inputs.to(dtype), self.gates(state[0]).to(dtype), state)

    @abstractmethod
    def next(self, from_inputs: Tensor, from_state: Tensor, state: CellState) -> CellState:
        """The next state, from the inputs' and the state's share of the gates (B, G D)."""


class GRUCell(Cell):
    """Cho et al. 2014, as torch defines it: gates are reset, update, new."""

    num_gates: ClassVar[int] = 3
    num_states: ClassVar[int] = 1

    def next(self, from_inputs: Tensor, from_state: Tensor, state: CellState) -> CellState:
        (hidden,), both = state, 2 * self.dim
        gates = torch.sigmoid(from_inputs[:, :both] + from_state[:, :both])
        reset, update = gates.chunk(2, dim=-1)
        new = torch.tanh(torch.addcmul(from_inputs[:, both:], reset, from_state[:, both:]))
        return (torch.lerp(new, hidden, update),)


class LSTMCell(Cell):
    """Hochreiter and Schmidhuber 1997, as torch defines it: gates are input, forget, new, output.

    The forget gate starts open (Jozefowicz et al. 2015, section 3).
    """

    num_gates: ClassVar[int] = 4
    num_states: ClassVar[int] = 2

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        open_forget_gate(self.gates.bias)

    def next(self, from_inputs: Tensor, from_state: Tensor, state: CellState) -> CellState:
        _, cell = state
        enter, forget, new, out = (from_inputs + from_state).chunk(4, dim=-1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        return torch.sigmoid(out) * torch.tanh(cell), cell


@torch.no_grad()
def open_forget_gate(bias: Tensor) -> None:
    """Adds 1 to the second of an LSTM's four gates, so that it remembers from the start."""
    bias[len(bias) // 4 : len(bias) // 2] += 1.0


def build_cell(name: CellName, dim: int) -> Cell:
    """The cell of a name."""
    return {"gru": GRUCell, "lstm": LSTMCell}[name](dim)
