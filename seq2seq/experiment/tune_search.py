"""Finds beam size and length penalty on the validation split, and keeps them in the checkpoint."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from tqdm import tqdm

from seq2seq.config import to_tree
from seq2seq.errors import RunError, SettingsError
from seq2seq.evaluation.metrics import bleu
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment.apply import load_checkpoint
from seq2seq.experiment.judge_settings import TuneSearchSettings
from seq2seq.experiment.outputs import described, held
from seq2seq.search.beam import BeamConfig
from seq2seq.training import atomic
from seq2seq.training.checkpoint import OPTIMIZER_FILE, SETTINGS_FILE, Checkpoint, save_settings


def tune_search(settings: TuneSearchSettings) -> int:
    """Prints validation BLEU of each pair, and writes the best into the checkpoint's settings."""
    checkpoint = Checkpoint.open(Path(settings.checkpoint))
    if not isinstance(settings.search, BeamConfig):
        raise SettingsError("search", "is not beam, the search that this tunes. Add search=beam.")
    if settings.write and (checkpoint.folder / OPTIMIZER_FILE).exists():
        raise SettingsError(
            "checkpoint",
            f"is {checkpoint.folder}, from which training goes on with its own search. Tune "
            "RUN/best, or set write=false.",
        )
    grid = [
        replace(settings.search, beam_size=size, length_penalty=penalty, n_best=1)
        for size, penalty in product(settings.beam_sizes, settings.length_penalties)
    ]
    pairs = settings.data.read("validation")
    settings.runtime.start()
    base = load_checkpoint(checkpoint, settings.search, settings.runtime)
    sources = base.encode(pairs.source)
    found: dict[tuple[int, float], float] = {}
    with tqdm(total=len(grid) * len(pairs), unit=" sentences", disable=None) as bar:
        for search in grid:
            bar.set_description(f"beam {search.beam_size}, penalty {search.length_penalty:g}")
            translator = Translator(
                base.model, base.tokenizers, search, base.device, base.precision
            )
            texts = translator.texts(translator.hypotheses(sources, bar.update))
            score = bleu(texts, pairs.target, lowercase=settings.lowercase_scores)
            found[search.beam_size, search.length_penalty] = score.value
    print(f"validation BLEU of {pairs.origin}, by beam size and length penalty")
    print(f"{'':8}" + "".join(f"{penalty:>8g}" for penalty in settings.length_penalties))
    for size in settings.beam_sizes:
        row = (f"{found[size, penalty]:8.2f}" for penalty in settings.length_penalties)
        print(f"{size:8}" + "".join(row))
    # Of equals the smaller beam, which is faster.
    size, penalty = max(found, key=lambda one: (found[one], -one[0]))
    n_best = min(settings.search.n_best, size)
    best = replace(settings.search, beam_size=size, length_penalty=penalty, n_best=n_best)
    print(f"  best: {described(best)}")
    if settings.write:
        with held(checkpoint.folder.resolve().parent):
            _write(checkpoint.folder, {**checkpoint.settings, "search": to_tree(best)})
        print(f"{checkpoint.folder} translates so from now on", file=sys.stderr)
    return 0


def _write(folder: Path, settings: Mapping[str, Any]) -> None:
    """Puts the same checkpoint with other settings in its place. Raises RunError."""
    folder = folder.resolve()
    part = folder.with_name(folder.name + atomic.PART)
    try:
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(folder, part)
        save_settings(part / SETTINGS_FILE, settings)
        atomic.seal(part)
        atomic.sync(part)
        atomic.replace(folder, part)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise RunError(f"{folder} cannot be written: {error.strerror}.") from None
