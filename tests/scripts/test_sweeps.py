"""Searches over settings and sweeps on several processes, by Hydra's plugins."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest
import yaml
from conftest import CONFIGS

TRAIN = CONFIGS.parent / "scripts" / "train.py"


def sweep(*overrides: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(TRAIN), "-m", "debug=smoke", *overrides]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=300)


def has(plugin: str) -> bool:
    try:
        return importlib.util.find_spec(f"hydra_plugins.{plugin}") is not None
    except ModuleNotFoundError:
        return False


def needs(plugin: str):
    return pytest.mark.skipif(not has(plugin), reason=f"{plugin} is not installed")


@needs("hydra_optuna_sweeper")
@pytest.mark.slow
def test_a_search_goes_by_validation(tmp_path):
    space = ["optimizer.learning_rate=choice(0.01,1e-9)", "hydra.sweeper.n_trials=4"]
    done = sweep("hparams_search=optuna", *space, "training.max_steps=60", f"run_dir={tmp_path}/s")
    assert done.returncode == 0, done.stderr
    found = yaml.safe_load((tmp_path / "s" / "optimization_results.yaml").read_text("utf-8"))
    scores = []
    for number in range(4):
        lines = (tmp_path / "s" / str(number) / "metrics.jsonl").read_text("utf-8").splitlines()
        scores.append(max(json.loads(line)["validation_bleu"] for line in lines))
    assert found["best_value"] == max(scores) > min(scores)
    assert found["best_params"]["optimizer.learning_rate"] == 0.01
    assert f"the best settings are in {tmp_path}/s/optimization_results.yaml" in done.stderr


@needs("hydra_joblib_launcher")
@pytest.mark.slow
def test_a_sweep_runs_several_at_once(tmp_path):
    done = sweep("hydra/launcher=joblib", "model.dropout=0.1,0.2", f"run_dir={tmp_path}/s")
    assert done.returncode == 0, done.stderr
    for number in "01":
        assert (tmp_path / "s" / number / "test" / "results.json").is_file()


@pytest.mark.skipif(has("hydra_optuna_sweeper"), reason="the plugin is installed")
def test_without_the_plugin_a_search_says_what_is_missing(tmp_path):
    done = sweep("hparams_search=optuna", f"run_dir={tmp_path}/s")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "pip install -e '.[sweeps]'" in done.stderr
