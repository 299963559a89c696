"""What a user adds to a command, `KEY=VALUE`: read by Hydra's grammar, checked by our rules.

Hydra takes any key after `+`, and says of a mistyped one no more than that it is not there.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType, Quote, QuotedString
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq.config import TARGET
from seq2seq.errors import SettingsError, nearest


def read(text: str) -> Override:
    """One override. A value that has no place in Hydra's grammar is a text.

    Raises:
        SettingsError: it is not of the form `KEY=VALUE`.
    """
    parser = OverridesParser.create(GlobalHydra.instance().config_loader())
    key, equals, value = text.partition("=")
    if not key.strip("+~") or not (equals or key.startswith("~")):
        raise SettingsError(text, "is not an override. Write KEY=VALUE.")
    if value.startswith("~"):
        raise SettingsError(key, f"is {value}, but only a shell knows what ~ is. Write it out.")
    quoted = QuotedString(value, Quote.single).with_quotes()
    for attempt in (text, f"{key}={quoted}"):
        try:
            return parser.parse_overrides([attempt])[0]
        except (HydraException, ValueError):
            if value.startswith("["):
                problem = f"is {value}, which cannot be read. {_advice_on_items(key)}"
                raise SettingsError(key, problem) from None
            if "," in value:  # a list, a sweep, or a text?
                problem = f"is {value}, which cannot be read. {_advice(key, value)}"
                raise SettingsError(key, problem) from None
    # What has not the form of a key is no setting's, as the check below will find.
    return Override(OverrideType.CHANGE, key.strip("+~"), None, value, input_line=text)


def expand(overrides: Sequence[Override], *, is_sweep: bool) -> Iterator[list[Override]]:
    """The overrides of the one run, or of each run of a sweep that can be foreseen.

    Raises:
        SettingsError: one has several values, but this is no sweep.
    """
    choices = []
    for one in overrides:
        if not one.is_sweep_override():
            choices.append([str(one.input_line)])
        elif is_sweep and one.is_interval_sweep():
            return  # what to draw from it is the sweeper's to say
        elif is_sweep:
            values = one.sweep_string_iterator()
            choices.append([f"{one.get_key_element()}={value}" for value in values])
        else:
            key, value = one.key_or_group, one.get_value_string()
            problem = f"is {value}, but only --multirun takes several values."
            raise SettingsError(key, f"{problem} {_advice(key, value)}")
    for job in itertools.product(*choices):
        yield [read(text) for text in job]


def _advice(key: str, value: str) -> str:
    return f"""If it is one text, quote it twice: "{key}='{value}'"."""


def _advice_on_items(key: str) -> str:
    return f"""Quote what is in it: "{key}=['<a>','b c']"."""


def compose(config_name: str, overrides: Sequence[Override], configs: Path) -> DictConfig:
    """A config file with overrides, each of them checked.

    Args:
        config_name: of the file.
        overrides: without sweeps.
        configs: folder of config files; Hydra has been initialised with it.

    Raises:
        SettingsError: an option or key that does not exist, or one to be added or taken away.
    """
    groups = {
        path.relative_to(configs).as_posix(): sorted(one.stem for one in path.glob("*.yaml"))
        for path in configs.rglob("*")
        if path.is_dir()
    }
    ours = [one for one in overrides if not re.match(r"hydra\b", one.key_or_group)]
    choices = [one for one in ours if one.key_or_group in groups]
    for one in choices:
        _check_option(one, groups[one.key_or_group])
    composed = _composed(config_name, choices)
    if len(choices) == len(overrides):
        return composed
    known: Any = OmegaConf.to_container(composed)
    for one in ours:
        if one not in choices:
            _check_key(one, known, groups)
    return _composed(config_name, overrides)


def _composed(config_name: str, overrides: Sequence[Override]) -> DictConfig:
    texts = [str(one.input_line) for one in overrides]
    try:
        composed = hydra.compose(config_name, texts, return_hydra_config=True)
        HydraConfig.instance().set_config(composed)  # where ${hydra:...} looks
        return OmegaConf.masked_copy(composed, [str(key) for key in composed if key != "hydra"])
    except (HydraException, OmegaConfBaseException) as error:
        problem = " ".join(f"{error} {error.__cause__ or ''}".split())
        if unused := re.match(r"Could not override '([^']+)'", problem):
            raise SettingsError(unused[1], "is in none of the files that are chosen.") from None
        if plugin := re.search(r"Could not find '(hydra/\w+)/(\w+)'", problem):
            raise SettingsError(
                plugin[1],
                f"has no {plugin[2]} here. `pip install -e '.[sweeps]'` brings Optuna, joblib and "
                "submitit.",
            ) from None
        raise SettingsError("command line", f"cannot be used: {problem}") from None


def _check_option(override: Override, options: Iterable[str]) -> None:
    """Raises SettingsError where a group has no such option."""
    key, value = override.key_or_group, override.value()
    if str(value) not in options and not (value is None and override.is_delete()):
        shown = "null" if value is None else repr(value)
        raise SettingsError(key, f"has no option {shown}. {nearest(str(value), options)}")
    if override.is_force_add():
        raise SettingsError(key, f"is there already. Write {key}={value}.")
    _check_sign(override)


def _check_key(
    override: Override, known: Mapping[str, Any], groups: Mapping[str, Sequence[str]]
) -> None:
    """Raises SettingsError where a key, or one in a value `{...}`, is not in the composed tree."""
    key, value = override.key_or_group, override.value()
    _check_path(key, known, groups)
    _check_sign(override)
    if isinstance(value, dict):
        for path in _paths(value, f"{key}."):
            _check_path(path, known, groups)
    elif (group := key.replace(".", "/")) in groups:
        options = ", ".join(groups[group])
        raise SettingsError(key, f"is a group. Choose with {group}=, from: {options}.")


def _check_path(key: str, known: Mapping[str, Any], groups: Mapping[str, Sequence[str]]) -> None:
    """Raises SettingsError where a dotted key is not in the composed tree."""
    node, above = known, ""
    for part in key.split("."):
        if part not in node:
            names = [name for name in node if name != TARGET]
            hint = _hint(key, above, names, [*groups, *_paths(known)])
            raise SettingsError(key, f"is not a setting. {hint}")
        node = node[part] if isinstance(node[part], dict) else {}
        above = f"{above}.{part}" if above else part


def _check_sign(override: Override) -> None:
    """Raises SettingsError where a setting that exists is to be added, taken away or moved."""
    key = override.key_or_group
    if override.is_delete():
        raise SettingsError(key, "cannot be taken away: each setting needs a value.")
    if override.is_add():
        raise SettingsError(key, f"is there already. Write {key}={override.get_value_string()}.")
    if override.package is not None:
        place = f"{key}@{override.package}"
        raise SettingsError(place, f"is not a setting. Did you mean `{key}`?")


def _hint(key: str, above: str, siblings: Iterable[str], paths: Sequence[str]) -> str:
    """A closing sentence on what `key` should have been.

    Args:
        key: of an override; does not exist.
        above: the part of it that does.
        siblings: names under `above`.
        paths: all keys and groups.
    """
    if moved := [path for path in paths if _last(path) == _last(key)]:
        return nearest(key, moved)
    if above:
        missing = key.removeprefix(above + ".").split(".")[0]
        return nearest(missing, siblings, under=above) if siblings else f"Did you mean `{above}`?"
    return nearest(key, get_close_matches(key, paths, n=1, cutoff=0.5) or siblings)


def _last(key: str) -> str:
    return re.split("[./]", key)[-1]


def _paths(tree: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The dotted keys of all values in a tree."""
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{above}{name}.")
        elif name != TARGET:
            yield f"{above}{name}"
