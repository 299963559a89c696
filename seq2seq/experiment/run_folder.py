"""A run's folder: made for a new run, or found to be one that can go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from seq2seq.config import TARGET, from_tree, to_tree
from seq2seq.errors import RunError, SettingsError
from seq2seq.experiment.outputs import LOCK_FILE, PROBE_FILE, make_folder
from seq2seq.experiment.settings import TrainSettings
from seq2seq.training.atomic import PART
from seq2seq.training.checkpoint import Checkpoint

FIXED_ON_RESUME = {
    *("data", "cleaning", "tokenizer", "batching", "model", "search", "lowercase_scores")
}
"""What weights, data order and the best score depend on."""

MAY_CHANGE = ("data.root", "cleaning.dropped", "search.batch_size")
"""But not these, which change no result."""

OF_NO_RUN = (LOCK_FILE, PROBE_FILE, f"last{PART}")
"""What a run may leave that is killed before its first checkpoint."""


def run_folder(settings: TrainSettings) -> tuple[Path, bool]:
    """The run's folder, and whether it had to be made. Raises RunError where that cannot be."""
    run_dir = Path(settings.resume or settings.run_dir)
    if settings.resume and not run_dir.is_dir():
        raise RunError(f"{run_dir} is not there. `resume` names the folder of a run.")
    is_new = not run_dir.exists()
    make_folder(run_dir)
    return run_dir, is_new


def check_free(settings: TrainSettings, run_dir: Path) -> None:
    """Raises RunError where the folder of a new run holds more than a kill at the start leaves."""
    if not settings.resume and any(one.name not in OF_NO_RUN for one in run_dir.iterdir()):
        way_on = f", or go on with resume={run_dir}" if (run_dir / "last").is_dir() else ""
        raise RunError(f"{run_dir} is not empty. Choose another run_dir{way_on}.")


def changes_on_resume(settings: TrainSettings, checkpoint: Checkpoint) -> list[str]:
    """What was overridden, as `key: old -> new`.

    Raises SettingsError where a setting differs that the run so far depends on.
    """
    before = from_tree(checkpoint.settings, TrainSettings)
    new, old = (dict(_leaves(as_saved(one))) for one in (settings, before))
    changes = []
    for key, value in new.items():
        if key in ("run_dir", "resume") or value == old.get(key, value):
            continue
        is_fixed = key.split(".")[0] in FIXED_ON_RESUME or key == "runtime.seed"
        may_move = key in MAY_CHANGE
        if is_fixed and not may_move:
            raise SettingsError(
                key, f"cannot change on resume from {old[key]!r} to {value!r}. Start a new run."
            )
        changes.append(f"{key}: {old[key]} -> {value}")
    return changes


def _leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Each setting in a tree by its full key."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{above}{key}.")
        else:
            yield above + key, value


def as_saved(settings: TrainSettings) -> dict[str, Any]:
    """Settings as a config file has them: the root's class is known to who reads it."""
    tree = to_tree(settings)
    del tree[TARGET]
    return tree
