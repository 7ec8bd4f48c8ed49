"""Published networks, run here in torch from weights that you have downloaded (`worldgauge weights`).

    network = open_network("lpips-alex")
    network.answer({"x": x, "y": y})["distances"]

Each is registered in `networks` under the name of its set of weights. torch is imported when a network is made.
"""

from __future__ import annotations

import importlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

from numpy.typing import NDArray

from worldgauge.core.errors import MissingExtraError, UsageError
from worldgauge.core.registry import Registry
from worldgauge.weights import opened

log = logging.getLogger(__name__)

T = TypeVar("T")
Precision = Literal["float32", "bfloat16", "float16"]
_lock = threading.Lock()
_inside: list[None] = []
_before = [False, False]


@dataclass(frozen=True)
class ComputeDevice:
    """Where a network runs, and in what precision."""

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
    """Gives a device as much at a time as it has room for; `what` names it in messages. Safe for threads.
    What finds no room is halved, and so is all that comes after it; a warning says so."""

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

    Examples:
        >>> choose_device("cuda:99")  # "device 'cuda:99' is not here; torch sees ...", or "... needs the extra 'torch'"
        Traceback (most recent call last):
        ...
        worldgauge.core.errors...Error: ...
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


class RowNetwork(Protocol):
    """A network whose row i of every output depends only on row i of the inputs, made as `Class(folder, device)`.
    It works through many rows in parts, so that memory does not grow with their number. Raise `version` whenever the
    same input may get another answer."""

    name: str
    version: int

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Run the network."""
        ...


networks: Registry[Callable[[Path, ComputeDevice], Any]] = Registry("network", __name__)
"""Facts: `what` it is for ("lpips", "dino", "aesthetic", "imaging", "video", "segment", "track", "detect", "depth").
half: whether its numbers stay correct in float16, as measured (docs/howto/learned_metrics.md)."""


class Ready(NamedTuple):
    """A network with its weights. `identity`: What its answers depend on besides the inputs, as plain JSON values."""

    network: Any
    identity: Mapping[str, Any]


def ready(name: str, *, device: str = "", precision: Precision | None = None) -> Ready:
    """Load a network with its weights."""
    make = networks.get(name)
    weights = opened(name)
    transformers_for(f"network '{name}'")
    where = choose_device(device)
    where = choose_device(where.name, precision or usual_precision(name, where.name))
    network = make(weights.folder, where)
    kind = where.name.partition(":")[0]  # the last bits differ between kinds of device, and versions
    identity = {
        **{"network": name, "version": network.version, "weights": weights.digest},
        **{"precision": where.precision, "device": kind},
        **{module: version(module) for module in ("torch", "transformers")},
    }
    return Ready(network, identity)


def usual_precision(name: str, device: str) -> Precision:
    """Return a network's default precision: float16 on CUDA if its numbers stay correct with it, else float32."""
    return "float16" if device.startswith("cuda") and networks.entry(name).facts.get("half") else "float32"


def open_network(name: str, *, device: str = "", precision: Precision | None = None) -> Any:
    """As `ready`, but returns only the network."""
    return ready(name, device=device, precision=precision).network
