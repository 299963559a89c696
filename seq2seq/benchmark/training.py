"""The benchmark of training: how fast, where the time goes, what the machine could do."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import torch
from tqdm import tqdm

from seq2seq.benchmark.machine import matrix_product_rate, peak_memory, timed
from seq2seq.benchmark.operations import OperationCounter
from seq2seq.benchmark.plain import plain_plan, plain_step
from seq2seq.benchmark.stages import Stages
from seq2seq.config import Count
from seq2seq.data.batching.base import Plan, epoch_generator
from seq2seq.data.store import pairs_by_epoch, stored
from seq2seq.data.vocabulary import Vocabulary, make_vocabulary
from seq2seq.errors import DataError, SettingsError
from seq2seq.experiment import TrainSettings, apply, outputs
from seq2seq.runtime import describe
from seq2seq.training.step import Stepper

PLAIN_STEPS = 5
"""Of the plain implementation in each repeat: it is slow."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkTrainSettings(TrainSettings):
    """What `benchmark_train` depends on: a training's settings and these.

    Attributes:
        num_steps: optimizer steps in each repeat, over the same batches.
        num_repeats: of which the median is told.
        compare_plain: whether the plain implementation is timed, too.
        run_dir: folder for `benchmark.json`; one that is there is replaced.
    """

    num_steps: Count = 30
    num_repeats: Count = 5
    compare_plain: bool = True

    def check(self) -> None:
        if self.resume is not None:
            raise SettingsError("resume", "has no effect on a benchmark: nothing is kept.")


@dataclass(frozen=True)
class Findings:
    """What the benchmark found; times are medians over repeats.

    Attributes:
        machine: device, torch, threads.
        num_parameters: of the model.
        tokens_per_second: real target tokens, EOS counted, padding not; of whole steps.
        tokens_per_step: the same tokens, of a step on average.
        slowest: of the repeats, in the same unit.
        fastest: of the repeats, in the same unit.
        matrix_product_rate: of the machine, in operations a second: fp32, 2048 x 2048.
        operations_per_token: multiplications and additions in matrix products, forward and
            backward, for each real target token; those on padding are among them.
        utilisation: operations a second over `matrix_product_rate`.
        real_source: share of source positions that are no padding.
        real_target: share of target positions that are no padding.
        peak_memory: bytes, of a GPU or else of the process; None where the system does not tell.
        stages: milliseconds a step by stage, measured on a pass of their own.
        plain_tokens_per_second: of the plain implementation, or None.
    """

    machine: str
    precision: str
    num_parameters: int
    tokens_per_second: float
    tokens_per_step: float
    slowest: float
    fastest: float
    matrix_product_rate: float
    operations_per_token: float
    utilisation: float
    real_source: float
    real_target: float
    peak_memory: int | None
    stages: dict[str, float]
    plain_tokens_per_second: float | None


def benchmark_train(settings: BenchmarkTrainSettings) -> int:
    """Times training steps of a configuration, prints a table and writes a JSON file."""
    device = settings.runtime.start()
    output = Path(settings.run_dir) / "benchmark.json"
    outputs.make_folder(output.parent)
    outputs.check_writable(output)
    bench = _Bench(settings, device)
    found = bench.run()
    outputs.write_lines(output, json.dumps(asdict(found), indent=2).splitlines())
    print(_table(found, settings.num_steps, settings.num_repeats))
    print(f"the same as JSON is in {output}", file=sys.stderr)
    return 0


class _Bench:
    """A model, its batches, and what is done with them."""

    def __init__(self, settings: BenchmarkTrainSettings, device: torch.device) -> None:
        self.settings, self.device = settings, device
        self.precision = settings.runtime.precision_on(device, to_train=True)
        pairs = settings.cleaning.clean(settings.data.pairs("train"))
        with TemporaryDirectory() as name:
            make_vocabulary(settings.tokenizer, pairs, Path(name))
            vocabulary = Vocabulary.load(settings.tokenizer, Path(name))
            encoded = stored(pairs, vocabulary)
        tokenizers = vocabulary.tokenizers
        self.pairs = pairs_by_epoch(pairs, encoded, tokenizers, settings.runtime.seed)(0)
        self.model = apply.build_model(settings.model, tokenizers).to(device).train()
        self.stepper = Stepper(
            self.model,
            settings.objective,
            settings.optimizer.build(self.model.parameters()),
            settings.schedule,
            settings.training.max_gradient_norm,
            precision=self.precision,
        )
        plan = settings.batching.plan(
            self.pairs.lengths, epoch_generator(settings.runtime.seed, epoch=0)
        )
        size = settings.training.accumulation
        groups = [plan[at : at + size] for at in range(0, len(plan), size)]
        if len(groups) < settings.num_steps:
            raise DataError(
                f"{pairs.origin}: an epoch has {len(groups)} steps. Lower num_steps to that."
            )
        self.groups = groups[: settings.num_steps]
        self.shown = [index for group in self.groups for batch in group for index in batch]
        self.num_tokens = self.pairs.num_tokens(self.shown)
        sentences_per_batch = len(self.shown) // sum(map(len, self.groups))
        self.plain_batches = plain_plan(len(self.pairs), sentences_per_batch, seed=0)[:PLAIN_STEPS]

    def run(self) -> Findings:
        settings, device = self.settings, self.device
        total = settings.num_repeats * (2 if settings.compare_plain else 1) + 3
        with tqdm(total=total, desc="benchmark", leave=False, disable=None) as bar:

            def told(seconds: float) -> float:
                bar.update()
                return seconds

            told(timed(self._steps, device))  # to warm up
            speeds, rates, plain = [], [], []
            for _ in range(settings.num_repeats):
                rates.append(matrix_product_rate(device, self.precision.dtype))
                speeds.append(self.num_tokens / told(timed(self._steps, device)))
            memory = peak_memory(device)
            stages = Stages(device)
            told(timed(lambda: self._steps(stages), device))
            with OperationCounter() as counter:
                told(timed(self._steps, device))
            for _ in range(settings.num_repeats if settings.compare_plain else 0):
                plain.append(self._plain_tokens / told(timed(self._plain_steps, device)))
        speed, rate = median(speeds), median(rates)
        per_token = counter.total / self.num_tokens
        real_source, real_target = self._real_shares()
        return Findings(
            machine=describe(device, self.precision),
            precision=self.precision.name,
            num_parameters=self.model.num_parameters,
            tokens_per_second=speed,
            tokens_per_step=self.num_tokens / settings.num_steps,
            slowest=min(speeds),
            fastest=max(speeds),
            matrix_product_rate=rate,
            operations_per_token=per_token,
            utilisation=speed * per_token / rate,
            real_source=real_source,
            real_target=real_target,
            peak_memory=memory,
            stages={
                stage: 1000 * seconds / settings.num_steps
                for stage, seconds in stages.seconds.items()
            },
            plain_tokens_per_second=median(plain) if plain else None,
        )

    def _steps(self, stages: Stages | None = None) -> None:
        """All steps of a repeat."""
        if stages:
            with stages.watching(self.stepper):
                for step, group in enumerate(self.groups):
                    stages.start()
                    batches = [self.pairs.batch(indices).to(self.device) for indices in group]
                    stages.end("data")
                    self.stepper(batches, self._tokens_of(group), step, progress=0.0)
            return
        for step, group in enumerate(self.groups):
            batches = [self.pairs.batch(indices).to(self.device) for indices in group]
            self.stepper(batches, self._tokens_of(group), step, progress=0.0)

    def _tokens_of(self, group: Plan) -> int:
        return sum(map(self.pairs.num_tokens, group))

    @property
    def _plain_tokens(self) -> int:
        return sum(map(self.pairs.num_tokens, self.plain_batches))

    def _plain_steps(self) -> None:
        for indices in self.plain_batches:
            plain_step(
                self.model,
                self.stepper.optimizer,
                self.pairs.batch(indices).to(self.device),
                label_smoothing=0.1,
                max_gradient_norm=self.stepper.max_gradient_norm,
                precision=self.precision,
            )

    def _real_shares(self) -> tuple[float, float]:
        """The shares of positions that are no padding, on both sides."""
        batches = [self.pairs.batch(indices) for group in self.groups for indices in group]
        masks = [(one.source_mask, one.target_mask) for one in batches]
        source, target = (
            sum(int(mask.sum()) for mask in side) / sum(mask.numel() for mask in side)
            for side in zip(*masks, strict=True)
        )
        return source, target


def _table(found: Findings, num_steps: int, num_repeats: int) -> str:
    """The findings for people."""
    memory = "unknown" if found.peak_memory is None else f"{found.peak_memory / 1e9:.2f} GB at most"
    operations = found.operations_per_token * found.tokens_per_second
    lines = [
        f"machine    {found.machine}",
        f"           {found.matrix_product_rate / 1e9:,.0f} GFLOP/s in large {found.precision} "
        "matrix products",
        f"model      {found.num_parameters:,} parameters",
        f"speed      {found.tokens_per_second:,.0f} target tokens/s "
        f"(median of {num_repeats} x {num_steps} steps; "
        f"{found.slowest:,.0f} to {found.fastest:,.0f})",
        f"work       {found.operations_per_token / 1e6:.1f} MFLOP/token in matrix products: "
        f"{operations / 1e9:,.0f} GFLOP/s, {found.utilisation:.0%} of the machine's",
        f"padding    {1 - found.real_source:.1%} of source positions, "
        f"{1 - found.real_target:.1%} of target positions",
        f"memory     {memory}",
    ]
    if found.plain_tokens_per_second is not None:
        ratio = found.tokens_per_second / found.plain_tokens_per_second
        lines.append(
            f"plain      {found.plain_tokens_per_second:,.0f} target tokens/s, as a tutorial "
            f"writes it; this: {ratio:.1f} times that"
        )
    whole = sum(found.stages.values())
    lines += ["", f"{'stage':<24}{'ms a step':>10}{'share':>8}"]
    lines += [f"{stage:<24}{ms:>10.1f}{ms / whole:>8.1%}" for stage, ms in found.stages.items()]
    return "\n".join([*lines, f"{'together':<24}{whole:>10.1f}"])
