"""The training loop: what a step is, when it validates and ends, and what it tells."""

from __future__ import annotations

import math
import os
import re
import signal
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest
import torch
from conftest import build_tiny_model

from seq2seq.data.batches import EncodedPairs
from seq2seq.data.batching.token_budget import TokenBudgetConfig
from seq2seq.data.ragged import Ragged
from seq2seq.errors import RunError, SettingsError
from seq2seq.evaluation.metrics import Score
from seq2seq.objectives.base import ObjectiveConfig
from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.optim.optimizers import AdamWConfig
from seq2seq.optim.schedules import ConstantSchedule, CosineSchedule, LinearSchedule
from seq2seq.runtime import Precision
from seq2seq.training import keeper
from seq2seq.training import trainer as module
from seq2seq.training.config import TrainingConfig
from seq2seq.training.journal import Journal
from seq2seq.training.keeper import Checkpoints, KeepingConfig
from seq2seq.training.state import RunState
from seq2seq.training.step import Stepper
from seq2seq.training.trainer import Trainer
from seq2seq.training.validation import Validation

SOURCE = [[5, 6], [7, 8, 9], [4], [10, 11, 12, 13], [6, 5], [9]]
TARGET = [[14, 15], [16], [17, 18, 19, 4], [5, 6, 7], [8], [9, 10, 11, 12]]
PAIRS = EncodedPairs.of(zip(range(11, 17), SOURCE, TARGET, strict=True))
CPU = torch.device("cpu")


@dataclass(frozen=True, kw_only=True)
class Spied(ObjectiveConfig):
    """Cross-entropy that calls `before` with the number of calls so far at each batch."""

    before: object = None
    calls: list = field(default_factory=list)

    def __post_init__(self) -> None:
        pass

    def __call__(self, model, batch, progress):
        factor = self.before(len(self.calls)) if self.before else 1.0
        self.calls.append(progress)
        loss = CrossEntropyConfig()(model, batch, progress)
        return replace(loss, total=loss.total * (1.0 if factor is None else factor))


class Scores:
    """A validator that finds the next of some BLEUs at each call, the last one ever after."""

    def __init__(self, *values: float, on_call=lambda: None) -> None:
        self.values = list(values) or [0.0]
        self.calls = 0
        self.on_call = on_call

    def __call__(self, tell) -> Validation:
        self.on_call()
        value = self.values[min(self.calls, len(self.values) - 1)]
        self.calls += 1
        return Validation(2.0, Score("BLEU", value, ""), [])


class Noted(Checkpoints):
    """Writes nothing, but notes what was saved at which step, and what is there."""

    def __init__(self, bench) -> None:
        self.bench = bench
        self.of_steps: set[str] = set()

    def save(self, name: str) -> None:
        self.bench.saved.append((name, self.bench.trainer.state.step))
        self.of_steps |= {name} - {"best", "last"}

    def keep(self, names: set[str]) -> None:
        self.of_steps &= names


class Bench:
    """A trainer of the tiny model on `PAIRS`, one batch a pair, and what it saved."""

    def __init__(self, folder, config: TrainingConfig, **parts) -> None:
        self.saved: list[tuple[str, int]] = []
        model = parts.pop("model", None) or build_tiny_model()
        stepper = Stepper(
            model,
            parts.pop("objective", CrossEntropyConfig()),
            parts.pop("optimizer", None)
            or AdamWConfig(learning_rate=0.001).build(model.parameters()),
            parts.pop("schedule", ConstantSchedule()),
            config.max_gradient_norm,
            precision=parts.pop("precision", Precision()),
        )
        chosen = {
            "stepper": stepper,
            "batching": TokenBudgetConfig(max_sentences=1),
            "pairs": lambda epoch: PAIRS,
            "validator": Scores(),
            "state": RunState(),
            "journal": Journal(folder),
            "checkpoints": Noted(self),
            "seed": 1,
            "device": CPU,
            **parts,
        }
        self.trainer = Trainer(config, **chosen)
        self.state = self.trainer.state
        self.model = model

    def run(self) -> int | None:
        return self.trainer.run()

    @property
    def validated_at(self) -> list[int]:
        return [record["step"] for record in self.state.history]


@pytest.fixture
def bench(tmp_path):
    def make(parts=None, **config) -> Bench:
        return Bench(tmp_path, TrainingConfig(**{"max_epochs": None, **config}), **(parts or {}))

    return make


@pytest.fixture
def clock(monkeypatch):
    """The trainer's clock, which stands still unless a test moves it."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


# What a step is


def test_each_epoch_has_its_own_pairs(bench):
    seen = []

    def pairs_of(epoch):
        seen.append(epoch)
        return replace(PAIRS, target=Ragged.of([[4 + epoch]] * 6))

    def before(call):
        assert before.bench.trainer.pairs.target[0].tolist() == [4 + call // 6]

    before.bench = bench({"pairs": pairs_of, "objective": Spied(before=before)}, max_epochs=3)
    before.bench.run()
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("max_gradient_norm", [None, 0.05])
def test_accumulated_batches_make_the_step_of_one_big_batch(bench, optimizer, max_gradient_norm):
    found = []
    for max_sentences, accumulation in ((6, 1), (2, 3), (1, 6)):
        torch.manual_seed(0)
        model = build_tiny_model().double()
        chosen = optimizer(model.parameters(), lr=0.1)
        gradients = []
        chosen.register_step_pre_hook(
            lambda *_, model=model, gradients=gradients: gradients.extend(
                one.grad.clone() for one in model.parameters()
            )
        )
        batching = TokenBudgetConfig(max_sentences=max_sentences)
        parts = {"model": model, "optimizer": chosen, "batching": batching}
        one = bench(
            parts, max_steps=1, accumulation=accumulation, max_gradient_norm=max_gradient_norm
        )
        one.run()
        assert (one.state.epoch, one.state.batch) == (1, 0)
        found.append((gradients, list(model.parameters())))
    (gradients, weights), *others = found
    for other_gradients, other_weights in others:
        for one, other in zip(
            (*gradients, *weights), (*other_gradients, *other_weights), strict=True
        ):
            torch.testing.assert_close(other, one, rtol=0, atol=1e-9)
    norm = torch.stack([one.norm() for one in gradients]).norm()
    assert norm > 0.05 if max_gradient_norm is None else norm == pytest.approx(0.05, rel=1e-4)


def test_the_loss_is_a_mean_over_real_tokens(bench):
    model = build_tiny_model().double()
    big = PAIRS.batch(range(6))
    loss = CrossEntropyConfig()(model, big, 0)
    expected = torch.autograd.grad(loss.total / big.num_tokens, list(model.parameters()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    seen = []
    optimizer.register_step_pre_hook(lambda *_: seen.extend(p.grad for p in model.parameters()))
    parts = {"model": model, "optimizer": optimizer, "batching": TokenBudgetConfig()}
    bench(parts, max_steps=1, max_gradient_norm=None).run()
    assert big.num_tokens == sum(len(target) + 1 for target in PAIRS.target)
    for one, other in zip(seen, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("schedule", "budget"),
    [
        (LinearSchedule(warmup_steps=3, final_factor=0.1), {"max_steps": 8}),
        (CosineSchedule(), {"max_epochs": 2}),
        (CosineSchedule(warmup_steps=2), {"max_epochs": 100, "max_steps": 9}),
    ],
)
def test_the_learning_rate_follows_the_schedule(bench, schedule, budget):
    model = build_tiny_model()
    groups = [{"params": [one], "lr": 0.1 * (1 + index % 2)} for index, one in
              enumerate(model.parameters())]  # fmt: skip
    optimizer = torch.optim.SGD(groups)
    rates = []
    optimizer.register_step_pre_hook(lambda chosen, *_: rates.append(
        [group["lr"] for group in chosen.param_groups][:2]))  # fmt: skip
    bench({"model": model, "optimizer": optimizer, "schedule": schedule}, **budget).run()
    num_steps = budget.get("max_steps") or budget["max_epochs"] * len(PAIRS)
    assert len(rates) == num_steps
    for step, (rate, double) in enumerate(rates):
        assert rate == pytest.approx(0.1 * schedule.factor(step, step / num_steps))
        assert double == pytest.approx(2 * rate)


def test_a_loss_that_is_not_finite_stops_the_run_and_takes_no_step(bench):
    handler = signal.getsignal(signal.SIGTERM)
    weights = []

    def before(step):
        if step == 2:
            weights.extend(one.detach().clone() for one in one_bench.model.parameters())
            return math.nan

    one_bench = bench({"objective": Spied(before=before)}, max_steps=5)
    closed = []
    one_bench.trainer.journal.close_bar = lambda: closed.append(True)
    with pytest.raises(RunError) as failed:
        one_bench.run()
    message = str(failed.value)
    assert re.search(r"not finite at step 3 \(learning rate 1.00e-03; lines 1[1-6] of", message)
    assert "Lower optimizer.learning_rate" in message
    assert len(message.splitlines()) == 1
    assert all(map(torch.equal, weights, one_bench.model.parameters()))
    assert one_bench.saved == [] and closed
    assert signal.getsignal(signal.SIGTERM) == handler


# When it validates and when it ends


@pytest.mark.parametrize(
    ("budget", "validated_at"),
    [
        ({"max_epochs": 3}, [6, 12, 18]),
        ({"max_epochs": 5, "validate_every_epochs": 2}, [12, 24, 30]),
        ({"max_steps": 10, "validate_every_steps": 3}, [3, 6, 9, 10]),
        ({"max_steps": 9, "validate_every_steps": 3}, [3, 6, 9]),
        ({"max_steps": 8}, [6, 8]),
        ({"max_steps": 4}, [4]),
        ({"max_epochs": 1, "max_steps": 100}, [6]),
        ({"max_epochs": 100, "max_steps": 7}, [6, 7]),
        ({"max_epochs": 2, "accumulation": 4}, [2, 4]),
        ({"max_steps": 1, "accumulation": 100}, [1]),
    ],
)
def test_budgets_and_validations_fall_on_their_steps(bench, budget, validated_at):
    one = bench(**budget)
    assert one.run() is None
    assert one.validated_at == validated_at
    assert one.state.step == validated_at[-1]
    assert one.trainer.is_finished
    assert one.saved[:2] == [("best", validated_at[0]), ("last", validated_at[0])]
    assert one.saved[-1] == ("last", validated_at[-1]) != one.saved[-2]


def test_a_budget_in_minutes_counts_validations(bench, clock):
    def pass_time(seconds):
        clock.now += seconds

    parts = {
        "objective": Spied(before=lambda step: pass_time(5)),
        "validator": Scores(on_call=lambda: pass_time(20)),
    }
    one = bench(parts, max_minutes=1, validate_every_steps=3)
    one.run()
    assert one.validated_at == [3, 6]  # 3 x 5 + 20 + 3 x 5 + 20 = 70
    assert one.state.seconds == 70
    assert [record["seconds"] for record in one.state.history] == [35, 70]


def test_patience_runs_out_after_validations_without_gain(bench):
    one = bench({"validator": Scores(1, 3, 2, 3, 9)}, max_epochs=10, patience=2)
    one.run()
    assert one.validated_at == [6, 12, 18, 24]  # an equal score is no gain
    assert (one.state.best_score, one.state.best_step) == (3, 12)
    assert [step for name, step in one.saved if name == "best"] == [6, 12]
    again = bench({"validator": Scores(1, 3, 2, 3, 9)}, max_epochs=10, patience=3)
    again.run()
    assert again.state.best_step == 30


def test_training_without_a_budget_is_refused():
    with pytest.raises(SettingsError, match="`max_epochs` is null like max_steps and max_minutes"):
        TrainingConfig(max_epochs=None)


def test_a_finished_run_ends_at_once_and_goes_on_with_a_larger_budget(bench):
    one = bench(max_steps=8)
    one.run()
    for budget, step in (({"max_steps": 8}, 8), ({"max_steps": 10}, 10), ({"max_epochs": 2}, 12)):
        one = bench({"model": one.model, "state": one.state}, **budget)
        one.run()
        assert one.state.step == step


def test_an_epoch_that_shrank_under_a_resumed_run_is_refused(bench):
    parts = {"state": RunState(step=5, batch=5), "batching": TokenBudgetConfig(max_sentences=2)}
    with pytest.raises(RunError, match=r"stands at batch 5 of its epoch, .* now make 3 batches"):
        bench(parts, max_steps=8).run()


# Stopping


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_after_its_step(bench, number):
    handler = signal.getsignal(number)

    def before(step):
        if step == 3:
            os.kill(os.getpid(), number)

    one = bench({"objective": Spied(before=before)}, max_epochs=10)
    assert one.run() == number
    assert one.state.step == 4
    assert one.saved == [("last", 4)]
    assert not one.trainer.is_finished
    assert signal.getsignal(number) == handler


def test_a_second_interrupt_ends_the_run_at_once(bench):
    def before(step):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    one = bench({"objective": Spied(before=before)}, max_epochs=10)
    with pytest.raises(KeyboardInterrupt):
        one.run()
    assert one.state.step == 0


# What it tells


def test_tokens_per_second_count_real_tokens_with_eos_and_leave_validation_out(bench, clock):
    def pass_time(seconds):
        clock.now += seconds

    parts = {
        "batching": TokenBudgetConfig(),
        "objective": Spied(before=lambda step: pass_time(2)),
        "validator": Scores(on_call=lambda: pass_time(100)),
    }
    one = bench(parts, max_epochs=2)
    one.run()
    num_tokens = sum(len(target) + 1 for target in PAIRS.target)
    speeds = [record["target_tokens_per_second"] for record in one.state.history]
    assert speeds == [num_tokens / 2, num_tokens / 2]


def test_a_record_says_where_the_run_stood(bench):
    one = bench({"validator": Scores(3.5)}, max_steps=8)
    one.run()
    record = one.state.history[-1]
    assert (record["step"], record["epoch"]) == (8, pytest.approx(1 + 2 / 6, abs=1e-3))
    assert (record["validation_bleu"], record["validation_perplexity"]) == (3.5, 2.0)
    assert record["learning_rate"] == 0.001
    assert 0 < record["train_nll"] < 20


# What is kept


def test_the_best_and_the_last_validations_are_kept(bench):
    keeping = KeepingConfig(num_best=2, num_last=1)
    scores = Scores(1.0, 4.0, 3.0, 4.0, 2.0)
    there = []

    one_bench = bench({"validator": scores}, max_steps=5, validate_every_steps=1, keeping=keeping)
    checkpoints = one_bench.trainer.keeper.checkpoints
    keep = checkpoints.keep
    checkpoints.keep = lambda names: (keep(names), there.append(sorted(checkpoints.of_steps)))
    one_bench.run()
    assert there == [
        ["step-1"], ["step-1", "step-2"], ["step-2", "step-3"], ["step-2", "step-4"],
        ["step-2", "step-4", "step-5"],
    ]  # fmt: skip
    # Nothing is written that is not wanted.
    assert [one for one in one_bench.saved if one[0] == "best"] == [("best", 1), ("best", 2)]
    assert sum(name.startswith("step") for name, _ in one_bench.saved) == 5


def test_a_run_is_saved_after_so_many_steps_or_minutes(bench, monkeypatch):
    by_steps = bench(max_steps=7, validate_every_steps=4, keeping=KeepingConfig(every_steps=3))
    by_steps.run()
    assert [step for name, step in by_steps.saved if name == "last"] == [3, 4, 6, 7]

    now = 0.0
    monkeypatch.setattr(keeper, "time", SimpleNamespace(monotonic=lambda: now))

    def before(step):
        nonlocal now
        now += 25.0

    by_minutes = bench(
        {"objective": Spied(before=before)},
        max_steps=10, validate_every_steps=6, keeping=KeepingConfig(every_minutes=1),
    )  # fmt: skip
    by_minutes.run()
    assert [step for name, step in by_minutes.saved if name == "last"] == [3, 6, 9, 10]


def test_so_many_steps_that_are_not_finite_are_passed_over(bench):
    one_bench = bench(
        {"objective": Spied(before=lambda step: math.nan if step in (1, 3, 4) else 1.0)},
        max_steps=6,
        max_skipped_steps=2,
    )
    said = []
    one_bench.trainer.journal.say = said.append
    with pytest.raises(RunError, match="not finite at step 5 "):
        one_bench.run()
    assert [re.search(r"at step (\d)", one)[1] for one in said] == ["2", "4"]
    assert all("is passed over" in one for one in said)
    assert (one_bench.state.step, one_bench.state.num_skipped) == (4, 2)
    assert all(one.isfinite().all() for one in one_bench.model.parameters())


@dataclass(frozen=True, kw_only=True)
class Limited(ObjectiveConfig):
    """Cross-entropy with memory for so many sentences at a time, which notes what it is given."""

    most: int
    sizes: list = field(default_factory=list)

    def __post_init__(self) -> None:
        pass

    def __call__(self, model, batch, progress):
        self.sizes.append(len(batch.source))
        if len(batch.source) > self.most:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")
        return CrossEntropyConfig()(model, batch, progress)


@pytest.mark.usefixtures("double_precision")
def test_a_batch_that_is_too_large_for_the_memory_is_split(bench):
    """The step is the same: its gradient is that of the whole batch."""
    model = build_tiny_model().double().eval()
    weights, said = [], []
    for most in (6, 2):
        limited = Limited(most=most)
        parts = {"objective": limited, "model": deepcopy(model)}
        one_bench = bench({**parts, "batching": TokenBudgetConfig(max_sentences=6)}, max_steps=2)
        one_bench.trainer.journal.say = said.append
        one_bench.run()
        weights.append(list(one_bench.model.parameters()))
    assert limited.sizes == [6, 3, 2, 1, 2, 1, 6, 3, 2, 1, 2, 1]
    assert [one for one in said if one.startswith("Out of memory at step 1")] == [
        f"Out of memory at step 1, with {one} sentences at a time: it is tried again with {half}."
        for one, half in ((6, 3), (3, 2))
    ]
    for one, other in zip(*weights, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_one_sentence_that_is_too_large_ends_the_run(bench):
    def before(step):
        raise MemoryError

    with pytest.raises(MemoryError):
        bench({"objective": Spied(before=before)}, max_steps=1).run()


def test_memory_that_is_missing_behind_the_gradient_ends_the_run(bench):
    """What comes then cannot be done twice."""

    class Greedy(torch.optim.SGD):
        def step(self, closure=None):
            raise MemoryError

    model, spied = build_tiny_model(), Spied()
    parts = {"model": model, "optimizer": Greedy(model.parameters(), lr=0.1), "objective": spied}
    with pytest.raises(MemoryError):
        bench({**parts, "batching": TokenBudgetConfig(max_sentences=6)}, max_steps=1).run()
    assert len(spied.calls) == 1
