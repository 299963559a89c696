"""The benchmark of decoding: sentences and tokens a second, greedily and with a beam."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Literal

import torch
from tqdm import tqdm

from seq2seq.benchmark.ctranslate2 import Decode, ctranslate2_decoder
from seq2seq.benchmark.machine import peak_memory, timed
from seq2seq.config import Config, Count
from seq2seq.data.base import DataConfig
from seq2seq.evaluation.metrics import bleu
from seq2seq.evaluation.translator import Translator
from seq2seq.experiment import apply, outputs
from seq2seq.runtime import RuntimeConfig, describe
from seq2seq.search.base import SearchConfig
from seq2seq.search.beam import BeamConfig
from seq2seq.search.greedy import GreedyConfig
from seq2seq.training.checkpoint import Checkpoint


@dataclass(frozen=True, kw_only=True)
class BenchmarkDecodeSettings(Config):
    """What `benchmark_decode` depends on; data are the checkpoint's unless overridden.

    Attributes:
        checkpoint: its folder.
        split: whose sources are translated.
        beam_size: of the beam.
        batch_size: sentences decoded at once.
        num_repeats: of which the median is told.
        ctranslate2: times CTranslate2 beside it, with the same weights (of a Transformer).
        output: file for the findings as JSON; one that is there is replaced.
        lowercase_scores: BLEU folds case.
    """

    checkpoint: str
    split: Literal["train", "validation", "test"] = "test"
    beam_size: Count = 5
    batch_size: Count = 64
    num_repeats: Count = 5
    ctranslate2: bool = False
    output: str = "runs/benchmark_decode.json"
    lowercase_scores: bool = False
    data: DataConfig
    runtime: RuntimeConfig


@dataclass(frozen=True)
class DecodingSpeed:
    """What was found of one search; loading and tokenizing are not in it.

    Attributes:
        search: its name.
        sentences_per_second: median over repeats.
        slowest: of the repeats.
        fastest: of the repeats.
        tokens_per_second: of the translations, each with an EOS; median.
        bleu: of the translations.
    """

    search: str
    sentences_per_second: float
    slowest: float
    fastest: float
    tokens_per_second: float
    bleu: float


def benchmark_decode(settings: BenchmarkDecodeSettings) -> int:
    """Times greedy and beam search of a checkpoint; prints a table and writes a JSON file."""
    output = Path(settings.output)
    outputs.make_folder(output.parent)
    outputs.check_writable(output)
    checkpoint = Checkpoint.open(Path(settings.checkpoint))
    pairs = settings.data.read(settings.split)
    device = settings.runtime.start()
    searches: dict[str, SearchConfig] = {
        "greedy": GreedyConfig(batch_size=settings.batch_size),
        f"beam {settings.beam_size}": BeamConfig(
            beam_size=settings.beam_size, batch_size=settings.batch_size
        ),
    }
    found = []
    with ExitStack() as stack:
        num_searches = len(searches) * (2 if settings.ctranslate2 else 1)
        total = num_searches * (settings.num_repeats + 1)
        bar = stack.enter_context(tqdm(total=total, desc="benchmark", disable=None))
        for name, search in searches.items():
            translator = apply.load_checkpoint(checkpoint, search, settings.runtime)
            sources = translator.encode(pairs.source)
            decoders: dict[str, Decode] = {name: partial(_decoded, translator)}
            if settings.ctranslate2:
                decoders[f"CTranslate2, {name}"] = ctranslate2_decoder(
                    translator,
                    Path(stack.enter_context(TemporaryDirectory())),
                    beam_size=getattr(search, "beam_size", 1),
                    num_threads=torch.get_num_threads(),
                )
            # One after the other in each round, since a machine is faster at one time than another.
            seconds: dict[str, list[float]] = {one: [] for one in decoders}
            for _ in range(settings.num_repeats + 1):  # the first one warms up
                for one, decode in decoders.items():
                    seconds[one].append(timed(partial(decode, sources), device))
                    bar.update()
            for one, decode in decoders.items():
                ids = decode(sources)
                texts = [translator.tokenizers.target.decode(each) for each in ids]
                score = bleu(texts, pairs.target, lowercase=settings.lowercase_scores).value
                found.append(_speed(one, seconds[one][1:], ids, score))
    memory = peak_memory(device)
    machine = describe(device, translator.precision)
    lines = [
        f"machine    {machine}",
        f"text       {pairs.origin}, {len(pairs):,} sentences, {settings.batch_size} at a time",
        f"{'':20} {'sentences/s':>12} {'(range)':>16} {'tokens/s':>10} {'BLEU':>7}",
    ]
    lines += [
        f"{one.search:20} {one.sentences_per_second:12,.0f} "
        f"{f'{one.slowest:,.0f} to {one.fastest:,.0f}':>16} {one.tokens_per_second:10,.0f} "
        f"{one.bleu:7.2f}"
        for one in found
    ]
    lines.append(f"memory     {f'{memory / 1e9:.2f} GB at most' if memory else 'unknown'}")
    print("\n".join(lines))
    about = {"machine": machine, "text": pairs.origin, "peak_memory": memory}
    tree = {**about, "searches": [asdict(one) for one in found]}
    outputs.write_lines(output, json.dumps(tree, indent=2).splitlines())
    print(f"the same as JSON is in {output}", file=sys.stderr)
    return 0


def _decoded(translator: Translator, sources: Sequence[Sequence[int]]) -> list[list[int]]:
    """The ids of our translations."""
    return [one.tokens if one else [] for one in translator.hypotheses(sources)]


def _speed(name: str, seconds: list[float], ids: list[list[int]], score: float) -> DecodingSpeed:
    speeds = [len(ids) / one for one in seconds]
    num_tokens = sum(len(one) + 1 for one in ids)
    per_second = num_tokens / median(seconds)
    return DecodingSpeed(name, median(speeds), min(speeds), max(speeds), per_second, score)
