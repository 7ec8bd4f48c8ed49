"""Strips of a panorama, and the layers of networks over them."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
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

CONTRAST, OFFSET, NOISE = 0.1, 0.1, 0.12
"""Most that training changes a strip by, of values in [-1, 1]: the gain, the level, the deviation of noise."""

Strip = NDArray[np.float32]


def panorama_strip(panorama: Image, finer: int = 1) -> Strip:
    """The strip (24, 128, 3) in [-1, 1] of a panorama (H, W, 3) uint8; its centre column stays the centre.

    Args:
        panorama: (H, W, 3) uint8.
    """
    columns, height = COLUMNS * finer, ROWS * finer
    small = resize(panorama, columns, columns // 2)
    top = (columns // 2 - height) // 2
    return _values(small[top : top + height])


def view_strip(view: Image, camera: Camera, finer: int = 1) -> Strip:
    """The strip (24, 32, 3) in [-1, 1] of a view.

    Args:
        view: (H, W, 3) uint8.
        camera: Its camera. What it does not see repeats the nearest pixel.
    """
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


def as_imagined(strips: Strip, rng: np.random.Generator) -> Strip:
    """Strips as a model may show them: each with other colours and exposure, a third blurred, half of them noisy.

    Args:
        strips: (n, rows, columns, 3) in [-1, 1].
    """
    each = (len(strips), 1, 1, 3)
    made = strips * (1 + rng.uniform(-CONTRAST, CONTRAST, each)) + rng.uniform(-OFFSET, OFFSET, each)
    wide = np.pad(made, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    rows = (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]) / 4
    soft = (rows[:, :, :-2] + 2 * rows[:, :, 1:-1] + rows[:, :, 2:]) / 4
    made = np.where(rng.random((len(strips), 1, 1, 1)) < 1 / 3, soft, made)
    sigma = rng.uniform(0, NOISE, (len(strips), 1, 1, 1)) * (rng.random((len(strips), 1, 1, 1)) < 0.5)
    return np.asarray(np.clip(made + sigma * rng.standard_normal(strips.shape), -1, 1), np.float32)


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


def through_dense(layer: str, weights: Weights, inputs: Array, by_outputs: Array, gradients: dict[str, Array]) -> Array:
    """Add to the gradients of a dense layer, and return that of its inputs."""
    flat = by_outputs.reshape(-1, by_outputs.shape[-1])
    gradients[f"w{layer}"] += inputs.reshape(-1, inputs.shape[-1]).T @ flat
    gradients[f"b{layer}"] += flat.sum(axis=0)
    return np.asarray(by_outputs @ weights[f"w{layer}"].T)


def through_patches(by_patches: Array, values: Array, wraps: bool) -> Array:
    """Return the gradient of values (n, h, w, c) whose padded patches were taken."""
    n, height, width, units = values.shape
    by_padded = np.zeros((n, height + 1, width + 1, units), by_patches.dtype)
    by_patches = by_patches.reshape(n, height // 2, width // 2, 9, units)
    for row in range(3):
        for column in range(3):
            by_padded[:, row : row + height : 2, column : column + width : 2] += by_patches[:, :, :, 3 * row + column]
    by_padded[:, :, -1 if wraps else 1] += by_padded[:, :, 0]
    by_padded[:, 1] += by_padded[:, 0]
    return by_padded[:, 1:, 1:]


class Adam:
    """Fits weights step by step (Kingma and Ba 2015), the rate rising at first and then falling to nothing as a cosine.

    Attributes:
        weights: As they are now.

    Args:
        weights: Before the first step.
        steps: How many there will be.
    """

    RATE, WARM_UP, DECAY = 2e-3, 50, 1e-4

    def __init__(self, weights: Weights, steps: int) -> None:
        self.weights = dict(weights)
        self._steps, self._step = steps, 0
        self._mean = {name: np.zeros_like(array) for name, array in weights.items()}
        self._square = {name: np.zeros_like(array) for name, array in weights.items()}

    def step(self, gradients: Weights) -> None:
        """Move the weights against their gradients."""
        self._step += 1
        rate = self.RATE * min(1, self._step / self.WARM_UP) * (1 + math.cos(math.pi * self._step / self._steps)) / 2
        for name, array in self.weights.items():
            slope = gradients[name] + self.DECAY * array if array.ndim > 1 else gradients[name]
            self._mean[name] = 0.9 * self._mean[name] + 0.1 * slope
            self._square[name] = 0.99 * self._square[name] + 0.01 * slope**2
            size = np.sqrt(self._square[name] / (1 - 0.99**self._step)) + 1e-7
            moved = array - rate * self._mean[name] / (1 - 0.9**self._step) / size
            self.weights[name] = moved.astype(np.float32)


def initial_weights(shapes: Mapping[str, tuple[int, ...]], rng: np.random.Generator) -> dict[str, Array]:
    """Weights before training: normal by the number of inputs (He and others 2015), and biases of zero."""
    made = {}
    for name, shape in shapes.items():
        spread = math.sqrt(2 / shape[0]) if len(shape) > 1 else 0.0
        made[name] = (rng.standard_normal(shape) * spread).astype(np.float32)
    return made


def save_network(weights: Weights, facts: Mapping[str, Any], path: Path) -> None:
    """Write weights and facts, plain JSON values, as npz in half precision, atomically."""
    content = io.BytesIO()
    told = np.frombuffer(json.dumps(facts, sort_keys=True, allow_nan=False).encode(), np.uint8)
    np.savez_compressed(content, facts=told, **{name: array.astype(np.float16) for name, array in weights.items()})  # type: ignore[arg-type]
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
