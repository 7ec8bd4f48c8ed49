"""Published networks that agents use: opened once per process, with their answers cached.

Example:
    sam2 = network("sam2")
    masks = ask_masks(sam2, ["track", *box], frames, lambda: sam2.network.track(frames, box))

Weights must have been downloaded (`worldgauge weights`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import MissingExtraError
from worldgauge.perception.cache import cached
from worldgauge.perception.networks import Ready, ready
from worldgauge.weights import AbsentWeightsError, opened

Arrays = Mapping[str, NDArray[Any]]


def network(name: str) -> Ready:
    """The network `name` with its weights, the same one as long as these are the same. Raises as `ready`."""
    return _opened_once(name, opened(name).digest)


def check_networks(names: Collection[str]) -> None:
    """Check that all networks can be used."""
    lacking = []
    for name in names:
        try:
            opened(name)
        except AbsentWeightsError:
            lacking.append(name)
    if lacking:
        listed = " and ".join(f"'{name}'" for name in lacking)
        raise AbsentWeightsError(f"weights {listed} are not here: worldgauge weights pull {' '.join(lacking)}")
    if names and find_spec("torch") is None:
        raise MissingExtraError(f"'{', '.join(names)}'", "torch")


def ask_network(
    one: Ready, question: Any, frames: NDArray[np.uint8], ask: Callable[[], Arrays]
) -> dict[str, NDArray[Any]]:
    """What `ask()` returns, cached. `ask`: Called once per question and frames."""
    key = hashlib.sha256(json.dumps([question, frames.shape], allow_nan=False).encode())
    key.update(np.ascontiguousarray(frames).data)
    return cached(one.identity, key.digest(), ask)


def ask_masks(
    one: Ready, question: Any, frames: NDArray[np.uint8], ask: Callable[[], NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Like `ask_network`, for masks (n, H, W), n at least 1; eight pixels are stored as a byte."""

    def packed() -> Arrays:
        masks = ask()
        return {"bits": np.packbits(masks.reshape(len(masks), -1), axis=1), "shape": np.array(masks.shape)}

    answer = ask_network(one, question, frames, packed)
    n, height, width = (int(side) for side in answer["shape"])
    return np.unpackbits(answer["bits"], axis=1, count=height * width).reshape(n, height, width).astype(np.bool_)


@lru_cache(maxsize=2)
def _opened_once(name: str, digest: str) -> Ready:
    return ready(name)
