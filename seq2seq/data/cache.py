"""What is kept between runs: made beside its place and renamed into it.

So two that make the same at once do not meet, and what a kill leaves is never taken for whole.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

PART = ".part"
"""Ends the name of what is being made."""
SECONDS_KEPT = 24 * 3600
"""How long nothing must have been written into what a kill left before it is cleared away."""
DAYS_UNUSED = 60
"""How long nobody must have asked for what was made before it is cleared away."""


def cache_folder() -> Path:
    """Where downloads are kept, and what is made of them: `$SEQ2SEQ_CACHE`, or `seq2seq` in the
    user's cache folder.
    """
    if chosen := os.environ.get("SEQ2SEQ_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "seq2seq"


def place_of(kind: str, name: str) -> Path:
    """Where something is kept that can be made again, be it there or not.

    That counts as using it. What else there is of its kind and was not used for `DAYS_UNUSED` days
    is cleared away: so the cache does not grow for ever. (A process that reads it goes on: open
    files stay readable.)
    """
    path = cache_folder() / kind / name
    with suppress(OSError):
        os.utime(path)
    with suppress(OSError):
        for one in path.parent.iterdir():
            if time.time() - one.stat().st_mtime <= DAYS_UNUSED * 24 * 3600:
                continue
            if one.is_dir():
                shutil.rmtree(one, ignore_errors=True)
            else:
                one.unlink()
    return path


def aside(folder: Path) -> Path:
    """A new empty folder beside another, to make that in. Raises OSError."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f"*{PART}"):
        with suppress(OSError):  # another may be faster
            written = max(one.stat().st_mtime for one in (left, *left.iterdir()))
            if time.time() - written > SECONDS_KEPT:
                shutil.rmtree(left, ignore_errors=True)
    part = folder.with_name(f"{folder.name}.{os.getpid()}.{token_hex(4)}{PART}")
    part.mkdir()
    return part


def put(part: Path, folder: Path, *, is_damaged: bool = False) -> None:
    """Puts what was made into its place, unless another has put the same there meanwhile.

    What is damaged is moved away first. Files that are mapped stay what they are, whatever their
    folder is called.
    """
    with suppress(OSError):
        if is_damaged:
            old = part.with_name(f"old.{part.name}")
            folder.rename(old)
            shutil.rmtree(old, ignore_errors=True)
        part.rename(folder)  # refused where there is one that is not empty


def put_text(path: Path, text: str) -> None:
    """The same for a file with a text."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}.{token_hex(4)}{PART}")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
