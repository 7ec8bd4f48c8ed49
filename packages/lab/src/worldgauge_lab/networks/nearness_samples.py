"""Training data of the network: in each home some panoramas, views from places around them, and how far these are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.suites.closedloop.home.strips import Strip, panorama_strip, view_strip
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.stance import Stance

PANORAMAS, VIEWS = 6, 64
"""Of each home."""
_PANORAMA = Panorama(256, 144)
_CAMERAS = tuple(Camera.from_horizontal_fov(size, size, 90.0) for size in (64, 128))
_WITHIN_M = (1.0, 2.0, 3.5, 5.0)
"""Three of four views are within one of these of a panorama: that is where an agent has to choose."""
_GOAL_ROOM_M = 0.2


class Sample(NamedTuple):
    """What one home teaches.

    Attributes:
        views: (VIEWS, 24, 32, 3).
        panoramas: (PANORAMAS, 24, 128, 3).
        metres: (VIEWS, PANORAMAS), the way from each view to each panorama.
    """

    views: Strip
    panoramas: Strip
    metres: NDArray[np.float32]


def sample(home: Home, rng: np.random.Generator) -> Sample:
    """Draw panoramas and views of a home.

    Args:
        home: The home.
        rng: Source of all randomness.
    """
    geodesic, floor = Geodesic(home.floor), home.floor
    cells = np.argwhere(geodesic.main)
    places = floor.points_of(cells)
    panoramas: list[Strip] = []
    fields: list[FloatArray] = []
    while len(panoramas) < PANORAMAS:
        place = geodesic.random_point(rng)
        if floor.clearance_at(place) >= _GOAL_ROOM_M:
            stance = Stance(float(place[0]), float(place[1]), float(rng.uniform(-np.pi, np.pi)))
            panoramas.append(panorama_strip(home.view(stance.eye(), _PANORAMA).rgb))
            fields.append(geodesic.field(place)[tuple(cells.T)])
    views: list[Strip] = []
    metres: list[list[float]] = []
    for number in range(VIEWS):
        near = fields[number % PANORAMAS] < (rng.choice(_WITHIN_M) if number % 8 < 6 else np.inf)
        cell = int(rng.choice(np.flatnonzero(near)))
        x, y = places[cell] + rng.uniform(-0.4, 0.4, 2) * floor.cell_m
        camera = _CAMERAS[number % len(_CAMERAS)]
        eye = Stance(float(x), float(y), float(rng.uniform(-np.pi, np.pi))).eye()
        views.append(view_strip(home.view(eye, camera).rgb, camera))
        metres.append([float(field[cell]) for field in fields])
    return Sample(np.array(views), np.array(panoramas), np.array(metres, np.float32))
