"""Where the time of a training step goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from seq2seq.benchmark.machine import wait
from seq2seq.training.step import Stepper

STAGES = (
    "data",
    "embedding",
    "encoder",
    "decoder",
    "projection and loss",
    "backward and clipping",
    "optimizer",
)


class Stages:
    """A stopwatch with a lap for each stage.

    Attributes:
        seconds: spent in each stage so far.
    """

    def __init__(self, device: torch.device) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self.device = device
        self.began = time.perf_counter()

    def start(self) -> None:
        """Starts a lap."""
        wait(self.device)
        self.began = time.perf_counter()

    def end(self, stage: str) -> None:
        """Ends a lap, and starts the next one."""
        wait(self.device)
        now = time.perf_counter()
        self.seconds[stage] += now - self.began
        self.began = now

    @contextmanager
    def watching(self, stepper: Stepper) -> Iterator[None]:
        """Has the parts of a step end their laps.

        The projection's gradient is formed with the loss and counts there. What scheduled sampling
        does before the pass that it learns from counts as embedding.
        """

        def ends(stage: str) -> Callable[..., None]:
            return lambda *_: self.end(stage)

        def objective(*arguments: Any) -> Any:
            loss = plain(*arguments)
            self.end("projection and loss")
            return loss

        model, plain = stepper.model, stepper.objective
        hooks = [
            model.encoder.register_forward_pre_hook(ends("embedding")),
            model.encoder.register_forward_hook(ends("encoder")),
            model.decoder.register_forward_pre_hook(ends("embedding")),
            model.decoder.register_forward_hook(ends("decoder")),
            stepper.optimizer.register_step_pre_hook(ends("backward and clipping")),
            stepper.optimizer.register_step_post_hook(ends("optimizer")),
        ]
        stepper.objective = objective  # type: ignore[assignment]
        try:
            yield
        finally:
            stepper.objective = plain
            for hook in hooks:
                hook.remove()
