"""Judges attention as a word alignment, on the embedded corpus, which knows the true one."""

from __future__ import annotations

from pathlib import Path

from tqdm import tqdm

from seq2seq.data.embedded import PhrasebookConfig
from seq2seq.errors import DataError
from seq2seq.evaluation.alignment import alignment_error_rate, peaks
from seq2seq.experiment.apply import load_checkpoint
from seq2seq.experiment.settings import AlignSettings
from seq2seq.training.checkpoint import Checkpoint


def align(settings: AlignSettings) -> int:
    """Prints the alignment error rate of a checkpoint's attention over a split."""
    if not isinstance(settings.data, PhrasebookConfig):
        raise DataError("Only data=phrasebook has a gold alignment to compare with.")
    settings.runtime.start()
    translator = load_checkpoint(Checkpoint.open(Path(settings.checkpoint)), None, settings.runtime)
    translator.check_attends()
    source, target = translator.tokenizers.source, translator.tokenizers.target
    found_and_gold = []
    for pair in tqdm(
        settings.data.phrases(settings.split), unit=" pairs", leave=False, disable=None
    ):
        source_ids, target_ids = source.encode(pair.source_text), target.encode(pair.target_text)
        if (len(source_ids), len(target_ids)) != (len(pair.source), len(pair.target)):
            raise DataError(
                "The gold alignment is between words, but this checkpoint's tokenizer cuts "
                f"{pair.source_text!r} or its translation otherwise. Train with tokenizer=word."
            )
        weights = translator.attention(source_ids, target_ids)[:-1]  # EOS aligns to nothing
        found_and_gold.append((peaks(weights), pair.alignment))
    rate = alignment_error_rate(found_and_gold)
    print(f"alignment error rate {rate:.4f} (0: all links right, 1: none)")
    return 0
