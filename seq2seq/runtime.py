"""Device, threads, memory, precision and seed: the only module that knows them."""

from __future__ import annotations

import ctypes
import hashlib
import math
import platform
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from torch import nn
from torch.amp.grad_scaler import GradScaler

from seq2seq.config import Between, Config
from seq2seq.errors import SettingsError

PrecisionName = Literal["fp32", "bf16", "fp16", "int8"]


@dataclass(frozen=True)
class Precision:
    """What products are computed in; weights, sums over steps and losses stay float32.

    Mixed precision as torch's autocast does it (Micikevicius et al. 2018); int8 by torch's dynamic
    quantisation, for translating only: the range of a batch decides how its numbers are rounded, so
    there alone a translation may depend on the sentences beside it.

    Attributes:
        name: fp32 leaves all as it is.
        device_type: cpu or cuda.
    """

    name: PrecisionName = "fp32"
    device_type: str = "cpu"

    def __call__(self) -> AbstractContextManager[Any]:
        """Inside, a model computes in this precision; not for backward passes."""
        if self.name in ("fp32", "int8"):
            return nullcontext()
        return torch.autocast(self.device_type, self.dtype)

    def prepared(self, model: nn.Module) -> nn.Module:
        """A trained model as it computes in this precision.

        Raises SettingsError where this torch does not do that.
        """
        if self.name != "int8":
            return model
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # newer releases: that it will be another package's
                quantised: nn.Module = torch.ao.quantization.quantize_dynamic(model, {nn.Linear})
        except (AttributeError, ImportError, RuntimeError) as error:
            raise SettingsError(
                "runtime.precision", f"is int8, which this torch cannot do ({error}). Use fp32."
            ) from None
        return quantised

    @property
    def dtype(self) -> torch.dtype:
        """Of the factors of products."""
        return {
            "fp32": torch.float32,
            "bf16": torch.bfloat16,
            "fp16": torch.float16,
            "int8": torch.int8,
        }[self.name]

    @property
    def remark(self) -> str:
        """What to add to a line about numbers that were computed so."""
        return "" if self.name == "fp32" else f", {self.name}"

    @property
    def advice(self) -> str:
        """What else may help where numbers are not finite."""
        return ", or set runtime.precision=bf16" if self.name == "fp16" else ""

    def scaler(self) -> GradScaler:
        """What keeps small gradients from vanishing in fp16; idle elsewhere."""
        return GradScaler(self.device_type, enabled=self.name == "fp16")


FP32 = Precision()


def is_scaler_state(kept: object) -> bool:
    """Whether something is what the scaler of a precision keeps: nothing, but in fp16."""
    if not isinstance(kept, dict):
        return False
    names = GradScaler("cpu").state_dict().keys()
    numbers = all(type(one) in (int, float) and math.isfinite(one) for one in kept.values())
    return not kept or (kept.keys() == names and numbers)


@dataclass(frozen=True, kw_only=True)
class RuntimeConfig(Config):
    """Where and how computation runs.

    Attributes:
        device: `auto` takes a GPU where there is one.
        num_threads: CPU threads of torch; 0 leaves torch's own choice.
        keep_memory: tells glibc to keep freed memory for the next step instead of giving it back to
            the system at each; Linux on a CPU trains about a fifth faster for it.
        precision: of a model's products: fp32, or mixed with bf16 or fp16, which need a device that
            has instructions for them to be faster (GPUs, CPUs with AMX); int8 for translating on a
            CPU.
        matmul_precision: of products of float32 matrices, in torch's words (see
            `torch.set_float32_matmul_precision`). `medium` rounds the factors to bfloat16, where
            the device has instructions for that (CPUs with AMX); `high` to TF32 (GPUs). Sums,
            weights and all else stay float32.
        seed: of every random generator; the same seed gives the same result on the same machine.
    """

    device: Literal["auto", "cpu", "cuda"] = "auto"
    num_threads: Annotated[int, Between(0, 1024)] = 0
    keep_memory: bool = True
    precision: PrecisionName = "fp32"
    matmul_precision: Literal["highest", "high", "medium"] = "highest"
    seed: Annotated[int, Between(0, 2**32 - 1)] = 1  # what torch's CPU generator tells apart

    def start(self) -> torch.device:
        """Seeds torch, sets up the whole process, and returns the device.

        Raises:
            SettingsError: the device asked for is not there.
        """
        torch.manual_seed(self.seed)
        if self.num_threads:
            torch.set_num_threads(self.num_threads)
        torch.set_float32_matmul_precision(self.matmul_precision)
        if self.keep_memory:
            _keep_freed_memory()
        return self.found_device()

    def found_device(self) -> torch.device:
        """The device, leaving the process as it is. Raises SettingsError where it is not there."""
        has_gpu = torch.cuda.is_available()
        if self.device == "cuda" and not has_gpu:
            raise SettingsError(
                "runtime.device", "is cuda, but torch finds no GPU here. Use auto or cpu."
            )
        return torch.device("cuda" if has_gpu and self.device != "cpu" else "cpu")

    def precision_on(self, device: torch.device, *, to_train: bool = False) -> Precision:
        """The precision. Raises SettingsError where the device does not have it."""
        if self.precision == "int8" and (to_train or device.type != "cpu"):
            raise SettingsError(
                "runtime.precision", "is int8, which is for translating on a CPU. Use bf16 or fp16."
            )
        # torch.cuda.is_bf16_supported() is true wherever it can be imitated.
        lacks_bf16 = (
            device.type == "cuda"
            and not torch.version.hip
            and torch.cuda.get_device_capability(device)[0] < 8
        )
        if self.precision == "bf16" and lacks_bf16:
            raise SettingsError("runtime.precision", "is bf16, which this GPU lacks. Use fp16.")
        return Precision(self.precision, device.type)


def _keep_freed_memory() -> None:
    """Raises glibc's thresholds for giving memory back; does nothing under another C library."""
    if platform.libc_ver()[0] != "glibc":
        return
    trim_threshold, top_pad, mmap_threshold = -1, -2, -3  # names of mallopt(3), by malloc.h
    libc = ctypes.CDLL(None)
    # Some versions refuse more than 32 MiB, and take nothing larger.
    if libc.mallopt(mmap_threshold, 1 << 30) or libc.mallopt(mmap_threshold, 1 << 25):
        libc.mallopt(trim_threshold, (1 << 31) - 1)
        libc.mallopt(top_pad, 1 << 26)


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error says that there was no memory left, on a GPU or beside one."""
    if isinstance(error, MemoryError | torch.cuda.OutOfMemoryError):
        return True
    # torch's CPU allocator has no class of its own, but opens or closes with its name.
    return isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)


def seed_step(seed: int, step: int, rank: int) -> None:
    """Seeds torch for one step of one process.

    So nothing is left of what was drawn before: a run that goes on from a step draws what it would
    have drawn without a stop.
    """
    digest = hashlib.sha256(f"{seed} {step} {rank}".encode()).digest()
    torch.manual_seed(int.from_bytes(digest[:4], "big"))  # torch's CPU generator takes 32 bits


def describe(device: torch.device, precision: Precision) -> str:
    """One line for the log: the device, its name, torch's version, threads and precision."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    of_products = torch.get_float32_matmul_precision()
    suffix = "" if of_products == "highest" else f", {of_products} precision"
    threads = f"{torch.get_num_threads()} CPU threads"
    return f"{name}, torch {torch.__version__}, {threads}{precision.remark}{suffix}"
