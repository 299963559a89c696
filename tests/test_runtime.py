"""Settings of the whole process."""

from __future__ import annotations

import pytest
import torch

from seq2seq.runtime import RuntimeConfig, describe


@pytest.fixture
def as_before():
    precision, state = torch.get_float32_matmul_precision(), torch.get_rng_state()
    yield
    torch.set_float32_matmul_precision(precision)
    torch.set_rng_state(state)


@pytest.mark.usefixtures("as_before")
def test_the_precision_of_products_is_what_was_asked_for_and_said():
    cpu = torch.device("cpu")
    RuntimeConfig(matmul_precision="medium").start()
    assert torch.get_float32_matmul_precision() == "medium"
    assert "medium precision" in describe(cpu)
    RuntimeConfig().start()
    assert torch.get_float32_matmul_precision() == "highest"
    assert "precision" not in describe(cpu)
