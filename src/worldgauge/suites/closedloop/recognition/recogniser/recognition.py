"""A small classifier of things in homes: numpy only, stored as npz, trained on first use."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Box, Image
from worldgauge.core.io import digest_of_file
from worldgauge.perception.cache import cache_folder
from worldgauge.suites.closedloop.recognition.recogniser.calibration import softmax
from worldgauge.suites.closedloop.recognition.recogniser.features import box_features, scene_features
from worldgauge.worlds.indoor.homes import LABELS

VERSION = 1
HOMES = 100
"""Train scenes that it is trained on, from scene_seed("train", 0)."""
FILE_VARIABLE = "WORLDGAUGE_RECOGNISER"
"""Environment variable that names a file to use instead of the cached one."""
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
        """Classify what is in a box.

        Args:
            image: (H, W, 3) uint8.
            box: x0, y0, x1, y1 in pixels.

        Returns:
            (27,) calibrated probabilities of LABELS; they sum to 1.

        Raises:
            ShapeError: If the box holds no pixel of the image.
        """
        return softmax(self.boxes.logits(box_features(image, box)))

    def presence(self, image: Image) -> FloatArray:
        """Return (27,), for each of LABELS the probability that such a thing is in an image (H, W, 3) uint8."""
        shares: FloatArray = 1 / (1 + np.exp(-np.clip(self.scenes.logits(scene_features(image)), -30, 30)))
        return shares

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all its numbers."""
        return _digest(_arrays(self))


def recogniser(homes: int = HOMES) -> Recogniser:
    """Return the recogniser from the user's cache, or train it now, which takes one to two minutes.

    A cached file that is damaged, or of another version of homes or features, is made again; one named by
    WORLDGAUGE_RECOGNISER must be valid.

    Args:
        homes: Train scenes; few make a poor one quickly.

    Raises:
        DataError: If the named file is not valid.
        MissingExtraError: If scikit-learn is needed and missing.
    """
    return _recogniser(homes, os.environ.get(FILE_VARIABLE, ""), os.environ.get("WORLDGAUGE_CACHE", ""))


def ensure_trained(progress: Callable[[int, int], None] = lambda done, of: None) -> None:
    """Train it now unless it is cached, so that workers find it.

    Args:
        progress: Called with scenes done and scenes in all.

    Raises:
        MissingExtraError: Without scikit-learn.
    """
    from worldgauge.suites.closedloop.recognition.recogniser.train import train

    file = cached_file()
    if file is not None and not file.exists() and not os.environ.get(FILE_VARIABLE):
        save(train(progress=progress), file)


def identity() -> str:
    """Return what its answers depend on without making it: the named file, else the sources it is made from."""
    given = os.environ.get(FILE_VARIABLE)
    if given:
        return digest_of_file(Path(given)) if Path(given).is_file() else given
    return f"{_source_digest()[:16]}-{HOMES}"


@lru_cache(maxsize=4)
def _recogniser(homes: int, given: str, _cache: str) -> Recogniser:
    from worldgauge.suites.closedloop.recognition.recogniser.train import train

    if given:
        return load(Path(given))
    file = cached_file(homes)
    if file is not None:
        with suppress(DataError):
            return load(file)
    made = train(homes)
    if file is not None:
        with suppress(OSError):  # a full disk: it works without a cache
            save(made, file)
    return made


def cached_file(homes: int = HOMES) -> Path | None:
    """Return the cache file for so many train scenes; None if nothing is cached (WORLDGAUGE_CACHE=off)."""
    folder = cache_folder()
    return None if folder is None else folder / "recogniser" / f"{_source_digest()[:16]}-{homes}.npz"


def save(made: Recogniser, path: Path) -> None:
    """Write it as npz, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    facts = json.dumps({**made.facts, "digest": made.digest}, sort_keys=True, allow_nan=False)
    try:
        with open(part, "wb") as file:
            np.savez(file, facts=np.frombuffer(facts.encode(), np.uint8), **_arrays(made))  # type: ignore[arg-type]
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load(path: Path) -> Recogniser:
    """Read what `save` wrote.

    Raises:
        DataError: If it is missing, damaged or of another version.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
                raise DataError(f"{path}: more than {_MAX_BYTES} bytes for a recogniser; train it again")
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        facts = json.loads(bytes(arrays.pop("facts")))
        if facts.get("version") != VERSION or facts.pop("digest") != _digest(arrays):
            raise DataError(f"{path}: a recogniser that was changed, or of another version; train it again")
        return Recogniser(_network(arrays, "boxes"), _network(arrays, "scenes"), facts)
    except (OSError, ValueError, KeyError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        why = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: no recogniser ({why or type(error).__name__}); train it again") from error


def _arrays(made: Recogniser) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    for name in ("boxes", "scenes"):
        network: Network = getattr(made, name)
        found |= {f"{name}.mean": network.mean, f"{name}.scale": network.scale}
        found |= {f"{name}.weights.{k}": weights for k, weights in enumerate(network.weights)}
        found |= {f"{name}.biases.{k}": bias for k, bias in enumerate(network.biases)}
    return found


def _network(arrays: Mapping[str, NDArray[Any]], name: str) -> Network:
    depth = sum(key.startswith(f"{name}.weights.") for key in arrays)
    weights = tuple(arrays[f"{name}.weights.{k}"] for k in range(depth))
    network = Network(
        arrays[f"{name}.mean"],
        arrays[f"{name}.scale"],
        weights,
        tuple(arrays[f"{name}.biases.{k}"] for k in range(depth)),
    )
    if not depth or network.logits(network.mean).shape != (len(LABELS),):
        raise ValueError(f"'{name}' does not end in {len(LABELS)} labels")
    return network


def _digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    found = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        found.update(array.tobytes())
    return found.hexdigest()


@lru_cache(maxsize=1)
def _source_digest() -> str:
    """Return the digest of the code that decides what it learns: homes, rendering, and the files next to this one."""
    from worldgauge.suites.closedloop.recognition import boxes
    from worldgauge.worlds import indoor

    folders = (Path(indoor.__file__).parent, Path(__file__).parent)
    found = hashlib.sha256()
    for file in (*sorted(path for folder in folders for path in folder.rglob("*.py")), Path(boxes.__file__)):
        found.update(f"{file.name} {digest_of_file(file)}\n".encode())
    return found.hexdigest()
