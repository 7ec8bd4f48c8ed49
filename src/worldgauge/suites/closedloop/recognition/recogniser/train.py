"""Trains the recogniser on train scenes of the embedded homes, and calibrates it on validation scenes."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import MissingExtraError
from worldgauge.core.geometry import FloatArray
from worldgauge.suites.closedloop.recognition.recogniser.calibration import (
    calibration_error,
    reliability,
    softmax,
    temperature,
)
from worldgauge.suites.closedloop.recognition.recogniser.features import box_features, scene_features
from worldgauge.suites.closedloop.recognition.recogniser.recognition import HOMES, VERSION, Network, Recogniser
from worldgauge.suites.closedloop.recognition.recogniser.samples import labelled_views
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.indoor.splits import scene_seed

_VIEWS = 24
HELD_OUT = 12
_HIDDEN = 256
_ROUNDS = 16
"""Epochs, or as many as give `_LEAST_UPDATES`."""
_LEAST_UPDATES = 400
_BATCH = 128


def train(
    homes: int = HOMES,
    *,
    held_out: int = HELD_OUT,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Recogniser:
    """Train a recogniser; on one machine the same scenes give the same bytes. 100 homes take about 95 s on one core.

    Args:
        homes: Train scenes, from the first.
        held_out: Validation scenes, for its temperature and the accuracy in its facts.
        progress: Called with scenes done and scenes in all.

    Raises:
        MissingExtraError: Without scikit-learn.
    """
    try:
        import sklearn
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtraError("the recogniser's training", "policies") from error
    total = homes + held_out
    learned = _collected("train", homes, lambda done: progress(done, total))
    held = _collected("val", held_out, lambda done: progress(homes + done, total))
    with threadpool_limits(1):  # another order of summation would give other weights
        boxes = _fitted(learned.boxes, learned.labels, _weights(learned.labels))
        scenes = _fitted(learned.scenes, learned.present.astype(np.int64), None)
    logits = np.array([boxes.logits(row) for row in held.boxes])
    seen = 1 / (1 + np.exp(-np.array([scenes.logits(row) for row in held.scenes])))
    heat = temperature(logits, held.labels)
    boxes = _cooled(boxes, heat)
    facts = {
        "version": VERSION,
        "labels": list(LABELS),
        "homes": homes,
        "views_per_home": _VIEWS,
        "trained_on": {"boxes": len(learned.labels), "views": len(learned.scenes), "digest": learned.digest},
        "validated_on": {"homes": held_out, "boxes": len(held.labels), "digest": held.digest},
        "temperature": round(heat, 4),
        "scikit-learn": sklearn.__version__,
        **_quality(softmax(logits / heat), held.labels),
        "presence_calibration_error": round(calibration_error(seen.ravel(), held.present.ravel()), 4),
        "presence_where_present": round(float(seen[held.present].mean()), 4),
        "presence_where_absent": round(float(seen[~held.present].mean()), 4),
    }
    return Recogniser(boxes, scenes, facts)


@dataclass(frozen=True)
class _Collected:
    """Features and labels of some homes.

    Attributes:
        boxes: (n, features).
        labels: (n,).
        scenes: (m, features).
        present: (m, 27).
        digest: Of homes and features.
    """

    boxes: NDArray[np.float32]
    labels: NDArray[np.int64]
    scenes: NDArray[np.float32]
    present: NDArray[np.bool_]
    digest: str


def _collected(split: str, homes: int, progress: Callable[[int], None]) -> _Collected:
    boxes: list[NDArray[np.float32]] = []
    labels: list[int] = []
    scenes: list[NDArray[np.float32]] = []
    present: list[NDArray[np.bool_]] = []
    digest = hashlib.sha256()
    for number in range(homes):
        seed = scene_seed(split, number)
        home = Home(seed)
        digest.update(str(home.facts.digest).encode())
        for view in labelled_views(home, _VIEWS, np.random.default_rng([seed, 0xEE])):
            boxes += [box_features(view.image, box) for box in view.boxes]
            labels += view.labels
            scenes.append(scene_features(view.image))
            present.append(view.present)
        progress(number + 1)
    found = np.array(boxes, np.float32), np.array(labels, np.int64), np.array(scenes, np.float32), np.array(present)
    for array in found:
        digest.update(np.ascontiguousarray(array).tobytes())
    return _Collected(*found, digest.hexdigest())


def _weights(labels: NDArray[np.int64]) -> FloatArray:
    """Weight rare labels up, by the inverse root of their frequency."""
    counts = np.bincount(labels, minlength=len(LABELS))
    rarity = 1 / np.sqrt(counts[labels])
    weights: FloatArray = rarity / rarity.mean()
    return weights


def _fitted(features: NDArray[np.float32], targets: NDArray[np.int64], weights: FloatArray | None) -> Network:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    mean, scale = features.mean(0), features.std(0) + 1e-3
    batch = min(_BATCH, len(targets))
    network: Any = MLPClassifier(
        (_HIDDEN if targets.ndim == 1 else _HIDDEN // 4,),
        alpha=1.0,
        max_iter=max(_ROUNDS, _LEAST_UPDATES * batch // len(targets)),
        batch_size=batch,
        n_iter_no_change=_LEAST_UPDATES,  # the number of epochs is fixed on purpose
        learning_rate_init=5e-4,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(((features - mean) / scale).astype(np.float32), targets, sample_weight=weights)
    coefs, biases = list(network.coefs_), list(network.intercepts_)
    if targets.ndim == 1:  # a label that no training view showed keeps its index, with probability 0
        known = network.classes_
        coefs[-1] = _spread(coefs[-1], known, 0.0)
        biases[-1] = _spread(biases[-1], known, -20.0)
    return Network(
        mean.astype(np.float32),
        scale.astype(np.float32),
        tuple(np.asarray(each, np.float16) for each in coefs),
        tuple(np.asarray(each, np.float32) for each in biases),
    )


def _spread(values: NDArray[Any], known: NDArray[np.int64], missing: float) -> NDArray[Any]:
    whole = np.full((*values.shape[:-1], len(LABELS)), missing)
    whole[..., known] = values
    return whole


def _cooled(network: Network, heat: float) -> Network:
    """Return the network with its logits divided by `heat`."""
    return replace(
        network,
        weights=(*network.weights[:-1], (network.weights[-1].astype(np.float64) / heat).astype(np.float16)),
        biases=(*network.biases[:-1], (network.biases[-1] / heat).astype(np.float32)),
    )


def _quality(probabilities: FloatArray, labels: NDArray[np.int64]) -> dict[str, Any]:
    right = probabilities.argmax(1) == labels
    confidence = probabilities.max(1)
    per_label = [float(right[labels == k].mean()) for k in range(len(LABELS)) if (labels == k).any()]
    return {
        "accuracy": round(float(right.mean()), 4),
        "accuracy_over_labels": round(float(np.mean(per_label)), 4),
        "calibration_error": round(calibration_error(confidence, right), 4),
        "reliability": [
            [each.n, round(each.stated, 4), round(each.right, 4)] for each in reliability(confidence, right)
        ],
    }
