"""Paths in the frame that Target-Bench scores in: the current pose at the origin, heading +y, +x to the right.

Rows before the current frame (the history) then have negative y. Specification: target, section 3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, yaw_pitch_from_pose

TANGENT_M = 0.10
"""Least distance in metres between the two rows that a heading is taken from: teleoperated paths jitter by a few
millimetres a row, which over 10 cm is about 2 degrees."""


def rebase(xy: ArrayLike, row: int, heading: float | None = None) -> FloatArray:
    """Points as seen from one row: that row at the origin, its heading +y.

    Args:
        xy: (T, 2) metres.
        row: The row to see them from.
        heading: Radians about +z from +x in the frame of `xy`. None takes the direction of the path there, and keeps
            the axes where the path does not go anywhere.

    Raises:
        ShapeError: On other shapes and rows out of range.
    """
    points = _checked(xy, row)
    if heading is None:
        heading = heading_at(points, row)
    angle = 0.0 if heading is None else math.pi / 2 - heading
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    moved: FloatArray = (points - points[row]) @ turn.T
    return moved


def cut_history(xy: ArrayLike, rows: int, heading: float | None = None) -> FloatArray:
    """Cut a path at a row and re-base it there; every horizon is cut with it.

    Args:
        xy: (T, 2) metres.
        rows: Number of rows cut off.
        heading: Heading at the cut, radians; that of the path by default.

    Returns:
        (T - rows, 2).

    Raises:
        ShapeError: As `rebase`.
    """
    return rebase(xy, rows, heading)[rows:]


def cut_released(xy: ArrayLike, rows: int) -> FloatArray:
    """Cut a path as the released horizon scripts do: moved to the origin but not turned to the new heading.

    Args:
        xy: (T, 2) metres.
        rows: Number of rows cut off.

    Returns:
        (T - rows, 2).
    """
    points = _checked(xy, rows)
    moved: FloatArray = points[rows:] - points[rows]
    return moved


def heading_at(xy: ArrayLike, row: int) -> float | None:
    """Compute the direction of a path at a row, over the fewest rows before and after that are `TANGENT_M` apart.

    Args:
        xy: (T, 2) metres.
        row: The row.

    Returns:
        Radians about +z from +x; None where the path does not move.
    """
    points = _checked(xy, row)
    for reach in range(1, len(points)):
        before, after = max(row - reach, 0), min(row + reach, len(points) - 1)
        dx, dy = points[after] - points[before]
        if math.hypot(dx, dy) >= TANGENT_M:
            return math.atan2(dy, dx)
    return None


def path_of_poses(poses: ArrayLike, row: int) -> FloatArray:
    """Convert camera poses to the path seen from one of them.

    Args:
        poses: Camera-to-world (T, 4, 4), z up.
        row: The pose.

    Returns:
        (T, 2) metres.

    Raises:
        ShapeError: Other shapes.
    """
    poses = np.asarray(poses, np.float64)
    if poses.ndim != 3 or poses.shape[1:] != (4, 4):
        raise ShapeError(f"poses need shape (T, 4, 4), got {poses.shape}")
    yaw, _ = yaw_pitch_from_pose(poses)
    return rebase(poses[:, :2, 3], row, float(yaw[row]))


def world_of_path(xy: ArrayLike, pose: ArrayLike) -> FloatArray:
    """Convert points seen from a pose back to the world's plane; the inverse of `rebase`.

    Args:
        xy: (n, 2) metres.
        pose: Camera-to-world (4, 4).

    Returns:
        (n, 2) metres.
    """
    points, pose = np.asarray(xy, np.float64), np.asarray(pose, np.float64)
    angle = float(yaw_pitch_from_pose(pose)[0]) - math.pi / 2
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    moved: FloatArray = points @ turn.T + pose[:2, 3]
    return moved


def yaw_of_quaternion(quaternion: ArrayLike) -> FloatArray:
    """Yaw (...) in radians of quaternions (..., 4) in the order x, y, z, w; they need not be of length 1 exactly."""
    x, y, z, w = np.moveaxis(np.asarray(quaternion, np.float64), -1, 0)
    return np.asarray(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)), np.float64)


def _checked(xy: ArrayLike, row: int) -> FloatArray:
    points = np.asarray(xy, np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ShapeError(f"a path needs shape (T, 2), metres in the plane, got {points.shape}")
    if not 0 <= row < len(points):
        raise ShapeError(f"row {row} is not one of the {len(points)} of the path")
    return points
