"""From checkpoints to translators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, cast

import seq2seq
from seq2seq.config import from_tree
from seq2seq.errors import CheckpointError, SettingsError
from seq2seq.evaluation.ensemble import Ensemble
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment.settings import TrainSettings
from seq2seq.models.seq2seq import Seq2Seq, Seq2SeqConfig
from seq2seq.runtime import PrecisionName, RuntimeConfig
from seq2seq.search.base import SearchConfig
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.training.checkpoint import Checkpoint


def build_model(config: Seq2SeqConfig, tokenizers: TokenizerPair) -> Seq2Seq:
    """A model whose vocabularies are those of two tokenizers."""
    return config.build(
        tokenizers.source.vocabulary_size,
        tokenizers.target.vocabulary_size,
        is_joint=tokenizers.is_joint,
    )


def load_translator(
    *checkpoints: str | Path,
    search: SearchConfig | None = None,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    precision: PrecisionName = "fp32",
) -> Translator:
    """A translator from a checkpoint folder, with the checkpoint's own search unless one is given.

    Several checkpoints work as one: the mean of their probabilities.

    Raises:
        CheckpointError: a folder is not a checkpoint that this version can use, or the checkpoints'
            vocabularies differ.
        SettingsError: the device is not there, or lacks the precision.
    """
    runtime = RuntimeConfig(device=device, precision=precision)
    return load_checkpoints(checkpoints, search, runtime)


def load_checkpoint(
    checkpoint: Checkpoint, search: SearchConfig | None, runtime: RuntimeConfig
) -> Translator:
    """A translator from an open checkpoint. Raises CheckpointError or SettingsError."""
    device = runtime.found_device()
    precision = runtime.precision_on(device)
    try:
        settings = from_tree(checkpoint.settings, TrainSettings)
    except SettingsError as error:
        raise CheckpointError(
            f"{checkpoint.folder} has settings that do not fit: {error}"
        ) from None
    tokenizers = TokenizerPair.load(settings.tokenizer, checkpoint.tokenizer_folder)
    model = build_model(settings.model, tokenizers)
    checkpoint.load_weights(model)
    model = cast(Seq2Seq, precision.prepared(model.to(device).eval()))
    return Translator(model, tokenizers, search or settings.search, device, precision)


def load_checkpoints(
    folders: Sequence[str | Path], search: SearchConfig | None, runtime: RuntimeConfig
) -> Translator:
    """A translator from one checkpoint, or from several as one; the first one's search.

    Raises CheckpointError or SettingsError.
    """
    checkpoints = [Checkpoint.open(Path(one)) for one in folders]
    for one in checkpoints[1:]:
        if one.vocabulary_sums != checkpoints[0].vocabulary_sums:
            raise CheckpointError(
                f"{one.folder} has another vocabulary than {folders[0]}: they cannot work as one."
            )
    translators = [load_checkpoint(one, search, runtime) for one in checkpoints]
    if len(translators) > 1:
        models = [cast(Seq2Seq, one.model) for one in translators]
        translators[0].model = Ensemble(models).eval()
    return translators[0]


def about_checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    """What results tell about the checkpoint that they are of."""
    return {
        "checkpoint": str(checkpoint.folder),
        "step": checkpoint.state.step,
        "version": seq2seq.__version__,
    }
