"""What stands around each part of a Transformer's layer (Vaswani et al. 2017, section 3.1)."""

from __future__ import annotations

from torch import Tensor, nn


class Residual(nn.Module):
    """x + f(norm(x)), pre-norm (Xiong et al. 2020), or norm(x + f(x)), the paper's post-norm.

    `f(residual.enter(x))` goes back in by `residual.leave(x, f(...))`.
    """

    def __init__(self, dim: int, norm_first: bool, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)

    def enter(self, states: Tensor) -> Tensor:
        """What the part sees of the states (B, T, D)."""
        entered: Tensor = self.norm(states) if self.norm_first else states
        return entered

    def leave(self, states: Tensor, made: Tensor) -> Tensor:
        """The states with what the part made of them."""
        left: Tensor = states + self.dropout(made)
        return left if self.norm_first else self.norm(left)
