"""Trains the recogniser on train scenes of the embedded homes, and calibrates it on validation scenes. Numpy only."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Box, Image
from worldgauge.suites.worldinworld.recognition.boxes import target_box
from worldgauge.suites.worldinworld.recognition.episodes import CLEAR, VisibilityMeter
from worldgauge.suites.worldinworld.recognition.recogniser import (
    VERSION,
    Perceptron,
    Recogniser,
    box_features,
    in_mirror,
    scene_features,
    softmax,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS, scene_seed
from worldgauge.worlds.walking.primitives import RADIUS_M, Stance

HFOV_DEG = 90.0
_SIZES_PX = (96, 128, 128, 256)
_CLEAR_PX = 128
_WORSENED = 2 / 5
_LEAST_SHARE = 0.0015
"""Least share of the image for a thing to get a box."""
_PRESENT_SHARE = 0.002
"""Least share of the image for a label to be present."""


@dataclass(frozen=True)
class LabelledView:
    """A training image (H, W, 3) uint8 with boxes, an index into LABELS per box, and present labels (27,)."""

    image: Image
    boxes: tuple[Box, ...]
    labels: tuple[int, ...]
    present: NDArray[np.bool_]


def labelled_views(home: Home, n: int, rng: np.random.Generator) -> Iterator[LabelledView]:
    """Yield n views from where an agent can be, most towards a thing of a uniformly drawn label. Boxes are those that a
    target gets; two of five are shifted or partial, as tracked ones are."""
    things = {thing.instance: LABELS.index(thing.category) for thing in home.objects if thing.category in LABELS}
    floor = home.floor
    places = floor.points_of(np.argwhere(floor.clearance_m > RADIUS_M))
    for _ in range(n):
        size = int(rng.choice(_SIZES_PX))
        camera = Camera.from_horizontal_fov(size, size, HFOV_DEG)
        view = home.view(_stance(home, places, things, rng).eye(), camera)
        boxes: list[Box] = []
        labels: list[int] = []
        present = np.zeros(len(LABELS), np.int64)
        for number, pixels in zip(*np.unique(view.instance, return_counts=True), strict=True):
            label = things.get(int(number))
            if label is None:
                continue
            present[label] += pixels
            box = target_box(view.instance == number) if pixels > _LEAST_SHARE * size**2 else None
            if box is None:
                continue
            if rng.random() < _WORSENED:
                box = _worsened(box, size, rng)
            boxes.append(box)
            labels.append(label)
        seen = present > _PRESENT_SHARE * size**2
        yield LabelledView(view.rgb, tuple(boxes), tuple(labels), seen)


def clear_views(home: Home, n: int, rng: np.random.Generator) -> Iterator[LabelledView]:
    """Yield up to n views with the one box of a thing that is seen clearly, of labels drawn uniformly."""
    things = {thing.instance: LABELS.index(thing.category) for thing in home.objects if thing.category in LABELS}
    floor = home.floor
    places = floor.points_of(np.argwhere(floor.clearance_m > RADIUS_M))
    meters: dict[int, VisibilityMeter] = {}
    camera = Camera.from_horizontal_fov(_CLEAR_PX, _CLEAR_PX, HFOV_DEG)
    for _ in range(n):
        number = _drawn(things, rng)
        meter = meters.setdefault(number, VisibilityMeter(home, number))
        stance = _towards(meter.centre, places, rng)
        if stance is None or meter.see(stance).clarity < CLEAR:
            continue
        view = home.view(stance.eye(), camera)
        box = target_box(view.instance == number)
        if box is not None:
            yield LabelledView(view.rgb, (box,), (things[number],), np.zeros(len(LABELS), bool))


def _stance(home: Home, places: NDArray[np.float64], things: dict[int, int], rng: np.random.Generator) -> Stance:
    """Draw a stance; three of four look towards a thing."""
    if rng.random() > 0.25:
        found = _towards(home.landmarks[_drawn(things, rng) - 1].centre, places, rng)
        if found is not None:
            return found
    at = places[int(rng.integers(len(places)))]
    return Stance(float(at[0]), float(at[1]), float(rng.uniform(-np.pi, np.pi)))


def _drawn(things: dict[int, int], rng: np.random.Generator) -> int:
    """Draw a thing of a label that is drawn uniformly."""
    label = int(rng.choice(sorted(set(things.values()))))
    return int(rng.choice([thing for thing, of in things.items() if of == label]))


def _towards(centre: FloatArray, places: NDArray[np.float64], rng: np.random.Generator) -> Stance | None:
    """Draw a stance 0.4 to 4 m from a place, up to 50 degrees off; None where there is none."""
    x, y = centre[:2]
    away = np.hypot(places[:, 0] - x, places[:, 1] - y)
    near = places[(away > 0.4) & (away < rng.uniform(1.0, 4.0))]
    if not len(near):
        return None
    at = near[int(rng.integers(len(near)))]
    yaw = np.arctan2(y - at[1], x - at[0]) + np.radians(rng.uniform(-50, 50))
    return Stance(float(at[0]), float(at[1]), float(yaw))


def _worsened(box: Box, size: int, rng: np.random.Generator) -> Box:
    """Return a part of the box, or the box shifted and scaled by up to a fifth."""
    x0, y0, x1, y1 = box
    width, height = x1 - x0, y1 - y0
    if rng.random() < 0.6:
        w, h = np.maximum(2, np.array([width, height]) * rng.uniform(0.25, 1.0, 2) ** rng.permutation([0.2, 1.0]))
        left, top = x0 + rng.random() * (width - w), y0 + rng.random() * (height - h)
    else:
        w, h = np.array([width, height]) * rng.uniform(0.85, 1.2, 2)
        left = x0 + (width - w) / 2 + rng.uniform(-0.15, 0.15) * width
        top = y0 + (height - h) / 2 + rng.uniform(-0.15, 0.15) * height
    low_x, low_y = int(np.clip(np.floor(left), 0, size - 2)), int(np.clip(np.floor(top), 0, size - 2))
    return (
        low_x,
        low_y,
        int(np.clip(np.ceil(left + w), low_x + 1, size)),
        int(np.clip(np.ceil(top + h), low_y + 1, size)),
    )


HOMES, HELD_OUT = 100, 12
CLEAR_HOMES = 2.5
"""For each held-out home, so many of which clear views are taken: they are few in each."""
_VIEWS, _CLEAR_TRIES = 24, 24
_HIDDEN, _HIDDEN_SCENES = 224, 64
_ROUNDS = 14
"""Epochs, or as many as give `_LEAST_UPDATES`."""
_LEAST_UPDATES = 400
_BATCH = 128
_RATE, _WARM_UP, _DECAY = 1e-3, 50, 0.1
_DROPPED_INPUTS, _DROPPED = 0.1, 0.3
_SMOOTH = 0.05
"""Of a label's share, given to all labels alike."""

Array = NDArray[np.float32]


def train(
    homes: int = HOMES, *, held_out: int = HELD_OUT, progress: Callable[[int, int], None] = lambda done, of: None
) -> Recogniser:
    """Train a recogniser; 120 homes take less than five minutes on one core."""
    total = homes + held_out
    learned = _collected("train", homes, lambda done: progress(done, total))
    held = _collected("val", held_out, lambda done: progress(homes + done, total))
    # Weight rare labels up, by the inverse root of their frequency.
    counts = np.bincount(learned.labels, minlength=len(LABELS))
    rarity = 1 / np.sqrt(counts[learned.labels])
    weights: FloatArray = rarity / rarity.mean()
    shares = np.full((len(learned.labels), len(LABELS)), _SMOOTH / len(LABELS), np.float32)
    shares[np.arange(len(learned.labels)), learned.labels] += 1 - _SMOOTH
    boxes = _fitted(learned.boxes, shares, weights, _HIDDEN, softmax)
    scenes = _fitted(learned.scenes, learned.present.astype(np.float32), None, _HIDDEN_SCENES, _logistic)
    logits = _logits(boxes, held.boxes)
    seen = _logistic(_logits(scenes, held.scenes))
    heat = temperature(logits, held.labels)
    boxes = replace(
        boxes,
        weights=(*boxes.weights[:-1], (boxes.weights[-1].astype(np.float64) / heat).astype(np.float16)),
        biases=(*boxes.biases[:-1], (boxes.biases[-1] / heat).astype(np.float32)),
    )
    clear = [view for number in range(round(CLEAR_HOMES * held_out)) for view in _clear(number)]
    facts = {
        "version": VERSION,
        "labels": list(LABELS),
        "homes": homes,
        "views_per_home": _VIEWS,
        "trained_on": {"boxes": len(learned.labels), "views": len(learned.scenes), "digest": learned.digest},
        "validated_on": {"homes": held_out, "boxes": len(held.labels), "digest": held.digest},
        "temperature": round(heat, 4),
        **_quality(softmax(logits / heat), held.labels),
        "presence_calibration_error": round(calibration_error(seen.ravel(), held.present.ravel()), 4),
        "presence_where_present": round(float(seen[held.present].mean()), 4),
        "presence_where_absent": round(float(seen[~held.present].mean()), 4),
    }
    made = Recogniser(boxes, scenes, {})
    right = [made.probabilities(one.image, one.boxes[0]).argmax() == one.labels[0] for one in clear]
    facts |= {"clear_boxes": len(right), "clear_accuracy": round(float(np.mean(right)), 4) if right else None}
    return Recogniser(boxes, scenes, facts)


@dataclass(frozen=True)
class _Collected:
    """Features (n, features) and labels (n,) of boxes of some homes, and features and labels (m, 27) of scenes."""

    boxes: NDArray[np.float32]
    labels: NDArray[np.int64]
    scenes: NDArray[np.float32]
    present: NDArray[np.bool_]
    digest: str


def _collected(split: str, homes: int, progress: Callable[[int], None]) -> _Collected:
    found: list[_Collected] = []
    for number in range(homes):
        found.append(_of_home(split, number))
        progress(number + 1)
    return _joined(found)


def _of_home(split: str, number: int) -> _Collected:
    seed = scene_seed(split, number)
    home = Home(seed)
    views = list(labelled_views(home, _VIEWS, np.random.default_rng([seed, 0xEE])))
    boxes, labels = _features(views, mirrored=split == "train")
    scenes = np.array([scene_features(view.image) for view in views], np.float32)
    return _Collected(boxes, labels, scenes, np.array([view.present for view in views]), str(home.facts.digest))


def _joined(found: Sequence[_Collected]) -> _Collected:
    parts = [(one.boxes, one.labels, one.scenes, one.present) for one in found]
    boxes, labels, scenes, present = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    digest = hashlib.sha256("".join(one.digest for one in found).encode())
    for array in (boxes, labels, scenes, present):
        digest.update(np.ascontiguousarray(array).tobytes())
    return _Collected(boxes, labels, scenes, present, digest.hexdigest())


def _clear(number: int) -> Iterable[LabelledView]:
    seed = scene_seed("val", number)
    return clear_views(Home(seed), _CLEAR_TRIES, np.random.default_rng([seed, 0xC1]))


def _features(views: Iterable[LabelledView], *, mirrored: bool = False) -> tuple[Array, NDArray[np.int64]]:
    """Features (n, m) and labels (n,) of all boxes, and of the same seen in a mirror if `mirrored`."""
    rows = []
    for view in views:
        for box, label in zip(view.boxes, view.labels, strict=True):
            rows.append((box_features(view.image, box), label))
            if mirrored:
                rows.append((box_features(*in_mirror(view.image, box)), label))
    return np.array([row for row, _ in rows], np.float32), np.array([label for _, label in rows], np.int64)


def _fitted(
    features: Array,
    targets: Array,
    weights: FloatArray | None,
    hidden: int,
    shares_of: Callable[[FloatArray], FloatArray],
) -> Perceptron:
    """Fit one hidden layer to `targets` (n, 27) probabilities by cross-entropy: Adam, dropout, weight decay. `weights`
    (n,) are per sample; `shares_of` is the softmax or the logistic function."""
    rng = np.random.default_rng(0)
    mean, scale = features.mean(0), features.std(0) + np.float32(1e-3)
    inputs = (features - mean) / scale
    n, m = inputs.shape
    batch = min(_BATCH, n)
    spread = rng.standard_normal((m, hidden)) * math.sqrt(2 / m), rng.standard_normal((hidden, len(LABELS)))
    layers: list[Array] = [
        spread[0].astype(np.float32),
        np.zeros(hidden, np.float32),
        (spread[1] / math.sqrt(hidden)).astype(np.float32),
        np.zeros(len(LABELS), np.float32),
    ]
    means, squares = ([np.zeros_like(layer) for layer in layers] for _ in range(2))
    rounds = max(_ROUNDS, math.ceil(_LEAST_UPDATES * batch / n))
    total = rounds * (n // batch)
    parts = (part for _ in range(rounds) for part in rng.permutation(n)[: n // batch * batch].reshape(-1, batch))
    for step, part in enumerate(parts, 1):
        given = inputs[part] * _kept((batch, m), _DROPPED_INPUTS, rng)
        raised = given @ layers[0] + layers[1]
        kept = _kept((batch, hidden), _DROPPED, rng) * (raised > 0)
        units = raised * kept
        error = (shares_of(units @ layers[2] + layers[3]) - targets[part]) / batch
        error = (error if weights is None else error * weights[part, None]).astype(np.float32)
        back = (error @ layers[2].T) * kept
        rate = _RATE * min(1, step / _WARM_UP) * (1 + math.cos(math.pi * step / total)) / 2
        for k, slope in enumerate((given.T @ back, back.sum(0), units.T @ error, error.sum(0))):
            means[k] = 0.9 * means[k] + 0.1 * slope
            squares[k] = 0.99 * squares[k] + 0.01 * slope**2
            size = np.sqrt(squares[k] / (1 - 0.99**step)) + 1e-7
            decay = _DECAY * layers[k] if layers[k].ndim > 1 else 0.0
            layers[k] = (layers[k] - rate * (means[k] / (1 - 0.9**step) / size + decay)).astype(np.float32)
    return Perceptron(
        mean.astype(np.float32),
        scale.astype(np.float32),
        (layers[0].astype(np.float16), layers[2].astype(np.float16)),
        (layers[1], layers[3]),
    )


def _kept(shape: tuple[int, int], dropped: float, rng: np.random.Generator) -> Array:
    """Dropout: 0 for what is dropped, and for the rest as much as keeps the mean."""
    kept: Array = (rng.random(shape, dtype=np.float32) >= dropped) * np.float32(1 / (1 - dropped))
    return kept


def _logits(network: Perceptron, rows: Array) -> FloatArray:
    return np.array([network.logits(row) for row in rows])


def _logistic(logits: FloatArray) -> FloatArray:
    shares: FloatArray = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
    return shares


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


class ConfidenceBin(NamedTuple):
    """Answers of similar confidence."""

    n: int
    stated: float
    right: float


def reliability(confidence: FloatArray, right: NDArray[np.bool_], bins: int = 10) -> list[ConfidenceBin]:
    """Bin answers by confidence (n,) in [0, 1], for a reliability diagram."""
    confidence = np.asarray(confidence, np.float64)
    if confidence.shape != right.shape or confidence.ndim != 1 or not np.isfinite(confidence).all():
        raise ShapeError(f"reliability needs (n,) and (n,) finite values, got {confidence.shape} and {right.shape}")
    place = np.clip((confidence * bins).astype(np.int64), 0, bins - 1)
    return [
        ConfidenceBin(int(of.sum()), float(confidence[of].mean()), float(right[of].mean()))
        for of in (place == k for k in range(bins))
        if of.any()
    ]


def calibration_error(confidence: FloatArray, right: NDArray[np.bool_], bins: int = 10) -> float:
    """Expected calibration error: mean over answers of |stated - right| of their bin (Guo et al. 2017, equation 3)."""
    found = reliability(confidence, right, bins)
    n = sum(each.n for each in found)
    return sum(each.n * abs(each.stated - each.right) for each in found) / n if n else float("nan")


def temperature(logits: FloatArray, labels: NDArray[np.int64]) -> float:
    """The temperature that maximises the likelihood of softmax(logits / temperature), searched from 0.2 to 5. Source:
    Guo et al. 2017, section 4.2."""
    grid = np.exp(np.linspace(np.log(0.2), np.log(5.0), 65))
    for _ in range(3):
        losses = [_loss(logits / t, labels) for t in grid]
        best = int(np.argmin(losses))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)], 17)
    return float(grid[int(np.argmin([_loss(logits / t, labels) for t in grid]))])


def _loss(logits: FloatArray, labels: NDArray[np.int64]) -> float:
    return -float(np.log(np.maximum(softmax(logits)[np.arange(len(labels)), labels], 1e-12)).mean())
