"""The training command: builds everything from settings, trains, and tests the best checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

import torch

from seq2seq.data.base import Pairs
from seq2seq.data.batches import EncodedPairs
from seq2seq.data.cleaning import Cleaned
from seq2seq.data.store import longest_of, pairs_by_epoch, stored
from seq2seq.data.text import ParallelText
from seq2seq.data.vocabulary import Vocabulary, make_vocabulary
from seq2seq.errors import DataError, UserError
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment.apply import build_model
from seq2seq.experiment.check_data import remarks_before_training, splits_of
from seq2seq.experiment.conclude import conclude
from seq2seq.experiment.outputs import (
    described,
    held,
    write_lines,
)
from seq2seq.experiment.run_checkpoints import RunCheckpoints
from seq2seq.experiment.run_folder import as_saved, changes_on_resume, check_free, run_folder
from seq2seq.experiment.settings import TrainSettings
from seq2seq.processes import ALONE, Processes
from seq2seq.runtime import describe
from seq2seq.special_tokens import UNK
from seq2seq.tokenizers.base import TokenizerConfig, TokenizerPair
from seq2seq.training.checkpoint import (
    SETTINGS_FILE,
    Checkpoint,
    save_settings,
)
from seq2seq.training.journal import Journal
from seq2seq.training.state import RunState
from seq2seq.training.step import Stepper
from seq2seq.training.trainer import Trainer
from seq2seq.training.validation import Validator


def train(settings: TrainSettings) -> int:
    """Trains, tests the best checkpoint, and leaves all results in the run folder.

    Returns:
        The exit code: 0, or 128 plus the signal that stopped it.
    """
    device = settings.runtime.start()
    _check_model(settings)
    processes = Processes.join(device)
    settings = replace(settings, run_dir=processes.agree(settings.run_dir))
    if not processes.is_first:
        return _train(settings, Path(settings.resume or settings.run_dir), device, processes)
    run_dir, is_new = run_folder(settings)
    try:
        with held(run_dir):
            check_free(settings, run_dir)
            return _train(settings, run_dir, device, processes)
    except UserError:
        if is_new:
            with suppress(OSError):  # it holds what was saved
                run_dir.rmdir()
        raise


def best_validation(settings: TrainSettings) -> float:
    """The highest BLEU on validation in a run that has ended; 0 without a validation."""
    return Checkpoint.open(Path(settings.run_dir) / "last").state.best_score or 0.0


def _train(
    settings: TrainSettings, run_dir: Path, device: torch.device, processes: Processes
) -> int:
    """`train` in a folder that is its own."""
    precision = settings.runtime.precision_on(device, to_train=True)
    checkpoint = Checkpoint.open(run_dir / "last") if settings.resume else None
    changes = changes_on_resume(settings, checkpoint) if checkpoint else []
    journal = Journal(run_dir, is_silent=not processes.is_first)
    journal.say(f"run       {run_dir}")
    several = f", {processes.size} processes" if processes.size > 1 else ""
    journal.say(f"machine   {describe(device, precision)}{several}")

    splits = splits_of(settings)
    pairs = splits["train"]
    if settings.check_data and processes.is_first:
        for remark in remarks_before_training(splits):
            journal.say(f"data      {remark}")
    validation = _in_memory(splits["validation"])
    test = _in_memory(splits["test"]) if "test" in splits else None
    with ExitStack() as stack:
        if checkpoint:
            vocabulary = Vocabulary.load(settings.tokenizer, checkpoint.tokenizer_folder)
        else:
            journal.say("data      making the vocabulary ...")
            folder = Path(stack.enter_context(TemporaryDirectory()))
            vocabulary = _new_vocabulary(settings.tokenizer, pairs, folder, processes)
        if processes.is_first_here:  # the others find what it has made
            encoded = stored(pairs, vocabulary)
        processes.wait()
        if not processes.is_first_here:
            encoded = stored(pairs, vocabulary)
    tokenizers = vocabulary.tokenizers
    if processes.agree(digest := pairs.digest()) != digest:
        raise DataError(f"{pairs.origin} is not the same for all processes.")
    if settings.cleaning.dropped and isinstance(pairs, Cleaned) and processes.is_first:
        dropped = (json.dumps(one, ensure_ascii=False) for one in pairs.dropped())
        write_lines(Path(settings.cleaning.dropped), dropped)
    model = build_model(settings.model, tokenizers).to(device)
    optimizer = settings.optimizer.build(model.parameters())
    if checkpoint:
        checkpoint.load_weights(model)
        checkpoint.load_optimizer(optimizer)
    state = checkpoint.state if checkpoint else RunState()
    translator = Translator(model, tokenizers, settings.search, device, precision)
    validator = Validator(
        validation,
        translator,
        settings.batching,
        lowercase=settings.lowercase_scores,
        num_samples=settings.training.num_samples,
        compare_greedy=settings.training.compare_greedy,
        processes=processes,
    )
    for line in _about(encoded, validation, tokenizers):
        journal.say(f"data      {line}")
    journal.say(f"model     {model.num_parameters:,} parameters")
    journal.say(f"search    {described(settings.search)}")

    tree = as_saved(replace(settings, run_dir=str(run_dir), resume=None))
    checkpoints = RunCheckpoints(run_dir, model, tokenizers, tree, state, optimizer, processes)
    trainer = Trainer(
        settings.training,
        stepper=Stepper(
            model,
            settings.objective,
            optimizer,
            settings.schedule,
            settings.training.max_gradient_norm,
            processes,
            precision,
        ),
        batching=settings.batching,
        pairs=pairs_by_epoch(pairs, encoded, tokenizers, settings.runtime.seed),
        validator=validator,
        state=state,
        journal=journal,
        checkpoints=checkpoints,
        seed=settings.runtime.seed,
        device=device,
    )
    longest = longest_of(pairs, tokenizers) if tokenizers.samples else encoded
    validator.rehearse(longest, test.source if test else ())
    if not checkpoint:
        checkpoints.save("last")  # so that a run killed early can go on, too
    if processes.is_first:
        save_settings(run_dir / SETTINGS_FILE, tree)
    if trainer.is_finished:
        journal.say("resume    nothing is left to train: raise the budget, training.max_epochs say")
    elif checkpoint:
        journal.say(f"resume    after step {state.step:,}")
    for change in changes:
        journal.say(f"resume    {change}")
    try:
        stopped_by = trainer.run()
    except KeyboardInterrupt:  # for the second time, so it ends here and now
        journal.say(f"stopped at step {state.step + 1:,}. From the last checkpoint, go on with:")
        journal.say(f"  python scripts/train.py resume={quote(str(run_dir))}")
        raise
    processes.leave()
    if stopped_by is not None:
        journal.say(f"stopped after step {state.step:,}; the run is saved. Go on with:")
        journal.say(f"  python scripts/train.py resume={quote(str(run_dir))}")
        return 128 + stopped_by
    if processes.is_first:
        validator.processes = ALONE
        conclude(settings, run_dir, translator, validator, test, journal)
    return 0


def _new_vocabulary(
    config: TokenizerConfig, pairs: Pairs, folder: Path, processes: Processes
) -> Vocabulary:
    """Tokenizers that the first process makes for all, in an empty folder of each."""
    if processes.is_first:
        make_vocabulary(config, pairs, folder)
    processes.wait()
    processes.copy(folder)
    return Vocabulary.load(config, folder)


def _check_model(settings: TrainSettings) -> None:
    """Raises SettingsError where the model's parts do not fit, before any data are read."""
    with torch.random.fork_rng(devices=[]):  # leaves the generator as it was
        settings.model.build(8, 8, is_joint=settings.tokenizer.joint)


def _in_memory(split: Pairs) -> ParallelText:
    """The pairs of a split. Raises DataError where there is not one with text on both sides."""
    pairs = split.as_text()
    if not any(
        source.strip() and target.strip()
        for source, target in zip(pairs.source, pairs.target, strict=True)
    ):
        raise DataError(f"{pairs.origin}: no pair has text on both sides.")
    return pairs


def _about(
    encoded: EncodedPairs, validation: ParallelText, tokenizers: TokenizerPair
) -> Iterator[str]:
    """What a person should know of the data before training starts."""
    yield f"{len(encoded):,} training and {len(validation):,} validation pairs"
    if dropped := sum(encoded.num_dropped.values()):
        total = dropped + encoded.num_left_out + len(encoded)
        reasons = ", ".join(f"{name} {count:,}" for name, count in encoded.num_dropped.items())
        yield f"cleaning drops {dropped:,} of {total:,} training pairs: {reasons}"
    if encoded.num_left_out:
        yield f"{encoded.num_left_out:,} training pairs are left out: a side has no text"
    sizes = tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size
    longest, with_end = encoded.lengths.max(axis=0).tolist()
    yield f"vocabulary {sizes[0]:,} -> {sizes[1]:,}; longest {longest} -> {with_end - 1} tokens"
    held_out = EncodedPairs.encode(validation, tokenizers)
    shares = [one.share_of(UNK) for one in (held_out.source, held_out.target)]
    yield f"unknown tokens in validation {shares[0]:.2%} -> {shares[1]:.2%}"
