"""Strips of a panorama, and the layers of networks over them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera
from worldgauge.core.image import Image
from worldgauge.core.io import read_npz, write_file
from worldgauge.core.video import resize

COLUMNS, ROWS = 128, 24
"""Of a panorama's strip: 2.8 degrees a pixel, 34 degrees up and down, which a view of 90 degrees shows to its sides."""
VIEW_COLUMNS = 32
"""Of a view's strip: 90 degrees."""
_SIDE_PX = 64


Strip = NDArray[np.float32]


def panorama_strip(panorama: Image, finer: int = 1) -> Strip:
    """The strip (24, 128, 3) in [-1, 1] of a panorama (H, W, 3) uint8; its centre column stays the centre."""
    columns, height = COLUMNS * finer, ROWS * finer
    small = resize(panorama, columns, columns // 2)
    top = (columns // 2 - height) // 2
    return _values(small[top : top + height])


def view_strip(view: Image, camera: Camera, finer: int = 1) -> Strip:
    """The strip (24, 32, 3) in [-1, 1] of a view (H, W, 3) uint8; beyond the camera the nearest pixel repeats."""
    import cv2

    side = _SIDE_PX * finer
    columns, rows = _places(camera.resized(side, side), finer)
    square = resize(view, side, side)
    return _values(np.asarray(cv2.remap(square, columns, rows, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)))


@lru_cache(maxsize=8)
def _places(camera: Camera, finer: int) -> tuple[Strip, Strip]:
    """Return column and row (24, 32), or finer, in the view of each pixel of the strip."""
    step = 2 * np.pi / (COLUMNS * finer)
    width, height = VIEW_COLUMNS * finer, ROWS * finer
    right = (np.arange(width) + 0.5 - width / 2) * step
    up = (height / 2 - np.arange(height) - 0.5) * step
    columns = np.broadcast_to(camera.cx + camera.fx * np.tan(right) - 0.5, (height, width))
    rows = camera.cy - camera.fy * np.tan(up)[:, None] / np.cos(right) - 0.5
    return columns.astype(np.float32).copy(), rows.astype(np.float32)


def _values(pixels: Image) -> Strip:
    return np.asarray(pixels.astype(np.float32) / np.float32(127.5) - 1, np.float32)


Array = NDArray[np.float32]
Weights = Mapping[str, Array]
_MAX_BYTES = 2**20


def padded(values: Array, wraps: bool) -> Array:
    """One more row at the top and column to the left, so that every second pixel is the middle of a patch."""
    tall = np.concatenate([values[:, :1], values], axis=1)
    return np.concatenate([tall[:, :, -1:] if wraps else tall[:, :, :1], tall], axis=2)


def patches_of(values: Array) -> Array:
    """Patches (n, h, w, 9c) of 3 x 3, two pixels apart, of (n, 2h + 1, 2w + 1, c)."""
    n, height, width, units = values.shape
    down, across = (height - 1) // 2, (width - 1) // 2
    found = np.empty((n, down, across, 9, units), values.dtype)
    for row in range(3):
        for column in range(3):
            found[:, :, :, 3 * row + column] = values[:, row : row + 2 * down : 2, column : column + 2 * across : 2]
    return found.reshape(n, down, across, 9 * units)


def layer_shapes(*layers: tuple[int, int]) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights and biases of layers, by name, from each layer's inputs and units."""
    found: dict[str, tuple[int, ...]] = {}
    for number, (inputs, units) in enumerate(layers, 1):
        found |= {f"w{number}": (inputs, units), f"b{number}": (units,)}
    return found


@dataclass(frozen=True)
class StripNetwork:
    """Weights of a network over strips, and facts about it: plain JSON values."""

    weights: Weights
    facts: Mapping[str, Any]


def save_network(made: StripNetwork, path: Path) -> None:
    """Write weights and facts, plain JSON values, as npz in half precision, atomically."""
    content = io.BytesIO()
    text = np.frombuffer(json.dumps(made.facts, sort_keys=True, allow_nan=False).encode(), np.uint8)
    np.savez_compressed(content, facts=text, **{name: array.astype(np.float16) for name, array in made.weights.items()})  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content.getvalue())


def read_network(
    content: bytes, name: str, what: str, version: int, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[Weights, dict[str, Any]]:
    """Read the bytes that `save_network` wrote."""
    try:
        arrays = read_npz(io.BytesIO(content), _MAX_BYTES)
        facts = json.loads(bytes(arrays["facts"]))
        weights = {one: arrays[one].astype(np.float32) for one in shapes}
        if facts["version"] != version:
            raise ValueError(f"version {facts['version']}, not {version}")
        wrong = [one for one, shape in shapes.items() if weights[one].shape != shape]
        if wrong or not all(np.isfinite(one).all() for one in weights.values()):
            raise ValueError(f"not the arrays of this network: {', '.join(wrong) or 'not all are finite'}")
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        why = " ".join(str(error).split())[:200]
        raise DataError(f"{name}: no {what} ({why or type(error).__name__}); train it again") from error
    return weights, facts
