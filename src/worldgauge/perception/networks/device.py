"""Where networks run, and in what precision."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

from worldgauge.core.errors import MissingExtraError, UsageError

Precision = Literal["float32", "bfloat16", "float16"]
_lock = threading.Lock()
_inside: list[None] = []
_before = [False, False]


@dataclass(frozen=True)
class ComputeDevice:
    """Where a network runs, and in what precision.

    Attributes:
        name: As torch names it, "cpu" or "cuda".
        precision: Of weights and activations.
    """

    name: str
    precision: Precision = "float32"

    @property
    def dtype(self) -> Any:
        """The precision as torch has it."""
        return getattr(torch_for("a network"), self.precision)


def choose_device(device: str = "", precision: Precision = "float32") -> ComputeDevice:
    """Choose where networks run.

    Args:
        device: Such as "cpu" or "cuda:1"; by default CUDA where there is one, else the CPU.
        precision: Floating point type.

    Raises:
        MissingExtraError: torch is not installed.
        UsageError: The device does not exist here, or the precision is unknown.
    """
    torch = torch_for("a network")
    if precision not in get_args(Precision):
        raise UsageError(f"precision is '{precision}'; one of {', '.join(get_args(Precision))}")
    there = torch.cuda.is_available()
    chosen = device or ("cuda" if there else "cpu")
    if chosen != "cpu" and not (chosen.startswith("cuda") and there):
        raise UsageError(f"device '{chosen}' is not here; torch sees {'cpu and cuda' if there else 'cpu only'}")
    return ComputeDevice(chosen, precision)


def torch_for(what: str) -> Any:
    """Import torch for the thing that needs it.

    Raises:
        MissingExtraError: It is not installed.
    """
    return _module("torch", what)


def transformers_for(what: str) -> Any:
    """Import transformers for the thing that needs it.

    Raises:
        MissingExtraError: It is not installed.
    """
    torch_for(what)
    return _module("transformers", what)


@contextmanager
def inference(where: ComputeDevice) -> Iterator[None]:
    """Without gradients; in float32 with all its bits, also where the device would round products to fewer."""
    torch = torch_for("a network")
    with _exact(torch), torch.inference_mode():
        yield


@contextmanager
def _exact(torch: Any) -> Iterator[None]:
    """No TF32 while any thread is inside: the flags are of the process, so the first sets and the last restores."""
    matmul, convolution = torch.backends.cuda.matmul, torch.backends.cudnn
    with _lock:
        if not _inside:
            _before[:] = matmul.allow_tf32, convolution.allow_tf32
            matmul.allow_tf32 = convolution.allow_tf32 = False
        _inside.append(None)
    try:
        yield
    finally:
        with _lock:
            _inside.pop()
            if not _inside:
                matmul.allow_tf32, convolution.allow_tf32 = _before


def _module(name: str, what: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(what, "torch") from None
