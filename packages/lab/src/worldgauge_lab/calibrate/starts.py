"""Start images of our worlds, with their depth: views from open places of many kinds of things at a few metres."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.worlds import View, open_world
from worldgauge.worlds.voxel.world import KINDS
from worldgauge.worlds.walking.floor import Walkable

CLEARANCE_M = 1.2
"""Room round a start: the longest move that is asked for is 0.8 m."""
NEAREST_M, FARTHEST_M = 2.0, 5.0
"""Depth of the middle half of the picture: nearer, a move leaves the view; farther, it hardly shows."""
EYE_M = 1.5
ENOUGH = 200
"""Corners that are enough to be followed; of more, a tiled wall has most."""
LEAST_SHARE = 0.01
"""Of the picture, to count as a kind of thing in it."""
_PLACES, _VIEWS = 12, 4


@dataclass(frozen=True)
class Start:
    """A start image.

    Attributes:
        name: Such as "voxel-plains-0".
        world: Its world.
        pose: (4, 4) camera-to-world, level.
        camera: Intrinsics.
        image: (H, W, 3) uint8.
        depth: (H, W) metres along the axis.
    """

    name: str
    world: WorldFacts
    pose: FloatArray
    camera: Camera
    image: Image
    depth: NDArray[np.float32]


def start_names(count: int, seed: int) -> list[tuple[str, WorldFacts]]:
    """Names and worlds of start images, by turns in a voxel settlement and in a home.

    Args:
        count: Number of starts.
        seed: Seed of the worlds.

    Returns:
        One name and world each.
    """
    found = []
    for n in range(count):
        number = seed + n // 2
        if n % 2 == 0:
            kind = KINDS[number % len(KINDS)]
            params = {"kind": kind, "seed": number, "size": (160, 160, 56)}
            found.append((f"voxel-{kind}-{number}", WorldFacts("voxel", params)))
        else:
            found.append((f"indoor-{number}", WorldFacts("indoor", {"seed": number})))
    return found


def find_start(name: str, facts: WorldFacts, camera: Camera, seed: int) -> Start:
    """The best of some views from open places of a world: many kinds of things and corners, at a few metres.

    Args:
        name: Name of the start.
        facts: The world.
        camera: Intrinsics.
        seed: Seed of the places.

    Returns:
        The start.

    Raises:
        WorldError: No place is open enough.
    """
    world = cast("Walkable", open_world(facts))
    rng = np.random.default_rng(seed)
    best: tuple[float, FloatArray, View] | None = None
    for pose in _poses(world, rng):
        view = world.view(pose, camera)
        value = _value(view)
        if best is None or value > best[0]:
            best = (value, pose, view)
    if best is None:
        raise WorldError(f"world '{facts.name}' {dict(facts.params)} has no place with {CLEARANCE_M} m of room")
    _, pose, view = best
    return Start(name, world.facts, pose, camera, view.rgb.copy(), view.depth.copy())


def _poses(world: Walkable, rng: np.random.Generator) -> Iterator[FloatArray]:
    floor = world.floor
    roomy = np.argwhere(floor.clearance_m >= min(CLEARANCE_M, 0.8 * float(floor.clearance_m.max())))
    if not len(roomy):
        return
    for cell in roomy[rng.integers(len(roomy), size=_PLACES)]:
        place = floor.points_of(cell)
        first = rng.uniform(-math.pi, math.pi)
        for turn in np.arange(_VIEWS) * 2 * math.pi / _VIEWS:
            yield pose_from_yaw_pitch((*place, float(floor.height_at(place)) + EYE_M), first + turn)


def _value(view: View) -> float:
    """Kinds of things in the picture, with enough corners on them; few where the middle is too near or too far."""
    import cv2

    grey = cv2.cvtColor(view.rgb, cv2.COLOR_RGB2GRAY)
    corners = cv2.goodFeaturesToTrack(grey, 400, 0.02, 5)
    if corners is None:
        return 0.0
    x, y = corners.reshape(-1, 2).astype(int).T
    solid = min(int(np.isfinite(view.depth[y, x]).sum()), ENOUGH)
    kinds = int((np.bincount(view.category.ravel()) >= LEAST_SHARE * view.category.size).sum())
    height, width = view.depth.shape
    middle = view.depth[height // 4 : -height // 4, width // 4 : -width // 4]
    typical = float(np.median(middle))
    fits = NEAREST_M <= typical <= FARTHEST_M and float(np.percentile(middle, 10)) >= NEAREST_M / 2
    return solid * kinds * (1.0 if fits else 0.1)
