"""Shared checks for readers of files from elsewhere: numbers, cameras, worlds and poses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import MAX_PIXELS

FOCAL_PX = (0.1, 1e6)
MAX_COORDINATE_M = 1e6
ROTATION_TOLERANCE = 1e-6


def number_of(content: Mapping[str, Any], key: str, low: float, high: float) -> float:
    """A number field. KeyError if it is missing, ValueError if it is not from `low` to `high`."""
    value = content[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"field '{key}' is {short(value)}; give a number from {low:.3g} to {high:.3g}")
    return float(value)


def whole_of(content: Mapping[str, Any], key: str, low: int, high: int) -> int:
    """A whole-number field. KeyError if it is missing, ValueError if it is not from `low` to `high`."""
    value = content[key]
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"field '{key}' is {short(value)}; give a whole number from {low} to {high}")
    return value


_NUMBERS = frozenset((int, float))
_LARGEST = float(np.finfo(np.float64).max)
"""Whole numbers in JSON may have any number of digits."""


def camera_of(content: Mapping[str, Any]) -> Camera:
    """Read a camera from its six numbers.

    Args:
        content: Object with width, height, fx, fy, cx and cy, all in pixels.

    Raises:
        KeyError: A field is missing.
        ValueError: A field is out of range, or the frame has too many pixels; the message names the field.
    """
    camera = Camera(
        width=whole_of(content, "width", 2, MAX_PIXELS),
        height=whole_of(content, "height", 2, MAX_PIXELS),
        fx=number_of(content, "fx", *FOCAL_PX),
        fy=number_of(content, "fy", *FOCAL_PX),
        cx=number_of(content, "cx", -FOCAL_PX[1], FOCAL_PX[1]),
        cy=number_of(content, "cy", -FOCAL_PX[1], FOCAL_PX[1]),
    )
    if camera.width * camera.height > MAX_PIXELS:
        raise ValueError(f"field 'camera': {camera.width}x{camera.height} pixels pass the limit of {MAX_PIXELS}")
    return camera


def world_of(content: Mapping[str, Any]) -> WorldFacts:
    """The facts of a world. TypeError for a missing or unknown field, ValueError for one of a wrong type."""
    facts = WorldFacts(**content)
    known = isinstance(facts.name, str) and isinstance(facts.params, dict)
    if not known or not (facts.digest is None or isinstance(facts.digest, str)):
        raise ValueError("field 'world' needs a name, an object of params and a digest or null")
    return facts


def poses_of(rows: Any, field: str = "poses") -> FloatArray:
    """Read poses from rows of twelve numbers, the first three rows of each matrix.

    Args:
        rows: T rows of twelve numbers.
        field: Name of the field, for messages.

    Returns:
        (T, 4, 4) float64 poses.
    """
    if not isinstance(rows, list) or not rows:
        raise ValueError(f"field '{field}' is no list of poses")
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != 12 or not _NUMBERS.issuperset(map(type, row)):
            raise ValueError(f"field '{field}': row {number} has not twelve numbers")
        if any(map(_LARGEST.__lt__, map(abs, row))):
            raise ValueError(f"field '{field}': row {number} holds a number that is too large")
    poses = np.zeros((len(rows), 4, 4))
    poses[:, :3] = np.array(rows, np.float64).reshape(-1, 3, 4)
    poses[:, 3, 3] = 1
    far = np.logical_not((np.abs(poses[:, :3, 3]) <= MAX_COORDINATE_M).all(axis=1))
    turn = poses[:, :3, :3]
    with np.errstate(over="ignore", invalid="ignore"):
        skew = np.abs(np.swapaxes(turn, 1, 2) @ turn - np.eye(3)).max(axis=(1, 2))
        wrong = far | ~(skew <= ROTATION_TOLERANCE) | ~(np.linalg.det(turn) > 0)
    if wrong.any():
        number = int(np.argmax(wrong))
        what = f"is beyond +-{MAX_COORDINATE_M:.0e} m" if far[number] else "has no rotation"
        raise ValueError(f"field '{field}': row {number} {what}")
    return poses


def short(value: Any) -> str:
    """Shorten the text form of `value` for a message, to at most 40 characters."""
    if isinstance(value, float) and not math.isfinite(value):
        return "not finite"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
