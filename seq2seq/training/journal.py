"""What a person sees of a run, and the files that tell it afterwards."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tqdm import tqdm

METRICS_FILE = "metrics.jsonl"
SECONDS_BETWEEN_LINES = 30.0
"""Of plain progress lines, where no terminal shows a bar."""


class Journal:
    """A progress bar, lines above it, and a file of metrics; a silent one does nothing."""

    def __init__(self, folder: Path, *, is_silent: bool = False) -> None:
        self.folder = folder
        self.is_silent = is_silent
        self._bar: tqdm[Any] | None = None
        self._last_line = time.monotonic()

    def say(self, text: str = "") -> None:
        """A line for the person who watches, who may be gone, on the standard error."""
        if not self.is_silent:
            with suppress(OSError):
                tqdm.write(text, file=sys.stderr)

    def open_bar(self) -> None:
        """Shows the bar, where there is a terminal to show it on."""
        layout = "{percentage:3.0f}% {bar} {desc}"
        self._bar = tqdm(
            total=1.0,
            bar_format=layout,
            disable=self.is_silent or None,
            leave=False,
            dynamic_ncols=True,
        )

    def close_bar(self) -> None:
        """Takes the bar away."""
        if self._bar is not None:
            self._bar.close()

    def progress(self, share: float, text: str) -> None:
        """Moves the bar to a share of the whole, or writes a line now and then without one."""
        if self._bar is None or self._bar.disable:
            if time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
                self._last_line = time.monotonic()
                self.say(f"{100 * share:3.0f}% {text}")
            return
        self._bar.n = min(share, 1.0)
        self._bar.set_description_str(text)

    def write_metrics(self, history: Sequence[dict[str, Any]]) -> None:
        """Writes the file anew, one JSON record for each validation."""
        if self.is_silent:
            return
        part = self.folder / (METRICS_FILE + ".part")
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in history)
        part.replace(self.folder / METRICS_FILE)


def duration(seconds: float) -> str:
    """Seconds as `1:02:03` or `2:03`."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
