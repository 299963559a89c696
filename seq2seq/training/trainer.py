"""The training loop."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

import torch

from seq2seq.data.batches import PairsOf
from seq2seq.data.batching.base import BatchingConfig, Plan, epoch_generator
from seq2seq.data.ragged import Ids
from seq2seq.errors import RunDiverged, RunError
from seq2seq.runtime import is_out_of_memory, seed_step
from seq2seq.training.config import TrainingConfig
from seq2seq.training.journal import Journal, duration
from seq2seq.training.keeper import Checkpoints, Keeper
from seq2seq.training.meter import Meter
from seq2seq.training.state import RunState
from seq2seq.training.step import Stepper, StepResult
from seq2seq.training.stop import StopRequest
from seq2seq.training.validation import Validator


class Trainer:
    """Trains a model until its budget is spent, patience runs out, or somebody asks it to stop."""

    def __init__(
        self,
        config: TrainingConfig,
        *,
        stepper: Stepper,
        batching: BatchingConfig,
        pairs: PairsOf,
        validator: Validator,
        state: RunState,
        journal: Journal,
        checkpoints: Checkpoints,
        seed: int,
        device: torch.device,
    ) -> None:
        self.config = config
        self.stepper = stepper
        self.optimizer = stepper.optimizer
        self.batching = batching
        self.pairs_of = pairs
        self.validator = validator
        self.state = state
        self.journal = journal
        self.processes = stepper.processes
        self.keeper = Keeper(config.keeping, state, checkpoints)
        self.seed = seed
        self.device = device
        self.meter = Meter()
        if state.scaler and stepper.scaler.is_enabled():
            stepper.scaler.load_state_dict(state.scaler)
        self.started = time.monotonic()
        self._open_epoch()
        if state.batch and state.batch >= len(self.plan):
            raise RunError(
                f"The run stands at batch {state.batch} of its epoch, but data and batching now "
                f"make {len(self.plan)} batches. Resume it with what it was started with."
            )
        # Not saved: a resumed run may have been given a new budget.
        self.is_finished = self._is_over()

    def run(self) -> int | None:
        """Trains. Returns the signal that stopped it, or None where it ended by itself."""
        self.started = time.monotonic() - self.state.seconds
        if self.state.history:
            self.journal.write_metrics(self.state.history)
        self.journal.open_bar()
        try:
            asked = 0
            with StopRequest() as request:
                for group in self._groups():
                    self._step(group)
                    self.state.advance(len(group), len(self.plan))
                    self._tell_time()
                    self._show()
                    if self._is_validation_due():
                        self._validate()
                    else:
                        self.keeper.after_step()
                    asked = int(self.processes.max(request.signal or 0)[0])
                    if self.is_finished or asked:
                        break
                if self.is_finished and self.state.best_score is None:
                    self._validate()  # a resumed run, its new budget spent before any validation
                self.keeper.save_last()
        finally:
            self.journal.close_bar()
        return asked or None

    def _tell_time(self) -> None:
        """All processes go by one clock, since budgets and rates depend on it."""
        (self.state.seconds,) = self.processes.max(time.monotonic() - self.started)

    def _groups(self) -> Iterator[Plan]:
        """The batches of each coming step, from where the run stands; ends when it is finished."""
        while not self.is_finished:
            epoch = self.state.epoch
            while self.state.epoch == epoch and not self.is_finished:
                yield self.plan[self.state.batch : self.state.batch + self.config.accumulation]
            self._open_epoch()

    def _open_epoch(self) -> None:
        """The pairs of the epoch under way and its batches, in their order."""
        self.pairs = self.pairs_of(self.state.epoch)
        generator = epoch_generator(self.seed, self.state.epoch)
        self.plan = self.batching.plan(self.pairs.lengths, generator)

    def _progress(self) -> float:
        """The share of the budget that is used, by the budget that is spent first."""
        state, config = self.state, self.config
        shares = [0.0]
        if config.max_epochs is not None:
            shares.append((state.epoch + state.batch / len(self.plan)) / config.max_epochs)
        if config.max_steps is not None:
            shares.append(state.step / config.max_steps)
        if config.max_minutes is not None:
            shares.append(state.seconds / (60 * config.max_minutes))
        return min(1.0, max(shares))

    def _is_over(self) -> bool:
        """Whether the budget is spent or patience has run out."""
        patience = self.config.patience
        is_stuck = patience is not None and self.state.num_without_gain >= patience
        return is_stuck or self._progress() >= 1.0

    def _step(self, group: Plan) -> None:
        """One optimizer step over the batches of a group."""
        began = time.monotonic()
        num_tokens = sum(map(self.pairs.num_tokens, group))
        seed_step(self.seed, self.state.step, self.processes.rank)
        done = self._stepped([self.processes.share(one) for one in group], num_tokens)
        if not done.is_finite:
            self._pass_over(group, done.learning_rate)
            return
        self.state.nll += done.nll
        self.state.num_tokens += num_tokens
        self.meter.add(done.nll, num_tokens, time.monotonic() - began)

    def _stepped(self, group: Sequence[Ids], num_tokens: int) -> StepResult:
        """The step, its batches halved as often as memory does not suffice."""
        progress = self._progress()
        while (nll := self._gradients(group, num_tokens, progress)) is None:
            group = [half for one in group for half in (one[::2], one[1::2])]
        done = self.stepper.move(nll, self.state.step, progress)
        self.state.scaler = self.stepper.scaler.state_dict()
        return done

    def _gradients(self, group: Sequence[Ids], num_tokens: int, progress: float) -> float | None:
        """The stepper's gradients of some batches; None where memory does not suffice."""
        try:
            batches = [
                self.pairs.batch(indices).to(self.device) for indices in group if len(indices)
            ]
            return self.stepper.gradients(batches, num_tokens, progress)
        except (RuntimeError, MemoryError) as error:
            most = max(map(len, group))
            if most == 1 or not is_out_of_memory(error):
                raise
        self.stepper.forget()
        self.journal.say(
            f"Out of memory at step {self.state.step + 1}, with {most} sentences at a time: it is "
            f"tried again with {(most + 1) // 2}."
        )
        return None

    def _pass_over(self, group: Plan, learning_rate: float) -> None:
        """Passes over a step that is not finite. Raises RunError where there were too many."""
        lines = sorted(int(self.pairs.lines[index]) for indices in group for index in indices)
        problem = (
            f"The loss or its gradient is not finite at step {self.state.step + 1} (learning "
            f"rate {learning_rate:.2e}; lines {', '.join(map(str, lines[:5]))}"
            f"{', ...' if len(lines) > 5 else ''} of the training text)."
        )
        if self.state.num_skipped >= self.config.max_skipped_steps:
            raise RunDiverged(
                f"{problem} Earlier checkpoints are whole. Lower optimizer.learning_rate or "
                f"training.max_gradient_norm{self.stepper.precision.advice}."
            )
        self.state.num_skipped += 1
        self.journal.say(f"{problem} It is passed over.")

    def _is_validation_due(self) -> bool:
        """Whether the step just done ends an interval between validations, or the budget."""
        if self._is_over():
            self.is_finished = True
            return True
        if self.config.validate_every_steps is not None:
            return self.state.step % self.config.validate_every_steps == 0
        ends_epoch = self.state.batch == 0
        return ends_epoch and self.state.epoch % self.config.validate_every_epochs == 0

    def _validate(self) -> None:
        """Scores the model, keeps it if it is the best, and shows how it does."""
        share = self._progress()
        found = self.validator(lambda text: self.journal.progress(share, text))
        self._tell_time()
        state = self.state
        train_nll = state.nll / max(1, state.num_tokens)
        state.nll, state.num_tokens = 0.0, 0
        record = {
            "step": state.step,
            "epoch": round(state.epoch + state.batch / len(self.plan), 3),
            "seconds": round(state.seconds, 1),
            "learning_rate": self.optimizer.param_groups[0]["lr"],
            "train_nll": train_nll,
            "target_tokens_per_second": self.meter.tokens_per_second,
            "validation_perplexity": found.perplexity,
            "validation_bleu": found.bleu.value,
            "signature": found.bleu.signature,
        }
        if found.report:
            record["free_running"] = found.report.as_dict()
        is_best = state.note(record, found.bleu.value)
        self.is_finished = self._is_over()
        self.meter = Meter()
        self.keeper.after_validation(is_best=is_best)
        self.journal.write_metrics(state.history)
        self.journal.say(
            f"epoch {round(record['epoch'], 1):g}  step {state.step:,}  {duration(state.seconds)}  "
            f"train ppl {math.exp(min(train_nll, 700.0)):.2f}  valid ppl {found.perplexity:.2f}  "
            f"BLEU {found.bleu.value:.2f}{'  (best)' if is_best else ''}"
        )
        if found.report:
            self.journal.say(f"    {found.report}")
        for remark in found.remarks:
            self.journal.say(f"    {remark}")
        for source, reference, output in found.samples:
            self.journal.say(
                f"    source    {source}\n    reference {reference}\n    output    {output}\n"
            )

    def _show(self) -> None:
        """Moves the progress bar."""
        share = self._progress()
        left = self.state.seconds * (1 - share) / share if share else 0.0
        self.journal.progress(
            share,
            f"epoch {self.state.epoch + 1} loss {self.meter.recent_nll:.2f} "
            f"lr {self.optimizer.param_groups[0]['lr']:.1e} "
            f"{self.meter.tokens_per_second:,.0f} tok/s {duration(left)} left",
        )
