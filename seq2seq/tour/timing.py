"""Recurrence against self-attention: how long an encoder takes for sentences of some length."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from statistics import median

import torch

from seq2seq.models.encoders.base import Encoder


def time_encoders(
    encoders: Mapping[str, Encoder],
    lengths: Iterable[int],
    *,
    input_dim: int,
    num_sentences: int,
    device: torch.device,
    on_progress: Callable[[], object] = lambda: None,
) -> dict[str, dict[int, float]]:
    """Seconds for one forward and backward pass, by encoder and length in tokens.

    Each figure is the median of passes for at least a third of a second, after one to warm up. The
    encoders take turns at each length, so that a machine that slows down slows all of them.

    Args:
        encoders: by name.
        lengths: in tokens, without padding.
        input_dim: width of the embeddings.
        num_sentences: B.
        device: where they run.
        on_progress: called after each figure.
    """
    found: dict[str, dict[int, float]] = {name: {} for name in encoders}
    for length in lengths:
        embedded = torch.randn(num_sentences, length, input_dim, device=device, requires_grad=True)
        for name, encoder in encoders.items():
            encoder.to(device).train()
            _one_pass(encoder, embedded)
            seconds: list[float] = []
            while sum(seconds) < 1 / 3 or len(seconds) < 3:
                start = time.perf_counter()
                _one_pass(encoder, embedded)
                seconds.append(time.perf_counter() - start)
            found[name][length] = median(seconds)
            on_progress()
    return found


def _one_pass(encoder: Encoder, embedded: torch.Tensor) -> None:
    """Forward and backward over (B, S, D) without padding."""
    mask = torch.ones(embedded.shape[:2], dtype=torch.bool, device=embedded.device)
    encoder(embedded, mask).states.sum().backward()
    if embedded.is_cuda:
        torch.cuda.synchronize()


def faster_at(seconds: Mapping[str, Mapping[int, float]], one: str, other: str) -> list[int]:
    """The lengths at which `one` takes less time than `other`."""
    return [length for length, value in seconds[one].items() if value < seconds[other][length]]
