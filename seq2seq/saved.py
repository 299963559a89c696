"""The settings of a checkpoint, put where the defaults list of a config file finds them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, fields
from typing import Any

from hydra.core.config_store import ConfigStore

from seq2seq.config import Config, field_types, from_tree, to_tree
from seq2seq.errors import CheckpointError, SettingsError

SAVED = "saved"
"""Their name there."""


def keep(
    saved: Mapping[str, Any],
    settings_class: type[Config],
    *,
    without: Container[str],
    is_whole: bool,
) -> None:
    """Keeps a checkpoint's settings for a config file.

    What has come since it was written has its default, so that it can be set.

    Args:
        saved: the settings.
        settings_class: what the composed file describes.
        without: groups that are chosen anew: the old choice's keys are not the new one's.
        is_whole: they are all that the composed file has.

    Raises:
        CheckpointError: they hold more than settings. Hydra would call what stands under `hydra`.
    """
    hints = field_types(settings_class)
    if unknown := [str(key) for key in saved if key not in hints]:
        raise CheckpointError(f"The checkpoint's settings hold `{unknown[0]}`, which is not one.")
    if found := next(_interpolations(saved), None):
        raise CheckpointError(f"The checkpoint's settings hold {found!r}, which will not be read.")
    if is_whole:
        saved = {**_defaults(settings_class), **saved}
    node = {
        key: _with_defaults(value, hints[key]) for key, value in saved.items() if key not in without
    }
    ConfigStore.instance().store(name=SAVED, node=node)


def _defaults(settings_class: type[Config]) -> dict[str, Any]:
    """The settings that need not be given, of which a checkpoint from before may lack some."""
    found = {}
    for one in fields(settings_class):
        if one.default_factory is not MISSING:
            found[one.name] = to_tree(one.default_factory())
        elif one.default is not MISSING and one.name != "resume":
            found[one.name] = one.default
    return found


def _with_defaults(value: Any, hint: Any) -> Any:
    """A group of settings with the defaults of those that it lacks."""
    if isinstance(value, Mapping) and isinstance(hint, type) and issubclass(hint, Config):
        with suppress(SettingsError):  # which is told when the whole is read
            return to_tree(from_tree(dict(value), hint))
    return value


def _interpolations(tree: Any) -> Iterator[str]:
    """The texts in a tree that Hydra would resolve, from this machine's environment for one."""
    if isinstance(tree, Mapping | list):
        for value in tree.values() if isinstance(tree, Mapping) else tree:
            yield from _interpolations(value)
    elif isinstance(tree, str) and "${" in tree:
        yield tree
