"""Where networks run, and in what precision."""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from worldgauge.core.errors import MissingExtraError, UsageError

log = logging.getLogger(__name__)

T = TypeVar("T")
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
    def is_cuda(self) -> bool:
        """Whether it is a GPU."""
        return self.name.startswith("cuda")

    @property
    def dtype(self) -> Any:
        """The precision as torch has it."""
        return getattr(torch_for("a network"), self.precision)


class Batches:
    """Gives a device as much at a time as it has room for.

    What finds no room is halved, and so is all that comes after it; a warning says so. Safe for threads.

    Args:
        device: The device.
        what: What is given, for messages, such as "pair of frames".
    """

    def __init__(self, device: ComputeDevice, what: str) -> None:
        self._device, self._what = device, what
        self._share = 1.0

    def run(self, function: Callable[[slice], Sequence[T]], n: int, most: int) -> list[T]:
        """Call a function on parts of n things."""
        torch = torch_for("a network")
        found: list[T] = []
        while len(found) < n:
            size = min(max(1, int(most / self._share + 1e-9)), n - len(found))
            try:
                found += function(slice(len(found), len(found) + size))
            except torch.cuda.OutOfMemoryError:
                if size == 1:
                    raise UsageError(
                        f"device '{self._device.name}' has no room for a single {self._what}; use fewer --workers"
                    ) from None
                self._share = max(self._share, most / (size // 2))
                log.warning(
                    "device '%s' has no room for %d times a %s: half of it now", self._device.name, size, self._what
                )
                torch.cuda.empty_cache()
        return found


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
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    chosen = device or ("cuda" if gpus else "cpu")
    if chosen not in ("cpu", *(["cuda"] if gpus else []), *(f"cuda:{number}" for number in range(gpus))):
        numbered = ", ".join(f"cuda:{number}" for number in range(gpus))
        seen = f"cpu, {numbered}" if gpus else "cpu only (a GPU needs its driver and a torch that is built for CUDA)"
        raise UsageError(f"device '{chosen}' is not here; torch sees {seen}")
    return ComputeDevice(chosen, precision)


def torch_for(what: str) -> Any:
    """Import torch for the thing that needs it."""
    return _module("torch", what)


def transformers_for(what: str) -> Any:
    """Import transformers for the thing that needs it."""
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
