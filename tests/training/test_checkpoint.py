"""Checkpoints: equal to the bit when read back, whole or not there, refused with one line."""

from __future__ import annotations

import json
import os
import re
import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from seq2seq import load_translator
from seq2seq.errors import CheckpointError, RunError
from seq2seq.models.decoders.bahdanau import BahdanauDecoderConfig
from seq2seq.models.encoders.recurrent import RecurrentEncoderConfig
from seq2seq.models.seq2seq import Seq2SeqConfig
from seq2seq.nn.attention.additive import AdditiveAttentionConfig
from seq2seq.nn.positions.none import NoPositionsConfig
from seq2seq.optim.optimizers import AdamWConfig
from seq2seq.runtime import Precision
from seq2seq.tokenizers.base import TokenizerPair
from seq2seq.tokenizers.subword import SubwordConfig
from seq2seq.training import atomic
from seq2seq.training import checkpoint as module
from seq2seq.training.checkpoint import Checkpoint, save_checkpoint
from seq2seq.training.state import RunState

MODEL = Seq2SeqConfig(
    embedding_dim=8,
    encoder=RecurrentEncoderConfig(hidden_dim=6),
    decoder=BahdanauDecoderConfig(hidden_dim=10),
    attention=AdditiveAttentionConfig(),
    positions=NoPositionsConfig(),
)
SETTINGS = {"text": "Größe: 'x' # \u2028\n", "number": 1e-08, "none": None, "list": [1, 2.5, True]}
RECORD = {"step": 7, "validation_bleu": 1 / 3, "epoch": 1.0}
FILES = {
    "SHA256SUMS", "checkpoint.json", "settings.yaml", "tokenizer", "optimizer.safetensors",
    "weights.safetensors",
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    return TokenizerPair.train(SubwordConfig(vocabulary_size=20), ["a b c"] * 3, ["c d e"] * 3)


class Run:
    """A model that has taken a few steps, and its checkpoint."""

    def __init__(self, folder: Path, tokenizers: TokenizerPair, tie: str = "none") -> None:
        self.folder = folder
        self.tokenizers = tokenizers
        self.config = replace(MODEL, tie=tie)
        self.model, self.optimizer = self.fresh()
        self.state = RunState(step=7, epoch=1, batch=3, seconds=2.5, best_score=1 / 3)
        self.state.history.append(RECORD)

    def fresh(self):
        size = self.tokenizers.source.vocabulary_size
        model = self.config.build(size, size, is_joint=True)
        return model, AdamWConfig(weight_decay=0.1).build(model.parameters())

    def learn(self, model, optimizer, steps: int = 3) -> None:
        for _ in range(steps):
            source, target = torch.randint(4, 10, (2, 3)), torch.randint(4, 10, (2, 3))
            decoded = model(source, torch.ones(2, 3, dtype=torch.bool), target)
            model.project(decoded.hidden).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()

    def save(self, resumable: bool = True) -> None:
        save_checkpoint(
            self.folder,
            model=self.model,
            tokenizers=self.tokenizers,
            settings=SETTINGS,
            state=self.state,
            optimizer=self.optimizer if resumable else None,
        )


@pytest.fixture
def run(tmp_path, tokenizers) -> Run:
    run = Run(tmp_path / "run" / "last", tokenizers)
    run.learn(run.model, run.optimizer)
    run.save()
    return run


def refusal_of(call, *arguments) -> str:
    """The one line that a call is refused with."""
    with pytest.raises(CheckpointError) as refused:
        call(*arguments)
    assert len(str(refused.value).splitlines()) == 1
    return str(refused.value)


def names_in(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_files_are_read_by_whoever_the_user_lets_read_new_files(run):
    before = os.umask(0o027)
    try:
        run.save()
    finally:
        os.umask(before)
    files = [one for one in run.folder.rglob("*") if one.is_file()]
    assert {one.stat().st_mode & 0o777 for one in files} == {0o640}


@pytest.mark.parametrize("tie", ["none", "target_output", "all"])
def test_what_is_read_back_is_equal_to_the_bit_and_goes_on_alike(tmp_path, tokenizers, tie):
    run = Run(tmp_path / "last", tokenizers, tie)
    run.learn(run.model, run.optimizer)
    run.save()
    checkpoint = Checkpoint.open(run.folder)
    assert checkpoint.settings == SETTINGS
    assert checkpoint.state == run.state
    loaded = TokenizerPair.load(SubwordConfig(), checkpoint.tokenizer_folder)
    assert loaded.source.encode("a b e") == tokenizers.source.encode("a b e")
    torch.manual_seed(99)
    run.learn(run.model, run.optimizer, steps=2)

    model, optimizer = run.fresh()
    checkpoint.load_weights(model)
    checkpoint.load_optimizer(optimizer)
    if tie != "none":
        assert model.output.weight is model.target_embedding.weight
    if tie == "all":
        assert model.source_embedding.weight is model.target_embedding.weight
    torch.manual_seed(99)
    run.learn(model, optimizer, steps=2)
    for one, other in zip(model.parameters(), run.model.parameters(), strict=True):
        assert torch.equal(one, other)
    ours, theirs = optimizer.state_dict(), run.optimizer.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    for index, values in theirs["state"].items():
        for name, value in values.items():
            assert torch.equal(ours["state"][index][name], value)
            assert ours["state"][index][name].dtype == value.dtype


def test_a_folder_holds_no_pickle_and_the_optimizer_only_where_training_goes_on(run):
    assert names_in(run.folder) == FILES
    assert names_in(run.folder.parent) == {"last"}
    run.save(resumable=False)
    assert names_in(run.folder) == FILES - {"optimizer.safetensors"}
    assert json.loads((run.folder / "checkpoint.json").read_bytes())["state"]["step"] == 7
    assert yaml.safe_load((run.folder / "settings.yaml").read_bytes()) == SETTINGS


def test_a_new_learning_rate_holds_after_resuming(run):
    model, _ = run.fresh()
    optimizer = AdamWConfig(learning_rate=0.5).build(model.parameters())
    Checkpoint.open(run.folder).load_optimizer(optimizer)
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.5]


def damaged(path: Path, how: str) -> None:
    raw = path.read_bytes()
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how != "missing":
        path.write_bytes({"empty": b"", "truncated": raw[: len(raw) // 2], "odd": b"\xff{["}[how])


@pytest.mark.parametrize("how", ["missing", "empty", "truncated", "odd", "a folder"])
@pytest.mark.parametrize("name", sorted(FILES - {"tokenizer"}))
def test_a_damaged_file_is_refused_by_its_name(run, name, how):
    damaged(run.folder / name, how)

    def load():
        model, optimizer = run.fresh()
        checkpoint = Checkpoint.open(run.folder)
        checkpoint.load_weights(model)
        checkpoint.load_optimizer(optimizer)

    refusal = refusal_of(load)
    # Sums that were cut off are found by what they say of a file.
    assert name in refusal or how == "empty" or name == "SHA256SUMS"
    assert str(run.folder) in refusal


@pytest.mark.parametrize(
    "about",
    [
        [],
        {"format": module.FORMAT},
        {"format": module.FORMAT, "state": []},
        {"format": module.FORMAT, "state": {"step": 1, "surprise": 2}},
    ],
)
def test_an_odd_state_is_refused(run, about):
    (run.folder / "checkpoint.json").write_text(json.dumps(about), encoding="utf-8")
    atomic.seal(run.folder)
    assert str(run.folder) in refusal_of(Checkpoint.open, run.folder)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("step", True),
        ("step", -1),
        ("epoch", None),
        ("batch", "3"),
        ("seconds", None),
        ("nll", float("inf")),
        ("best_score", "x"),
        ("history", None),
        ("history", [1]),
    ],
)
def test_a_state_of_the_wrong_kind_is_refused(run, field, value):
    about = {"format": module.FORMAT, "state": {**run.state.as_dict(), field: value}}
    (run.folder / "checkpoint.json").write_text(json.dumps(about), encoding="utf-8")
    atomic.seal(run.folder)
    assert refusal_of(Checkpoint.open, run.folder).endswith("checkpoint.json is damaged.")


@pytest.mark.parametrize("text", ["x: !!bool maybe", "x: !!int ''", "- 1"])
def test_odd_yaml_is_refused(run, text):
    (run.folder / "settings.yaml").write_text(text, encoding="utf-8")
    atomic.seal(run.folder)
    assert len(refusal_of(Checkpoint.open, run.folder).splitlines()) == 1


def test_the_root_is_no_checkpoint():
    assert refusal_of(Checkpoint.open, Path("/")).startswith("/ is not a checkpoint: it has no")


def test_weights_that_are_slices_of_one_block_are_filled(run):
    """As those of a recurrent network on a GPU are."""
    model, _ = run.fresh()
    parameters = list(model.encoder.parameters())
    block = torch.zeros(sum(one.numel() for one in parameters))
    for parameter, part in zip(
        parameters, block.split([one.numel() for one in parameters]), strict=True
    ):
        parameter.data = part.view_as(parameter)
    Checkpoint.open(run.folder).load_weights(model)
    assert all(map(torch.equal, model.parameters(), run.model.parameters()))


def test_settings_run_no_code(run, tmp_path):
    command = f"!!python/object/apply:os.mkdir ['{tmp_path / 'pwned'}']"
    (run.folder / "settings.yaml").write_text(command, encoding="utf-8")
    atomic.seal(run.folder)
    assert "settings.yaml is damaged" in refusal_of(Checkpoint.open, run.folder)
    assert not (tmp_path / "pwned").exists()


def test_a_newer_format_is_refused(run):
    about = {"format": module.FORMAT + 1, "state": {}}
    (run.folder / "checkpoint.json").write_text(json.dumps(about), encoding="utf-8")
    atomic.seal(run.folder)
    refusal = refusal_of(Checkpoint.open, run.folder)
    expected = (
        f"has format {module.FORMAT + 1}, but this version reads {module.FORMAT}. Use the version "
        "that wrote it."
    )
    assert refusal == f"{run.folder} {expected}"


def write(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Replaces tensors of a checkpoint, and seals it anew."""
    save_file(tensors, path)
    atomic.seal(path.parent)


def test_weights_of_another_model_are_refused_with_a_reason(run, tokenizers):
    other = replace(MODEL, embedding_dim=12).build(20, 20, is_joint=True)
    refusal = refusal_of(Checkpoint.open(run.folder).load_weights, other)
    path = run.folder / "weights.safetensors"
    assert refusal.startswith(f"{path}: ")
    assert re.search(r" is \d+ x 8, but the model's is \d+ x 12\.$", refusal)
    tensors = load_file(path)
    write(path, {**tensors, "surplus": torch.zeros(1)})
    refusal = refusal_of(Checkpoint.open(run.folder).load_weights, run.model)
    assert refusal == f"{path} holds more than the model: surplus. It is of another model."
    tensors.pop("output.bias")
    write(path, tensors)
    refusal = refusal_of(Checkpoint.open(run.folder).load_weights, run.model)
    assert refusal == f"{path} lacks output.bias. It is of another model."
    path = run.folder / "optimizer.safetensors"
    kept = load_file(path)
    name = next(one for one in kept if one.endswith("exp_avg") and kept[one].dim() == 2)
    write(path, {**kept, name: torch.zeros(3, 2)})
    refusal = refusal_of(Checkpoint.open(run.folder).load_optimizer, run.optimizer)
    assert refusal.endswith("exp_avg is 3 x 2 of torch.float32.")
    write(path, {one: kept[one] for one in kept if not one.startswith("0.")})
    refusal = refusal_of(Checkpoint.open(run.folder).load_optimizer, run.optimizer)
    assert refusal.endswith("cannot be used: it is of another optimizer.")


def test_what_is_no_checkpoint_is_refused_and_a_run_suggests_its_best(run):
    parent = run.folder.parent
    refusal = refusal_of(Checkpoint.open, parent)
    assert refusal.endswith(f"it has no checkpoint.json. Did you mean {parent / 'last'}?")
    shutil.copytree(run.folder, parent / "best")
    refusal = refusal_of(Checkpoint.open, parent)
    assert refusal == (
        f"{parent} is not a checkpoint: it has no checkpoint.json. Did you mean {parent / 'best'}?"
    )
    for name, problem in (("nothing", "is not there"), ("last/settings.yaml", "is a file")):
        assert refusal_of(Checkpoint.open, parent / name) == (
            f"{parent / name} {problem}. A checkpoint is a folder such as RUN/best."
        )
    (parent / "empty").mkdir()
    refusal = refusal_of(Checkpoint.open, parent / "empty")
    assert refusal == f"{parent / 'empty'} is not a checkpoint: it has no checkpoint.json."


def test_the_folder_where_one_stands_is_a_checkpoint(run, monkeypatch):
    monkeypatch.chdir(run.folder)
    for path in (Path("."), Path("../last"), run.folder / "tokenizer" / ".."):
        assert Checkpoint.open(path).state == run.state
    assert Checkpoint.open(Path(".")).folder.name == "last"
    monkeypatch.chdir(run.folder.parent)
    assert "Did you mean" in refusal_of(Checkpoint.open, Path("."))


class Killed(BaseException):
    """Nobody catches it, as nobody catches a kill."""


@pytest.mark.parametrize("was_killed_before", [False, True])
def test_killed_at_any_moment_of_a_save_a_whole_checkpoint_is_there(
    run, monkeypatch, tmp_path, was_killed_before
):
    """The save of step 8 is killed at its first file operation, at its second, and so on."""
    parent = run.folder.parent
    if was_killed_before:  # between the two renames
        shutil.copytree(run.folder, parent / "last.new")
        run.folder.rename(parent / "last.old")
    shutil.copytree(parent, tmp_path / "before")
    run.state.step = 8
    allowed = 0

    def limited(function):
        def call(*arguments, **options):
            nonlocal allowed
            allowed -= 1
            if allowed < 0:
                raise Killed
            return function(*arguments, **options)

        return call

    for name, owner in {"rename": Path, "mkdir": Path, "unlink": os, "rmdir": os}.items():
        monkeypatch.setattr(owner, name, limited(getattr(owner, name)))
    monkeypatch.setattr(atomic, "sync", lambda _: None)
    monkeypatch.setattr(atomic, "_sync", lambda _: None)
    num_kills = 0
    is_killed = True
    while is_killed:
        allowed = 10**6
        shutil.rmtree(parent)
        shutil.copytree(tmp_path / "before", parent)
        allowed = num_kills
        try:
            run.save()
            is_killed = False
        except Killed:
            num_kills += 1
        found = Checkpoint.open(run.folder)
        assert found.state.step in (7, 8)
        assert names_in(found.folder) == FILES
    assert found.state.step == 8
    assert names_in(parent) == {"last"}
    assert num_kills > 10


def test_a_failing_disk_keeps_what_was_there(run, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    before = (run.folder / "weights.safetensors").read_bytes()
    run.state.step = 8
    run.learn(run.model, run.optimizer)
    places = ((module, "save_file"), *((atomic, one) for one in ("write_text", "sync", "replace")))
    for owner, name in places:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, fail)
            with pytest.raises(RunError) as failed:
                run.save()
        size = sum(one.numel() for one in run.model.parameters()) * 4 * 3 / 1e6
        assert str(failed.value) == (
            f"{run.folder} cannot be written: No space left on device. It takes about {size:.1f} "
            "MB. What was saved before is whole."
        )
        assert names_in(run.folder.parent) == {"last"}
        assert (run.folder / "weights.safetensors").read_bytes() == before
        assert Checkpoint.open(run.folder).state.step == 7
    run.save()
    assert Checkpoint.open(run.folder).state.step == 8


def test_a_folder_that_cannot_be_made_is_refused_with_one_line(run):
    run.folder = run.folder / "checkpoint.json" / "last"
    with pytest.raises(RunError, match=r"last cannot be written: Not a directory\."):
        run.save()


def changed(path: Path, change) -> None:
    tensors = load_file(path)
    change(tensors)
    write(path, tensors)


@pytest.mark.parametrize("value", [torch.tensor([float("nan")]), torch.ones(1, dtype=torch.int32)])
def test_weights_that_are_no_numbers_are_refused(run, value):
    path = run.folder / "weights.safetensors"

    def spoil(tensors):
        tensors["output.bias"] = value.expand_as(tensors["output.bias"]).contiguous()

    changed(path, spoil)
    refusal = refusal_of(Checkpoint.open(run.folder).load_weights, run.model)
    assert refusal == f"{path} is damaged: output.bias is not made of numbers."


SPOILED = {
    "nothing": (lambda kept, names: [kept.pop(name) for name in names], "it is of another"),
    "missing": (lambda kept, names: kept.pop(names[0]), "exp_avg is missing."),
    "unknown": (
        lambda kept, names: kept.update({"0.foo": torch.ones(1)}), "foo is unknown."
    ),
    "scalar": (
        lambda kept, names: kept.update({names[0]: torch.tensor(1.0)}), "exp_avg is  of torch.float"
    ),
    "kind": (
        lambda kept, names: kept.update({names[0]: kept[names[0]].bool()}), "of torch.bool."
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", SPOILED)
def test_an_optimizer_state_that_is_not_whole_is_refused(run, how):
    spoil, expected = SPOILED[how]
    path = run.folder / "optimizer.safetensors"
    changed(path, lambda kept: spoil(kept, sorted(kept)))
    refusal = refusal_of(Checkpoint.open(run.folder).load_optimizer, run.optimizer)
    assert refusal.startswith(f"{path} cannot be used: ") and expected in refusal


def test_an_optimizer_that_has_not_moved_anything_yet_keeps_nothing(run):
    """All steps so far were passed over: there is nothing to restore."""
    run.model, run.optimizer = run.fresh()
    scaler = Precision("fp16").scaler().state_dict()
    for run.state in (RunState(step=2, num_skipped=2), RunState(step=2, scaler=scaler)):
        run.save()
        Checkpoint.open(run.folder).load_optimizer(run.optimizer)
        assert not run.optimizer.state


def test_settings_with_aliases_are_refused(run):
    path = run.folder / "settings.yaml"
    path.write_text("a: &a [1, 1]\nb: [*a, *a]\n", encoding="utf-8")
    atomic.seal(run.folder)
    assert refusal_of(Checkpoint.open, run.folder) == f"{path} is damaged: it holds an alias."


def test_a_link_stays_a_link_and_what_it_leads_to_is_replaced(run, tmp_path):
    elsewhere = tmp_path / "elsewhere" / "kept"
    elsewhere.parent.mkdir()
    run.folder.rename(elsewhere)
    run.folder.symlink_to(elsewhere)
    for step in (8, 9):
        run.state.step = step
        run.save()
        assert run.folder.is_symlink()
        assert Checkpoint.open(run.folder).state.step == Checkpoint.open(elsewhere).state.step
        assert Checkpoint.open(elsewhere).state.step == step
    assert names_in(run.folder.parent) == {"last"} and names_in(elsewhere.parent) == {"kept"}


def mutated(folder: Path, random: Random) -> str:
    """Spoils one file of a checkpoint; what was done to it."""
    path = random.choice(sorted(one for one in folder.rglob("*") if one.is_file()))
    raw = bytearray(path.read_bytes())
    how = random.choice(["cut", "flip", "swap", "grow", "fill", "remove"])
    if how == "cut":
        raw = raw[: random.randrange(len(raw))]
    elif how == "flip":
        raw[random.randrange(len(raw))] ^= 1 << random.randrange(8)
    elif how == "swap":
        other = random.choice(sorted(one for one in folder.rglob("*") if one.is_file()))
        raw = bytearray(other.read_bytes()) if other != path else bytearray()
    elif how == "grow":
        raw += bytes(random.randrange(1, 100))
    elif how == "fill":
        raw = bytearray(random.randbytes(len(raw)))
    path.unlink()
    if how != "remove":
        path.write_bytes(raw)
    return f"{how} {path.name}"


def test_two_hundred_mutants_are_refused(run, tmp_path):
    random = Random(1)
    for number in range(200):
        folder = tmp_path / str(number)
        shutil.copytree(run.folder, folder)
        done = mutated(folder, random)
        try:
            refusal_of(Checkpoint.open, folder)
        except BaseException as error:
            raise AssertionError(done) from error
        shutil.rmtree(folder)


def test_sums_that_lack_their_last_newline_are_cut_off(run):
    path = run.folder / atomic.SUMS_FILE
    path.write_bytes(path.read_bytes()[:-1])
    assert "SHA256SUMS" in refusal_of(Checkpoint.open, run.folder)


def header(path: Path, change) -> None:
    """Changes the header of a file of tensors, and seals the checkpoint anew."""
    raw = path.read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    about = json.loads(raw[8:end])
    text = change(about) or json.dumps(about).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + raw[end:])
    atomic.seal(path.parent)


def huge(about) -> None:
    about[min(about)] |= {"shape": [1 << 40], "data_offsets": [0, 1 << 42]}


def negative(about) -> None:
    about[min(about)]["shape"] = [-1]


def overlapping(about) -> None:
    about[min(about)]["data_offsets"] = about[max(about)]["data_offsets"]


def deep(about) -> bytes:
    return b"[" * 100_000


@pytest.mark.parametrize("change", [huge, negative, overlapping, deep])
@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.safetensors"])
def test_forged_headers_are_refused_and_take_no_memory(run, name, change):
    """With sums that are right: not an accident, but somebody's work."""
    path = run.folder / name
    header(path, change)
    checkpoint = Checkpoint.open(run.folder)
    load = checkpoint.load_weights if name.startswith("weights") else checkpoint.load_optimizer
    tracemalloc.start()
    refusal = refusal_of(load, run.model if name.startswith("weights") else run.optimizer)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert refusal.startswith(f"{path} cannot be used: ")


def test_sums_that_lead_elsewhere_open_nothing(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")  # whoever reads it waits for ever
    with open(run.folder / "SHA256SUMS", "a", encoding="utf-8") as file:
        file.write(f"{'0' * 64}  ../../pipe\n")
    assert refusal_of(Checkpoint.open, run.folder).endswith("../../pipe is not there.")


def test_a_checkpoint_that_its_run_replaces_is_read_as_one(run, monkeypatch):
    """Between the first file and the last, and between opening and loading."""
    first_damaged, num_reads = atomic.first_damaged, 0

    def while_saving(*arguments):
        nonlocal num_reads
        num_reads += 1
        if num_reads == 1:
            run.state.step = 8
            run.learn(run.model, run.optimizer)
            run.save()
        return first_damaged(*arguments)

    monkeypatch.setattr(atomic, "first_damaged", while_saving)
    checkpoint = Checkpoint.open(run.folder)
    assert (checkpoint.state.step, num_reads) == (8, 2)
    model, _ = run.fresh()
    checkpoint.load_weights(model)
    assert all(map(torch.equal, model.parameters(), run.model.parameters()))
    run.save()
    assert "was replaced while it was read" in refusal_of(checkpoint.load_weights, model)


def test_a_checkpoint_that_this_format_began_with_is_still_read():
    """It was written when format 3 was new, by a run of 200 steps on these sentences."""
    folder = Path(__file__).with_name("checkpoint_of_format_3")
    translator = load_translator(folder)
    sentences = ["the dog sees a cat", "a cat runs", "the old man laughs"]
    expected = ["der Hund sieht eine Katze", "eine Katze rennt", "der alte Mann lacht"]
    assert translator.translate(sentences) == expected
    checkpoint = Checkpoint.open(folder)
    assert (checkpoint.state.step, checkpoint.state.best_score) == (200, pytest.approx(100))
    optimizer = AdamWConfig().build(translator.model.parameters())
    checkpoint.load_optimizer(optimizer)
    assert all(one["step"] == 200 for one in optimizer.state.values())
