"""Conversion between the simulator's frame and ours. Nothing else in the package knows the simulator's.

Simulator: right-handed, y up, metres; an agent that is not turned looks along -z; turns to the left are positive about
y; quaternions w, x, y, z. Ours: (x, y, z) -> (-z, -x, y), so that such an agent looks along +x, and yaw is the turn.
Source: specification, 3.3; vectors `wiw_camera`, kind habitat_pose.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, quaternion_of_pose, wrap_angle
from worldgauge.worlds.walking.stance import Stance

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
    """Yaw of turns about the vertical.

    Args:
        rotation_wxyz: Quaternions (..., 4), w first, of any length.

    Returns:
        Yaw (...) in radians, [-pi, pi).

    Raises:
        ShapeError: On one that tilts by more than `UPRIGHT`, or is no rotation.
    """
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
    """The stance that is read back from a file: positions in nanometres, yaw in nanoradians.

    A quaternion does not give back the last digits of an angle. To write an episode, render from this stance, so that
    readers of the file get the very same pixels.
    """
    yaw = round(float(wrap_angle(stance.yaw)), 9)
    # -pi rounds to just below itself, which is the other end of the circle.
    yaw = yaw if -math.pi <= yaw < math.pi else round(float(wrap_angle(yaw)), 9)
    return Stance(round(stance.x, 9) + 0.0, round(stance.y, 9) + 0.0, yaw + 0.0, round(stance.z, 9) + 0.0)


def habitat_camera(pose: ArrayLike) -> tuple[list[float], list[float]]:
    """Convert a camera-to-world pose to the simulator's.

    Args:
        pose: (4, 4), our frame.

    Returns:
        Position, and rotation w, x, y, z with w >= 0.
    """
    pose = np.asarray(pose, np.float64)
    x, y, z, w = quaternion_of_pose(pose)
    quaternion = np.array([w, *habitat_point([x, y, z])])
    quaternion *= -1.0 if w < 0 else 1.0
    return (habitat_point(pose[:3, 3]) + 0.0).tolist(), (quaternion + 0.0).tolist()


def our_camera(position: ArrayLike, rotation_wxyz: ArrayLike) -> FloatArray:
    """Camera-to-world pose (4, 4) of a camera of the simulator, which looks along its -z.

    It is the inverse of `habitat_camera`.

    Raises:
        ShapeError: On a quaternion that is no rotation.
    """
    w, x, y, z = np.asarray(rotation_wxyz, np.float64)
    length = math.sqrt(w * w + x * x + y * y + z * z)
    if not abs(length - 1) <= UPRIGHT:
        raise ShapeError(f"a rotation has the length {length:.6g}; give a quaternion w, x, y, z of length 1")
    axis, w = our_point([x, y, z]) / length, w / length
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    body = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    pose = np.eye(4)
    # Of a body x ahead, y left, z up, a camera has x right, y down, z ahead.
    pose[:3, :3] = np.stack([-body[:, 1], -body[:, 2], body[:, 0]], -1)
    pose[:3, 3] = our_point(position)
    return pose
