"""Reading the fields of one episode's row; every refusal names the field and what to give instead."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.episode import MAX_COORDINATE_M, number_of, short
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray, quaternion_of_pose, wrap_angle
from worldgauge.core.io import check_name
from worldgauge.worlds.walking.primitives import EYE_HEIGHT_M, Stance

UPRIGHT = 1e-3
"""How far a quaternion may be from one of a turn about the vertical; files hold seven digits."""


def our_point(position: ArrayLike) -> FloatArray:
    """Convert points (..., 3) of the simulator, metres, to our frame."""
    x, y, z = np.moveaxis(np.asarray(position, np.float64), -1, 0)
    return np.stack([-z, -x, y], -1)


def habitat_point(position: ArrayLike) -> FloatArray:
    """Convert points (..., 3) of our frame, metres, to the simulator's."""
    x, y, z = np.moveaxis(np.asarray(position, np.float64), -1, 0)
    return np.stack([-y, z, -x], -1)


def our_yaw(rotation_wxyz: ArrayLike) -> FloatArray:
    """Yaw of turns about the vertical: yaw (...) in radians, [-pi, pi)."""
    quaternion = np.asarray(rotation_wxyz, np.float64)
    if quaternion.shape[-1:] != (4,):
        raise ShapeError(f"quaternions need shape (..., 4), w first, got {quaternion.shape}")
    length = np.linalg.norm(quaternion, axis=-1)
    tilt = np.hypot(quaternion[..., 1], quaternion[..., 3])
    if not np.all((length > UPRIGHT) & (tilt <= UPRIGHT * length)):
        raise ShapeError("a rotation is no turn about the vertical; give w, x, y, z with x = z = 0")
    return wrap_angle(2 * np.arctan2(quaternion[..., 2], quaternion[..., 0]))


def habitat_rotation(yaw: ArrayLike) -> FloatArray:
    """Quaternions (..., 4) w, x, y, z with w >= 0 of turns by `yaw` (...) radians."""
    half = wrap_angle(yaw) / 2
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, np.sin(half), zero], -1)


def our_stance(position: ArrayLike, rotation_wxyz: ArrayLike) -> Stance:
    """Where an agent of the simulator stands in our frame."""
    x, y, z = our_point(position).tolist()
    return Stance(x, y, float(our_yaw(rotation_wxyz)), z)


def habitat_stance(stance: Stance) -> tuple[list[float], list[float]]:
    """Position and rotation of a stance in the simulator's frame, as in its files; the inverse of `our_stance`."""
    position = habitat_point(stance.at) + 0.0
    return position.tolist(), (habitat_rotation(stance.yaw) + 0.0).tolist()


def as_stored(stance: Stance) -> Stance:
    """The stance read back from a file (nm, nrad); render from it, so that readers get the very same pixels."""
    yaw = round(float(wrap_angle(stance.yaw)), 9)
    # -pi rounds to just below itself, which is the other end of the circle.
    yaw = yaw if -math.pi <= yaw < math.pi else round(float(wrap_angle(yaw)), 9)
    return Stance(round(stance.x, 9) + 0.0, round(stance.y, 9) + 0.0, yaw + 0.0, round(stance.z, 9) + 0.0)


def habitat_camera(pose: ArrayLike) -> tuple[list[float], list[float]]:
    """Convert a camera-to-world pose to the simulator's. `pose`: (4, 4), our frame."""
    pose = np.asarray(pose, np.float64)
    x, y, z, w = quaternion_of_pose(pose)
    quaternion = np.array([w, *habitat_point([x, y, z])])
    quaternion *= -1.0 if w < 0 else 1.0
    return (habitat_point(pose[:3, 3]) + 0.0).tolist(), (quaternion + 0.0).tolist()


MAX_TEXT = 4000
"""Characters of a question, an answer or a name."""
MAX_WHOLE = 2**31 - 1
EYE_M = (0.05, 3.0)
"""Heights that an eye can have above the floor, metres."""

EpisodeRow = Mapping[str, Any]
REFUSALS = (KeyError, ValueError, TypeError, OverflowError, DataError)
"""What reading a row raises when it is no episode."""


def id_of(row: EpisodeRow, key: str) -> str:
    """A whole number, or a name that is allowed in a path."""
    value = row[key]
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise ValueError(f"field '{key}' is {short(value)}; give a whole number or a name")
    return check_name(_plain(str(value), key), f"field '{key}'")


def text_of(row: EpisodeRow, key: str, *, lines: bool = False) -> str:
    """Text that is not empty, within `MAX_TEXT` characters and without control characters."""
    value = row[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"field '{key}' is {short(value)}; give words")
    return _plain(value, key, r"\n\r\t" if lines else "")


def wrong(error: Exception) -> str:
    """An error of this module as one line."""
    if isinstance(error, KeyError):
        return f"field {error} is missing"
    return " ".join(str(error).split())


def _plain(value: str, key: str, but: str = "") -> str:
    """A text without control characters but those in `but`."""
    if len(value) > MAX_TEXT:
        raise ValueError(f"field '{key}' has {len(value)} characters; give at most {MAX_TEXT}")
    if re.search(rf"[^\x20-\x7e\xa0-\ud7ff\ue000-\U0010ffff{but}]|[\u2028\u2029]", value):
        raise ValueError(f"field '{key}' is {short(value)}; leave out control characters and lone surrogates")
    return value


def eye_of(row: EpisodeRow) -> float:
    """Height of the camera above the floor: ours say it, published ones all have the same."""
    return number_of(row, "camera_height", *EYE_M) if "camera_height" in row else EYE_HEIGHT_M


def stance_of(row: EpisodeRow, which: str) -> Stance:
    """Stance of `<which>_position` and `_rotation` (w, x, y, z; the simulator's x, y, z, w if only it is upright)."""
    position = _numbers(row, f"{which}_position", 3)
    rotation = _numbers(row, f"{which}_rotation", 4)
    for order in (rotation, np.roll(rotation, 1)):
        try:
            return as_stored(our_stance(position, order))
        except ShapeError:
            continue
    raise ValueError(
        f"field '{which}_rotation' is {short(rotation.tolist())}; give a turn about the vertical as w, x, y, z"
    )


def _numbers(row: EpisodeRow, key: str, n: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    value = row[key]
    if not isinstance(value, list) or len(value) != n:
        raise ValueError(f"field '{key}' is {short(value)}; give a list of {n} numbers")
    return np.array([number_of({key: one}, key, -MAX_COORDINATE_M, MAX_COORDINATE_M) for one in value])
