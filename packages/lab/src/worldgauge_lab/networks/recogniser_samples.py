"""Training data of the recogniser: views of homes with a box for every labelled thing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Box, Image
from worldgauge.suites.closedloop.recognition.boxes import target_box
from worldgauge.suites.closedloop.recognition.episodes import CLEAR
from worldgauge.suites.closedloop.recognition.visibility import VisibilityMeter
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.walking.stance import RADIUS_M, Stance

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
    """A training image.

    Attributes:
        image: (H, W, 3) uint8.
        boxes: Of the things in it.
        labels: Indices into LABELS, one per box.
        present: (27,) bool.
    """

    image: Image
    boxes: tuple[Box, ...]
    labels: tuple[int, ...]
    present: NDArray[np.bool_]


def labelled_views(home: Home, n: int, rng: np.random.Generator) -> Iterator[LabelledView]:
    """Yield n views from where a walker can stand, most towards a thing whose label is drawn uniformly.

    Boxes are those that a target gets; two of five are worsened as tracked ones are: shifted, or of a part.

    Args:
        home: The home.
        n: Number of views.
        rng: Source of all randomness.
    """
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
    """Yield up to n views with the one box of a thing that is seen clearly, of labels drawn uniformly.

    Args:
        home: The home.
        n: Most of them.
        rng: Source of all randomness.
    """
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
