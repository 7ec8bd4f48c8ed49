"""A small classifier of things in homes: numpy only, stored as npz, shipped."""

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

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Box, Image
from worldgauge.core.io import Stamp, stamp_of, write_file
from worldgauge.core.npz import read_npz
from worldgauge.suites.closedloop.recognition.recogniser.calibration import softmax
from worldgauge.suites.closedloop.recognition.recogniser.features import box_features, in_mirror, scene_features
from worldgauge.worlds.indoor.homes import LABELS

VERSION = 2
FILE = "recogniser.npz"
"""The shipped one, beside this module."""
FILE_VARIABLE = "WORLDGAUGE_RECOGNISER"
"""Environment variable that names a file to use instead."""
_BLANK = np.zeros((8, 8, 3), np.uint8)
_MAX_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Network:
    """A multilayer perceptron with rectified linear units.

    Attributes:
        mean: Of the inputs.
        scale: Of the inputs.
        weights: (n, m) per layer.
        biases: (m,) per layer.
    """

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
    """Classifies what is in a box of an image, and what is in an image.

    Attributes:
        boxes: Network for boxes.
        scenes: Network for images.
        facts: Plain JSON values: version, training data, and accuracy on validation scenes.
    """

    boxes: Network
    scenes: Network
    facts: Mapping[str, Any]

    def probabilities(self, image: Image, box: Box) -> FloatArray:
        """Classify what is in a box, by the mean of what the network makes of it as it is and in a mirror.

        Args:
            image: (H, W, 3) uint8.
            box: x0, y0, x1, y1 in pixels.

        Returns:
            (27,) calibrated probabilities of LABELS; they sum to 1.

        Raises:
            ShapeError: If the box holds no pixel of the image.
        """
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
    """Return the recogniser that comes with worldgauge, or the one of the file that WORLDGAUGE_RECOGNISER names.

    Raises:
        DataError: If the named file is not valid.
    """
    given = os.environ.get(FILE_VARIABLE, "")
    return _recogniser(given, stamp_of(Path(given)) if given else None)


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
    """Read a file that `save` wrote.

    Raises:
        DataError: If it is missing, damaged or of another version.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: no recogniser ({error.strerror}); train it again") from error
    return read(content, str(path))


def read(content: bytes, name: str) -> Recogniser:
    """Read the bytes that `save` wrote.

    Args:
        content: The bytes.
        name: Of the file, for errors.

    Raises:
        DataError: If they are damaged or of another version.
    """
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
        network: Network = getattr(made, name)
        found |= {f"{name}.mean": network.mean, f"{name}.scale": network.scale}
        found |= {f"{name}.weights.{k}": weights for k, weights in enumerate(network.weights)}
        found |= {f"{name}.biases.{k}": bias for k, bias in enumerate(network.biases)}
    return found


def _network(arrays: Mapping[str, NDArray[Any]], name: str, inputs: NDArray[np.float32]) -> Network:
    depth = sum(key.startswith(f"{name}.weights.") for key in arrays)
    weights = tuple(arrays[f"{name}.weights.{k}"] for k in range(depth))
    network = Network(
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
