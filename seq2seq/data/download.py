"""Downloads that are pinned, checked and whole: what fails its checksum never stays on disk."""

from __future__ import annotations

import hashlib
import os
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

from tqdm import tqdm

from seq2seq.errors import DataError

ATTEMPTS = 3
SECONDS_BETWEEN = 2.0
SECONDS_OF_SILENCE = 30.0
BLOCK = 1 << 16


def checksum(path: Path, kind: str = "sha256") -> str:
    """SHA-256 of a file, in hexadecimal, or another kind of sum."""
    with open(path, "rb") as file:
        digest = hashlib.new(kind)
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def fetch(address: str, published: str, folder: Path, advice: str) -> Path:
    """The path of a file that is in the cache already, or was downloaded and checked.

    Args:
        address: where it is published; the last part is its name.
        published: what its content must hash to, by SHA-256, or by SHA-1 where the publisher has
            nothing better.
        folder: where it is kept.
        advice: what to do where no network reaches the address.

    Raises:
        DataError: it cannot be had, or its content is not what was published.
    """
    path = folder / address.rpartition("/")[2]
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    kind, name = ("sha1", "SHA-1") if len(published) == 40 else ("sha256", "SHA-256")
    try:
        if path.is_file():
            if checksum(path, kind) == published:
                return path
            path.unlink()
            print(f"{path} was broken and has been removed; downloading it anew.", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        _download(address, part, advice)
        if (found := checksum(part, kind)) != published:
            raise DataError(
                f"{address} is not the file that was published: its {name} is {found}, not "
                f"{published}. Nothing was kept."
            )
        part.replace(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read or written: {error.strerror}.") from None
    finally:
        with suppress(OSError):
            part.unlink()
    return path


def _download(address: str, part: Path, advice: str) -> None:
    """Writes what is at `address` into `part`, after some attempts. Raises DataError."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return _download_once(address, part)
        except urllib.error.HTTPError as error:
            reason = f"it answers {error.code}, {error.reason}"
            if error.code < 500:  # asking again would not help
                break
        except (urllib.error.URLError, TimeoutError, ConnectionError, HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error)
        if attempt < ATTEMPTS:
            time.sleep(SECONDS_BETWEEN * attempt)
    raise DataError(f"{address} cannot be reached ({reason}). Without network, {advice}.")


def _download_once(address: str, part: Path) -> None:
    with urllib.request.urlopen(address, timeout=SECONDS_OF_SILENCE) as answer:
        length = answer.headers.get("Content-Length")
        total = int(length) if length else None
        bar = tqdm(total=total, unit="B", unit_scale=True, desc=address.rpartition("/")[2])
        with bar, open(part, "wb") as file:
            while block := answer.read(BLOCK):
                file.write(block)
                bar.update(len(block))
    if total is not None and part.stat().st_size < total:
        raise ConnectionError("the connection broke off")
