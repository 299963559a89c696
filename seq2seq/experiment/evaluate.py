"""The evaluation command: one table for one checkpoint or for many."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import seq2seq
from seq2seq.config import to_tree
from seq2seq.data.aligned import read_parallel
from seq2seq.data.text import ParallelText, read_lines
from seq2seq.errors import DataError
from seq2seq.evaluation.metrics import Score, p_values
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment.apply import about_checkpoint, load_checkpoint
from seq2seq.experiment.judge_settings import EvaluateSettings
from seq2seq.experiment.outputs import (
    HYPOTHESES_FILE,
    RESULTS_FILE,
    described,
    fresh_folder,
    score_split,
)
from seq2seq.runtime import Precision, RuntimeConfig
from seq2seq.search.base import SearchConfig
from seq2seq.training.checkpoint import Checkpoint, checkpoints_in


@dataclass(frozen=True)
class Evaluation:
    """What was found of a checkpoint.

    Attributes:
        name: of the checkpoint, as the table shows it.
        folder: of translations and results.
        scores: BLEU, chrF++, TER.
        perplexity: of the references under teacher forcing, without label smoothing; None where
            one is too long for the model.
        translations: of all sentences.
        precision: that they were computed in.
    """

    name: str
    folder: Path
    scores: list[Score]
    perplexity: float | None
    translations: list[str]
    precision: Precision

    @property
    def shown_perplexity(self) -> str:
        """For people."""
        return "unknown" if self.perplexity is None else f"{self.perplexity:.2f}"


def evaluate(settings: EvaluateSettings) -> int:
    """Scores checkpoints on a split or on files, and writes translations and results."""
    folders = [one for given in settings.checkpoint for one in checkpoints_in(Path(given))]
    checkpoints = [Checkpoint.open(one) for one in folders]
    if settings.source is not None and settings.target is not None:
        pairs = read_parallel(Path(settings.source), Path(settings.target))
        name = Path(settings.source).name
    else:
        name = settings.split or "test"
        pairs = settings.data.read(name)
    check_not_empty(pairs)
    settings.runtime.start()
    found = [
        evaluated(
            checkpoint,
            pairs,
            name,
            search=settings.search,
            runtime=settings.runtime,
            lowercase=settings.lowercase_scores,
            output_dir=folder,
            comet_model=Path(settings.comet) if settings.comet else None,
        )
        for checkpoint, folder in zip(
            checkpoints, _result_folders(settings.output_dir, checkpoints), strict=True
        )
    ]
    if len(found) == 1:
        (one,) = found
        for score in one.scores:
            print(score)
        ratio = one.scores[0].length_ratio
        print(f"  length ratio {ratio:.3f}, perplexity {one.shown_perplexity}")
    else:
        print(_table(found, pairs, lowercase=settings.lowercase_scores))
    print(f"  search: {described(settings.search)}{found[0].precision.remark}")
    places = ", ".join(str(one.folder) for one in found)
    print(f"translations and results.json are in {places}", file=sys.stderr)
    return 0


def check_not_empty(pairs: ParallelText) -> None:
    """Raises DataError where there is nothing to score."""
    if not len(pairs):
        raise DataError(f"{pairs.origin} has no lines: there is nothing to score.")


def evaluated(
    checkpoint: Checkpoint,
    pairs: ParallelText,
    name: str,
    *,
    search: SearchConfig | None,
    runtime: RuntimeConfig,
    lowercase: bool,
    output_dir: Path | None = None,
    comet_model: Path | None = None,
) -> Evaluation:
    """What was found before by the same checkpoint, search and data, or else is found now.

    Args:
        checkpoint: what to judge.
        pairs: sentences and their references.
        name: of these, for the folder's name.
        search: null takes the checkpoint's own.
        runtime: has been started.
        lowercase: BLEU and chrF fold case.
        output_dir: where results go; null makes a new folder beside the checkpoint.
        comet_model: scores with it, too.
    """
    parts = {
        "version": seq2seq.__version__,
        "content": checkpoint.content_sums,
        "settings": [checkpoint.settings.get(group) for group in ("model", "tokenizer")],
        "search": to_tree(search) if search else checkpoint.settings.get("search"),
        "runtime": [runtime.found_device().type, runtime.precision, runtime.matmul_precision],
        "lowercase": lowercase,
        "data": [pairs.source, pairs.target],
        "comet": str(comet_model),
    }
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    beside = checkpoint.folder.with_name(f"{checkpoint.folder.name}-{name}")
    others = [beside, *sorted(beside.parent.glob(f"{beside.name}-*"))]
    for folder in [output_dir] if output_dir else others:
        if before := _found_in(folder, checkpoint, key):
            print(f"{checkpoint.folder} was evaluated before: {folder}", file=sys.stderr)
            return before
    folder = output_dir or fresh_folder(beside)
    translator = load_checkpoint(checkpoint, search, runtime)
    score_split(
        translator,
        pairs,
        folder,
        lowercase=lowercase,
        comet_model=comet_model,
        about={
            **about_checkpoint(checkpoint),
            "key": key,
            "perplexity": _perplexity(translator, pairs),
        },
    )
    found = _found_in(folder, checkpoint, key)
    assert found is not None, "it was written just now"
    return found


def _result_folders(output_dir: str | None, checkpoints: Sequence[Checkpoint]) -> list[Path | None]:
    """Where the results of each go: below the folder that was given where there are several."""
    if output_dir is None:
        return [None] * len(checkpoints)
    if len(checkpoints) == 1:
        return [Path(output_dir)]
    names = ["-".join(one.folder.resolve().parts[-2:]) for one in checkpoints]
    return [
        Path(output_dir) / (name if names.count(name) == 1 else f"{number}-{name}")
        for number, name in enumerate(names, start=1)
    ]


def _perplexity(translator: Translator, pairs: ParallelText) -> float | None:
    """Of the references under teacher forcing, as validation has it: of pairs without a blank.

    None where one is too long for the model, or there are none.
    """
    encode = translator.tokenizers.target.encode
    encoded = zip(translator.encode(pairs.source), map(encode, pairs.target), strict=True)
    both = [(source, target) for source, target in encoded if source and target]
    most = translator.model.max_length
    if not both or (most is not None and max(len(target) for _, target in both) > most):
        return None
    scores = translator.score([source for source, _ in both], [target for _, target in both])
    return math.exp(min(-sum(map(math.fsum, scores)) / sum(map(len, scores)), 700.0))


def _found_in(folder: Path, checkpoint: Checkpoint, key: str) -> Evaluation | None:
    """What a folder holds of a checkpoint; None where that is not whole, or of something else."""
    try:
        results = json.loads((folder / RESULTS_FILE).read_text(encoding="utf-8"))
        raw = (folder / HYPOTHESES_FILE).read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        if (results["key"], results["hypotheses_sha256"]) != (key, digest):
            return None
        return Evaluation(
            "/".join(checkpoint.folder.resolve().parts[-2:]),
            folder,
            [Score(**one) for one in results["scores"]],
            results["perplexity"],
            read_lines(folder / HYPOTHESES_FILE),
            Precision(results["precision"]),
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _table(found: Sequence[Evaluation], pairs: ParallelText, *, lowercase: bool) -> str:
    """All evaluations, the best first, with the chance that BLEU differs from its by chance."""
    ranked = sorted(found, key=lambda one: -one.scores[0].value)
    systems = {str(number): one.translations for number, one in enumerate(ranked)}
    chances = p_values(systems, pairs.target, lowercase=lowercase, metrics=["BLEU"])["BLEU"]
    width = max(10, *(len(one.name) for one in ranked))
    others = [one.name for one in ranked[0].scores[3:]]
    lines = [
        f"{'checkpoint':{width}}  {'BLEU':>13}  {'p':>6}  {'chrF++':>6}  {'TER':>6}  "
        f"{'length':>6}  {'ppl':>7}{''.join(f'  {name:>6}' for name in others)}"
    ]
    for number, one in enumerate(ranked):
        bleu, chrf, ter, *rest = one.scores
        chance = f"{chances[str(number)]:6.4f}" if number else f"{'':6}"
        lines.append(
            f"{one.name:{width}}  {bleu.value:5.2f} ± {bleu.interval:5.2f}  {chance}  "
            f"{chrf.value:6.2f}  {ter.value:6.2f}  {bleu.length_ratio:6.3f}  "
            f"{one.shown_perplexity:>7}{''.join(f'  {score.value:6.2f}' for score in rest)}"
        )
    signatures = [f"  {one.name}: {one.signature}" for one in ranked[0].scores]
    test = "  p: paired bootstrap of BLEU against the best, 1,000 resamples"
    return "\n".join([*lines, *signatures, test])
