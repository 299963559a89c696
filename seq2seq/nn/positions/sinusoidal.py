"""Sines and cosines of falling frequency (Vaswani et al. 2017, section 3.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from seq2seq.config import Positive
from seq2seq.errors import SettingsError
from seq2seq.nn.positions.base import Positions, PositionsConfig


def sinusoids(
    length: int, dim: int, start: int = 0, base: float = 10000.0, dtype: torch.dtype = torch.float32
) -> Tensor:
    """The matrix (`length`, `dim`) of encodings for positions `start`, `start` + 1, ...

    Row t holds sin(t w_i) in column 2i and cos(t w_i) in column 2i + 1, w_i = base^(-2i / dim).
    """
    position = torch.arange(start, start + length, dtype=torch.float64)
    angle = position[:, None] * frequencies(dim, base)  # (length, dim / 2)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).to(dtype)


def frequencies(dim: int, base: float = 10000.0) -> Tensor:
    """w_i = base^(-2i / dim), float64 (`dim` / 2): the angle by which pair i turns a position."""
    return torch.exp(torch.arange(0, dim, 2, dtype=torch.float64) * (-math.log(base) / dim))


def rotation(offset: float, dim: int, base: float = 10000.0) -> Tensor:
    """The matrix M (`dim`, `dim`), float64, that carries each position's encoding `offset` further.

    M p(t) = p(t + `offset`) for every t: by the addition theorems, each pair (sin, cos) turns by
    the angle `offset` w_i, wherever t is.
    """
    angle = offset * frequencies(dim, base)
    blocks = torch.stack((angle.cos(), angle.sin(), -angle.sin(), angle.cos()), dim=-1)
    matrix: Tensor = torch.block_diag(*blocks.view(-1, 2, 2))
    return matrix


class SinusoidalPositions(Positions):
    """Adds a fixed sinusoid to each embedding; any length works."""

    def __init__(self, base: float) -> None:
        super().__init__()
        self.base = base

    def add(self, embedded: Tensor, start: int = 0) -> Tensor:
        length, dim = embedded.shape[-2:]
        table = sinusoids(length, dim, start, self.base, embedded.dtype)
        return embedded + table.to(embedded.device)


@dataclass(frozen=True, kw_only=True)
class SinusoidalPositionsConfig(PositionsConfig):
    """Fixed sinusoids.

    Attributes:
        base: the longest wavelength is 2 pi times this many positions.
    """

    base: Positive = 10000.0

    def build(self, dim: int, num_heads: int, *, causal: bool) -> SinusoidalPositions:
        if dim % 2:
            raise SettingsError(
                "model.embedding_dim",
                f"must be even for sinusoidal positions, but is {dim}. Choose an even width.",
            )
        return SinusoidalPositions(self.base)
