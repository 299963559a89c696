"""What commands leave behind: translations, scores, pictures."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from seq2seq.config import TARGET, to_tree
from seq2seq.data.text import ParallelText
from seq2seq.errors import RunError
from seq2seq.evaluation.comet import comet
from seq2seq.evaluation.metrics import Score, all_scores
from seq2seq.evaluation.translator import Translator
from seq2seq.search.base import SearchConfig
from seq2seq.search.interfaces import Hypothesis

LOCK_FILE = ".lock"
PROBE_FILE = ".probe"
HYPOTHESES_FILE = "hypotheses.txt"
REFERENCES_FILE = "references.txt"
RESULTS_FILE = "results.json"


def make_folder(folder: Path) -> None:
    """Makes a folder if need be. Raises RunError where nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _probe(folder / PROBE_FILE)
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}.") from None


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keeps a folder for this process meanwhile. Raises RunError where another one has it.

    Systems without such locks, and some network disks, let everybody have it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    path = folder / LOCK_FILE
    with open(path, "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{folder} is in use by another process. Choose another one.") from None
        except OSError:
            pass
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Raises RunError where `write_lines` would, before the work that it would throw away."""
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        if not _is_device(path):
            _probe(_part(path))
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}.") from None


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Writes UTF-8 lines that end with `\\n`; the file appears whole. Raises RunError."""
    with writing(path) as write:
        write(lines)


@contextmanager
def writing(path: Path | None) -> Iterator[Callable[[Iterable[str]], None]]:
    """Writes lines as `write_lines` does, some at a time; without a path to the standard output.

    What is written to a file appears when all is done, and not at all where that fails.
    """
    if path is None:
        yield _to_standard_output
        return
    part = path if _is_device(path) else _part(path)
    try:
        with _failing_as(path):
            file = open(part, "w", encoding="utf-8", newline="\n")  # noqa: SIM115  (closed below)

        def write(lines: Iterable[str]) -> None:
            with _failing_as(path):
                file.writelines(line + "\n" for line in lines)

        try:
            yield write
        finally:
            with _failing_as(path):  # what is still held back may not fit
                file.close()
        with _failing_as(path):
            if part != path:
                part.replace(path.resolve())
    finally:
        if part != path:
            part.unlink(missing_ok=True)


def _to_standard_output(lines: Iterable[str]) -> None:
    sys.stdout.writelines(line + "\n" for line in lines)
    sys.stdout.flush()


@contextmanager
def _failing_as(path: Path) -> Iterator[None]:
    """Raises RunError for a path in place of OSError."""
    try:
        yield
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}.") from None


def _is_device(path: Path) -> bool:
    """Whether a path is something like /dev/null, which must not be replaced by a file."""
    return path.exists() and not path.is_file()


def _part(path: Path) -> Path:
    resolved = path.resolve()
    return resolved.with_name(f".{resolved.name}.{os.getpid()}.part")


def _probe(path: Path) -> None:
    path.touch()
    path.unlink()


def fresh_folder(folder: Path) -> Path:
    """`folder`, or where that is taken `folder-2` and so on: results are never overwritten."""
    number, chosen = 1, folder
    while chosen.exists():
        number += 1
        chosen = folder.with_name(f"{folder.name}-{number}")
    return chosen


def described(search: SearchConfig) -> str:
    """A search and its settings on one line, as they stand beside a score."""
    return _described(to_tree(search))


def _described(tree: Mapping[str, Any]) -> str:
    name = str(tree[TARGET]).rpartition(".")[2].removesuffix("Config").lower()
    parts = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            parts.append(_described(value))
        elif key != TARGET:
            parts.append(f"{key} {value:g}" if isinstance(value, int | float) else f"{key} {value}")
    return f"{name} ({', '.join(parts)})"


def score_split(
    translator: Translator,
    pairs: ParallelText,
    folder: Path,
    *,
    lowercase: bool,
    about: dict[str, Any],
    comet_model: Path | None = None,
) -> list[Score]:
    """Translates and scores pairs; writes both sides and `results.json` into a folder.

    Args:
        translator: what to judge.
        pairs: sentences and their references.
        folder: made if need be.
        lowercase: fold case.
        about: what else the results should tell.
        comet_model: scores with it, too.
    """
    make_folder(folder)
    with tqdm(
        total=len(pairs), unit=" sentences", desc="translating", leave=False, disable=None
    ) as bar:
        translations = translator.translate(pairs.source, bar.update)
    # Results that are there are of other translations from now on.
    (folder / RESULTS_FILE).unlink(missing_ok=True)
    write_lines(folder / HYPOTHESES_FILE, translations)
    write_lines(folder / REFERENCES_FILE, pairs.target)
    raw = (folder / HYPOTHESES_FILE).read_bytes()
    scores = all_scores(translations, pairs.target, lowercase=lowercase)
    if comet_model:
        scores.append(comet(comet_model, pairs.source, translations, pairs.target))
    results = {
        **about,
        "data": pairs.origin,
        "num_sentences": len(pairs),
        "search": to_tree(translator.search),
        "precision": translator.precision.name,
        "hypotheses_sha256": hashlib.sha256(raw).hexdigest(),
        "scores": [score.as_dict() for score in scores],
    }
    write_lines(folder / RESULTS_FILE, [json.dumps(results, indent=2, ensure_ascii=False)])
    return scores


def draw_attention(
    translator: Translator,
    sources: Sequence[Sequence[int]],
    hypotheses: Sequence[Hypothesis | None],
    folder: Path,
    first: int = 1,
) -> int:
    """A picture of the attention of each hypothesis, numbered from `first`; returns how many."""
    from seq2seq.evaluation.heatmap import draw_heatmap  # matplotlib takes half a second to load

    make_folder(folder)
    num_pictures = 0
    numbered = enumerate(zip(sources, hypotheses, strict=True), start=first)
    for number, (source, hypothesis) in numbered:
        if hypothesis is not None:
            found = translator.explanation(source, hypothesis)
            path = folder / f"{number:04}.png"
            draw_heatmap(found.source_tokens, found.target_tokens, found.weights, path)
            num_pictures += 1
    return num_pictures
