"""Settings check themselves: every message, and trees that can name nothing but settings."""

from __future__ import annotations

import importlib
import math
import sys
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import Literal

import pytest

from seq2seq.config import (
    Above,
    AtLeast,
    Between,
    Config,
    Count,
    Dropout,
    Fraction,
    NonNegative,
    NonNegativeInt,
    Positive,
    from_tree,
    to_tree,
)
from seq2seq.data.base import DataConfig
from seq2seq.data.files import FilesConfig
from seq2seq.errors import SettingsError, nearest
from seq2seq.objectives.scheduled_sampling import ScheduledSamplingConfig
from seq2seq.optim.schedules import ConstantSchedule, ScheduleConfig
from seq2seq.search.base import SearchConfig


@dataclass(frozen=True, kw_only=True)
class Inner(Config):
    width: Count = 1

    def check(self) -> None:
        if self.width == 13:
            raise SettingsError("width", "brings bad luck.")


@dataclass(frozen=True, kw_only=True)
class Outer(Config):
    name: str = "x"
    flag: bool = False
    count: Count = 1
    seed: NonNegativeInt = 0
    rate: Positive = 0.5
    decay: NonNegative = 0.0
    share: Fraction = 0.5
    dropout: Dropout = 0.0
    limit: Count | None = None
    kind: Literal["linear", "cosine"] = "linear"
    betas: tuple[float, ...] = ()
    inner: Inner = Inner()
    other: Inner | None = None


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        (
            "name",
            5,
            """must be a text, but is 5. If it is a text, quote it twice: "'5'".""",
        ),
        ("name", None, "must be a text, but is null."),
        ("name", "", "must not be empty."),
        ("flag", 1, "must be true or false, but is 1."),
        ("flag", "yes", "must be true or false, but is 'yes'."),
        ("count", True, "must be a whole number, but is true."),
        ("count", 1.0, "must be a whole number, but is 1.0."),
        ("count", "3", "must be a whole number, but is '3'."),
        ("count", None, "must be a whole number, but is null."),
        ("count", 0, "must be at least 1, but is 0."),
        ("seed", -1, "must be at least 0, but is -1."),
        ("rate", False, "must be a number, but is false."),
        ("rate", "1e-3", "must be a number, but is '1e-3'."),
        ("rate", 0, "must be above 0, but is 0.0."),
        ("rate", math.nan, "must be a finite number, but is nan."),
        ("rate", math.inf, "must be a finite number, but is inf."),
        ("rate", 10**400, "must be a finite number, but is inf."),
        ("decay", -0.1, "must be at least 0, but is -0.1."),
        ("share", 1.5, "must be from 0 to 1, but is 1.5."),
        ("dropout", 1, "must be from 0 to 0.95, but is 1.0."),
        ("limit", 0, "must be at least 1, but is 0."),
        ("limit", "none", "must be a whole number, but is 'none'."),
        (
            "kind",
            "cosin",
            "must be one of linear, cosine, but is 'cosin'. Did you mean `cosine`?",
        ),
        ("kind", 3, "must be one of linear, cosine, but is 3. Valid names are: cosine, linear."),
        ("betas", None, "must be a list, but is null."),
        ("inner", {"width": 1}, "must be an Inner, but is a group of settings."),
        ("inner", ConstantSchedule(), "must be an Inner, but is a ConstantSchedule."),
        ("inner", None, "must be an Inner, but is null."),
    ],
)
def test_a_wrong_value_is_refused_by_name(name, value, problem):
    with pytest.raises(SettingsError) as caught:
        Outer(**{name: value})
    assert str(caught.value) == f"`{name}` {problem}"


def test_the_place_in_a_list_is_part_of_the_key():
    with pytest.raises(SettingsError, match=r"^`betas\[1\]` must be a number, but is 'a'\.$"):
        Outer(betas=(0.9, "a"))


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        (AtLeast(1), [1, 2.5], [0.999, -1]),
        (Above(0), [1e-9, 1], [0, -1]),
        (Between(0, 1), [0, 0.5, 1], [-1e-9, 1.1]),
    ],
)
def test_bounds_hold_or_leave_out_their_ends(bound, inside, outside):
    assert [bound.problem(value) for value in inside] == [None] * len(inside)
    assert all(bound.problem(value) for value in outside)


def test_whole_numbers_are_widened_and_lists_made_tuples():
    assert Outer(betas=0.5).betas == (0.5,)
    outer = Outer(rate=1, betas=[1, 0.5], limit=3, other=Inner(width=2))
    assert outer.rate == 1.0 and isinstance(outer.rate, float)
    assert outer.betas == (1.0, 0.5) and isinstance(outer.betas[0], float)
    assert (outer.limit, outer.other) == (3, Inner(width=2))


def test_settings_are_frozen_and_a_changed_copy_is_checked_again():
    with pytest.raises(FrozenInstanceError):
        Outer().count = 2
    with pytest.raises(SettingsError, match="`count` must be at least 1"):
        replace(Outer(), count=0)


def test_a_tree_becomes_settings():
    outer = from_tree({"count": 2, "inner": {"width": 3}, "other": {"width": 4}}, Outer)
    assert outer == Outer(count=2, inner=Inner(width=3), other=Inner(width=4))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"cuont": 2}, "`cuont` is not a setting. Did you mean `count`?"),
        ({"inner": {"widht": 2}}, "`inner.widht` is not a setting. Did you mean `inner.width`?"),
        ({"inner": {"zz": 2}}, "`inner.zz` is not a setting. Valid names are: width."),
        ({"inner": {7: 2}}, "`inner.7` is not a setting. Valid names are: width."),
        ({"inner": {"width": 0}}, "`inner.width` must be at least 1, but is 0."),
        ({"other": {"width": 0}}, "`other.width` must be at least 1, but is 0."),
        ({"inner": {"width": 13}}, "`inner.width` brings bad luck."),
        ({"inner": 3}, "`inner` must be an Inner, but is 3."),
    ],
)
def test_messages_name_the_whole_key(tree, message):
    with pytest.raises(SettingsError) as caught:
        from_tree(tree, Outer)
    assert str(caught.value) == message


def test_a_missing_key_is_named():
    sampling = {"_target_": f"{ScheduledSamplingConfig.__module__}.ScheduledSamplingConfig"}
    with pytest.raises(SettingsError, match=r"^`objective\.decay` has no value\. Give it one\.$"):
        from_tree(sampling, ScheduledSamplingConfig, "objective")
    with pytest.raises(SettingsError, match=r"^`train_source` has no value"):
        from_tree({"_target_": "seq2seq.data.files.FilesConfig"}, DataConfig)


REFUSED_UNSEEN = [
    None,
    5,
    "",
    "os.system",
    "builtins.eval",
    "builtins.Exception",
    "this.Zen",
    "seq2seq.launch.run",
    "seq2seq",
    "seq2seq.config",
    "seq2seq..config.Config",
    "seq2seq.config.Config.",
    ".seq2seq.data.files.FilesConfig",
    "seq2seq.data.files.FilesConfig ",
    "seq2seq.data.files.FilesConfig\n",
    "seq2seq.data. files.FilesConfig",
    "seq2seq/data/files.FilesConfig",
    "seq2seq.data.files.FilesConfig.read",
    "seq2seq.data.files.FilesConfig()",
    "seq2seq.__init__.Any",
    "seq2seq_evil.data.FilesConfig",
    ["seq2seq.data.files.FilesConfig"],
]
REFUSED_SEEN = [
    "seq2seq.nowhere.FilesConfig",
    "seq2seq.errors.nowhere.FilesConfig",
    "seq2seq.data.files.NoSuchConfig",
    "seq2seq.data.files.ParallelText",
    "seq2seq.data.files.DataConfig",
    "seq2seq.data.base.DataConfig",
    "seq2seq.config.Config",
    "seq2seq.search.greedy.GreedyConfig",
    "seq2seq.experiment.settings.TrainSettings",
]


@pytest.mark.parametrize("target", REFUSED_UNSEEN + REFUSED_SEEN, ids=str)
def test_a_target_names_settings_of_its_kind_or_is_refused(target):
    shown = "null" if target is None else repr(target)
    with pytest.raises(SettingsError) as caught:
        from_tree({"_target_": target, "train_source": "a"}, DataConfig, "data")
    expected = f"`data._target_` must name a DataConfig of this package, but is {shown}."
    assert str(caught.value) == expected


@pytest.mark.parametrize("target", REFUSED_UNSEEN, ids=str)
def test_nothing_is_imported_for_what_is_refused_by_its_look(target, monkeypatch):
    monkeypatch.setattr(importlib, "import_module", pytest.fail)
    with pytest.raises(SettingsError):
        from_tree({"_target_": target}, DataConfig)
    assert "this" not in sys.modules


def test_a_base_is_named_with_its_article():
    with pytest.raises(SettingsError, match="must name a SearchConfig of this package"):
        from_tree({}, SearchConfig)
    with pytest.raises(SettingsError, match="must name a ScheduleConfig"):
        from_tree({"_target_": "seq2seq.optim.schedules.ScheduleConfig"}, ScheduleConfig)


def test_a_tree_of_settings_is_plain_and_leads_back_to_them():
    files = FilesConfig(
        train_source="a", train_target="b", validation_source="c", validation_target="d"
    )
    tree = to_tree(files)
    assert tree["_target_"] == "seq2seq.data.files.FilesConfig"
    assert (tree["train_source"], tree["test_source"]) == (["a"], None)
    assert from_tree(tree, DataConfig) == files

    tree = to_tree(Outer(betas=(0.9, 0.99), inner=Inner(width=2)))
    assert tree["betas"] == [0.9, 0.99]
    assert tree["inner"]["width"] == 2
    assert tree["other"] is None


@pytest.mark.parametrize(
    ("name", "valid", "under", "sentence"),
    [
        ("beam_siz", ["beam_size", "batch_size"], "", "Did you mean `beam_size`?"),
        ("beam_siz", ["beam_size"], "search", "Did you mean `search.beam_size`?"),
        ("qqq", ["b", "a"], "search", "Valid names are: a, b."),
        ("qqq", [], "", "It takes none."),
    ],
)
def test_the_nearest_name_or_all_of_them(name, valid, under, sentence):
    assert nearest(name, valid, under=under) == sentence
