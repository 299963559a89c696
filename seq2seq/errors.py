"""What a user can cause, each as one sentence: what is wrong, where, and what to do about it.

Everything here ends a command with that one line and exit code 2. What only a bug can cause is an
`assert` instead, and shows its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(ValueError):
    """Base of all errors that a user can cause and mend."""


class SettingsError(UserError):
    """A setting that does not exist or has a wrong type or value.

    `key` is the dotted path of the setting; it opens the message and grows at its front as the
    error rises through nested settings.
    """

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"`{key}` {problem}")
        self.key = key
        self.problem = problem

    def under(self, parent: str) -> SettingsError:
        """The same error, its key as seen from `parent`."""
        return SettingsError(f"{parent}.{self.key}", self.problem) if parent else self


class DataError(UserError):
    """Text that cannot be read, does not line up, or is not what its name promises."""


class CheckpointError(UserError):
    """A folder that is not a checkpoint, or one that this version cannot use."""


class RunError(UserError):
    """A run that cannot start or go on: its folder, its loss, its memory."""


class RunDiverged(RunError):
    """A run whose loss is not finite."""


class DependencyError(UserError):
    """An optional package that is missing or does not load here."""


def nearest(name: str, valid: Iterable[str], *, under: str = "") -> str:
    """A closing sentence that names the valid name most like `name`, or lists them all.

    Args:
        name: what was written.
        valid: what could have been.
        under: the key above all of them; it opens the name that is proposed.
    """
    names = sorted(valid)
    if close := get_close_matches(name, names, n=1, cutoff=0.5):
        return f"Did you mean `{under}.{close[0]}`?" if under else f"Did you mean `{close[0]}`?"
    return f"Valid names are: {', '.join(names)}." if names else "It takes none."
