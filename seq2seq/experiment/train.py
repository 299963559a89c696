"""The training command: builds everything from settings, trains, and tests the best checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import torch

from seq2seq.config import TARGET, to_tree
from seq2seq.data.base import DataConfig, Split, without_blanks
from seq2seq.data.batches import EncodedPairs
from seq2seq.data.text import ParallelText
from seq2seq.errors import DataError, RunError, SettingsError
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment.apply import build_model
from seq2seq.experiment.outputs import draw_attention, make_folder, score_split
from seq2seq.experiment.settings import TrainSettings
from seq2seq.runtime import describe
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.training.checkpoint import (
    SETTINGS_FILE,
    Checkpoint,
    save_checkpoint,
    save_settings,
)
from seq2seq.training.journal import Journal, duration
from seq2seq.training.state import RunState
from seq2seq.training.trainer import Trainer
from seq2seq.training.validation import Validator


def train(settings: TrainSettings) -> int:
    """Trains, tests the best checkpoint, and leaves all results in the run folder.

    Returns:
        The exit code: 0, or 128 plus the signal that stopped it.
    """
    device = settings.runtime.start()
    _check_model(settings)
    run_dir = _run_folder(settings)
    journal = Journal(run_dir)
    checkpoint = Checkpoint.open(run_dir / "last") if settings.resume else None
    if checkpoint:
        _check_resumable(settings, checkpoint)
    journal.say(f"run       {run_dir}")
    journal.say(f"machine   {describe(device)}")

    pairs = _read_pairs(settings.data, "train", journal)
    validation = _read_pairs(settings.data, "validation", journal)
    if checkpoint:
        tokenizers = TokenizerPair.load(settings.tokenizer, checkpoint.tokenizer_folder)
    else:
        tokenizers = TokenizerPair.train(settings.tokenizer, pairs.source, pairs.target)
    model = build_model(settings.model, tokenizers).to(device)
    optimizer = settings.optimizer.build(model.parameters())
    if checkpoint:
        checkpoint.load_weights(model)
        checkpoint.load_training(optimizer)
    state = checkpoint.state if checkpoint else RunState()
    translator = Translator(model, tokenizers, settings.search, device)
    validator = Validator(
        validation,
        translator,
        settings.batching,
        lowercase=settings.lowercase_scores,
        num_samples=settings.training.num_samples,
    )
    encoded = EncodedPairs.encode(pairs, tokenizers)
    journal.say(
        f"data      {len(pairs):,} training and {len(validation):,} validation pairs; "
        f"vocabulary {tokenizers.source.vocabulary_size:,} -> "
        f"{tokenizers.target.vocabulary_size:,}"
    )
    journal.say(f"model     {model.num_parameters:,} parameters")

    tree = _to_file(replace(settings, run_dir=str(run_dir), resume=None))
    save_settings(run_dir / SETTINGS_FILE, tree)

    def save(name: str) -> None:
        save_checkpoint(
            run_dir / name,
            model=model,
            tokenizers=tokenizers,
            settings=tree,
            state=state,
            optimizer=optimizer if name == "last" else None,
        )

    trainer = Trainer(
        settings.training,
        model=model,
        objective=settings.objective,
        optimizer=optimizer,
        schedule=settings.schedule,
        batching=settings.batching,
        pairs=encoded,
        validator=validator,
        state=state,
        journal=journal,
        save=save,
        seed=settings.runtime.seed,
        device=device,
    )
    validator.rehearse()
    stopped_by = trainer.run()
    if stopped_by is not None:
        journal.say(f"stopped after step {state.step:,}; the run is saved. Go on with:")
        journal.say(f"  python scripts/train.py resume={quote(str(run_dir))}")
        return 128 + stopped_by
    _conclude(settings, run_dir, translator, validation, state, journal)
    return 0


def _check_model(settings: TrainSettings) -> None:
    """Raises SettingsError where the model's parts do not fit, before any data are read."""
    with torch.random.fork_rng(devices=[]):  # leaves the generator as it was
        settings.model.build(8, 8, is_joint=settings.tokenizer.joint)


def _run_folder(settings: TrainSettings) -> Path:
    """The run's folder, made if need be. Raises RunError where another run is there already."""
    run_dir = Path(settings.resume or settings.run_dir)
    if not settings.resume and (run_dir.exists() and any(run_dir.iterdir())):
        raise RunError(
            f"{run_dir} is not empty. Choose another run_dir, or go on with resume={run_dir}."
        )
    make_folder(run_dir)
    return run_dir


def _check_resumable(settings: TrainSettings, checkpoint: Checkpoint) -> None:
    """Raises SettingsError where a setting differs from the run's that its weights depend on."""
    new, old = _to_file(settings), checkpoint.settings
    for group in ("data", "tokenizer", "model"):
        for key in new[group]:
            is_place = (group, key) == ("data", "root")  # files may have moved
            if not is_place and new[group][key] != old[group].get(key):
                raise SettingsError(
                    f"{group}.{key}",
                    f"cannot change on resume: it was {old[group].get(key)!r}. Start a new run.",
                )


def _read_pairs(data: DataConfig, split: Split, journal: Journal) -> ParallelText:
    """The pairs of a split with text on both sides; says how many had not."""
    pairs, num_blank = without_blanks(data.read(split))
    if num_blank:
        journal.say(f"data      {num_blank:,} {split} pairs with a blank side are left out")
    if not pairs.source:
        raise DataError(f"The {split} split ({pairs.origin}) has no pair with text on both sides.")
    return pairs


def _to_file(settings: TrainSettings) -> dict[str, Any]:
    """Settings as a config file has them: the root's class is known to who reads it."""
    tree = to_tree(settings)
    del tree[TARGET]
    return tree


def _conclude(
    settings: TrainSettings,
    run_dir: Path,
    translator: Translator,
    validation: ParallelText,
    state: RunState,
    journal: Journal,
) -> None:
    """Tests the best checkpoint, draws its attention, and says where everything is."""
    best = Checkpoint.open(run_dir / "best")
    best.load_weights(translator.model)
    step = max(1, len(validation) // max(1, settings.training.num_samples))
    sentences = validation.source[::step][: settings.training.num_samples]
    pictures = draw_attention(translator, sentences, run_dir / "attention")
    journal.say(
        f"\ntrained {state.step:,} steps in {duration(state.seconds)}; "
        f"best validation BLEU {state.best_score:.2f} at step {state.best_step:,}"
    )
    try:
        test = settings.data.read("test")
    except DataError as error:
        journal.say(f"no test: {error}")
    else:
        scores = score_split(translator, test, run_dir / "test", settings.lowercase_scores)
        for score in scores:
            print(f"test {score}")
        journal.say(f"test translations and scores   {run_dir / 'test'}")
    journal.say(f"checkpoints                    {run_dir / 'best'}, {run_dir / 'last'}")
    if pictures:
        journal.say(f"attention pictures             {run_dir / 'attention'}")
    journal.say(
        "translate with                 "
        f"python scripts/translate.py checkpoint={quote(str(run_dir / 'best'))} < INPUT > OUTPUT"
    )
