"""Training data of the network: panoramas of homes, the room they were taken in, and the things they show."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Panorama
from worldgauge.suites.closedloop.home.strips import Strip, panorama_strip
from worldgauge.suites.closedloop.questions.generate.words import NAMES, ROOMS
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.stance import Stance

FINER = 2
"""Strips have 256 columns, 1.4 degrees each: at 2.8 a bowl on a table is one pixel."""
KINDS, THINGS = tuple(ROOMS), tuple(NAMES)
IN_ROOM, ANYWHERE = 2, 4
"""Panoramas about the middle of each room, and at random places."""
NEAR_MIDDLE_M = 0.5
SHOWN_SHARE = 0.0002
"""Least share of the whole sphere at which a thing is shown: a thousandth of a view, as of answers."""
_PANORAMA = Panorama(256, 144)


class Sample(NamedTuple):
    """What one home teaches.

    Attributes:
        strips: (n, 48, 256, 3).
        room: (n,), index in KINDS.
        shown: (n, THINGS) bool.
    """

    strips: Strip
    room: NDArray[np.int64]
    shown: NDArray[np.bool_]


def sample(home: Home, rng: np.random.Generator) -> Sample:
    """Take panoramas in a home.

    Args:
        home: The home.
        rng: Source of all randomness.
    """
    geodesic = Geodesic(home.floor)
    middles = [(np.array(room.low) + np.array(room.high)) / 2 for room in home.plan.rooms]
    places = [
        geodesic.nearest(middle + rng.uniform(-NEAR_MIDDLE_M, NEAR_MIDDLE_M, 2))
        for middle in middles
        for _ in range(IN_ROOM)
    ]
    places += [geodesic.random_point(rng) for _ in range(ANYWHERE)]
    names = np.array([-1] + [THINGS.index(one.name) if one.name in NAMES else -1 for one in home.objects])
    angle = ((np.arange(_PANORAMA.height) + 0.5) / _PANORAMA.height - 0.5) * np.pi
    sphere = np.repeat(np.cos(angle)[:, None], _PANORAMA.width, axis=1)
    sphere /= sphere.sum()
    strips, rooms, shown = [], [], []
    for x, y in places:
        view = home.view(Stance(float(x), float(y), float(rng.uniform(-np.pi, np.pi))).eye(), _PANORAMA)
        share = np.bincount(view.instance.ravel(), sphere.ravel(), len(names))
        strips.append(panorama_strip(view.rgb, FINER))
        rooms.append(KINDS.index(home.room_at((x, y))))
        seen = np.zeros(len(THINGS), np.bool_)
        seen[names[(share >= SHOWN_SHARE) & (names >= 0)]] = True
        shown.append(seen)
    return Sample(np.array(strips), np.array(rooms), np.array(shown))
