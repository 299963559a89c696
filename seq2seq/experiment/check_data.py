"""The command that looks at a corpus, and what training tells of it before it starts."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seq2seq.data.base import Pairs, Split, digest_of
from seq2seq.data.batches import EncodedPairs
from seq2seq.data.cache import place_of, put_text
from seq2seq.data.preflight import RANKS, Finding, SplitReport, look_at
from seq2seq.data.store import stored
from seq2seq.data.vocabulary import Vocabulary, make_vocabulary
from seq2seq.errors import DataError, SettingsError
from seq2seq.experiment.outputs import check_writable, make_folder, write_lines
from seq2seq.experiment.settings import CheckDataSettings, TrainSettings
from seq2seq.special_tokens import UNK

FORMAT = 1


def check_data(settings: CheckDataSettings) -> int:
    """Prints what is found in a corpus and writes it as JSON; 1 where it would spoil training."""
    if settings.resume:
        raise SettingsError("resume", "has no effect here: give the settings of the data.")
    output = Path(settings.output)
    make_folder(output.parent)
    check_writable(output)
    splits = splits_of(settings)
    reports = look_at(splits)
    tree: dict[str, Any] = {split: one.as_dict() for split, one in reports.items()}
    for split, one in reports.items():
        print("\n".join(_page(split, one)))
    is_bad = any(one.is_bad for one in reports.values())
    if not is_bad:
        tree["tokens"] = _tokens(settings, splits)
        print("\n".join(_about_tokens(tree["tokens"])))
    tree["dropped"] = dict(splits["train"].num_dropped)
    print(_about_cleaning(tree["dropped"], reports["train"].num_pairs))
    write_lines(output, [json.dumps(tree, indent=2, ensure_ascii=False)])
    print(f"the same as JSON is in {output}", file=sys.stderr)
    if is_bad:
        print("What is marked as an error would spoil training.", file=sys.stderr)
    return int(is_bad)


def splits_of(settings: TrainSettings) -> dict[Split, Pairs]:
    """All splits that there are, training pairs cleaned. Raises DataError."""
    data = settings.data
    splits: dict[Split, Pairs] = {
        "train": settings.cleaning.clean(data.pairs("train")),
        "validation": data.pairs("validation"),
    }
    return splits | ({"test": data.pairs("test")} if data.has_test() else {})


def remarks_before_training(splits: Mapping[Split, Pairs]) -> list[str]:
    """What a person should know of a corpus, a line each; looked at once for each corpus.

    Raises DataError where it would spoil training.
    """
    about = {split: (pairs.origin, pairs.digest()) for split, pairs in splits.items()}
    key = digest_of(FORMAT, about)  # remarks name files
    path = place_of("reports", f"{key}.json")
    with suppress(OSError, ValueError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(kept, list) and all(isinstance(one, str) for one in kept):
            return kept
    reports = look_at(splits)
    for split, report in reports.items():
        for one in report.findings:
            if one.level == "error":
                raise DataError(
                    f"{split}: {one.what} ({_places(one)}). `scripts/check_data.py` with the same "
                    "settings tells more; check_data=false leaves out this check."
                )
    remarks = [
        f"{split}: {one.count:,} x {one.what} ({_places(one)})"
        for split, report in reports.items()
        for one in report.findings
        if one.level == "warning"
    ]
    put_text(path, json.dumps(remarks))
    return remarks


def _places(one: Finding) -> str:
    named = ", ".join(map(str, one.lines))
    more = ", ..." if one.count > len(one.lines) else ""
    return f"{'line' if one.count == 1 else 'lines'} {named}{more}"


def _page(split: str, report: SplitReport) -> Iterator[str]:
    """A split's report for a terminal."""
    yield f"{split}: {report.num_pairs:,} pairs"
    yield textwrap.fill(f"from {report.origin}", 80, initial_indent="  ", subsequent_indent="  ")
    if report.words:
        yield f"  {'words':24}{''.join(f'{one:>9}' for one in RANKS)}"
        for name, of_rank in report.words.items():
            digits = 2 if "/" in name else 0
            yield f"  {name:24}{''.join(f'{of_rank[one]:9.{digits}f}' for one in RANKS)}"
    for one in report.findings:
        text = f"{one.level:8}{one.count:7,}  {one.what} ({_places(one)})"
        yield from textwrap.wrap(text, 78, initial_indent="  ", subsequent_indent=" " * 19)
    yield ""


def _tokens(settings: CheckDataSettings, splits: Mapping[Split, Pairs]) -> dict[str, Any]:
    """What the tokenizers make of the splits; training pairs are left in the cache."""
    with TemporaryDirectory() as name:
        make_vocabulary(settings.tokenizer, splits["train"], Path(name))
        vocabulary = Vocabulary.load(settings.tokenizer, Path(name))
        training = stored(splits["train"], vocabulary)
    found: dict[str, Any] = {}
    for split, pairs in splits.items():
        encoded = training
        if split != "train":
            encoded = EncodedPairs.encode(pairs.as_text(), vocabulary.tokenizers)
        found[split] = {
            side: {
                "tokens": len(ids.values),
                "unknown": ids.share_of(UNK),
                "longest": int(ids.lengths.max()),
            }
            for side, ids in (("source", encoded.source), ("target", encoded.target))
        }
    return found


def _about_tokens(tokens: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'tokens':26}{'all':>14}{'unknown':>10}{'longest':>9}"
    for split, sides in tokens.items():
        for side, one in sides.items():
            yield (
                f"  {f'{split}, {side}':24}{one['tokens']:14,}{one['unknown']:10.2%}"
                f"{one['longest']:9}"
            )
    yield ""


def _about_cleaning(dropped: Mapping[str, int], num_left: int) -> str:
    if not (total := sum(dropped.values())):
        return "cleaning drops no pair"
    reasons = ", ".join(f"{name} {count:,}" for name, count in dropped.items())
    text = f"cleaning drops {total:,} of {total + num_left:,} training pairs: {reasons}"
    return textwrap.fill(text, 80, subsequent_indent="  ")
