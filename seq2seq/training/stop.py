"""Stopping when asked to: the signal is noted, and the loop ends after its step."""

from __future__ import annotations

import signal
import threading
from types import FrameType


class StopRequest:
    """Notes Ctrl-C and SIGTERM inside its `with` block; a second Ctrl-C stops at once.

    Attributes:
        signal: the signal's number, or None while nobody asked.
    """

    def __init__(self) -> None:
        self.signal: int | None = None

    def __enter__(self) -> StopRequest:
        self._before = {}
        if threading.current_thread() is threading.main_thread():  # else Python forbids handlers
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
