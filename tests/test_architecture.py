"""Who may import whom, read from the source with `ast`: floors, families, owners of libraries."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from seq2seq.config import Config

ROOT = Path(__file__).resolve().parents[1]

# A module imports from lower floors only.
FLOORS = [
    {"errors", "special_tokens"},
    {"config"},
    {"nn", "overrides", "processes", "runtime", "saved", "tokenizers"},
    {"data", "models"},
    {"objectives", "optim", "search"},
    {"evaluation"},
    {"training"},
    {"experiment", "launch"},
    {"benchmark", "tour"},
]
# Folders whose modules tell one story together; they import each other.
STORIES = {
    *("benchmark", "data", "data/phrasebook", "evaluation", "experiment"),
    *("objectives", "tour", "training"),
}
# In all other folders, modules know of each other only what these say.
ABSTRACT = {"base", "interfaces"}

# Implementations of a group of config files are named by those files alone, but for these.
KNOWN_IMPLEMENTATIONS = {
    ("nn/self_attention", "nn/attention/multi_head"): "is made of it",
    ("models/decoders/bahdanau", "nn/attention/additive"): "is faster as one with a GRU",
    (
        "objectives/scheduled_sampling",
        "objectives/cross_entropy",
    ): "is the same loss, fed otherwise",
    ("training/validation", "objectives/cross_entropy"): "is what perplexity means",
    ("training/validation", "search/greedy"): "is what a beam must not be worse than",
    ("experiment/align", "data/embedded"): "no other corpus has gold alignments",
    ("benchmark/ctranslate2", "models/decoders/transformer"): "is what CTranslate2 has",
    ("benchmark/ctranslate2", "models/encoders/transformer"): "is what CTranslate2 has",
    ("benchmark/ctranslate2", "nn/attention/multi_head"): "is what CTranslate2 has",
    ("benchmark/ctranslate2", "nn/positions/learned"): "is what CTranslate2 has",
    ("benchmark/ctranslate2", "nn/positions/sinusoidal"): "is what CTranslate2 has",
    ("benchmark/decoding", "search/beam"): "is what it times",
    ("benchmark/decoding", "search/greedy"): "is what it times",
    ("experiment/tune_search", "search/beam"): "is what it tunes",
    ("tour/command", "data/embedded"): "no other corpus has gold alignments",
    ("tour/command", "nn/positions/sinusoidal"): "is what the tour explains",
    ("tour/position_figures", "nn/positions/rotary"): "is what the tour explains",
    ("tour/position_figures", "nn/positions/sinusoidal"): "is what the tour explains",
}

# Each library that is not Python's own, and who may import it; torch and numpy are everybody's.
OWNERS = {
    "comet": {"evaluation/comet"},
    "ctranslate2": {"benchmark/ctranslate2"},
    "defusedxml": {"data/tmx"},
    "hydra": {"launch", "overrides", "saved"},
    "matplotlib": {"evaluation/heatmap", "tour/attention_figures", "tour/position_figures"},
    "omegaconf": {"launch", "overrides"},
    "sacrebleu": {"evaluation/metrics"},
    "sacremoses": {"tokenizers/word"},
    "safetensors": {"training/checkpoint"},
    "sentencepiece": {"tokenizers/subword"},
    "torchtext": {"tokenizers/word"},
    "tqdm": {
        "benchmark/data",
        "benchmark/decoding",
        "benchmark/training",
        "data/download",
        "data/preflight",
        "data/store",
        "experiment/align",
        "experiment/translate",
        "experiment/tune_search",
        "experiment/outputs",
        "experiment/score",
        "tour/command",
        "training/journal",
    },
    "yaml": {"training/checkpoint"},
}


class Import(NamedTuple):
    """`from module import name` in a source file; a name that is a module belongs to `module`."""

    importer: str
    module: str
    name: str | None


def package_files() -> dict[str, Path]:
    """Every module of the package by its path without ending, such as `nn/attention/base`."""
    package = ROOT / "seq2seq"
    return {
        path.relative_to(package).with_suffix("").as_posix(): path
        for path in sorted(package.rglob("*.py"))
    }


FILES = package_files()


def read_imports(importer: str) -> list[Import]:
    """All imports of a module, those inside functions too."""
    found = []
    here = ["seq2seq", *importer.split("/")]
    for node in ast.walk(ast.parse(FILES[importer].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [Import(importer, one.name, None) for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = [*here[: -node.level], node.module] if node.level else [node.module]
            module = ".".join(filter(None, parts))
            for one in node.names:
                inside = f"{module}.{one.name}"
                is_module = inside.removeprefix("seq2seq.").replace(".", "/") in FILES
                found.append(
                    Import(importer, *((inside, None) if is_module else (module, one.name)))
                )
    return found


# The package's front door loads what is behind it on demand.
IMPORTS = [one for name in FILES if name != "__init__" for one in read_imports(name)]


def own_imports() -> list[tuple[str, str, str | None]]:
    """(importer, module of this package, name)."""
    prefix = "seq2seq."
    return [
        (one.importer, one.module.removeprefix(prefix).replace(".", "/"), one.name)
        for one in IMPORTS
        if one.module.startswith(prefix)
    ]


def floor_of(module: str) -> int:
    top = module.split("/")[0]
    return next(number for number, names in enumerate(FLOORS) if top in names)


def folder_of(module: str) -> str:
    return module.rpartition("/")[0]


def may_import(importer: str, imported: str) -> bool:
    """Whether the rules of this file allow it."""
    if importer.split("/")[0] != imported.split("/")[0]:
        return floor_of(imported) < floor_of(importer)
    mine, other = folder_of(importer), folder_of(imported)
    is_near = mine == other or mine.startswith(f"{other}/") or other.startswith(f"{mine}/")
    if imported.split("/")[-1] in ABSTRACT:
        return is_near
    return is_near and mine in STORIES and other in STORIES


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("config", "errors", True),
        ("errors", "config", False),
        ("search/beam", "objectives/base", False),
        ("search/beam", "search/base", True),
        ("search/beam", "search/greedy", False),
        ("models/encoders/recurrent", "models/encoders/base", True),
        ("models/encoders/recurrent", "models/interfaces", True),
        ("models/encoders/recurrent", "models/encoders/transformer", False),
        ("models/encoders/recurrent", "models/decoders/base", False),
        ("models/seq2seq", "models/encoders/base", True),
        ("models/seq2seq", "models/encoders/recurrent", False),
        ("data/multi30k", "data/download", True),
        ("data/embedded", "data/phrasebook/grammar", True),
        ("data/batches", "data/batching/token_budget", False),
        ("training/trainer", "training/journal", True),
        ("training/trainer", "experiment/train", False),
        ("experiment/train", "launch", False),
    ],
)
def test_the_rules_say_what_they_mean(importer, imported, allowed):
    assert may_import(importer, imported) is allowed


def test_every_module_has_a_floor():
    tops = {name.split("/")[0] for name in FILES} - {"__init__"}
    assert tops == set().union(*FLOORS)


def test_modules_import_from_lower_floors_or_from_the_base_of_their_folder():
    wrong = {
        f"{importer} imports {imported}"
        for importer, imported, _ in own_imports()
        if not may_import(importer, imported)
        and (importer, imported) not in KNOWN_IMPLEMENTATIONS
        and not importer.endswith("/__init__")  # which shows what its own folder has
    }
    assert not wrong


def configured_classes() -> set[type]:
    """Each class that a config file names."""
    found = set()
    for path in (ROOT / "configs").rglob("*.yaml"):
        target = yaml.safe_load(path.read_text(encoding="utf-8")).get("_target_")
        if target:
            module, _, name = target.rpartition(".")
            found.add(getattr(importlib.import_module(module), name))
    return found


def is_implementation(configured: type) -> bool:
    """Whether a class is one of a family: it has a base between itself and `Config`."""
    return any(issubclass(base, Config) for base in configured.__bases__ if base is not Config)


def is_abstract(module: str, name: str | None) -> bool:
    """Whether what is imported is the base of a family, as in `optim/schedules`."""
    found = getattr(
        importlib.import_module("seq2seq." + module.replace("/", ".")), name or "", None
    )
    return inspect.isclass(found) and inspect.isabstract(found)


def test_only_config_files_and_tests_name_an_implementation():
    families = {
        one.__module__.removeprefix("seq2seq.").replace(".", "/")
        for one in configured_classes()
        if is_implementation(one)
    }
    assert {"nn/attention/additive", "search/beam", "optim/schedules"} <= families
    found = {
        (importer, module)
        for importer, module, name in own_imports()
        if module in families and not is_abstract(module, name)
    }
    assert found == set(KNOWN_IMPLEMENTATIONS)


def test_each_library_has_its_owners():
    found: dict[str, set[str]] = {}
    for one in IMPORTS:
        library = one.module.split(".")[0]
        if library not in {"seq2seq", "numpy", "torch", *sys.stdlib_module_names}:
            found.setdefault(library, set()).add(one.importer)
    assert found == OWNERS


def sources() -> list[Path]:
    return [*FILES.values(), *sorted((ROOT / "scripts").glob("*.py"))]


def code_runners(tree: ast.Module) -> set[str]:
    """What could run code that came as data."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [one.name for one in node.names]
            module = node.module if isinstance(node, ast.ImportFrom) else None
            found |= {"pickle", "marshal", "shelve"}.intersection([*names, module])
            found |= {"load"}.intersection(names if module == "torch" else [])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found |= {"eval", "exec", "compile", "__import__"}.intersection([node.func.id])
        if isinstance(node, ast.Attribute):
            found |= {"torch.load", "yaml.load", "yaml.unsafe_load"}.intersection(
                [ast.unparse(node)]
            )
    return found


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import loads",
        "from torch import load",
        "torch.load(path, weights_only=True)",
        "yaml.load(text)",
        "eval(text)",
        "exec(text)",
    ],
)
def test_what_runs_code_is_recognised(text):
    assert code_runners(ast.parse(text))
    assert not code_runners(ast.parse("model.eval()\nyaml.safe_load(text)\nload_file(path)"))


def test_nothing_runs_code_that_came_as_data():
    found = {
        one.name: code_runners(ast.parse(one.read_text(encoding="utf-8"))) for one in sources()
    }
    assert set().union(*found.values()) == set(), found


def test_no_file_is_a_drawer_for_odds_and_ends():
    names = {part for name in FILES for part in name.split("/")}
    assert not names & {"utils", "util", "helpers", "helper", "common", "misc"}


def test_every_file_can_be_read_in_one_sitting():
    lengths = {str(one): one.read_text(encoding="utf-8").count("\n") for one in sources()}
    assert {name: lines for name, lines in lengths.items() if lines > 260} == {}
