"""Published networks, run here in torch from weights that you have brought (`worldgauge weights`).

    network = open_network("lpips-alex")
    network.answer({"x": x, "y": y})["distances"]

Each is registered in `networks` under the name of its set of weights. torch is imported when one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import NDArray

from worldgauge.estimators.networks.place import Place, Precision, place
from worldgauge.registry import Registry
from worldgauge.weights import opened

__all__ = ["Network", "Place", "Precision", "RowNetwork", "networks", "open_network", "place"]


class Network(Protocol):
    """Made as `Class(folder, place)`: folder holds the files of its set. Raises DataError for files that do not fit.

    version: raised whenever the same input may get another answer.
    """

    name: str
    version: int


class RowNetwork(Network, Protocol):
    """A network that answers row by row: row i of every answer belongs to row i of what it is shown, and to no other.

    It works through many rows in parts, so that memory does not grow with their number.
    """

    def answer(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Arrays by name, as the table in `estimators.perception` gives them. Raises ShapeError."""
        ...


networks: Registry[Callable[[Path, Place], Any]] = Registry(
    "network", package="worldgauge.estimators.networks", group="worldgauge.networks"
)
"""Facts: `what` it is for ("lpips", "dino", "aesthetic", "imaging", "video", "segment", "track", "detect", "depth")."""


def open_network(name: str, *, device: str = "", precision: Precision = "float32") -> Any:
    """The network `name` with its weights.

    Raises UnknownNameError, AbsentWeightsError, MissingExtraError without torch, DataError for wrong files.
    """
    made = networks.get(name)
    return made(opened(name).folder, place(device, precision))
