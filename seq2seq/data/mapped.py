"""Encoded pairs as files: where sequences end is mapped into memory, the rest is left there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from seq2seq.data.batches import EncodedPairs
from seq2seq.data.encoding import Chunk
from seq2seq.data.on_disk import OnDisk
from seq2seq.data.ragged import Ragged

INDEX_FILE = "index.json"
SMALL, LARGE, COUNTS = "H", "i", "q"
"""Kinds of whole numbers: ids of small and of large vocabularies, and what counts."""


def write_pairs(
    folder: Path,
    chunks: Iterable[Chunk],
    sizes: Mapping[str, int],
    num_dropped: Mapping[str, int],
) -> None:
    """Writes encoded pairs into an empty folder, and onto the disk. Raises OSError.

    A pair of which a side has no token is left out.

    Args:
        folder: where.
        chunks: all pairs.
        sizes: of the vocabularies, `source` first.
        num_dropped: by filter, how many pairs there were beside them; read at the end.
    """
    codes = {side: SMALL if size <= 1 << 16 else LARGE for side, size in sizes.items()}
    num_ids, num_left_out, num_pairs = dict.fromkeys(sizes, 0), 0, 0
    names = ["lines", *(f"{side}_{what}" for side in sizes for what in ("ids", "ends"))]
    with ExitStack() as stack:
        files = {name: stack.enter_context(open(folder / name, "wb")) for name in names}
        for lines, *both in chunks:
            is_kept = numpy.logical_and(*(side.lengths > 0 for side in both))
            num_pairs += int(is_kept.sum())
            num_left_out += len(lines) - int(is_kept.sum())
            files["lines"].write(lines[is_kept].tobytes())
            for side, (ids, lengths) in zip(sizes, both, strict=True):
                ids, lengths = ids[numpy.repeat(is_kept, lengths)], lengths[is_kept]
                ends = num_ids[side] + numpy.cumsum(lengths, dtype=numpy.int64)
                files[f"{side}_ends"].write(ends.tobytes())
                files[f"{side}_ids"].write(ids.astype(codes[side]).tobytes())
                num_ids[side] += len(ids)
        for file in files.values():
            file.flush()
            os.fsync(file.fileno())
    about = {
        "num_pairs": num_pairs,
        "num_left_out": num_left_out,
        "num_dropped": dict(num_dropped),
        "num_ids": num_ids,
        "codes": codes,
    }
    (folder / INDEX_FILE).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def read_pairs(folder: Path) -> EncodedPairs | None:
    """What `write_pairs` wrote; None where that is not there as a whole."""
    try:
        about = json.loads((folder / INDEX_FILE).read_text(encoding="utf-8"))
        num_pairs = about["num_pairs"]
        source, target = (
            _side(folder, side, about["codes"][side], about["num_ids"][side], num_pairs)
            for side in ("source", "target")
        )
        lines = _mapped(folder / "lines", COUNTS, num_pairs)
        dropped = {str(name): int(count) for name, count in about["num_dropped"].items()}
        return EncodedPairs(source, target, lines, int(about["num_left_out"]), dropped)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _side(folder: Path, side: str, code: str, num_ids: int, num_pairs: int) -> Ragged:
    if code not in (SMALL, LARGE):
        raise ValueError(f"{folder} has ids of a kind {code!r}")
    ends = _mapped(folder / f"{side}_ends", COUNTS, num_pairs)
    ids = OnDisk(folder / f"{side}_ids", code, num_ids)
    if num_pairs and ends[-1] != num_ids:
        raise ValueError(f"{folder} has sequences that end at {ends[-1]}, not {num_ids}")
    return Ragged(ids, ends)


def _mapped(path: Path, code: str, count: int) -> NDArray[Any]:
    """A file's whole numbers. Raises ValueError where there are not so many."""
    size = path.stat().st_size
    if size != count * numpy.dtype(code).itemsize:
        raise ValueError(f"{path} has {size} bytes, which are not {count} numbers")
    if not count:  # nothing to map
        return numpy.empty(0, dtype=code)
    return numpy.memmap(path, dtype=code, mode="r")
