"""The benchmark: its counts are right, and the plain implementation computes the same."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from conftest import settings_of

from seq2seq.benchmark import (
    BenchmarkDataSettings,
    BenchmarkDecodeSettings,
    BenchmarkTrainSettings,
    benchmark_data,
    benchmark_decode,
    benchmark_train,
)
from seq2seq.benchmark.data import sentences
from seq2seq.benchmark.machine import matrix_product_rate, peak_memory
from seq2seq.benchmark.operations import OperationCounter
from seq2seq.benchmark.plain import plain_loss, plain_plan, plain_step
from seq2seq.benchmark.stages import STAGES
from seq2seq.config import from_tree
from seq2seq.data.batches import EncodedPairs
from seq2seq.errors import DataError, SettingsError
from seq2seq.objectives.cross_entropy import CrossEntropyConfig
from seq2seq.optim.optimizers import AdamWConfig
from seq2seq.optim.schedules import ConstantSchedule
from seq2seq.training.step import Stepper

CPU = torch.device("cpu")
ROOT = Path(__file__).resolve().parents[2]
SHORT = [
    *("num_steps=2", "num_repeats=2", "data.train_pairs=300", "runtime.num_threads=1"),
    *("model.embedding_dim=8", "model.encoder.hidden_dim=4", "model.decoder.hidden_dim=8"),
    *("tokenizer.vocabulary_size=200", "batching.max_tokens=200"),
]
PAIRS = EncodedPairs.of(
    (
        row,
        [4 + (row * col) % 16 for col in range(1, 3 + row % 7)],
        [4 + (row + col) % 16 for col in range(1, 2 + row % 5)],
    )
    for row in range(50)
)


@pytest.fixture(autouse=True)
def keep_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def found_in(folder: Path) -> dict:
    return json.loads((folder / "benchmark.json").read_text("utf-8"))


def test_it_prints_a_table_and_writes_the_same_as_json(tmp_path, capsys):
    folder = tmp_path / "new"
    settings = settings_of("benchmark_train", BenchmarkTrainSettings, *SHORT, f"run_dir={folder}")
    assert benchmark_train(settings) == 0
    found = found_in(folder)
    table = capsys.readouterr().out
    assert f"speed      {found['tokens_per_second']:,.0f} target tokens/s (median of 2 x 2" in table
    assert f"{found['utilisation']:.0%} of the machine's" in table
    assert all(len(line) <= 80 for line in table.splitlines())
    assert found["slowest"] <= found["tokens_per_second"] <= found["fastest"]
    assert list(found["stages"]) == list(STAGES)
    assert all(value > 0 for value in found["stages"].values())
    assert found["plain_tokens_per_second"] > 0
    assert 0.5 < found["real_target"] <= 1.0
    expected = found["tokens_per_second"] * found["operations_per_token"]
    assert found["utilisation"] == pytest.approx(expected / found["matrix_product_rate"])


def test_operations_are_those_of_the_shapes(tmp_path):
    overrides = [*SHORT, "compare_plain=false", f"run_dir={tmp_path}", "batching.max_sentences=1"]
    model = ["model.encoder.dropout=0", "model.attention.hidden_dim=6", "training.accumulation=1"]
    settings = settings_of("benchmark_train", BenchmarkTrainSettings, *overrides, *model)
    assert benchmark_train(settings) == 0
    found = found_in(tmp_path)
    assert (found["real_source"], found["real_target"]) == (1.0, 1.0)
    assert found["plain_tokens_per_second"] is None
    # A pair of S source and T target tokens. Forward, multiplications and additions:
    pairs = _first_pairs(settings)
    embedding, encoder, decoder, attention, read_out = 8, 4, 8, 6, 8
    memory, total = 2 * encoder, 0
    for num_source, num_target in pairs:
        gates = 2 * num_source * 3 * encoder * (embedding + encoder)
        keys = num_source * memory * attention + memory * decoder
        embedded = num_target * embedding * 3 * decoder
        step = decoder * attention + num_source * attention + num_source * memory
        step += 3 * decoder * (memory + decoder)
        read = read_out * (decoder + memory + embedding) + read_out * 200
        total += 2 * (gates + keys + embedded + num_target * (step + read))
    num_tokens = sum(one[1] for one in pairs)
    # Backward, each product has two of the same size, but for leaves without a gradient.
    assert found["operations_per_token"] == pytest.approx(3 * total / num_tokens, rel=0.03)


def test_products_of_all_kinds_are_counted():
    matrix, square, vector = torch.ones(2, 3), torch.ones(3, 3), torch.ones(3)
    queries = torch.ones(2, 4, 5, 8, requires_grad=True)
    attention = torch.nn.functional.scaled_dot_product_attention
    kinds = {
        2 * 2 * 3 * 3: [
            lambda: torch.mm(matrix, square),
            lambda: torch.mm(matrix, square, out=torch.ones(2, 3)),
            lambda: torch.ones(2, 3).addmm_(matrix, square),
            lambda: torch.baddbmm(torch.ones(1, 2, 3), matrix[None], square[None]),
        ],
        2 * 2 * 3: [lambda: matrix @ vector, lambda: torch.ones(2).addmv_(matrix, vector)],
        0: [lambda: matrix + matrix],
        # Scores and contexts; backwards, the scores again, and two products for each of the two.
        (2 + 5) * 2 * 2 * 4 * 5 * 5 * 8: [
            lambda: attention(queries, queries, queries).sum().backward()
        ],
    }
    for expected, operations in kinds.items():
        for operation in operations:
            with OperationCounter() as counter:
                operation()
            assert counter.total == expected


def _first_pairs(settings: BenchmarkTrainSettings) -> list[list[int]]:
    from seq2seq.data.batching.base import epoch_generator
    from seq2seq.tokenizers.base import TokenizerPair

    text = settings.data.read("train")
    tokenizers = TokenizerPair.train(settings.tokenizer, text.source, text.target)
    lengths = EncodedPairs.encode(text, tokenizers).lengths
    plan = settings.batching.plan(lengths, epoch_generator(settings.runtime.seed, 0))
    return [lengths[index].tolist() for batch in plan[:2] for index in batch]


def test_more_steps_than_an_epoch_has_are_refused(tmp_path):
    overrides = [*SHORT, "num_steps=500", f"run_dir={tmp_path}"]
    with pytest.raises(DataError, match=r"an epoch has \d+ steps\. Lower num_steps to that\."):
        benchmark_train(settings_of("benchmark_train", BenchmarkTrainSettings, *overrides))
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_effect_is_refused():
    with pytest.raises(SettingsError, match="`resume` has no effect on a benchmark"):
        settings_of("benchmark_train", BenchmarkTrainSettings, "resume=x")


def test_the_machine_is_measured():
    assert matrix_product_rate(CPU, dim=64, seconds=0.01) > 1e6
    before = peak_memory(CPU)
    if before is None:
        pytest.skip("this system does not tell")
    kept = torch.ones(300_000_000 // 4)
    assert peak_memory(CPU) >= before
    assert peak_memory(CPU) > 300_000_000
    del kept


def test_the_plain_batches_are_of_any_lengths_and_hold_each_pair_once():
    plan = plain_plan(50, 8, seed=0)
    assert sorted(index for one in plan for index in one) == list(range(50))
    assert [len(one) for one in plan] == [8] * 6 + [2]
    assert plan[0] != sorted(plan[0])


SHAPES = {
    "gru": [],
    "lstm": ["model/encoder=lstm", "model.decoder.cell=lstm"],
    "luong": ["model/decoder=luong"],
    "dot": ["model/attention=dot"],
    "multi_head": ["model/attention=multi_head"],
    "none": ["model/attention=none"],
    "mixed": ["model/encoder=transformer"],
    "transformer": ["model=transformer"],
}


@pytest.mark.parametrize("name", SHAPES)
def test_fifty_steps_are_those_of_the_plain_implementation(name, double_precision):
    widths = ["model.embedding_dim=8", *SHAPES[name]]
    if name not in ("mixed", "transformer"):
        widths.append("model.encoder.hidden_dim=4")
    if name != "transformer":
        widths.append("model.decoder.hidden_dim=8")
    still = [f"model.{part}dropout=0" for part in ("", "encoder.", "decoder.")]
    settings = settings_of("benchmark_train", BenchmarkTrainSettings, *widths, *still)
    fast = settings.model.build(20, 20, is_joint=True).train()
    plain = deepcopy(fast)
    rate = AdamWConfig(learning_rate=0.01)
    objective = CrossEntropyConfig(label_smoothing=0.1)
    stepper = Stepper(fast, objective, rate.build(fast.parameters()), ConstantSchedule(), 1.0)
    optimizer = rate.build(plain.parameters())
    losses = []
    for step in range(50):
        batch = PAIRS.batch([(step * 7 + row * 11) % 50 for row in range(6)])
        with torch.no_grad():
            ours = objective(fast, batch, 0.0).total
            theirs = plain_loss(plain, batch, 0.1)
        losses.append(float(ours))
        assert float(ours) == pytest.approx(float(theirs), rel=1e-9)
        stepper([batch], batch.num_tokens, step, 0.0)
        plain_step(plain, optimizer, batch, 0.1, 1.0)
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10])


def test_decoding_is_timed_greedily_and_with_a_beam(tmp_path, capsys):
    folder = ROOT / "tests" / "training" / "checkpoint_of_format_3"
    for side, lines in (("a", ["the dog", "a cat runs", ""]), ("b", ["ein Hund", "x", "y"])):
        for split in ("train", "valid", "test"):
            (tmp_path / f"{split}.{side}").write_text("\n".join(lines) + "\n", "utf-8")
    data = {
        f"{split}_{name}": f"{tmp_path}/{stem}.{side}"
        for split, stem in (("train", "train"), ("validation", "valid"), ("test", "test"))
        for name, side in (("source", "a"), ("target", "b"))
    }
    tree = {
        "checkpoint": str(folder),
        "num_repeats": 2,
        "output": f"{tmp_path}/new/speed.json",
        "data": {"_target_": "seq2seq.data.files.FilesConfig", **data},
        "runtime": {"_target_": "seq2seq.runtime.RuntimeConfig", "num_threads": 1},
    }
    assert benchmark_decode(from_tree(tree, BenchmarkDecodeSettings)) == 0
    table = capsys.readouterr().out
    assert all(len(line) <= 80 for line in table.splitlines()[2:])
    found = json.loads((tmp_path / "new" / "speed.json").read_text("utf-8"))
    assert [one["search"] for one in found["searches"]] == ["greedy", "beam 5"]
    for one in found["searches"]:
        assert 0 < one["slowest"] <= one["sentences_per_second"] <= one["fastest"]
        assert one["search"] in table and f"{one['sentences_per_second']:,.0f}" in table


@pytest.mark.slow
def test_the_benchmark_of_data_prints_a_table_and_writes_the_same_as_json(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("SEQ2SEQ_CACHE", str(tmp_path))
    settings = settings_of(
        "benchmark_data",
        BenchmarkDataSettings,
        *("num_pairs=2000", "num_repeats=1", f"output={tmp_path}/data.json"),
        *(f"text_dir={tmp_path}/text", "tokenizer.vocabulary_size=200"),
    )
    assert benchmark_data(settings) == 0
    for seed, side in enumerate(("source", "target")):
        lines = (tmp_path / "text" / side).read_text("utf-8").splitlines()
        assert lines == [*sentences(2000, seed)]
    found = json.loads((tmp_path / "data.json").read_text("utf-8"))
    assert found["num_pairs"] == 2000 and found["warm_seconds"] < 1
    out = capsys.readouterr().out
    for name in ("stored_per_second", "bare_per_second"):
        assert f"{found[name]:,.0f} pairs/s" in out


def test_made_up_sentences_are_the_same_for_a_seed():
    one, same, other = ([*sentences(300, seed)] for seed in (1, 1, 2))
    assert one == same != other and len(set(one)) == 300
    lengths = [len(text.split()) for text in one]
    assert min(lengths) >= 3 and max(lengths) <= 30
