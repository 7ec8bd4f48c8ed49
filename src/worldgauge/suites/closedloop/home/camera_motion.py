"""Poses of a walker's camera after steps of a plan, relative to the pose before; (4, 4), z ahead, y down."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from worldgauge.core.geometry import FloatArray, invert
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
