"""A checkpoint's settings, where a command composes its own."""

from __future__ import annotations

import hydra
import pytest
from conftest import CONFIGS, settings_of
from omegaconf import OmegaConf

from seq2seq.config import from_tree, to_tree
from seq2seq.errors import CheckpointError
from seq2seq.experiment import EvaluateSettings, TrainSettings
from seq2seq.saved import keep


@pytest.fixture
def older() -> dict:
    """The settings of a run from before some of them were there."""
    tree = to_tree(settings_of("train", TrainSettings, "run_dir=run", "search=beam"))
    for key in ("_target_", "cleaning", "check_data"):
        del tree[key]
    del tree["search"]["min_length_ratio"], tree["tokenizer"]["num_pairs"]
    return tree


def composed(name: str, *overrides: str) -> dict:
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(CONFIGS)):
        return OmegaConf.to_container(hydra.compose(name, list(overrides)), resolve=True)


def test_what_has_come_since_can_be_set_when_a_run_goes_on(older):
    keep(older, TrainSettings, without=(), is_whole=True)
    new = ("check_data=false", "search.min_length_ratio=0.5", "cleaning.strip=true")
    settings = from_tree(composed("resume", "resume=run", *new), TrainSettings)
    assert (settings.check_data, settings.search.min_length_ratio) == (False, 0.5)
    assert settings.cleaning.strip and settings.tokenizer.num_pairs == 500_000
    assert settings.search.beam_size == 5


def test_groups_of_older_checkpoints_get_what_they_lack_and_nothing_else(older):
    groups = {key: older[key] for key in ("data", "search")}
    keep(groups, EvaluateSettings, without=(), is_whole=False)
    tree = composed("evaluate", "checkpoint=x", "search.min_length_ratio=0.5")
    assert from_tree(tree, EvaluateSettings).search.min_length_ratio == 0.5
    keep(groups, EvaluateSettings, without={"search"}, is_whole=False)
    tree = composed("evaluate", "checkpoint=x", "search=greedy")
    assert "beam_size" not in tree["search"]


def test_more_than_settings_are_refused(older):
    for extra in ({"hydra": {}}, {"run_dir": "${oc.env:HOME}"}):
        with pytest.raises(CheckpointError, match="checkpoint's settings hold"):
            keep({**older, **extra}, TrainSettings, without=(), is_whole=True)
