"""The base of every setting: frozen dataclasses that check themselves, and trees of them.

A tree (nested dicts, as YAML gives) becomes settings through `from_tree`; `_target_` names the
class, and can name nothing but a `Config` of this package, since trees also come out of strangers'
checkpoints. Hydra's own `instantiate` would import and call anything, and checks no types.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
import sys
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from seq2seq.errors import SettingsError, nearest

TARGET = "_target_"
_TARGET_PATTERN = re.compile(r"seq2seq(\.[a-z][a-z0-9_]*)+\.[A-Z][A-Za-z0-9]*")


@dataclass(frozen=True)
class AtLeast:
    """A numeric field's lower bound, for use in `Annotated`."""

    bound: float

    def problem(self, value: float) -> str | None:
        """What is wrong with `value`, or None."""
        return None if value >= self.bound else f"must be at least {self.bound}, but is {value}."


@dataclass(frozen=True)
class AtMost:
    """A numeric field's upper bound, for use in `Annotated`."""

    bound: float

    def problem(self, value: float) -> str | None:
        """What is wrong with `value`, or None."""
        return None if value <= self.bound else f"must be at most {self.bound}, but is {value}."


@dataclass(frozen=True)
class Above:
    """A numeric field's exclusive lower bound, for use in `Annotated`."""

    bound: float

    def problem(self, value: float) -> str | None:
        """What is wrong with `value`, or None."""
        return None if value > self.bound else f"must be above {self.bound}, but is {value}."


@dataclass(frozen=True)
class Below:
    """A numeric field's exclusive upper bound, for use in `Annotated`."""

    bound: float

    def problem(self, value: float) -> str | None:
        """What is wrong with `value`, or None."""
        return None if value < self.bound else f"must be below {self.bound}, but is {value}."


@dataclass(frozen=True)
class Between:
    """A numeric field's closed interval, for use in `Annotated`."""

    low: float
    high: float

    def problem(self, value: float) -> str | None:
        """What is wrong with `value`, or None."""
        if self.low <= value <= self.high:
            return None
        return f"must be from {self.low} to {self.high}, but is {value}."


Count = Annotated[int, AtLeast(1), AtMost(2**31 - 1)]
NumLayers = Annotated[int, AtLeast(1), AtMost(1000)]
NonNegativeInt = Annotated[int, AtLeast(0), AtMost(2**31 - 1)]
Positive = Annotated[float, Above(0)]
NonNegative = Annotated[float, AtLeast(0)]
Fraction = Annotated[float, Between(0, 1)]
Dropout = Annotated[float, Between(0, 0.95)]

ConfigType = TypeVar("ConfigType", bound="Config")


@dataclass(frozen=True, kw_only=True)
class Config:
    """Settings that cannot exist with a wrong type or value.

    Field types may be bool, int, float, str (never empty), `Literal`, tuples of these, another
    Config, and optionals, with `Annotated` bounds. What concerns several fields goes into `check`.
    """

    def __post_init__(self) -> None:
        for name, hint in field_types(type(self)).items():
            object.__setattr__(self, name, _checked(getattr(self, name), hint, name))
        self.check()

    def check(self) -> None:
        """Raises SettingsError where fields do not fit each other."""


def field_types(config: type[Config]) -> dict[str, Any]:
    """The annotation of each field, strings resolved."""
    hints = get_type_hints(config, include_extras=True)
    return {field.name: hints[field.name] for field in fields(config)}


def _checked(value: object, hint: Any, key: str) -> object:
    """`value` as the type `hint` (an int where a float is due is widened), or SettingsError."""
    if get_origin(hint) is Annotated:
        inner, *bounds = get_args(hint)
        value = _checked(value, inner, key)
        for bound in bounds:
            if value is not None and (problem := bound.problem(value)):
                raise SettingsError(key, problem)
        return value
    if get_origin(hint) in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        if value is None and len(options) < len(get_args(hint)):
            return None
        assert len(options) == 1, f"{key}: only optionals are supported"
        return _checked(value, options[0], key)
    if get_origin(hint) is Literal:
        if value in get_args(hint) and isinstance(value, str):
            return value
        choices = [str(choice) for choice in get_args(hint)]
        hint_text = nearest(str(value), choices)
        raise SettingsError(
            key, f"must be one of {', '.join(choices)}, but is {value!r}. {hint_text}"
        )
    if get_origin(hint) is tuple:
        if isinstance(value, str | int | float):
            value = (value,)  # a list of one
        if not isinstance(value, list | tuple):
            raise SettingsError(key, f"must be a list, but is {_shown(value)}.")
        item = get_args(hint)[0]
        return tuple(_checked(one, item, f"{key}[{index}]") for index, one in enumerate(value))
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) <= sys.float_info.max else math.inf
    if hint is float and isinstance(value, float) and not math.isfinite(value):
        raise SettingsError(key, f"must be a finite number, but is {value}.")
    if value == "" and hint is str:  # what `KEY=$VARIABLE` gives where there is no such variable
        raise SettingsError(key, "must not be empty.")
    if isinstance(value, hint) and (hint is bool or not isinstance(value, bool)):
        return value
    advice = ""
    if hint is str and isinstance(value, int | float):
        advice = f""" If it is a text, quote it twice: "'{value}'"."""
    raise SettingsError(key, f"must be {_described(hint)}, but is {_shown(value)}.{advice}")


def _described(hint: type) -> str:
    names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    article = "an" if hint.__name__[0] in "AEIOU" else "a"
    return names.get(hint, f"{article} {hint.__name__}")


def _shown(value: object) -> str:
    """A value as a config file spells it."""
    if isinstance(value, Config):
        return _described(type(value))
    if isinstance(value, Mapping):
        return "a group of settings"
    return {"None": "null", "True": "true", "False": "false"}.get(repr(value), repr(value))


def from_tree(tree: Mapping[str, Any], expected: type[ConfigType], key: str = "") -> ConfigType:
    """The settings that a tree describes.

    Args:
        tree: nested mappings with string keys; `_target_` names a class where `expected` is a base.
        expected: the class, or a base of it.
        key: where the tree hangs in a larger one, for messages.

    Raises:
        SettingsError: an unknown or missing key, a wrong type or value, or a `_target_` that is not
            a settings class of this package.
    """
    config = _class_of(tree, expected, key)
    types_of = field_types(config)
    values: dict[str, Any] = {}
    for name, value in tree.items():
        if name == TARGET:
            continue
        if name not in types_of:
            where = f"{key}.{name}" if key else name
            raise SettingsError(
                where, f"is not a setting. {nearest(str(name), types_of, under=key)}"
            )
        nested = _config_in(types_of[name])
        if nested is not None and isinstance(value, Mapping):
            value = from_tree(value, nested, f"{key}.{name}" if key else name)
        values[name] = value
    for field in fields(config):
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in values:
            where = f"{key}.{field.name}" if key else field.name
            raise SettingsError(where, "has no value. Give it one.")
    try:
        return config(**values)
    except SettingsError as error:
        raise error.under(key) from None


def _config_in(hint: Any) -> type[Config] | None:
    """The Config class inside an annotation, if there is one."""
    for one in (hint, *get_args(hint)):
        if isinstance(one, type) and issubclass(one, Config):
            return one
    return None


def _class_of(tree: Mapping[str, Any], expected: type[ConfigType], key: str) -> type[ConfigType]:
    target = tree.get(TARGET)
    if target is None and not inspect.isabstract(expected):
        return expected
    where = f"{key}.{TARGET}" if key else TARGET
    refusal = SettingsError(
        where, f"must name {_described(expected)} of this package, but is {_shown(target)}."
    )
    if not isinstance(target, str) or not _TARGET_PATTERN.fullmatch(target):
        raise refusal
    module_name, _, class_name = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(module_name), class_name, None)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise refusal from None
    if not (isinstance(found, type) and issubclass(found, expected)) or inspect.isabstract(found):
        raise refusal
    if found.__module__ != module_name:
        raise refusal
    return found


def to_tree(config: Config) -> dict[str, Any]:
    """The tree that `from_tree` turns back into an equal `config`."""
    tree: dict[str, Any] = {TARGET: f"{type(config).__module__}.{type(config).__qualname__}"}
    for field in fields(config):
        value = getattr(config, field.name)
        if isinstance(value, Config):
            value = to_tree(value)
        tree[field.name] = list(value) if isinstance(value, tuple) else value
    return tree
