"""From a command line to a call: the only module, besides the scripts, that knows Hydra.

Overrides are checked before Hydra starts, because it would answer a mistyped key with a page of
text and exit code 1, and would accept any key after `+`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq.config import Config, from_tree
from seq2seq.errors import SettingsError, UserError, nearest
from seq2seq.training.checkpoint import Checkpoint

SettingsType = TypeVar("SettingsType", bound=Config)
SAVED = "saved"
"""The name under which a checkpoint's settings stand in the defaults list of a config file."""
Choice = Callable[[Mapping[str, str]], tuple[str, Mapping[str, Any]]]
"""From the plain overrides by key: the name of a config file, and settings of a checkpoint."""


def for_training(given: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
    """A new run's config, or a resumed run's own settings."""
    folder = given.get("resume", "null")
    if folder == "null":
        return "train", {}
    return "resume", Checkpoint.open(Path(folder) / "last").settings


def for_checkpoint(config_name: str, *groups: str) -> Choice:
    """A command's config over some groups of the settings of the checkpoint that is named."""

    def choose(given: Mapping[str, str]) -> tuple[str, Mapping[str, Any]]:
        if "checkpoint" not in given:
            return config_name, {}
        settings = Checkpoint.open(Path(given["checkpoint"])).settings
        return config_name, {group: settings[group] for group in groups if group in settings}

    return choose


def run(
    choose: Choice,
    settings_class: type[SettingsType],
    command: Callable[[SettingsType], int],
    configs: Path,
) -> None:
    """Composes settings from the command line, calls a command with them, and exits.

    Args:
        choose: which config file to start from, and the saved settings that it builds on.
        settings_class: what the composed file describes.
        command: returns the exit code.
        configs: folder of config files.
    """
    _use_utf8()
    logging.getLogger("hydra").setLevel(logging.ERROR)
    try:
        overrides = [one for one in sys.argv[1:] if not one.startswith("-")]
        given = dict(one.split("=", 1) for one in overrides if "=" in one)
        config_name, saved = choose(given)
        # A group chosen anew replaces the saved one whole: the old choice's keys are not the new's.
        kept = {key: value for key, value in saved.items() if key not in given}
        ConfigStore.instance().store(name=SAVED, node=kept)
        if (
            len(overrides) == len(sys.argv) - 1
        ):  # with flags (--help, --multirun) Hydra is on its own
            _compose(config_name, overrides, settings_class, configs)
    except UserError as error:
        _end(error)

    def task(composed: DictConfig) -> None:
        try:
            settings = _parse(composed, settings_class)
            code = command(settings)
        except UserError as error:
            _end(error)
        if HydraConfig.get().mode is not RunMode.MULTIRUN or code:
            sys.exit(code)

    hydra.main(version_base="1.3", config_path=str(configs), config_name=config_name)(task)()


def _end(error: UserError) -> None:
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)


def _use_utf8() -> None:
    """Text in and out is UTF-8 with `\\n`, whatever the locale."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    sys.stderr.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _parse(composed: DictConfig, settings_class: type[SettingsType]) -> SettingsType:
    """The settings of a composed config. Raises SettingsError."""
    is_sweep = HydraConfig.initialized() and HydraConfig.get().mode is RunMode.MULTIRUN
    if is_sweep and "run_dir" in composed:  # each job has a folder of its own
        composed.run_dir = f"{composed.run_dir}/{HydraConfig.get().job.num}"
    try:
        tree = OmegaConf.to_container(composed, resolve=True, throw_on_missing=False)
    except OmegaConfBaseException as error:
        raise SettingsError(str(error.full_key), f"cannot be resolved: {_first(error)}") from None
    assert isinstance(tree, dict)
    missing = {str(key) for key in OmegaConf.missing_keys(composed)}
    if missing:
        raise SettingsError(sorted(missing)[0], f"has no value. Set it: {sorted(missing)[0]}=...")
    return from_tree({str(key): value for key, value in tree.items()}, settings_class)


def _compose(
    config_name: str, overrides: list[str], settings_class: type[Config], configs: Path
) -> None:
    """Goes through all that could be wrong with a command line. Raises SettingsError."""
    try:
        parsed = OverridesParser.create().parse_overrides(overrides)
    except HydraException as error:
        wrong = next((one for one in overrides if "=" not in one), None)
        if wrong:
            raise SettingsError(wrong, "is not an override. Write KEY=VALUE.") from None
        raise SettingsError("command line", f"cannot be read: {_first(error)}") from None
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(configs)):
        for one in parsed:
            _check_group(one, configs)
        groups = [
            text
            for text, one in zip(overrides, parsed, strict=True)
            if (configs / one.key_or_group).is_dir()
        ]
        known = hydra.compose(config_name, groups)
        for one in parsed:
            _check_key(one, known, configs)
        try:
            _parse(hydra.compose(config_name, overrides), settings_class)
        except HydraException as error:
            raise SettingsError("command line", f"cannot be used: {_first(error)}") from None


def _check_group(override: Override, configs: Path) -> None:
    """Raises SettingsError where a group has no such option."""
    folder = configs / override.key_or_group
    if not folder.is_dir() or override.value() is None:
        return
    options = sorted(path.stem for path in folder.glob("*.yaml"))
    if str(override.value()) not in options:
        raise SettingsError(
            override.key_or_group,
            f"has no option {str(override.value())!r}. {nearest(str(override.value()), options)}",
        )


def _check_key(override: Override, known: DictConfig, configs: Path) -> None:
    """Raises SettingsError where a key is not in the composed config."""
    key = override.key_or_group
    if (configs / key).is_dir() or key.startswith("hydra."):
        return
    node: Any = known
    seen: list[str] = []
    for part in key.split("."):
        names = [str(name) for name in node] if isinstance(node, DictConfig) else []
        if part not in names:
            groups = [
                str(path.relative_to(configs)) for path in configs.rglob("*") if path.is_dir()
            ]
            keys = [".".join([*seen, name]) for name in names if name != "_target_"]
            raise SettingsError(
                key, f"is not a setting. {nearest(key, keys + groups * (not seen))}"
            )
        seen.append(part)
        node = node._get_node(part)


def _first(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
