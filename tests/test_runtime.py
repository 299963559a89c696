"""Settings of the whole process."""

from __future__ import annotations

import pytest
import torch

from seq2seq.errors import SettingsError
from seq2seq.runtime import FP32, Precision, RuntimeConfig, describe


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
    assert "medium precision" in describe(cpu, FP32)
    RuntimeConfig().start()
    assert torch.get_float32_matmul_precision() == "highest"
    assert "precision" not in describe(cpu, FP32)
    assert describe(cpu, Precision("bf16")).endswith("CPU threads, bf16")


def test_a_gpu_without_bf16_is_told_before_anything_starts(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    runtime, gpu = RuntimeConfig(precision="bf16"), torch.device("cuda")
    with pytest.raises(SettingsError, match=r"`runtime.precision` is bf16, which this GPU lacks"):
        runtime.precision_on(gpu)
    assert runtime.precision_on(torch.device("cpu")) == Precision("bf16", "cpu")
    assert RuntimeConfig(precision="fp16").precision_on(gpu) == Precision("fp16", "cuda")


def test_int8_is_for_translating_on_a_cpu():
    runtime, cpu = RuntimeConfig(precision="int8"), torch.device("cpu")
    assert runtime.precision_on(cpu) == Precision("int8", "cpu")
    for device, to_train in ((cpu, True), (torch.device("cuda"), False)):
        with pytest.raises(
            SettingsError, match=r"`runtime.precision` is int8, which is for transl"
        ):
            runtime.precision_on(device, to_train=to_train)


def test_a_torch_without_quantisation_is_told(monkeypatch):
    def gone(*_):
        raise RuntimeError("no engine")

    monkeypatch.setattr(torch.ao.quantization, "quantize_dynamic", gone)
    with pytest.raises(SettingsError, match=r"which this torch cannot do \(no engine\)"):
        Precision("int8").prepared(torch.nn.Linear(2, 2))
