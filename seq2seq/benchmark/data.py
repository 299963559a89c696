"""The benchmark of data: how fast a corpus is encoded, beside the tokenizer alone."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy
import torch
from tqdm import tqdm

from seq2seq.benchmark.machine import peak_memory
from seq2seq.config import Config, Count
from seq2seq.data.aligned import AlignedFiles
from seq2seq.data.encoding import CHUNK
from seq2seq.data.store import stored
from seq2seq.data.text import lines_of
from seq2seq.data.vocabulary import Vocabulary, make_vocabulary
from seq2seq.experiment import outputs
from seq2seq.runtime import RuntimeConfig
from seq2seq.tokenizers.base import TokenizerConfig, TokenizerPair

NUM_WORDS, MOST_WORDS = 50_000, 30
"""Different words of the made-up languages, and the most in a sentence."""


MOST_SECONDS = 3600
"""That the other processes are waited for."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkDataSettings(Config):
    """What `benchmark_data` depends on.

    Attributes:
        num_pairs: of made-up sentences.
        num_repeats: of which the median is told.
        output: file for the findings as JSON; one that is there is replaced.
        text_dir: a folder in which the sentences are left, as `source` and `target`; null leaves
            nothing.
        tokenizer: what is timed.
    """

    num_pairs: Count = 500_000
    num_repeats: Count = 3
    output: str = "runs/benchmark_data.json"
    text_dir: str | None = None
    tokenizer: TokenizerConfig
    runtime: RuntimeConfig


@dataclass(frozen=True)
class DataSpeed:
    """What was found; medians over repeats, of which one follows the other.

    Attributes:
        num_pairs: that were encoded.
        num_cores: that both had.
        stored_per_second: pairs, from the files to the store.
        bare_per_second: pairs, from lists in memory to lists, a process on each core.
        warm_seconds: until the store is found again.
        peak_memory: of this process, in bytes; None: unknown.
    """

    num_pairs: int
    num_cores: int
    stored_per_second: float
    bare_per_second: float
    warm_seconds: float
    peak_memory: int | None


def benchmark_data(settings: BenchmarkDataSettings) -> int:
    """Times the encoding of a made-up corpus; prints a table and writes a JSON file."""
    settings.runtime.start()
    output = Path(settings.output)
    outputs.make_folder(output.parent)
    outputs.check_writable(output)
    if settings.text_dir:
        outputs.make_folder(Path(settings.text_dir))
    with TemporaryDirectory() as name:
        found = _measured(settings, Path(name))
    ratio = found.stored_per_second / found.bare_per_second
    memory = f"{found.peak_memory / 1e9:.2f} GB" if found.peak_memory else "unknown"
    print(f"pairs      {found.num_pairs:,}, on {found.num_cores} cores")
    print(f"encoding   {found.stored_per_second:,.0f} pairs/s from files to the store")
    print(
        f"           {found.bare_per_second:,.0f} pairs/s by the tokenizer alone: {ratio:.2f} of it"
    )
    print(f"warm       {found.warm_seconds:.2f} s until the store is found again")
    print(f"memory     {memory} at most")
    outputs.write_lines(output, json.dumps(asdict(found), indent=2).splitlines())
    print(f"the same as JSON is in {output}", file=sys.stderr)
    return 0


def _measured(settings: BenchmarkDataSettings, folder: Path) -> DataSpeed:
    paths = [Path(settings.text_dir or folder) / side for side in ("source", "target")]
    for seed, path in enumerate(paths):
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{one}\n" for one in sentences(settings.num_pairs, seed))
    pairs = AlignedFiles(paths[:1], paths[1:])
    (folder / "vocabulary").mkdir()
    make_vocabulary(settings.tokenizer, pairs, folder / "vocabulary")
    vocabulary = Vocabulary.load(settings.tokenizer, folder / "vocabulary")
    own, bare = [], []
    for number in tqdm(range(settings.num_repeats), desc="benchmark", disable=None):
        os.environ["SEQ2SEQ_CACHE"] = f"{folder}/cache-{number}"
        began = time.perf_counter()
        stored(pairs, vocabulary)
        own.append(settings.num_pairs / (time.perf_counter() - began))
        bare.append(settings.num_pairs / _bare_seconds(vocabulary, paths))
    began = time.perf_counter()
    stored(pairs, vocabulary)
    return DataSpeed(
        settings.num_pairs,
        os.cpu_count() or 1,
        median(own),
        median(bare),
        time.perf_counter() - began,
        peak_memory(torch.device("cpu")),
    )


def sentences(count: int, seed: int) -> Iterator[str]:
    """Made-up sentences, the same for a seed; the nth word is 1/n as frequent as the first."""
    draw = numpy.random.default_rng(seed)
    letters = numpy.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(draw.choice(letters, draw.integers(2, 11))) for _ in range(NUM_WORDS)]
    shares = 1 / numpy.arange(1, NUM_WORDS + 1)
    bounds = (shares / shares.sum()).cumsum()
    for start in range(0, count, CHUNK):
        lengths = draw.integers(3, MOST_WORDS + 1, min(CHUNK, count - start))
        chosen = iter(bounds.searchsorted(draw.random(lengths.sum())).tolist())
        for length in lengths.tolist():
            yield " ".join(words[min(one, NUM_WORDS - 1)] for one in islice(chosen, length))


def _bare_seconds(vocabulary: Vocabulary, paths: list[Path]) -> float:
    """What the tokenizer alone takes, a process on each core with its share of the pairs."""
    context = multiprocessing.get_context("spawn")
    size = os.cpu_count() or 1
    barrier, results = context.Barrier(size + 1), context.Queue()
    runs = [
        context.Process(
            target=_encode_share,
            args=(vocabulary.config, vocabulary.folder, paths, rank, size, barrier, results),
        )
        for rank in range(size)
    ]
    for run in runs:
        run.start()
    barrier.wait(MOST_SECONDS)  # they may die, too
    seconds = max(results.get(timeout=MOST_SECONDS) for _ in runs)
    for run in runs:
        run.join()
    return float(seconds)


def _encode_share(config, folder, paths, rank, size, barrier, results) -> None:  # type: ignore[no-untyped-def]
    """In a process of its own: encodes its share and tells the seconds."""
    tokenizers = TokenizerPair.load(config, folder)
    sides = [list(islice(lines_of(path), rank, None, size)) for path in paths]
    barrier.wait()
    began = time.perf_counter()
    for tokenizer, texts in zip((tokenizers.source, tokenizers.target), sides, strict=True):
        for start in range(0, len(texts), CHUNK):
            tokenizer.encode_all(texts[start : start + CHUNK])
    results.put(time.perf_counter() - began)
