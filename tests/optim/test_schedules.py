"""Schedules as tables of numbers."""

from __future__ import annotations

import pytest

from seq2seq.errors import SettingsError
from seq2seq.optim.schedules import (
    ConstantSchedule,
    CosineSchedule,
    InverseSqrtSchedule,
    LinearSchedule,
)


@pytest.mark.parametrize(
    ("schedule", "step", "progress", "expected"),
    [
        (ConstantSchedule(), 0, 0.0, 1.0),
        (ConstantSchedule(warmup_steps=4), 0, 0.0, 0.25),
        (ConstantSchedule(warmup_steps=4), 3, 0.1, 1.0),
        (LinearSchedule(warmup_steps=0), 0, 0.0, 1.0),
        (LinearSchedule(warmup_steps=0), 10, 0.25, 0.75),
        (LinearSchedule(warmup_steps=0, final_factor=0.1), 10, 1.0, 0.1),
        (LinearSchedule(warmup_steps=10), 4, 0.5, 0.25),
        (CosineSchedule(), 10, 0.5, 0.5),
        (CosineSchedule(final_factor=0.2), 10, 1.0, 0.2),
        (InverseSqrtSchedule(warmup_steps=100), 49, 0.0, 0.5),
        (InverseSqrtSchedule(warmup_steps=100), 99, 0.0, 1.0),
        (InverseSqrtSchedule(warmup_steps=100), 399, 0.9, 0.5),
    ],
)
def test_factor(schedule, step, progress, expected):
    assert schedule.factor(step, progress) == pytest.approx(expected)


def test_inverse_square_root_needs_a_warm_up():
    with pytest.raises(SettingsError, match="`warmup_steps` must be at least 1"):
        InverseSqrtSchedule(warmup_steps=0)
