"""Poses, SE(3) and Sim(3), perspective and equirectangular cameras.

World frame: right-handed, z up, metres. Camera frame: x right, y down, z forward (OpenCV). Poses are camera-to-world
4x4 float64. Yaw is about +z from +x, counter-clockwise; pitch is positive upwards; both in radians. Data sets with
other frames are converted in the `format` of their suite, nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError

FloatArray = NDArray[np.float64]


def pose_from_yaw_pitch(position: ArrayLike, yaw: ArrayLike, pitch: ArrayLike = 0.0) -> FloatArray:
    """Camera-to-world poses from positions and viewing angles, without roll.

    Args:
        position: (..., 3) camera positions, metres.
        yaw: (...) radians; 0 looks along +x, pi/2 along +y.
        pitch: (...) radians; positive looks up.

    Returns:
        (..., 4, 4) camera-to-world poses.

    Examples:
        >>> pose = pose_from_yaw_pitch([1, 2, 1.6], yaw=np.pi / 2)
        >>> pose[:3, 2].round(3).tolist()  # the camera looks along +y
        [0.0, 1.0, 0.0]
    """
    position = np.asarray(position, np.float64)
    yaw, pitch = np.broadcast_arrays(np.asarray(yaw, np.float64), np.asarray(pitch, np.float64))
    cy, sy, cp, sp = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    pose = np.zeros((*np.broadcast_shapes(yaw.shape, position.shape[:-1]), 4, 4))
    pose[..., 0, 0], pose[..., 1, 0] = sy, -cy
    pose[..., 0, 1], pose[..., 1, 1], pose[..., 2, 1] = sp * cy, sp * sy, -cp
    pose[..., 0, 2], pose[..., 1, 2], pose[..., 2, 2] = cp * cy, cp * sy, sp
    pose[..., :3, 3] = position
    pose[..., 3, 3] = 1.0
    return pose


def yaw_pitch_from_pose(pose: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Viewing angles of camera-to-world poses; roll is ignored.

    Args:
        pose: (..., 4, 4) camera-to-world poses.

    Returns:
        Yaw and pitch (...) in radians.

    Examples:
        >>> yaw, pitch = yaw_pitch_from_pose(pose_from_yaw_pitch([0, 0, 0], np.radians(90), np.radians(30)))
        >>> np.degrees([yaw, pitch]).round(3).tolist()
        [90.0, 30.0]
    """
    forward = np.asarray(pose, np.float64)[..., :3, 2]
    yaw = np.arctan2(forward[..., 1], forward[..., 0])
    return yaw, np.arcsin(np.clip(forward[..., 2], -1.0, 1.0))


def camera_pose(pose: ArrayLike) -> FloatArray:
    """Check the pose of one camera.

    Args:
        pose: (4, 4) camera-to-world.

    Returns:
        It as float64.

    Raises:
        ShapeError: The pose is not a finite (4, 4).

    Examples:
        >>> camera_pose(np.eye(3))
        Traceback (most recent call last):
        ...
        worldgauge.core.errors.ShapeError: a camera needs one finite (4, 4) camera-to-world pose, got shape (3, 3)
    """
    found = np.asarray(pose, np.float64)
    if found.shape != (4, 4) or not np.isfinite(found).all():
        raise ShapeError(f"a camera needs one finite (4, 4) camera-to-world pose, got shape {found.shape}")
    return found


def wrap_angle(angle: ArrayLike) -> FloatArray:
    """Wrap angles in radians to [-pi, pi).

    Examples:
        >>> np.degrees(wrap_angle(np.radians([190, -190]))).round(3).tolist()
        [-170.0, 170.0]
    """
    wrapped: FloatArray = (np.asarray(angle, np.float64) + np.pi) % (2 * np.pi) - np.pi
    # The remainder of a tiny negative number rounds up to the full circle.
    inside: FloatArray = wrapped - 2 * np.pi * (wrapped >= np.pi)
    return inside


def invert(pose: ArrayLike) -> FloatArray:
    """Inverse of rigid transforms (..., 4, 4).

    Examples:
        >>> pose = pose_from_yaw_pitch([1, 2, 3], yaw=0)
        >>> invert(pose)[:3, 3].tolist()  # where the camera sees the origin: 2 m to the right, 3 m down, 1 m behind
        [2.0, 3.0, -1.0]
    """
    pose = np.asarray(pose, np.float64)
    inverse = np.zeros_like(pose)
    rotation = np.swapaxes(pose[..., :3, :3], -1, -2)
    inverse[..., :3, :3] = rotation
    inverse[..., :3, 3] = -np.einsum("...ij,...j->...i", rotation, pose[..., :3, 3])
    inverse[..., 3, 3] = 1.0
    return inverse


def relative(pose_from: ArrayLike, pose_to: ArrayLike) -> FloatArray:
    """Pose of `pose_to` seen from `pose_from`: inv(from) @ to.

    Args:
        pose_from: (..., 4, 4) poses.
        pose_to: (..., 4, 4) poses.

    Returns:
        (..., 4, 4) relative poses.

    Examples:
        >>> here, there = pose_from_yaw_pitch([1, 0, 0], yaw=0), pose_from_yaw_pitch([3, 0, 0], yaw=0)
        >>> relative(here, there)[:3, 3].tolist()  # 2 m ahead
        [0.0, 0.0, 2.0]
    """
    return invert(pose_from) @ np.asarray(pose_to, np.float64)


def rotation_angle(rotation: ArrayLike) -> FloatArray:
    """Angle of rotation matrices.

    Uses atan2 of the skew part and the trace, which is exact near 0 and pi where arccos is not.

    Args:
        rotation: (..., 3, 3) rotation matrices.

    Returns:
        (...) angles in radians, 0 to pi.

    Examples:
        >>> angle = rotation_angle([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
        >>> round(float(np.degrees(angle)), 3)
        90.0
    """
    r = np.asarray(rotation, np.float64)
    skew = np.stack([r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]], -1)
    sine = np.linalg.norm(skew, axis=-1)
    angle: FloatArray = np.arctan2(sine, np.trace(r, axis1=-2, axis2=-1) - 1.0)
    return angle


@dataclass(frozen=True)
class Camera:
    """A pinhole camera; pixel (column u, row v) has its centre at (u + 0.5, v + 0.5) pixels.

    Attributes:
        width: Frame width in pixels.
        height: Frame height in pixels.
        fx: Horizontal focal length in pixels.
        fy: Vertical focal length in pixels.
        cx: Column of the principal point in pixels.
        cy: Row of the principal point in pixels.

    Examples:
        >>> camera = Camera.from_horizontal_fov(640, 480, 90)
        >>> pixels, depth_m = camera.project([1, 0, 2])  # 1 m to the right, 2 m ahead
        >>> pixels.round(3).tolist()
        [480.0, 240.0]
    """

    is_panorama: ClassVar[bool] = False

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    @classmethod
    def from_vertical_fov(cls, width: int, height: int, fov_deg: float) -> Camera:
        """Camera with square pixels and the principal point in the image centre, from its vertical field of view.

        Args:
            width: Frame width in pixels.
            height: Frame height in pixels.
            fov_deg: Vertical field of view in degrees.

        Returns:
            The camera.
        """
        focal = height / 2 / np.tan(np.radians(fov_deg) / 2)
        return cls(width, height, focal, focal, width / 2, height / 2)

    @classmethod
    def from_horizontal_fov(cls, width: int, height: int, fov_deg: float) -> Camera:
        """Camera with square pixels and the principal point in the image centre, from its horizontal field of view.

        Args:
            width: Frame width in pixels.
            height: Frame height in pixels.
            fov_deg: Horizontal field of view in degrees.

        Returns:
            The camera.
        """
        focal = width / 2 / math.tan(math.radians(fov_deg) / 2)
        return cls(width, height, focal, focal, width / 2, height / 2)

    @property
    def hfov_deg(self) -> float:
        """Horizontal field of view in degrees, when the principal point is in the image centre."""
        return math.degrees(2 * math.atan(self.width / 2 / self.fx))

    def resized(self, width: int, height: int) -> Camera:
        """The same view on another pixel grid.

        Args:
            width: New width in pixels.
            height: New height in pixels.

        Returns:
            The camera.
        """
        sx, sy = width / self.width, height / self.height
        return Camera(width, height, self.fx * sx, self.fy * sy, self.cx * sx, self.cy * sy)

    def cropped(self, width: int, height: int) -> Camera:
        """The centre of the view.

        Args:
            width: Width of the centre part in pixels.
            height: Height of the centre part in pixels.

        Returns:
            The camera of the centre part.
        """
        return Camera(
            width, height, self.fx, self.fy, self.cx - (self.width - width) / 2, self.cy - (self.height - height) / 2
        )

    def rays(self) -> FloatArray:
        """Direction of every pixel centre in the camera frame, (H, W, 3), with z = 1."""
        u = (np.arange(self.width) + 0.5 - self.cx) / self.fx
        v = (np.arange(self.height) + 0.5 - self.cy) / self.fy
        x, y = np.meshgrid(u, v)
        return np.stack([x, y, np.ones_like(x)], -1)

    def project(self, points: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Project points to pixels.

        Args:
            points: (..., 3) points in the camera frame.

        Returns:
            Pixel coordinates (..., 2), NaN for points at or behind the camera, and depth (...) along the optical axis.
        """
        points = np.asarray(points, np.float64)
        z = points[..., 2]
        safe = np.where(z > 0, z, np.nan)
        u = self.fx * points[..., 0] / safe + self.cx
        v = self.fy * points[..., 1] / safe + self.cy
        return np.stack([u, v], -1), z

    def unproject(self, depth: ArrayLike) -> FloatArray:
        """Points of a depth image.

        Args:
            depth: (H, W) metres along the optical axis.

        Returns:
            (H, W, 3) points in the camera frame.

        Raises:
            ShapeError: The depth image does not have the size of the camera.
        """
        depth = np.asarray(depth, np.float64)
        if depth.shape != (self.height, self.width):
            raise ShapeError(f"depth of shape {depth.shape} does not fit a {self.width}x{self.height} camera")
        points: FloatArray = self.rays() * depth[..., None]
        return points


@dataclass(frozen=True)
class Panorama:
    """An equirectangular camera: the centre column looks along z, column 0 looks backwards.

    Azimuth grows to the right from -pi to pi, elevation falls from pi/2 to -pi/2. Depth of a panorama is metres along
    the ray.

    Attributes:
        width: Frame width in pixels.
        height: Frame height in pixels.

    Examples:
        >>> pixels, distance_m = Panorama(360, 180).project([1, 0, 0])  # to the right
        >>> pixels.round(3).tolist()
        [270.0, 90.0]
    """

    is_panorama: ClassVar[bool] = True
    fx: ClassVar[None] = None
    fy: ClassVar[None] = None
    cx: ClassVar[None] = None
    cy: ClassVar[None] = None

    width: int
    height: int

    @property
    def hfov_deg(self) -> float:
        """Horizontal field of view in degrees: 360."""
        return 360.0

    def resized(self, width: int, height: int) -> Panorama:
        """The same view on another pixel grid.

        Args:
            width: New width in pixels.
            height: New height in pixels.

        Returns:
            The panorama.
        """
        return Panorama(width, height)

    def rays(self) -> FloatArray:
        """Unit direction of every pixel centre in the camera frame, (H, W, 3)."""
        azimuth = ((np.arange(self.width) + 0.5) / self.width - 0.5) * 2 * np.pi
        elevation = (0.5 - (np.arange(self.height) + 0.5) / self.height) * np.pi
        a, e = np.meshgrid(azimuth, elevation)
        return np.stack([np.cos(e) * np.sin(a), -np.sin(e), np.cos(e) * np.cos(a)], -1)

    def project(self, points: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Project points to pixels.

        Args:
            points: (..., 3) points in the camera frame.

        Returns:
            Pixel coordinates (..., 2) and distance (...) along the ray.
        """
        points = np.asarray(points, np.float64)
        distance = np.linalg.norm(points, axis=-1)
        azimuth = np.arctan2(points[..., 0], points[..., 2])
        elevation = np.arcsin(np.clip(-points[..., 1] / np.maximum(distance, 1e-300), -1, 1))
        u = (azimuth / (2 * np.pi) + 0.5) * self.width
        v = (0.5 - elevation / np.pi) * self.height
        return np.stack([u, v], -1), distance


def rotation_of_quaternion(quaternions: ArrayLike) -> FloatArray:
    """Matrices (..., 3, 3) of unit quaternions x, y, z, w (..., 4)."""
    x, y, z, w = np.moveaxis(np.asarray(quaternions, np.float64), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def quaternion_of_pose(pose: ArrayLike) -> FloatArray:
    """Orientation of the body that carries a camera, as quaternions.

    Args:
        pose: (..., 4, 4) camera-to-world poses.

    Returns:
        (..., 4) unit quaternions x, y, z, w; body frame x forward, y left, z up.

    Examples:
        >>> pose = pose_from_yaw_pitch([0, 0, 0], yaw=0)  # looks along +x
        >>> np.allclose(quaternion_of_pose(pose), [0, 0, 0, 1])
        True
    """
    camera = np.asarray(pose, np.float64)[..., :3, :3]
    body = np.stack([camera[..., 2], -camera[..., 0], -camera[..., 1]], axis=-1)
    diagonal = np.stack([body[..., i, i] for i in range(3)], axis=-1)
    # 4 q q^T is linear in the matrix: its largest column, normalised, is the quaternion whatever the rotation.
    outer = np.empty((*body.shape[:-2], 4, 4))
    for i in range(3):
        outer[..., i, i] = 1 + 2 * diagonal[..., i] - diagonal.sum(-1)
        j, k = (i + 1) % 3, (i + 2) % 3
        outer[..., i, j] = outer[..., j, i] = body[..., i, j] + body[..., j, i]
        outer[..., i, 3] = outer[..., 3, i] = body[..., k, j] - body[..., j, k]
    outer[..., 3, 3] = 1 + diagonal.sum(-1)
    best = np.argmax(np.stack([outer[..., i, i] for i in range(4)], axis=-1), axis=-1)
    column = np.take_along_axis(outer, best[..., None, None], axis=-1)[..., 0]
    unit: FloatArray = column / np.linalg.norm(column, axis=-1, keepdims=True)
    return unit


_PAIRS = 2**16
"""Pairs of edges that are compared at once, which bounds the memory."""


def length(points: ArrayLike) -> float:
    """Arc length of a polyline (N, D)."""
    return float(np.linalg.norm(np.diff(_checked(points), axis=0), axis=1).sum())


def along(points: ArrayLike) -> FloatArray:
    """Arc length (N,) from the first point to each point of a polyline (N, D), N >= 1."""
    array = _checked(points)
    if not len(array):
        raise ShapeError("a place along a polyline needs at least one point")
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(array, axis=0), axis=1))])


def at(points: ArrayLike, metres: ArrayLike) -> FloatArray:
    """Points (..., D) of a polyline (N, D), N >= 1, at arc lengths (...) in its unit; outside it, its ends."""
    array, far = np.asarray(points, np.float64), np.asarray(metres, np.float64)
    way = along(array)
    return np.stack([np.interp(far, way, column) for column in array.T], -1)


def enclosed_area(out: ArrayLike, back: ArrayLike) -> float:
    """Area between a path out (N, 2) and a path back (M, 2): the integral of |winding number| of the closed curve.

    Each lobe between crossings counts positive; the signed shoelace sum would cancel them.
    """
    ways = [_checked(out), _checked(back)]
    if any(way.shape[1:] != (2,) or len(way) == 0 for way in ways):
        raise ShapeError(
            f"an enclosed area needs two paths (N, 2) with N >= 1, got {ways[0].shape} and {ways[1].shape}"
        )
    curve = np.concatenate(ways)
    curve = curve - curve[0]
    start, end = curve, np.roll(curve, -1, axis=0)
    sloped = start[:, 1] != end[:, 1]
    start, end = start[sloped], end[sloped]
    levels = np.unique(np.concatenate([curve[:, 1], *_crossing_levels(start, end)]))
    low, high = np.minimum(start[:, 1], end[:, 1]), np.maximum(start[:, 1], end[:, 1])
    turn = np.sign(end[:, 1] - start[:, 1])
    slope = (end[:, 0] - start[:, 0]) / (end[:, 1] - start[:, 1])
    area = 0.0
    # Between two neighbouring levels no edges cross, so widths are linear and their value in the middle is exact.
    for middle, height in zip((levels[1:] + levels[:-1]) / 2, np.diff(levels), strict=True):
        active = np.flatnonzero((low < middle) & (middle < high))
        x = start[active, 0] + slope[active] * (middle - start[active, 1])
        order = np.argsort(x, kind="stable")
        winding = np.abs(np.cumsum(turn[active[order]]))[:-1]
        area += float(height * (winding @ np.diff(x[order])))
    return area


def _crossing_levels(start: FloatArray, end: FloatArray) -> Iterator[FloatArray]:
    """Heights at which edges cross in their interior; each edge is compared with all later ones, many at a time."""
    step = end - start
    rows = max(1, _PAIRS // max(len(start), 1))
    for first in range(0, len(start) - 1, rows):
        one = slice(first, min(first + rows, len(start) - 1))
        at, way = start[one, None], step[one, None]
        other, gap = step[None, first + 1 :], start[None, first + 1 :] - at
        later = np.arange(other.shape[1]) >= np.arange(len(at))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = way[..., 0] * other[..., 1] - way[..., 1] * other[..., 0]
            own = (gap[..., 0] * other[..., 1] - gap[..., 1] * other[..., 0]) / cross
            its = (gap[..., 0] * way[..., 1] - gap[..., 1] * way[..., 0]) / cross
            inside = later & (own > 0) & (own < 1) & (its > 0) & (its < 1)
        yield (at[..., 1] + own * way[..., 1])[inside]


def _checked(points: ArrayLike) -> FloatArray:
    array = np.asarray(points, np.float64)
    if array.ndim != 2:
        raise ShapeError(f"a polyline needs shape (N, D), got {array.shape}")
    if not np.isfinite(array).all():
        raise ShapeError("a polyline needs finite points; drop or repair the others first")
    return array
