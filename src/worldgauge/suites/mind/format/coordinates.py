"""Conversion between the engine's frame and ours. Nothing else in the package knows the engine's.

Engine: left-handed, x ahead, y right, z up, centimetres; degrees; yaw to the right, pitch up, roll to the right
positive; a triple of angles is roll, pitch, yaw. Ours: (x, y, z) cm -> (x, -y, z) / 100 m, yaw -> -yaw.
Source: specification mind, section 1.4; the axes of its proof rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch

ARM_CM, PIVOT_CM = 250.0, 120.0
ARM_TOLERANCE_CM = 2.0
"""In a turn the published arm is short by up to 0.09 cm; one that a wall pushed in is shorter by far more."""

ANGLE_TOLERANCE_DEG = 2.0
"""Fields are whole degrees in a turn, up to one beyond the angle of the positions."""

_MIRROR = np.diag([1.0, -1.0, 1.0])


def our_point(position_cm: ArrayLike) -> FloatArray:
    """Convert points (..., 3) of the engine, centimetres, to our frame, metres."""
    points: FloatArray = np.asarray(position_cm, np.float64) * [0.01, -0.01, 0.01]
    return points


def ue_point(position: ArrayLike) -> FloatArray:
    """Convert points (..., 3) of our frame, metres, to the engine's, centimetres."""
    points: FloatArray = np.asarray(position, np.float64) * [100.0, -100.0, 100.0]
    return points


def our_pose(position_cm: ArrayLike, rpy_deg: ArrayLike) -> FloatArray:
    """Convert the engine's positions and angles to our camera-to-world poses.

    Args:
        position_cm: (..., 3), centimetres.
        rpy_deg: (..., 3), degrees: roll, pitch, yaw.

    Returns:
        Poses (..., 4, 4), metres.
    """
    roll, pitch, yaw = np.moveaxis(np.radians(np.asarray(rpy_deg, np.float64)), -1, 0)
    pose = pose_from_yaw_pitch(our_point(position_cm), -yaw, pitch)
    # A roll to the right turns the camera's axes about z from x towards y.
    c, s = np.cos(roll)[..., None], np.sin(roll)[..., None]
    right, down = pose[..., :3, 0].copy(), pose[..., :3, 1].copy()
    pose[..., :3, 0] = c * right + s * down
    pose[..., :3, 1] = c * down - s * right
    return pose


def ue_pose(poses: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Convert our camera-to-world poses to the engine's positions and angles.

    Args:
        poses: (..., 4, 4), metres.

    Returns:
        Positions (..., 3) in centimetres, and angles (..., 3) in degrees. Straight up or down, where yaw and roll are
        one, roll is 0.
    """
    pose = np.asarray(poses, np.float64)
    right, down, ahead = (_MIRROR @ pose[..., :3, i, None] for i in range(3))
    right, down, ahead = right[..., 0], down[..., 0], ahead[..., 0]
    level = np.hypot(ahead[..., 0], ahead[..., 1])
    pitch = np.arctan2(ahead[..., 2], level)
    steep = level < 1e-9
    yaw = np.where(steep, np.arctan2(-right[..., 0], right[..., 1]), np.arctan2(ahead[..., 1], ahead[..., 0]))
    roll = np.where(steep, 0.0, np.arctan2(-right[..., 2], -down[..., 2]))
    return ue_point(pose[..., :3, 3]), np.degrees(np.stack([roll, pitch, yaw], -1))


def arm_angles(actor_cm: ArrayLike, camera_cm: ArrayLike, rpy_deg: ArrayLike) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Angles of third-person cameras, from the positions where these show the arm.

    The camera looks at a pivot 120 cm above the actor along an arm of 250 cm. Where the positions show such an arm and
    the file's angles are within two degrees of it, yaw and pitch are those of the arm, since the file has whole degrees
    during a turn. Else they are the file's. Roll is always the file's.

    Args:
        actor_cm: (n, 3) as in the file, centimetres.
        camera_cm: (n, 3) as in the file, centimetres.
        rpy_deg: (n, 3) as in the file, degrees.

    Returns:
        Angles (n, 3) in degrees, and whether each was taken from the positions, (n,).
    """
    rpy = np.asarray(rpy_deg, np.float64)
    arm = np.asarray(actor_cm, np.float64) + np.array([0.0, 0.0, PIVOT_CM]) - np.asarray(camera_cm, np.float64)
    level = np.hypot(arm[:, 0], arm[:, 1])
    length = np.hypot(level, arm[:, 2])
    yaw, pitch = np.degrees(np.arctan2(arm[:, 1], arm[:, 0])), np.degrees(np.arctan2(arm[:, 2], level))
    off_yaw = (yaw - rpy[:, 2] + 180.0) % 360.0 - 180.0
    near = np.abs(length - ARM_CM) <= ARM_TOLERANCE_CM
    near &= (np.abs(off_yaw) <= ANGLE_TOLERANCE_DEG) & (np.abs(pitch - rpy[:, 1]) <= ANGLE_TOLERANCE_DEG)
    found: FloatArray = np.where(near[:, None], np.stack([rpy[:, 0], pitch, yaw], -1), rpy)
    return found, near
