"""Commands on a checkpoint: load, evaluate, translate."""

from __future__ import annotations

import sys
from pathlib import Path

from tqdm import tqdm

from seq2seq.config import from_tree
from seq2seq.data.text import decode, read_lines, read_parallel, split_lines
from seq2seq.errors import CheckpointError, SettingsError
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment.outputs import draw_attention, score_split, write_lines
from seq2seq.experiment.settings import EvaluateSettings, TrainSettings, TranslateSettings
from seq2seq.models.seq2seq import Seq2Seq, Seq2SeqConfig
from seq2seq.runtime import RuntimeConfig
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
    checkpoint: str | Path,
    *,
    search: SearchConfig | None = None,
    runtime: RuntimeConfig | None = None,
) -> Translator:
    """A translator from a checkpoint folder, with the checkpoint's own search unless one is given.

    Raises:
        CheckpointError: the folder is not a checkpoint that this version can use.
    """
    return load_checkpoint(Checkpoint.open(Path(checkpoint)), search, runtime)


def load_checkpoint(
    checkpoint: Checkpoint, search: SearchConfig | None, runtime: RuntimeConfig | None
) -> Translator:
    """A translator from an open checkpoint; null arguments mean the checkpoint's own settings."""
    try:
        settings = from_tree(checkpoint.settings, TrainSettings)
    except SettingsError as error:
        raise CheckpointError(
            f"{checkpoint.folder} has settings of another version: {error}"
        ) from None
    device = (runtime or settings.runtime).start()
    tokenizers = TokenizerPair.load(settings.tokenizer, checkpoint.tokenizer_folder)
    model = build_model(settings.model, tokenizers)
    checkpoint.load_weights(model)
    model.to(device).eval()
    return Translator(model, tokenizers, search or settings.search, device)


def evaluate(settings: EvaluateSettings) -> int:
    """Scores a checkpoint on a split or on files, and writes translations and results."""
    checkpoint = Checkpoint.open(Path(settings.checkpoint))
    if settings.source is not None and settings.target is not None:
        pairs = read_parallel(Path(settings.source), Path(settings.target))
        name = Path(settings.source).name
    else:
        pairs, name = settings.data.read(settings.split), settings.split
    translator = load_checkpoint(checkpoint, settings.search, settings.runtime)
    beside = checkpoint.folder.with_name(f"{checkpoint.folder.name}-{name}")
    folder = Path(settings.output_dir) if settings.output_dir else beside
    for score in score_split(translator, pairs, folder, settings.lowercase_scores):
        print(score)
    print(f"translations and results.json are in {folder}", file=sys.stderr)
    return 0


def translate(settings: TranslateSettings) -> int:
    """Translates lines: as many come out as go in, in their order."""
    checkpoint = Checkpoint.open(Path(settings.checkpoint))
    if settings.input:
        sentences = read_lines(Path(settings.input))
    else:
        sentences = split_lines(decode(sys.stdin.buffer.read(), "standard input"))
    translator = load_checkpoint(checkpoint, settings.search, settings.runtime)
    with tqdm(total=len(sentences), unit="line", desc="translating", disable=None) as bar:
        translations = translator.translate(sentences, bar.update)
    if settings.output:
        write_lines(Path(settings.output), translations)
    else:
        sys.stdout.writelines(line + "\n" for line in translations)
    if settings.heatmaps:
        pictures = draw_attention(translator, sentences, Path(settings.heatmaps))
        print(f"{len(pictures)} attention pictures are in {settings.heatmaps}", file=sys.stderr)
    return 0
