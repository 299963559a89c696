"""Where a run stands: all that its future depends on besides weights and optimizer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from seq2seq.runtime import is_scaler_state


@dataclass
class RunState:
    """Counters and scores, as JSON holds them.

    Attributes:
        step: optimizer steps done.
        epoch: epochs done.
        batch: batches done of the epoch under way.
        seconds: wall-clock spent in training, validation included.
        best_score: highest validation BLEU so far, or None.
        best_step: where that was.
        num_without_gain: validations since then.
        num_skipped: steps passed over, since their loss or gradient was not finite.
        nll: sum of negative log-likelihoods since the last validation, in nats ...
        num_tokens: ... of this many real target tokens, EOS counted.
        history: one record for each validation.
        scaler: what torch's GradScaler keeps, in fp16.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    best_score: float | None = None
    best_step: int = 0
    num_without_gain: int = 0
    num_skipped: int = 0
    nll: float = 0.0
    num_tokens: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    scaler: dict[str, float] = field(default_factory=dict)

    @property
    def has_moved(self) -> bool:
        """Whether a step is sure to have moved the weights; in fp16 the first ones may not have."""
        return self.step > self.num_skipped and not self.scaler

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunState:
        """What `as_dict` gave. Raises ValueError where a field is missing or of another kind.

        Checkpoints from before there was fp16 have no `scaler`.
        """
        values = {"scaler": {}, **values}
        state = cls(**values) if set(values) == {one.name for one in fields(cls)} else None
        if state is None:
            raise ValueError("its state has other fields")
        counts = [state.step, state.epoch, state.batch, state.best_step]
        counts += [state.num_without_gain, state.num_skipped, state.num_tokens]
        numbers = [state.seconds, state.nll]
        numbers += [] if state.best_score is None else [state.best_score]
        is_sound = (
            all(type(one) is int and one >= 0 for one in counts)
            and all(type(one) in (int, float) and math.isfinite(one) for one in numbers)
            and isinstance(state.history, list)
            and all(isinstance(one, dict) for one in state.history)
            and is_scaler_state(state.scaler)
        )
        if not is_sound:
            raise ValueError("a field of its state is not what it should be")
        return state

    def advance(self, num_batches: int, batches_in_epoch: int) -> None:
        """Counts a step over some batches as done."""
        self.step += 1
        self.batch += num_batches
        if self.batch >= batches_in_epoch:
            self.epoch, self.batch = self.epoch + 1, 0

    def note(self, record: dict[str, Any], score: float) -> bool:
        """Adds a validation's record; whether its score is the best so far."""
        self.history.append(record)
        if self.best_score is None or score > self.best_score:
            self.best_score, self.best_step, self.num_without_gain = score, self.step, 0
            return True
        self.num_without_gain += 1
        return False
