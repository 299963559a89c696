"""Every file under configs/: it composes, parses, and shows every setting with its default."""

from __future__ import annotations

import ast
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

import hydra
import pytest
import yaml
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from seq2seq import benchmark, experiment, tour
from seq2seq.config import Config, from_tree, to_tree
from seq2seq.experiment import TrainSettings
from seq2seq.saved import SAVED

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "configs"

# What the options of some groups need beside themselves.
NEEDS = {
    **{
        f"model/positions/{name}": ["model/encoder=transformer"]
        for name in ("alibi", "learned", "relative", "rotary", "sinusoidal", "t5")
    },
    "objective/decay": ["objective=scheduled_sampling"],
    "data/files": ["data.train_source=x", "data.train_target=x"],
    "data/tsv": ["data.train=x"],
    "data/jsonl": ["data.train=x"],
    "data/tmx": ["data.train=x", "data.source=en", "data.target=de"],
}
NAMES = sorted(
    path.relative_to(CONFIGS).with_suffix("").as_posix() for path in CONFIGS.rglob("*.yaml")
)
RUNS = [name for name in NAMES if name.startswith(("experiment/", "debug/"))]
SEARCHES = [name for name in NAMES if name.startswith("hparams_search/")]  # need a plugin
OPTIONS = [name for name in NAMES if "/" in name and name not in (*RUNS, *SEARCHES)]
COMMANDS = [name for name in NAMES if "/" not in name and name != "hydra_quiet"]


@pytest.fixture(scope="module", autouse=True)
def hydra_at_configs():
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(CONFIGS)):
        ConfigStore.instance().store(name=SAVED, node={})
        yield


def composed(name: str, overrides: list[str]) -> dict[str, Any]:
    tree: Any = OmegaConf.to_container(hydra.compose(name, overrides), resolve=False)
    return {**tree, "run_dir": "run"} if "run_dir" in tree else tree


@cache
def with_option(name: str) -> dict[str, Any]:
    """The tree of a training that uses one option or run."""
    group, _, option = name.rpartition("/")
    return composed("train", [f"{group}={option}", *NEEDS.get(group, []), *NEEDS.get(name, [])])


def at(root: Any, group: str) -> Any:
    """What a group stands for inside of a tree or of settings."""
    for part in group.split("/"):
        root = root[part] if isinstance(root, dict) else getattr(root, part)
    return root


def commands() -> dict[str, type[Config]]:
    """The settings class of each command's file, read from the scripts."""
    found = {"train": TrainSettings, "resume": TrainSettings}
    for path in (ROOT / "scripts").glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "launch.run":
                choose, settings = call.args[:2]
                if isinstance(choose, ast.Call):
                    package = next(
                        one for one in (experiment, tour, benchmark) if hasattr(one, settings.id)
                    )
                    found[ast.literal_eval(choose.args[0])] = getattr(package, settings.id)
    return found


def test_no_file_is_overlooked():
    on_disk = [path for path in CONFIGS.rglob("*") if path.is_file()]
    assert (
        len(NAMES) == len(on_disk) == len(RUNS) + len(OPTIONS) + len(SEARCHES) + len(COMMANDS) + 1
    )
    assert set(COMMANDS) == set(commands())
    assert len(OPTIONS) > 20 and len(RUNS) >= 4


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_shows_each_setting_with_its_default(name):
    tree = with_option(name)
    settings = from_tree(tree, TrainSettings)
    group = name.rpartition("/")[0]
    shown, chosen = at(tree, group), at(settings, group)
    assert shown["_target_"] == f"{type(chosen).__module__}.{type(chosen).__name__}"
    assert set(shown) - {"_target_"} == {field.name for field in fields(chosen)}
    needed = {one.partition("=")[0].rpartition(".")[2] for one in NEEDS.get(name, [])}
    siblings = [at(with_option(one), group) for one in OPTIONS if one.rpartition("/")[0] == group]
    for field in fields(chosen):
        if field.default is not MISSING and field.name not in needed:
            # An option may exist for the sake of one setting, beside the one with the default.
            values = [one[field.name] for one in siblings if one["_target_"] == shown["_target_"]]
            default = [*field.default] if isinstance(field.default, tuple) else field.default
            assert default in (shown[field.name], *values), field.name


@pytest.mark.parametrize("name", ["train", *OPTIONS, *RUNS])
def test_settings_come_back_from_a_checkpoint_as_they_were(name):
    settings = from_tree(
        composed("train", []) if name == "train" else with_option(name), TrainSettings
    )
    assert isinstance(settings, TrainSettings)
    written = yaml.safe_dump(to_tree(settings), sort_keys=False, allow_unicode=True)
    assert from_tree(yaml.safe_load(written), TrainSettings) == settings


@pytest.mark.parametrize(
    ("overrides", "positions"),
    [
        ([], "NoPositionsConfig"),
        (["model/encoder=transformer"], "SinusoidalPositionsConfig"),
        (["model/encoder=transformer", "model/positions=learned"], "LearnedPositionsConfig"),
        (["model/positions=learned", "model/encoder=transformer"], "LearnedPositionsConfig"),
        (["model/encoder=transformer", "model/positions=none"], "NoPositionsConfig"),
        (["experiment=multi30k_en_de_transformer"], "SinusoidalPositionsConfig"),
        (["model/decoder=transformer"], "SinusoidalPositionsConfig"),
        (["model/decoder=transformer", "model/positions=rotary"], "RotaryPositionsConfig"),
        (["model/encoder=transformer", "model/decoder=transformer"], "SinusoidalPositionsConfig"),
        (["model=transformer"], "SinusoidalPositionsConfig"),
        (["model=transformer", "model/positions=t5"], "T5PositionsConfig"),
    ],
)
def test_a_transformer_brings_positions_that_another_choice_replaces(overrides, positions):
    settings = from_tree(composed("train", overrides), TrainSettings)
    assert type(settings.model.positions).__name__ == positions


@pytest.mark.parametrize(
    ("overrides", "attention"),
    [
        (["model/decoder=luong"], "AdditiveAttentionConfig"),
        (["model/decoder=transformer"], "MultiHeadAttentionConfig"),
        (["model/decoder=transformer", "model/attention=general"], "GeneralAttentionConfig"),
        (["model=transformer"], "MultiHeadAttentionConfig"),
    ],
)
def test_a_decoder_brings_an_attention_that_another_choice_replaces(overrides, attention):
    settings = from_tree(composed("train", overrides), TrainSettings)
    assert type(settings.model.attention).__name__ == attention


@pytest.mark.parametrize("name", RUNS)
def test_a_run_opens_with_the_command_that_starts_it(name):
    group, _, option = name.rpartition("/")
    lines = (CONFIGS / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# @package _global_"
    header = [line for line in lines if line.startswith("#")]
    starts = ("python scripts/train.py", "python scripts/benchmark.py train")
    assert any(f"{start} {group}={option}" in line for line in header for start in starts)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_shows_each_setting_with_its_default(name):
    settings_class = commands()[name]
    saved = to_tree(from_tree(composed("train", []), TrainSettings))
    names = {field.name for field in fields(settings_class)}
    kept = {key: value for key, value in saved.items() if key in names}
    ConfigStore.instance().store(name=SAVED, node=kept)
    tree = composed(name, ["resume=r"] if name == "resume" else [])
    assert set(tree) == names
    blanks = {"checkpoints": ["x"]}
    filled = {key: blanks.get(key, "x") if value == "???" else value for key, value in tree.items()}
    settings = from_tree(filled, settings_class)
    for field in fields(settings_class):
        if field.default is not MISSING and field.name not in {"resume", "data"}:
            assert getattr(settings, field.name) == field.default, field.name
