"""From a command line to a call: with `overrides`, the only module that knows Hydra.

Hydra answers a mistake with a page of text and exit code 1. So the command line is checked before
Hydra starts, and whatever it still complains of ends as one line.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeVar

import hydra
from hydra._internal.utils import get_args_parser  # which hydra.main reads its flags with
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq.config import Config, from_tree
from seq2seq.errors import RunDiverged, RunError, SettingsError, UserError
from seq2seq.overrides import compose, expand, read
from seq2seq.runtime import is_out_of_memory
from seq2seq.saved import keep
from seq2seq.training.checkpoint import ABOUT_FILE, Checkpoint, checkpoints_in

SettingsType = TypeVar("SettingsType", bound=Config)
OUT_OF_MEMORY_ADVICE = "lower batching.max_tokens, search.batch_size or the model's sizes."
SEARCH_FILE = "optimization_results.yaml"
"""What a sweep that searches leaves in its folder."""
Choice = Callable[[Mapping[str, Any]], tuple[str, Mapping[str, Any]]]
"""From the values of overrides by key: the name of a config file, and settings of a checkpoint."""


def for_training(given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """A new run's config, or a resumed run's own settings."""
    if given.get("resume") is None:
        return "train", {}
    if "run_dir" in given:
        raise SettingsError("run_dir", "cannot go with resume: a run goes on in its own folder.")
    return "resume", Checkpoint.open(_run_of(_folder(given, "resume"))).settings


def for_settings(config_name: str) -> Choice:
    """A command's config, which builds on no checkpoint's settings."""
    return lambda given: (config_name, {})


def for_checkpoint(config_name: str, *groups: str, key: str = "checkpoint") -> Choice:
    """A command's config over some groups of the settings of the checkpoint that `key` names.

    A file in its place has no settings.
    """

    def choose(given: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        if key not in given or (key != "checkpoint" and _folder(given, key).is_file()):
            return config_name, {}
        settings = Checkpoint.open(checkpoints_in(_folder(given, key))[0]).settings
        return config_name, {group: settings[group] for group in groups if group in settings}

    return choose


def _run_of(folder: Path) -> Path:
    """A run's last checkpoint. Raises SettingsError for a checkpoint in a run's place."""
    if (folder / ABOUT_FILE).is_file():
        raise SettingsError(
            "resume", f"names a checkpoint. Give the run: resume={folder.resolve().parent}"
        )
    if not folder.is_dir():
        raise RunError(f"{folder} is not there. `resume` names the folder of a run.")
    return folder / "last"


def _folder(given: Mapping[str, Any], key: str) -> Path:
    value = given[key]
    if isinstance(value, list) and value:  # of checkpoints: the first one's settings count
        value = value[0]
    if isinstance(value, str) and value:
        return Path(value)
    if value == []:
        raise SettingsError(key, "names none. Give at least one.")
    shown = repr(value) if isinstance(value, str | int | float | None) else "more than one"
    raise SettingsError(key, f"must be the name of a folder, but is {shown}.")


def run(
    choose: Choice,
    settings_class: type[SettingsType],
    command: Callable[[SettingsType], int],
    configs: Path,
    measure: Callable[[SettingsType], float] = lambda settings: 0.0,
) -> None:
    """Composes settings from the command line, calls a command with them, and exits.

    Args:
        choose: which config file to start from, and the saved settings that it builds on.
        settings_class: what the composed file describes.
        command: returns the exit code.
        configs: folder of config files.
        measure: what a sweep that searches looks at when a command has ended.
    """
    _use_utf8()
    logging.getLogger("hydra").setLevel(logging.ERROR)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # its errors come to us, instead of out as a page

    sweeps: list[Path] = []

    def task(composed: DictConfig) -> float | None:
        is_sweep = HydraConfig.get().mode is RunMode.MULTIRUN
        if is_sweep:
            _separate(composed)
            sweeps.append(Path(HydraConfig.get().sweep.dir))
        try:
            settings = _parse(composed, settings_class)
            code = command(settings)
            sys.stdout.flush()
            if is_sweep and not code:
                return measure(settings)
        except UserError as error:
            if is_sweep and isinstance(error, RunDiverged):  # the next one may do better
                _say(error)
                return 0.0
            _end(error)
        except BrokenPipeError:  # whoever reads the output has seen enough
            _to_nowhere(sys.stdout)
            sys.exit(1)
        except OSError as error:  # a full disk, say
            if not error.filename:  # what the stream still holds would be refused again at the end
                _to_nowhere(sys.stdout)
            _end(RunError(f"{error.filename or 'The output'}: {error.strerror}."))
        except Exception as error:
            if is_out_of_memory(error):
                _end(RunError(f"Out of memory: {OUT_OF_MEMORY_ADVICE}"))
            traceback.print_exc()  # a bug: its traceback, without Hydra's part
            sys.exit(1)
        sys.exit(code)

    try:
        config_name = _prepare(choose, settings_class, configs)
        hydra.main(version_base="1.3", config_path=str(configs), config_name=config_name)(task)()
        if sweeps and (found := sweeps[-1] / SEARCH_FILE).is_file():
            print(f"the best settings are in {found}", file=sys.stderr)
    except (HydraException, OmegaConfBaseException, OSError, RuntimeError, ValueError) as error:
        _end(error)  # of the command line: what goes wrong in the command has ended in `task`
    except KeyboardInterrupt:
        sys.exit(130)


def _end(error: Exception) -> NoReturn:
    _say(error)
    sys.exit(2)


def _say(error: Exception) -> None:
    print("error:", re.sub(r"\s*\n\s*", " ", str(error)), file=sys.stderr)


def _to_nowhere(stream: TextIO) -> None:
    """Whatever is written to a stream from now on is dropped."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _use_utf8() -> None:
    """Text in and out is UTF-8 with `\\n`, whatever the locale."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  (None: the caller closed it)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline="\n")
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")


class _Parser(argparse.ArgumentParser):
    """Reads Hydra's flags, with errors that fit on a line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}. Settings are written KEY=VALUE, before or after all flags.")


def _prepare(choose: Choice, settings_class: type[Config], configs: Path) -> str:
    """Checks the command line. Returns the name of the config file. Raises UserError."""
    flags = _Parser(parents=[get_args_parser()], add_help=False).parse_args()
    if flags.experimental_rerun:
        raise UserError("--experimental-rerun is not offered: it would unpickle a file.")
    if flags.shell_completion:  # what follows are no overrides
        return choose({})[0]
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(configs)):
        overrides = [read(text) for text in flags.overrides]
        readable = {
            text: str(one.input_line) for text, one in zip(flags.overrides, overrides, strict=True)
        }
        sys.argv[1:] = [readable.get(one, one) for one in sys.argv[1:]]
        given = {one.key_or_group: one.value() for one in overrides}
        shared = next((key for key in ("resume", "output", "heatmaps") if key in given), None)
        if "hydra.mode" in given:
            raise SettingsError("hydra.mode", "is not for you to set: a sweep is started by -m.")
        if flags.multirun and shared:
            raise SettingsError(shared, "cannot go with -m: all runs of the sweep would share it.")
        config_name, saved = choose(given)
        keep(saved, settings_class, without=given, is_whole=config_name == "resume")
        if flags.config_name or flags.config_path or flags.config_dir:
            return config_name  # these files are not ours alone
        will_run = not (flags.help or flags.hydra_help or flags.cfg or flags.info)
        for job in expand(overrides, is_sweep=flags.multirun):
            composed = compose(config_name, job, configs)
            if will_run:
                _parse(composed, settings_class)
    return config_name


def _separate(composed: DictConfig) -> None:
    """Gives a run of a sweep its own folder, numbered, inside the one that all would share."""
    for key in ("run_dir", "output_dir"):
        if composed.get(key) is not None:
            composed[key] = f"{composed[key]}/{HydraConfig.get().job.num}"


def _parse(composed: DictConfig, settings_class: type[SettingsType]) -> SettingsType:
    """The settings of a composed config. Raises SettingsError."""
    try:
        tree = OmegaConf.to_container(composed, resolve=True, throw_on_missing=False)
    except OmegaConfBaseException as error:
        problem = str(error).splitlines()[0]
        raise SettingsError(str(error.full_key), f"cannot be resolved: {problem}") from None
    assert isinstance(tree, dict)
    if missing := sorted(map(str, OmegaConf.missing_keys(composed))):
        raise SettingsError(missing[0], f"has no value. Set it: {missing[0]}=...")
    return from_tree({str(key): value for key, value in tree.items()}, settings_class)
