"""The position-wise feed-forward network (Vaswani et al. 2017, section 3.3)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional


class FeedForward(nn.Module):
    """Widen, ReLU, narrow: the same at each position."""

    def __init__(self, dim: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.widen = nn.Linear(dim, hidden_dim)
        self.narrow = nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        """(B, S, D) to (B, S, D)."""
        narrowed: Tensor = self.narrow(self.dropout(functional.relu(self.widen(states))))
        return narrowed
