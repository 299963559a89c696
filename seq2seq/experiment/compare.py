"""The comparison command: two systems on the same sentences."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from seq2seq.data.aligned import read_parallel
from seq2seq.data.text import ParallelText, read_lines
from seq2seq.errors import DataError
from seq2seq.evaluation.comparison import Comparison, Group
from seq2seq.evaluation.comparison import compare as compare_systems
from seq2seq.evaluation.comparison_page import page
from seq2seq.experiment.evaluate import check_not_empty, evaluated
from seq2seq.experiment.judge_settings import CompareSettings
from seq2seq.experiment.outputs import make_folder, write_lines
from seq2seq.training.checkpoint import Checkpoint

NUM_SHOWN = 3
"""Changed sentences on the terminal; the page has more."""


def compare(settings: CompareSettings) -> int:
    """Prints how two systems differ, and writes it as JSON and as a page."""
    pairs, name = _pairs(settings)
    # All that may be wrong is found before the first translation.
    systems = [_system(Path(given), pairs) for given in (settings.one, settings.other)]
    training = _training_sources(settings)
    folder = Path(settings.output_dir)
    make_folder(folder)
    settings.runtime.start()
    translations = []
    for system in systems:
        if isinstance(system, Checkpoint):
            system = evaluated(
                system,
                pairs,
                name,
                search=None,
                runtime=settings.runtime,
                lowercase=settings.lowercase_scores,
            ).translations
        translations.append(system)
    found = compare_systems(
        (settings.one, settings.other),
        (translations[0], translations[1]),
        pairs,
        training,
        lowercase=settings.lowercase_scores,
    )
    print(_report(found))
    text = json.dumps(found.as_dict(), indent=2, ensure_ascii=False)
    write_lines(folder / "comparison.json", [text])
    write_lines(folder / "comparison.html", [page(found)])
    print(f"the same, and more: {folder / 'comparison.html'}", file=sys.stderr)
    return 0


def _pairs(settings: CompareSettings) -> tuple[ParallelText, str]:
    """What was translated, with its references, and its name. Raises DataError."""
    if settings.source is not None and settings.target is not None:
        pairs = read_parallel(Path(settings.source), Path(settings.target))
        name = Path(settings.source).name
    else:
        assert settings.data is not None, "checked"
        name = settings.split or "test"
        pairs = settings.data.read(name)
    check_not_empty(pairs)
    return pairs, name


def _system(given: Path, pairs: ParallelText) -> list[str] | Checkpoint:
    """The lines of a file, or a checkpoint. Raises DataError or CheckpointError."""
    if not given.is_file():
        return Checkpoint.open(given)
    lines = read_lines(given)
    if len(lines) != len(pairs):
        raise DataError(f"{given} has {len(lines)} lines, but {pairs.origin} has {len(pairs)}.")
    return lines


def _training_sources(settings: CompareSettings) -> list[str] | None:
    """What the first checkpoint has seen; None where nobody knows, or it is not here."""
    if settings.data is None:
        return None
    try:
        return settings.data.read("train").source
    except DataError as error:
        print(f"without the training text, which groups some comparisons: {error}", file=sys.stderr)
        return None


def _report(found: Comparison) -> str:
    """The comparison for a terminal."""
    lines = [
        f"one    {found.names[0]}",
        f"other  {found.names[1]}",
        f"{found.num_sentences:,} sentences, {found.num_equal:,} of them translated alike",
        "",
        f"{'':32}{'one':>14}{'other':>15}{'p (bs)':>9}{'p (ar)':>9}",
    ]
    for first, second in zip(*found.scores, strict=True):
        shown = [f"{each.value:.2f} ± {each.interval:.2f}" for each in (first, second)]
        chances = found.bootstrap[first.name], found.randomisation[first.name]
        lines.append(
            f"{first.name:32}{shown[0]:>14}{shown[1]:>15}{chances[0]:9.4f}{chances[1]:9.4f}"
        )
    for kind, groups in found.groups.items():
        lines += ["", f"BLEU by {kind:24}{'one':>14}{'other':>15}{'gain':>9}{'lines':>9}"]
        lines += [_row(one) for one in groups]
    for each in found.changed[:NUM_SHOWN]:
        lines += [
            "",
            f"line {each.line}, chrF {each.gain:+.1f}",
            f"    source    {each.source}",
            f"    reference {each.reference}",
            f"    one       {each.one}",
            f"    other     {each.other}",
        ]
    return "\n".join([*lines, "", *(f"{one.name}: {one.signature}" for one in found.scores[0])])


def _row(one: Group) -> str:
    gain = one.other - one.one
    return f"    {one.name:28}{one.one:14.2f}{one.other:15.2f}{gain:+9.2f}{one.num_sentences:9,}"
