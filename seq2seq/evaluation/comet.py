"""COMET (Rei et al. 2020), a trained metric, where its package and a model of it are there."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from seq2seq.errors import DataError, DependencyError
from seq2seq.evaluation.metrics import Score


def comet(
    model: Path, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
) -> Score:
    """The mean over sentences, times 100.

    Args:
        model: a checkpoint on this machine, as `comet.download_model` leaves it. It is read with
            pickle, which can run code: take it from a source that you trust.
        sources: what was translated.
        hypotheses: the translations.
        references: what they are compared with.

    Raises:
        DependencyError: the package is missing.
        DataError: the file is not there, or is no model.
    """
    if not model.is_file():
        raise DataError(f"{model} is not there. `comet` names the file of a COMET model.")
    try:
        from comet import load_from_checkpoint
    except ImportError:
        raise DependencyError("comet needs the package unbabel-comet: pip install it.") from None
    try:
        judge = load_from_checkpoint(str(model))
    except Exception as error:  # whatever the package meets in the file
        raise DataError(f"{model} is not a COMET model ({error}).") from None
    triples = zip(sources, hypotheses, references, strict=True)
    data = [{"src": source, "mt": text, "ref": reference} for source, text, reference in triples]
    found = judge.predict(data, batch_size=16, gpus=0, progress_bar=False)
    signature = f"model:{model.name}|version:{version('unbabel-comet')}"
    return Score("COMET", 100 * float(found.system_score), signature)
