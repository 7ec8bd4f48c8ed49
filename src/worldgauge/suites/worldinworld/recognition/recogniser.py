"""A recogniser of things in a red box: features of the picture, a linear layer, and its calibration."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Box, Image
from worldgauge.core.io import Stamp, read_npz, stamp_of, write_file
from worldgauge.worlds.indoor.homes import LABELS


def softmax(logits: FloatArray) -> FloatArray:
    """Return probabilities (..., k)."""
    raised = np.exp(logits - logits.max(-1, keepdims=True))
    shares: FloatArray = raised / raised.sum(-1, keepdims=True)
    return shares


SIZE_PX = 128
"""Height to which every image is resized first, so that its resolution does not matter."""
_BINS = 9
_INSIDE_PX, _AROUND_PX = 48, 32
_AROUND = 2.2
"""Scale of the surroundings relative to the box, which may hold only a part of the thing."""
_LEAST_PX = 10.0
"""Least side of the surroundings, in pixels of the resized image, divided by that scale."""


def box_features(image: Image, box: Box) -> NDArray[np.float32]:
    """Features (n,) float32 of a box (x0, y0, x1, y1 in pixels) in an image (H, W, 3) uint8."""
    x0, y0, x1, y1 = box
    if not (x0 < x1 and y0 < y1 and x0 < image.shape[1] and y0 < image.shape[0] and x1 > 0 and y1 > 0):
        raise ShapeError(
            f"expected a box with x0 < x1 and y0 < y1 within {image.shape[1]}x{image.shape[0]} pixels, got {box}"
        )
    whole = _resized(image)
    scale = SIZE_PX / image.shape[0]
    x0, y0, x1, y1 = (side * scale for side in box)
    inside = _cut(whole, (x0, y0, x1, y1), _INSIDE_PX)
    around = _cut(whole, _widened((x0, y0, x1, y1), _AROUND), _AROUND_PX)
    parts = [
        _pixels(inside, 12),
        _pixels(around, 12),
        _edges(inside, 6),
        _edges(inside, 2),
        _edges(around, 4),
        _colours(inside),
        _pixels(whole, 6),
        _place((x0, y0, x1, y1), whole.shape[1] / SIZE_PX),
    ]
    return np.concatenate(parts).astype(np.float32)


def in_mirror(image: Image, box: Box) -> tuple[Image, Box]:
    """The same seen in a mirror: image (H, W, 3) and box."""
    width = image.shape[1]
    return np.ascontiguousarray(image[:, ::-1]), (width - box[2], box[1], width - box[0], box[3])


def scene_features(image: Image) -> NDArray[np.float32]:
    """Compute the features (n,) float32 of an image (H, W, 3) uint8."""
    import cv2

    whole = np.asarray(cv2.resize(_resized(image), (SIZE_PX, SIZE_PX), interpolation=cv2.INTER_AREA), np.uint8)
    half = SIZE_PX // 2
    quarters = [whole[y : y + half, x : x + half] for y in (0, half) for x in (0, half)]
    parts = [_pixels(whole, 16), _edges(whole, 8), *(_colours(quarter) for quarter in quarters)]
    return np.concatenate(parts).astype(np.float32)


def _resized(image: Image) -> Image:
    import cv2

    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or 0 in image.shape:
        raise ShapeError(f"expected an image of shape (H, W, 3) and type uint8, got {image.shape} {image.dtype}")
    height, width = image.shape[:2]
    size = (max(1, round(width * SIZE_PX / height)), SIZE_PX)
    how = cv2.INTER_AREA if height > SIZE_PX else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(image, size, interpolation=how), np.uint8)


def _widened(box: tuple[float, float, float, float], times: float) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = box
    half_x, half_y = (times / 2 * max(side, _LEAST_PX) for side in (x1 - x0, y1 - y0))
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    return x - half_x, y - half_y, x + half_x, y + half_y


def _cut(image: Image, box: tuple[float, float, float, float], size: int) -> Image:
    """Crop any box to (size, size, 3); outside the image its border is repeated."""
    import cv2

    x0, y0, x1, y1 = box
    # Shrink by averaging a fine grid: bilinear sampling alone would skip pixels.
    fine = 4 * size if max(x1 - x0, y1 - y0) > 1.5 * size else size
    grid = (np.arange(fine, dtype=np.float32) + 0.5) / fine
    columns, rows = np.meshgrid(x0 + grid * (x1 - x0) - 0.5, y0 + grid * (y1 - y0) - 0.5)
    cut = cv2.remap(
        image, columns.astype(np.float32), rows.astype(np.float32), cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
    )
    return np.asarray(cut if fine == size else cv2.resize(cut, (size, size), interpolation=cv2.INTER_AREA), np.uint8)


def _pixels(image: Image, size: int) -> NDArray[np.float32]:
    import cv2

    small = cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA)
    return np.asarray(small.ravel() / 255 - 0.5, np.float32)


def _edges(image: Image, cells: int) -> NDArray[np.float32]:
    """Return edge direction histograms of cells x cells parts, each of about length 1, and the edges' strength."""
    grey = np.asarray(image, np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) / 255
    dy, dx = np.gradient(grey)
    strength = np.hypot(dx, dy)
    direction = (np.arctan2(dy, dx) % np.pi) / np.pi * _BINS
    side = grey.shape[0] // cells
    rows, columns = np.indices(grey.shape) // side
    bins = (rows * cells + columns) * _BINS + np.minimum(direction.astype(np.int64), _BINS - 1)
    found = np.bincount(bins.ravel(), strength.ravel(), cells * cells * _BINS).reshape(-1, _BINS)
    local = found / (np.linalg.norm(found, axis=1, keepdims=True) + 0.5)
    overall = np.log1p(found.sum(1))
    return np.concatenate([local.ravel(), overall]).astype(np.float32)


def _colours(image: Image) -> NDArray[np.float32]:
    """Return shares of hues (12, by saturation), greys and lights; means and standard deviations of the channels."""
    import cv2

    hue, saturation, value = (
        channel.astype(np.float32).ravel() for channel in cv2.split(cv2.cvtColor(image, cv2.COLOR_RGB2HSV))
    )
    n = hue.size
    hues = np.bincount((hue / 180 * 12).astype(np.int64), saturation / 255, 12) / n
    grid = (saturation // 64).astype(np.int64) * 4 + (value // 64).astype(np.int64)
    shades = np.bincount(grid, minlength=16) / n
    flat = image.reshape(-1, 3).astype(np.float32) / 255
    return np.concatenate([np.sqrt(hues), np.sqrt(shades), flat.mean(0), flat.std(0)]).astype(np.float32)


def _place(box: tuple[float, float, float, float], aspect: float) -> NDArray[np.float32]:
    x0, y0, x1, y1 = (side / SIZE_PX for side in box)
    width, height = x1 - x0, y1 - y0
    borders = [x0 <= 0.01, y0 <= 0.01, x1 >= aspect - 0.01, y1 >= 0.99]
    sides = [np.log(width), np.log(height), np.log(width / height), width, height]
    return np.array([(x0 + x1) / 2 - aspect / 2, (y0 + y1) / 2 - 0.5, y0, y1, *sides, *borders], np.float32)


VERSION = 2
FILE = "recogniser.npz"
"""The shipped one, beside this module."""
FILE_VARIABLE = "WORLDGAUGE_RECOGNISER"
"""Environment variable that names a file to use instead."""
_BLANK = np.zeros((8, 8, 3), np.uint8)
_MAX_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Perceptron:
    """A multilayer perceptron with rectified linear units. `weights`: (n, m) per layer; `biases`: (m,) per layer."""

    mean: NDArray[np.float32]
    scale: NDArray[np.float32]
    weights: tuple[NDArray[np.float16], ...]
    biases: tuple[NDArray[np.float32], ...]

    def logits(self, features: NDArray[np.float32]) -> FloatArray:
        """Return (k,) of features (n,)."""
        values = ((features - self.mean) / self.scale).astype(np.float64)
        for layer, (weights, bias) in enumerate(zip(self._wide, self.biases, strict=True)):
            # Not BLAS: its last digits depend on the number of threads, and traces must be reproducible.
            values = np.einsum("i,ij->j", values if layer == 0 else np.maximum(values, 0), weights) + bias
        return values

    @cached_property
    def _wide(self) -> list[FloatArray]:
        return [weights.astype(np.float64) for weights in self.weights]


@dataclass(frozen=True)
class Recogniser:
    """Classifies what is in a box of an image, and what is in an image."""

    boxes: Perceptron
    scenes: Perceptron
    facts: Mapping[str, Any]

    def probabilities(self, image: Image, box: Box) -> FloatArray:
        """Calibrated probabilities (27,) of LABELS for a box, by the mean over the image and its mirror image."""
        looks = ((image, box), in_mirror(image, box))
        return softmax(np.mean([self.boxes.logits(box_features(*look)) for look in looks], axis=0))

    def presence(self, image: Image) -> FloatArray:
        """Return (27,), for each of LABELS the probability that such a thing is in an image (H, W, 3) uint8."""
        shares: FloatArray = 1 / (1 + np.exp(-np.clip(self.scenes.logits(scene_features(image)), -30, 30)))
        return shares

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all its numbers."""
        return _digest(_arrays(self))


def recogniser() -> Recogniser:
    """Return the recogniser that comes with worldgauge, or the one of the file that WORLDGAUGE_RECOGNISER names."""
    given = os.environ.get(FILE_VARIABLE, "")
    return _recogniser(given, stamp_of(Path(given))) if given else shipped_recogniser()


def shipped_recogniser() -> Recogniser:
    """Return the recogniser that comes with worldgauge; data depend on no other."""
    return _recogniser("", None)


def identity() -> str:
    """Return what its answers depend on: the digest of its numbers."""
    return f"recogniser-{recogniser().digest[:16]}"


@lru_cache(maxsize=4)
def _recogniser(given: str, stamp: Stamp | None) -> Recogniser:
    if given:
        return load(Path(given))
    return read(files(__package__).joinpath(FILE).read_bytes(), FILE)


def save(made: Recogniser, path: Path) -> None:
    """Write it as npz, atomically."""
    content = io.BytesIO()
    facts = json.dumps({**made.facts, "digest": made.digest}, sort_keys=True, allow_nan=False)
    np.savez_compressed(content, facts=np.frombuffer(facts.encode(), np.uint8), **_arrays(made))  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content.getvalue())


def load(path: Path) -> Recogniser:
    """Read a file that `save` wrote."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: no recogniser ({error.strerror}); train it again") from error
    return read(content, str(path))


def read(content: bytes, name: str) -> Recogniser:
    """Read the bytes that `save` wrote."""
    try:
        arrays = read_npz(io.BytesIO(content), _MAX_BYTES)
        facts = json.loads(bytes(arrays.pop("facts")))
        if facts["version"] != VERSION:
            raise ValueError(f"version {facts['version']}, not {VERSION}")
        if facts.pop("digest") != _digest(arrays):
            raise ValueError("its numbers were changed")
        return Recogniser(
            _network(arrays, "boxes", box_features(_BLANK, (0, 0, 1, 1))),
            _network(arrays, "scenes", scene_features(_BLANK)),
            facts,
        )
    except (OSError, ValueError, KeyError, AttributeError, TypeError, EOFError, zipfile.BadZipFile) as error:
        why = " ".join(str(error).split())[:200]
        raise DataError(f"{name}: no recogniser ({why or type(error).__name__}); train it again") from error


def _arrays(made: Recogniser) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for name in ("boxes", "scenes"):
        network: Perceptron = getattr(made, name)
        found |= {f"{name}.mean": network.mean, f"{name}.scale": network.scale}
        found |= {f"{name}.weights.{k}": weights for k, weights in enumerate(network.weights)}
        found |= {f"{name}.biases.{k}": bias for k, bias in enumerate(network.biases)}
    return found


def _network(arrays: Mapping[str, NDArray[Any]], name: str, inputs: NDArray[np.float32]) -> Perceptron:
    depth = sum(key.startswith(f"{name}.weights.") for key in arrays)
    weights = tuple(arrays[f"{name}.weights.{k}"] for k in range(depth))
    network = Perceptron(
        arrays[f"{name}.mean"],
        arrays[f"{name}.scale"],
        weights,
        tuple(arrays[f"{name}.biases.{k}"] for k in range(depth)),
    )
    if not depth or network.logits(inputs).shape != (len(LABELS),) or not np.isfinite(network.logits(inputs)).all():
        raise ValueError(f"'{name}' does not end in {len(LABELS)} labels")
    return network


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.hexdigest()
