"""Imagined views in the colours of the real ones: what a model does to all colours alike is taken back.

The depth of the four real views gives points with colours. Those that the end of a plan shows tell the gain and the
offset of each channel there, whatever the colours did on the way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from worldgauge.core.geometry import Camera, FloatArray, invert
from worldgauge.core.image import Image
from worldgauge.core.video import resize
from worldgauge.suites.worldinworld.policies.contract import SIDES, YAW_RIGHT_DEG, ActionPlan, HomeObservation
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG, Primitive


def pose_after(turn_left_rad: float, steps: Sequence[Primitive]) -> FloatArray:
    """The pose after a turn and steps, if nothing is in the way."""
    pose = turned(turn_left_rad)
    for step in steps:
        pose = pose @ motion(step)
    return pose


def turned(left_rad: float) -> FloatArray:
    """The pose of a camera turned to the left, relative to its former pose."""
    c, s = math.cos(left_rad), math.sin(left_rad)
    return np.array([[c, 0.0, -s, 0.0], [0.0, 1.0, 0.0, 0.0], [s, 0.0, c, 0.0], [0.0, 0.0, 0.0, 1.0]])


def motion(step: Primitive, part: float = 1.0) -> FloatArray:
    """The pose after a part of a step, relative to the one before."""
    if step is Primitive.FORWARD:
        ahead = np.eye(4)
        ahead[2, 3] = part * STEP_M
        return ahead
    sign = {Primitive.TURN_LEFT: 1.0, Primitive.TURN_RIGHT: -1.0}.get(step, 0.0)
    return turned(sign * part * math.radians(TURN_DEG))


def seen_from(pose: FloatArray, points: FloatArray) -> FloatArray:
    """Points (..., 3) as a camera at `pose` sees them."""
    inverse = invert(pose)
    there: FloatArray = points @ inverse[:3, :3].T + inverse[:3, 3]
    return there


MOST_GAIN = 1.35
"""A gain, or its inverse, beyond this is no change of colours."""
MOST_OFF = 8.0
"""Median difference in levels that may be left; a view with more shows other things, and stays as it is."""
_GRID_PX = 32
_NEAREST_M = 0.15
_FEWEST = 40
"""Points that must be seen again."""
_ROUNDS = 4
_ROUNDING = 3.0
"""Levels by which equal colours may always differ."""


class RealColours:
    """Points that the four views of a decision show, relative to the front view's camera."""

    def __init__(self, observation: HomeObservation) -> None:
        small = observation.camera.resized(_GRID_PX, _GRID_PX)
        clouds, colours = [], []
        for side in SIDES:
            depth = np.asarray(observation.depth(side), float)
            rows, columns = (((np.arange(_GRID_PX) + 0.5) * n / _GRID_PX).astype(int) for n in depth.shape)
            metres = depth[np.ix_(rows, columns)]
            known = np.isfinite(metres) & (metres > 0)
            cloud = small.rays()[known] * metres[known][:, None]
            clouds.append(cloud @ turned(-math.radians(YAW_RIGHT_DEG[side]))[:3, :3].T)
            colours.append(resize(observation.view(side), _GRID_PX, _GRID_PX)[known])
        self._cloud, self._colours = np.concatenate(clouds), np.concatenate(colours).astype(float)

    def restored(self, view: Image, camera: Camera, plan: ActionPlan) -> Image:
        """An imagined plan's end in real colours; the view itself if it shows too little, or something else."""
        return restored(view, *self._pairs(view, camera, plan))

    def _pairs(self, view: Image, camera: Camera, plan: ActionPlan) -> tuple[FloatArray, FloatArray]:
        """Return colours (n, 3) of a view, and those that the nearest real point has in that place."""
        pixels, depth = camera.resized(_GRID_PX, _GRID_PX).project(
            seen_from(pose_after(plan.turn_left_rad, plan.steps), self._cloud)
        )
        with np.errstate(invalid="ignore"):
            inside = np.flatnonzero((depth > _NEAREST_M) & ((pixels >= 0) & (pixels < _GRID_PX)).all(-1))
        nearest = inside[np.argsort(depth[inside], kind="stable")]
        columns, rows = pixels[nearest].astype(np.int64).T
        _, first = np.unique(rows * _GRID_PX + columns, return_index=True)
        small = resize(view, _GRID_PX, _GRID_PX).astype(float)
        return small[rows[first], columns[first]], self._colours[nearest[first]]


def restored(view: Image, shown: FloatArray, real: FloatArray) -> Image:
    """A view without the gain and offset between `shown` and `real` (n, 3) levels of the same places.

    The view itself if there are too few places, or if they differ by more than colour.
    """
    if len(shown) < _FEWEST:
        return view
    gain, offset = np.ones(3), np.median(shown - real, axis=0)
    off = np.abs(shown - real - offset).mean(-1)
    for _ in range(_ROUNDS):
        same = off <= 2 * float(np.median(off)) + _ROUNDING
        # The ratio of spreads: least squares would take errors of place for a loss of contrast.
        ratio = (shown[same].std(0) + 1) / (real[same].std(0) + 1)
        gain = np.clip(ratio, 1 / MOST_GAIN, MOST_GAIN)
        offset = shown[same].mean(0) - gain * real[same].mean(0)
        off = np.abs(shown - gain * real - offset).mean(-1)
    if float(np.median(off)) > MOST_OFF:
        return view
    return np.asarray(np.clip(np.rint((view - offset) / gain), 0, 255), np.uint8)
