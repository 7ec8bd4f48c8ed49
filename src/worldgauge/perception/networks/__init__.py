"""Published networks, run here in torch from weights that you have downloaded (`worldgauge weights`).

    network = open_network("lpips-alex")
    network.answer({"x": x, "y": y})["distances"]

Each is registered in `networks` under the name of its set of weights. torch is imported when a network is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from worldgauge.core.registry import Registry
from worldgauge.perception.networks.device import ComputeDevice, Precision, choose_device, transformers_for
from worldgauge.weights import opened

__all__ = [
    "ComputeDevice",
    "Network",
    "Precision",
    "Ready",
    "RowNetwork",
    "choose_device",
    "networks",
    "open_network",
    "ready",
    "usual_precision",
]


class Network(Protocol):
    """A network, made as `Class(folder, device)`, where `folder` holds the files of its set.

    Attributes:
        name: Name of its set of weights.
        version: Raised whenever the same input may get another answer.

    Raises:
        DataError: The files do not fit.
    """

    name: str
    version: int


class RowNetwork(Network, Protocol):
    """A network that answers row by row: row i of every output depends only on row i of the inputs.

    It works through many rows in parts, so that memory does not grow with their number.
    """

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Run the network."""
        ...


networks: Registry[Callable[[Path, ComputeDevice], Any]] = Registry("network", __name__, group="worldgauge.networks")
"""Facts: `what` it is for ("lpips", "dino", "aesthetic", "imaging", "video", "segment", "track", "detect", "depth").
half: whether its numbers stay correct in float16, as measured (docs/weights.md)."""


class Ready(NamedTuple):
    """A network with its weights.

    Attributes:
        network: The network.
        identity: What its answers depend on besides the inputs, as plain JSON values.
    """

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
    """Return the precision that a network runs in by default.

    Returns:
        float16 on CUDA for networks whose numbers stay correct with it (docs/weights.md), else float32.
    """
    return "float16" if device.startswith("cuda") and networks.entry(name).facts.get("half") else "float32"


def open_network(name: str, *, device: str = "", precision: Precision | None = None) -> Any:
    """As `ready`, but returns only the network."""
    return ready(name, device=device, precision=precision).network
