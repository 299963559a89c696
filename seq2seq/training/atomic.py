"""Files and folders that appear whole or not at all, and that say when they are damaged."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

PART = ".part"
"""Ends the name of what is being written."""
SUMS_FILE = "SHA256SUMS"
"""In a sealed folder, in the format of `sha256sum`."""


def write_text(path: Path, text: str) -> None:
    """Writes lines of text that end with a newline."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(text if text.endswith("\n") else text + "\n")


def seal(folder: Path) -> None:
    """Writes the checksums of all files in a folder beside them."""
    lines = [f"{_sum(folder / name)}  {name}" for name in _files(folder) if name != SUMS_FILE]
    write_text(folder / SUMS_FILE, "\n".join(lines))


def first_damaged(folder: Path, required: Iterable[str]) -> str | None:
    """A file that is not what it was when its folder was sealed, or is not there; None: all are.

    Files that came later are passed over, but not `required` ones.
    """
    try:
        found = sums(folder)
    except (OSError, ValueError):
        return SUMS_FILE
    present = set(_files(folder))  # no other path is opened, whatever the lines say
    for name, value in found.items():
        if name not in present or _sum(folder / name) != value:
            return name if name.isprintable() else SUMS_FILE
    return None if found.keys() >= set(required) else SUMS_FILE


def sums(folder: Path) -> dict[str, str]:
    """The checksums of a sealed folder's files, by their paths from there.

    Raises OSError or ValueError where they are not there as a whole.
    """
    text = (folder / SUMS_FILE).read_text(encoding="utf-8")
    if not text.endswith("\n"):
        raise ValueError(f"{folder / SUMS_FILE} is cut off")
    lines = text.splitlines()
    return {name: value for value, _, name in (line.partition("  ") for line in lines)}


def sync(folder: Path) -> None:
    """Makes sure that a folder and all in it are on the disk."""
    for path in (folder, *folder.rglob("*")):
        _sync(path)


def replace(folder: Path, part: Path) -> None:
    """Puts the folder `part` in the place of another.

    No system call swaps two folders everywhere. A kill between the renames leaves `.new`, which is
    whole; `whole` finds it, and the next replacement puts it in its place before all else.
    """
    new, old = folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")
    if (left := whole(folder)) not in (None, folder):
        left.rename(folder)
    shutil.rmtree(new, ignore_errors=True)
    part.rename(new)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        folder.rename(old)
    new.rename(folder)
    _sync(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def remove(folder: Path) -> None:
    """Takes a folder away; killed in the middle, what is left has another name."""
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    shutil.rmtree(old, ignore_errors=True)


def whole(folder: Path) -> Path | None:
    """The folder, or what a kill in the middle of `replace` left under another name, or None."""
    if not folder.name:  # the root
        return folder
    for suffix in ("", ".new", ".old"):
        if (candidate := folder.with_name(folder.name + suffix)).is_dir():
            return candidate
    return None


def _files(folder: Path) -> list[str]:
    """Regular files below a folder, by their paths from there."""
    return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())


def _sum(path: Path) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def _sync(path: Path) -> None:
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
