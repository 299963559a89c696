"""Commands on a checkpoint: load, evaluate, translate."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

import seq2seq
from seq2seq.config import from_tree
from seq2seq.data.text import decode, read_lines, read_parallel, split_lines
from seq2seq.errors import CheckpointError, DataError, RunError, SettingsError
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment.outputs import (
    check_writable,
    described,
    draw_attention,
    fresh_folder,
    make_folder,
    score_split,
    write_lines,
)
from seq2seq.experiment.settings import EvaluateSettings, TrainSettings, TranslateSettings
from seq2seq.models.seq2seq import Seq2Seq, Seq2SeqConfig
from seq2seq.runtime import PrecisionName, RuntimeConfig
from seq2seq.search.base import SearchConfig
from seq2seq.special_tokens import UNK
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
    device: Literal["auto", "cpu", "cuda"] = "auto",
    precision: PrecisionName = "fp32",
) -> Translator:
    """A translator from a checkpoint folder, with the checkpoint's own search unless one is given.

    Raises:
        CheckpointError: the folder is not a checkpoint that this version can use.
        SettingsError: the device is not there, or lacks the precision.
    """
    runtime = RuntimeConfig(device=device, precision=precision)
    return load_checkpoint(Checkpoint.open(Path(checkpoint)), search, runtime)


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
    model.to(device).eval()
    return Translator(model, tokenizers, search or settings.search, device, precision)


def evaluate(settings: EvaluateSettings) -> int:
    """Scores a checkpoint on a split or on files, and writes translations and results."""
    checkpoint = Checkpoint.open(Path(settings.checkpoint))
    if settings.source is not None and settings.target is not None:
        pairs = read_parallel(Path(settings.source), Path(settings.target))
        name = Path(settings.source).name
    else:
        name = settings.split or "test"
        pairs = settings.data.read(settings.split or "test")
    settings.runtime.start()
    translator = load_checkpoint(checkpoint, settings.search, settings.runtime)
    beside = fresh_folder(checkpoint.folder.with_name(f"{checkpoint.folder.name}-{name}"))
    folder = Path(settings.output_dir) if settings.output_dir else beside
    scores = score_split(
        translator,
        pairs,
        folder,
        lowercase=settings.lowercase_scores,
        about=about_checkpoint(checkpoint),
    )
    for score in scores:
        print(score)
    print(f"  search: {described(settings.search)}{translator.precision.remark}")
    print(f"translations and results.json are in {folder}", file=sys.stderr)
    return 0


def about_checkpoint(checkpoint: Checkpoint) -> dict[str, Any]:
    """What results tell about the checkpoint that they are of."""
    return {
        "checkpoint": str(checkpoint.folder),
        "step": checkpoint.state.step,
        "version": seq2seq.__version__,
    }


def _is_one_file(one: str, other: str) -> bool:
    return Path(one).is_file() and Path(other).is_file() and Path(one).samefile(other)


def _is_input(path: Path) -> bool:
    """Whether a path is the file that the standard input comes from."""
    try:
        return path.is_file() and os.path.samestat(path.stat(), os.fstat(sys.stdin.fileno()))
    except OSError:  # it comes from no file
        return False


def translate(settings: TranslateSettings) -> int:
    """Translates lines: as many come out as go in, in their order."""
    checkpoint = Checkpoint.open(Path(settings.checkpoint))
    if not settings.output and getattr(sys.stdout, "name", None) == os.devnull:
        raise RunError("The standard output is closed. Give output=FILE.")
    if settings.output:
        check_writable(Path(settings.output))
        if settings.input and _is_one_file(settings.input, settings.output):
            raise SettingsError("output", "is the input file itself. Choose another name.")
    if settings.input:
        sentences = read_lines(Path(settings.input))
    elif sys.stdin is not None:
        if settings.output and _is_input(Path(settings.output)):
            raise SettingsError("output", "is the file that is read. Choose another name.")
        if sys.stdin.isatty():
            print("Type sentences, one a line; end with Ctrl-D.", file=sys.stderr)
        sentences = split_lines(decode(sys.stdin.buffer.read(), "standard input"))
    else:
        raise DataError("The standard input is closed. Give input=FILE.")
    settings.runtime.start()
    translator = load_checkpoint(checkpoint, settings.search, settings.runtime)
    if settings.heatmaps:
        translator.check_attends()
        make_folder(Path(settings.heatmaps))
    sources = translator.encode(sentences)
    if unknown := sum(UNK in one for one in sources):
        print(
            f"{unknown:,} of {len(sources):,} lines hold what the model's vocabulary does not: "
            "it reads <unk> there",
            file=sys.stderr,
        )
    with tqdm(total=len(sentences), unit=" lines", desc="translating", disable=None) as bar:
        found = translator.hypotheses(sources, bar.update)
    translations = translator.texts(found)
    if settings.output:
        write_lines(Path(settings.output), translations)
    else:
        sys.stdout.writelines(line + "\n" for line in translations)
    if settings.heatmaps:
        num_pictures = draw_attention(translator, sources, found, Path(settings.heatmaps))
        print(f"{num_pictures} attention pictures are in {settings.heatmaps}", file=sys.stderr)
    return 0
