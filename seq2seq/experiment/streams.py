"""Where lines to translate come from, a window at a time, and what may be written over."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from seq2seq.data.text import iterate_lines, lines_of
from seq2seq.errors import DataError, RunError, SettingsError
from seq2seq.experiment.outputs import check_writable
from seq2seq.experiment.settings import TranslateSettings

MOST_LINES = 4096
MOST_CHARACTERS = 1 << 20
"""Of what is held in memory at a time."""


class Window:
    """Some lines in a row, and what their translations open with."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.lines: list[str] = []
        self.prefixes: list[str] = []


def windows_of(
    lines: Iterable[str], prefixes: Iterator[str] | None, smallest: int
) -> Iterator[Window]:
    """The lines a window at a time: small ones first, so that output comes early, then larger ones,
    so that sentences of one length share a batch. Raises DataError where prefixes do not line up.
    """
    window, size, held = Window(1), smallest, 0
    for number, line in enumerate(lines, start=1):
        window.lines.append(line)
        if prefixes is not None:
            prefix = next(prefixes, None)
            if prefix is None:
                raise DataError(f"`prefix` has {number - 1} lines, but the input has more.")
            window.prefixes.append(prefix)
        held += len(line)
        if len(window.lines) >= size or held >= MOST_CHARACTERS:
            yield window
            window, held = Window(number + 1), 0
            size = size if smallest == 1 else min(4 * size, MOST_LINES)
    if window.lines:
        yield window
    if prefixes is not None and next(prefixes, None) is not None:
        raise DataError("`prefix` has more lines than the input.")


def input_lines(settings: TranslateSettings) -> Iterator[str]:
    """The lines to translate. Raises DataError or SettingsError."""
    if settings.input:
        return lines_of(Path(settings.input))
    if sys.stdin is None:
        raise DataError("The standard input is closed. Give input=FILE.")
    if settings.output and _is_input(Path(settings.output)):
        raise SettingsError("output", "is the file that is read. Choose another name.")
    if sys.stdin.isatty():
        print("Type sentences, one a line; end with Ctrl-D.", file=sys.stderr)
    return iterate_lines(sys.stdin.buffer, "standard input")


def is_typed(settings: TranslateSettings) -> bool:
    """Whether a person types the lines, and waits for each translation."""
    return not settings.input and sys.stdin is not None and sys.stdin.isatty()


def check_output(settings: TranslateSettings) -> None:
    """Raises RunError or SettingsError where the output cannot be written, or must not be."""
    if not settings.output:
        if getattr(sys.stdout, "name", None) == os.devnull:
            raise RunError("The standard output is closed. Give output=FILE.")
        return
    check_writable(Path(settings.output))
    check_not_read(settings.output, settings.input, settings.prefix, settings.lexicon)


def check_not_read(output: str, *inputs: str | None) -> None:
    """Raises SettingsError where the file that is written is one of those that are read."""
    path = Path(output)
    for one in filter(None, inputs):
        if path.is_file() and Path(one).is_file() and path.samefile(one):
            raise SettingsError("output", f"is {one}, which is read. Choose another name.")


def _is_input(path: Path) -> bool:
    """Whether a path is the file that the standard input comes from."""
    try:
        return path.is_file() and os.path.samestat(path.stat(), os.fstat(sys.stdin.fileno()))
    except OSError:  # it comes from no file
        return False
