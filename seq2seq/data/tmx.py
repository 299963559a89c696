"""Corpora of translation memories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from seq2seq.data.base import Pair
from seq2seq.data.compressed import opened
from seq2seq.data.records import RecordsConfig
from seq2seq.errors import DataError, SettingsError, UserError

LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
CODES = {"bpt", "ept", "it", "ph", "ut"}
"""Elements whose text is formatting of the program that the text comes from."""


@dataclass(frozen=True, kw_only=True)
class TmxConfig(RecordsConfig):
    """TMX 1.4: units with a variant in each language. A unit that lacks one of the two is no pair.

    Where others count lines, units are counted.

    Attributes:
        source: language code; `en` takes en-GB, too.
        target: likewise.
    """

    is_text: ClassVar[bool] = False

    source: str
    target: str

    def check(self) -> None:
        super().check()
        if _is(self.source, self.target) or _is(self.target, self.source):
            raise SettingsError(
                "target",
                f"must differ from the source, but they are {self.source}, {self.target}.",
            )

    def records(self, path: Path) -> Iterator[Pair]:
        try:
            with opened(path) as file:
                yield from self._units(file)
        except ParseError as error:
            raise DataError(f"{path} is not whole XML ({error}).") from None
        except UserError:
            raise
        except (DefusedXmlException, LookupError, ValueError, RecursionError) as error:
            raise DataError(f"{path} holds XML that is not read: {error!r}.") from None

    def _units(self, file: Any) -> Iterator[Pair]:
        root: Element | None = None
        number = 0
        for event, element in iterparse(file, events=("start", "end")):
            if root is None:
                root = element
            if event == "end" and _name(element) == "tu":
                number += 1
                source, target = (_variant(element, one) for one in (self.source, self.target))
                if source is not None and target is not None:
                    yield Pair(number, _segment(source), _segment(target))
                element.clear()
                for parent in root:  # or memory would grow with the file
                    if _name(parent) == "body":
                        parent.clear()


def _variant(unit: Element, language: str) -> Element | None:
    """A unit's first variant in a language."""
    return next((one for one in unit if _is(_language(one), language)), None)


def _name(element: Element) -> str:
    """Without a namespace."""
    return element.tag.rpartition("}")[2]


def _language(variant: Element) -> str:
    return variant.get(LANGUAGE) or variant.get("lang") or ""


def _is(code: str, wanted: str) -> bool:
    code, wanted = (one.casefold().replace("_", "-") for one in (code, wanted))
    return code == wanted or code.startswith(f"{wanted}-")


def _segment(variant: Element) -> str:
    """The text of a variant, without the codes in it; white space in a row is one space."""
    segment = next((one for one in variant if _name(one) == "seg"), None)
    return "" if segment is None else " ".join("".join(_texts(segment)).split())


def _texts(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if _name(child) not in CODES:
            yield from _texts(child)
        yield child.tail or ""
