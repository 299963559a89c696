"""The meter's figures."""

from __future__ import annotations

import pytest

from seq2seq.training.meter import Meter


def test_the_meter_means_over_tokens():
    meter = Meter()
    assert meter.tokens_per_second == 0.0
    meter.add(nll=6.0, num_tokens=3, seconds=0.5)
    assert (meter.recent_nll, meter.tokens_per_second) == (2.0, 6.0)
    meter.add(nll=2.0, num_tokens=2, seconds=0.5)
    assert meter.recent_nll == pytest.approx(0.95 * 2 + 0.05 * 1)
    assert meter.tokens_per_second == pytest.approx(5.0)
