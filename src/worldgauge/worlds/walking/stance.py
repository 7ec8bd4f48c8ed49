"""A walker that moves by primitives on a floor. A step ends before it would touch something."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG, Primitive

RADIUS_M = 0.1
"""Of the walker (specification, section 4)."""
EYE_HEIGHT_M = 1.0
_PROBE_M = 0.01
_ROUNDING_M = 1e-6
"""Clearances are float32: that of 7 cells of 5 cm is a hair under 0.35 m."""


class Stance(NamedTuple):
    """Position and heading of a walker.

    Attributes:
        x: Metres in the plane of the world.
        y: Metres in the plane of the world.
        yaw: Radians.
        z: Metres, height of the floor under the walker. On level floors 0, from where the height of the eye counts.
    """

    x: float
    y: float
    yaw: float
    z: float = 0.0

    @property
    def at(self) -> tuple[float, float, float]:
        """Position, metres."""
        return self.x, self.y, self.z

    @property
    def plain(self) -> list[float]:
        """Values that `Stance(*values)` takes, for files: x, y, yaw, and z where it is not 0."""
        return [self.x, self.y, self.yaw, *([self.z] if self.z else [])]

    def eye(self, height_m: float = EYE_HEIGHT_M, pitch: float = 0.0) -> FloatArray:
        """Camera-to-world pose of the eye.

        Args:
            height_m: Height of the eye above the floor.
            pitch: Radians, up positive.

        Returns:
            (4, 4).
        """
        return pose_from_yaw_pitch([self.x, self.y, self.z + height_m], self.yaw, pitch)

    def turned(self, left: float) -> Stance:
        """The same place after a turn of `left` radians."""
        return self._replace(yaw=float(wrap_angle(self.yaw + left)))


def stands(clearance_m: ArrayLike, radius_m: ArrayLike = RADIUS_M) -> NDArray[np.bool_]:
    """Tell where a walker has room to stand.

    Args:
        clearance_m: Clearance of the floor in metres, any shape.
        radius_m: Radius of the walker in metres, a shape that broadcasts.

    Returns:
        Booleans of that shape.
    """
    return np.asarray(np.asarray(clearance_m) >= np.asarray(radius_m) - _ROUNDING_M)


def walked(floor: FloorPlan, stance: Stance, step: Primitive, *, radius_m: float = RADIUS_M) -> tuple[Stance, bool]:
    """Move a walker by one primitive.

    A forward step ends, in whole centimetres, before less than `radius_m` around the walker would be free. It does not
    slide along walls. A walker that has less room at the start may go where it has no less, but never to a cell that is
    not free.

    Args:
        floor: The floor plan.
        stance: Where the walker is.
        step: The primitive.
        radius_m: Radius of the walker.

    Returns:
        The new stance, and whether the step met something.
    """
    if step is Primitive.TURN_LEFT:
        return stance.turned(math.radians(TURN_DEG)), False
    if step is Primitive.TURN_RIGHT:
        return stance.turned(-math.radians(TURN_DEG)), False
    if step is Primitive.STOP:
        return stance, False
    along = np.array([math.cos(stance.yaw), math.sin(stance.yaw)])
    metres = np.arange(0, round(STEP_M / _PROBE_M) + 1) * _PROBE_M
    way = np.array([stance.x, stance.y]) + metres[:, None] * along
    clear = floor.clearance_at(way)
    room = np.minimum(radius_m, np.maximum.accumulate(clear)[:-1])
    met = np.flatnonzero(~stands(clear[1:], room) | (clear[1:] <= 0))
    last = int(met[0]) if len(met) else len(metres) - 1
    return stance._replace(x=float(way[last, 0]), y=float(way[last, 1])), bool(len(met))
