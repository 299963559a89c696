"""Corpora of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2seq.data.base import Pair
from seq2seq.data.records import RecordsConfig
from seq2seq.data.text import lines_of
from seq2seq.errors import DataError


@dataclass(frozen=True, kw_only=True)
class JsonlConfig(RecordsConfig):
    """A JSON object a line.

    Attributes:
        source_field: key of the sentence; a.b is key b of the object at key a ...
        target_field: ... and key of its translation.
    """

    source_field: str = "source"
    target_field: str = "target"

    def records(self, path: Path) -> Iterator[Pair]:
        for number, line in enumerate(lines_of(path), start=1):
            place = f"{path}, line {number}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"{place} is not JSON ({error}).") from None
            source = self._text(record, self.source_field, place)
            yield Pair(number, source, self._text(record, self.target_field, place))

    def _text(self, record: Any, field: str, place: str) -> str:
        found = record
        for key in field.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if not isinstance(found, str):
            keys = ", ".join(map(str, record)) if isinstance(record, dict) else "no object"
            raise DataError(
                f"{place} has no text at `{field}` (it has: {keys[:200]}). Set data.source_field "
                "and data.target_field."
            )
        if any("\ud800" <= one <= "\udfff" for one in found):
            raise DataError(f"{place} has half a character (a lone surrogate) at `{field}`.")
        return found
