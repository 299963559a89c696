"""COMET through its package, which a stand-in plays here: it is too large for tests."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from seq2seq.errors import DataError, DependencyError
from seq2seq.evaluation import comet as module


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.ckpt"
    path.touch()
    return path


def test_the_package_is_given_all_sides_and_its_score_is_told(model, monkeypatch):
    asked = []

    class Judge:
        def predict(self, data, **settings):
            asked.append((data, settings["gpus"]))
            return SimpleNamespace(system_score=0.8125)

    package = SimpleNamespace(load_from_checkpoint=lambda path: Judge())
    monkeypatch.setitem(sys.modules, "comet", package)
    monkeypatch.setattr(module, "version", lambda name: "2.2")
    score = module.comet(model, ["a", "b"], ["x", "y"], ["X", "Y"])
    assert (score.name, score.value) == ("COMET", 81.25)
    assert score.signature == "model:model.ckpt|version:2.2"
    assert asked == [
        ([{"src": "a", "mt": "x", "ref": "X"}, {"src": "b", "mt": "y", "ref": "Y"}], 0)
    ]


def test_what_is_missing_is_told_in_one_line(model, monkeypatch):
    with pytest.raises(DataError, match=r"none is not there"):
        module.comet(model.with_name("none"), [], [], [])
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(DependencyError, match="unbabel-comet"):
        module.comet(model, [], [], [])

    def refuse(path):
        raise RuntimeError("bad magic number")

    monkeypatch.setitem(sys.modules, "comet", SimpleNamespace(load_from_checkpoint=refuse))
    with pytest.raises(DataError, match=r"is not a COMET model \(bad magic number\)"):
        module.comet(model, [], [], [])
