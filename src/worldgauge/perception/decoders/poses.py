"""From camera poses to a path on the ground, in metres: ours (default) and the released rules of three decoders."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import FloatArray, invert, relative

Layout = Literal["vggt", "spatracker", "vipe"]
"""How a released decoder gives its cameras, and so which of its rules apply.

vggt: world-to-camera (n + 1, 3, 4) or (n + 1, 4, 4), the anchor last. spatracker: camera-to-world (n + 1, 4, 4), the
anchor first. vipe: (n, 7) rows tx ty tz qx qy qz qw, camera-to-world, metres, no anchor."""

MIN_ANCHOR_SHARE = 0.02
"""Of the extent of the path: a shorter anchor says nothing about its size."""
MIN_ANCHOR_UNITS = 1e-6
MIN_ANCHOR_M = 0.05
_TOO_LARGE = 1e100
"""Above this, squares and products of coordinates may be infinite."""


class GroundPath(NamedTuple):
    """A path, with or without a scale."""

    xy: FloatArray | None  # (n, 2) metres, from the first pose, +x right, +y ahead; None without a scale
    positions: FloatArray  # (n, 3) in the frame of the first camera, metres if there is a scale
    rotations: FloatArray  # (n, 3, 3), camera to the first camera
    scale: float | None
    anchor_estimated: float | None
    fault: str


class ReleasedPath(NamedTuple):
    """What a released conversion gives: xyz is (n, 3): right, ahead, and the camera's y axis (down)."""

    xy: FloatArray
    xyz: FloatArray
    scale: float
    anchor_estimated: float | None


def ground_path(
    poses: ArrayLike, anchor: ArrayLike | None, anchor_real_m: float | None, *, up: ArrayLike | None = None
) -> GroundPath:
    """Project camera-to-world poses (n, 4, 4), in any frame and unit, to a path on the ground, in metres if a scale is
    known. The ground is across `up` (3,), in the frame of the first camera, which by default counts as level. Source:
    Target-Bench; ours: full re-basing to the first pose, distance of centres, no scale from too short an anchor."""
    own = checked(poses, "poses")
    based = relative(own[0], own)
    based[0] = np.eye(4)
    positions, rotations = based[:, :3, 3], based[:, :3, :3]
    if anchor is None:
        return GroundPath(_on_ground(positions, up), positions, rotations, 1.0, None, "")
    anchor_pose = checked(np.asarray(anchor, np.float64)[None], "anchor")[0]
    estimated = float(np.linalg.norm(anchor_pose[:3, 3] - own[0, :3, 3]))
    fault = anchor_fault(estimated, float(np.linalg.norm(positions, axis=1).max()), anchor_real_m)
    if fault or anchor_real_m is None:
        return GroundPath(None, positions, rotations, None, estimated, fault)
    scale = anchor_real_m / estimated
    positions = positions * scale
    return GroundPath(_on_ground(positions, up), positions, rotations, scale, estimated, "")


def between(poses: FloatArray, known: ArrayLike, wanted: ArrayLike) -> FloatArray:
    """Interpolate poses of ascending frames `known` (n,) linearly, rotations evenly; beyond the ends the nearest."""
    at = np.asarray(known, np.float64)
    found = np.empty((len(np.asarray(wanted)), 4, 4))
    for row, frame in enumerate(np.asarray(wanted, np.float64)):
        after = int(np.clip(np.searchsorted(at, frame), 1, max(len(at) - 1, 1)))
        if len(at) == 1 or frame in at:
            found[row] = poses[int(np.abs(at - frame).argmin())]
            continue
        share = float(np.clip((frame - at[after - 1]) / (at[after] - at[after - 1]), 0.0, 1.0))
        found[row] = poses[after - 1]
        found[row, :3, 3] += share * (poses[after, :3, 3] - poses[after - 1, :3, 3])
        # The nearest rotation to the mixture: the middle way for the small turns between two frames.
        u, _, vt = np.linalg.svd((1 - share) * poses[after - 1, :3, :3] + share * poses[after, :3, :3])
        found[row, :3, :3] = (u * [1.0, 1.0, np.linalg.det(u @ vt)]) @ vt
    return found


def heading_change_deg(rotations: FloatArray) -> float:
    """How far the last camera looks to the right of the first, (n, 3, 3) in the frame of the first; degrees."""
    ahead = rotations[-1][:, 2]
    return round(float(np.degrees(np.arctan2(ahead[0], ahead[2]))), 3)


def anchor_fault(estimated: float, extent: float, real_m: float | None) -> str:
    """Explain why an anchor gives no scale. real_m: Real distance of the anchor, metres."""
    if real_m is None or not np.isfinite(real_m):
        return "the distance between the anchor and the current frame is not known"
    if real_m < MIN_ANCHOR_M:
        return f"anchor and current frame are {real_m:.3g} m apart; a scale needs {MIN_ANCHOR_M} m"
    if not estimated > max(MIN_ANCHOR_SHARE * extent, MIN_ANCHOR_UNITS):
        return (
            f"the anchor lies {estimated:.3g} units from the start of a path {extent:.3g} long; too close for a scale"
        )
    return ""


def released_path(matrices: ArrayLike, layout: Layout, anchor_real_m: float | None = None) -> ReleasedPath | None:
    """Compute the path as the released code does, with its faults: for reproduction only.
    A real distance of 0 puts every point at the origin. Source: Target-Bench, released evaluation scripts."""
    if layout == "vipe":
        rows = _rows(matrices)
        return _released(rows[:, :3], 1.0, None)
    if layout not in get_args(Layout):
        raise UsageError(f"no layout '{layout}'; known: {', '.join(get_args(Layout))}")
    if anchor_real_m is None:
        raise UsageError(f"the released rules of '{layout}' need the distance of the anchor in metres")
    if layout == "vggt":
        cameras = _square(matrices)
        if len(cameras) < 2:
            raise ShapeError(f"'{layout}' needs a frame and the anchor, got {len(cameras)} cameras")
        # The fourth column of a world-to-camera matrix is not the centre; released code takes it for the distance.
        distance = float(np.linalg.norm(cameras[-1, :3, 3] - cameras[0, :3, 3]))
        centres = invert(cameras)[:-1, :3, 3]
    else:
        # Released code computes here in 32 bits; the difference is below a micrometre.
        cameras = _square(matrices)
        if len(cameras) < 2:
            raise ShapeError(f"'{layout}' needs the anchor and a frame, got {len(cameras)} cameras")
        try:
            with np.errstate(all="ignore"):  # the next check reports it
                based = np.linalg.inv(cameras[1]) @ cameras
        except np.linalg.LinAlgError:
            raise ShapeError("the pose of the first frame has no inverse") from None
        _finite(based, "pose seen from the first frame:")
        distance = float(np.linalg.norm(based[1, :3, 3] - based[0, :3, 3]))
        centres = based[1:, :3, 3]
    if distance == 0.0:
        return None
    return _released(centres, anchor_real_m / distance, distance)


def poses_of(matrices: ArrayLike, layout: Layout) -> tuple[FloatArray, FloatArray | None]:
    """Convert the output of a released decoder to camera-to-world poses (n, 4, 4) and the anchor's, None for "vipe"."""
    if layout == "vipe":
        return poses_of_quaternions(matrices), None
    if layout not in get_args(Layout):
        raise UsageError(f"no layout '{layout}'; known: {', '.join(get_args(Layout))}")
    cameras = _square(matrices)
    if len(cameras) < 2:
        raise ShapeError(f"'{layout}' needs a frame and the anchor, got {len(cameras)} cameras")
    if layout == "vggt":
        poses = invert(cameras)
        return poses[:-1], poses[-1]
    return cameras[1:], cameras[0]


def poses_of_quaternions(rows: ArrayLike) -> FloatArray:
    """Convert rows tx ty tz qx qy qz qw (n, 7) to poses (n, 4, 4). Quaternions may have any length but 0."""
    table = _rows(rows)
    x, y, z, w = table[:, 3:].T
    length = np.sqrt(x * x + y * y + z * z + w * w)
    if (length < 1e-9).any():
        raise ShapeError(f"row {int(np.argmin(length))}: a quaternion of no length")
    x, y, z, w = (part / length for part in (x, y, z, w))
    poses = np.zeros((len(table), 4, 4))
    poses[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], -1)
    poses[:, 1, :3] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], -1)
    poses[:, 2, :3] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], -1)
    poses[:, :3, 3] = table[:, :3]
    poses[:, 3, 3] = 1.0
    return poses


def _released(centres: FloatArray, scale: float, distance: float | None) -> ReleasedPath:
    with np.errstate(all="ignore"):
        xyz = scale * centres[:, [0, 2, 1]]
    if not np.isfinite(xyz).all() or not np.isfinite(scale):
        raise ShapeError("the released rules make values of these poses that are not finite")
    return ReleasedPath(xyz[:, :2], xyz, scale, distance)


def _on_ground(positions: FloatArray, up: ArrayLike | None) -> FloatArray:
    """(n, 2) to the right and ahead, of positions in the frame of the first camera."""
    if up is None:
        flat: FloatArray = positions[:, [0, 2]].copy()
        return flat
    vertical = np.asarray(up, np.float64)
    if vertical.shape != (3,) or not np.isfinite(vertical).all() or not np.linalg.norm(vertical) > 0:
        raise ShapeError(f"up must be a direction (3,), got {vertical}")
    vertical = vertical / np.linalg.norm(vertical)
    ahead = np.array([0.0, 0.0, 1.0]) - vertical[2] * vertical
    if np.linalg.norm(ahead) < 1e-6:
        raise ShapeError("the first camera looks straight up or down: it has no heading")
    ahead /= np.linalg.norm(ahead)
    own: FloatArray = positions @ np.stack([np.cross(ahead, vertical), ahead], -1)
    return own


def checked(poses: ArrayLike, what: str) -> FloatArray:
    """Check that poses are rotations and translations. poses: (n, 4, 4), n >= 1. Returns (n, 4, 4) float64."""
    own = np.asarray(poses, np.float64)
    if own.ndim != 3 or own.shape[1:] != (4, 4) or len(own) == 0:
        raise ShapeError(f"{what}: expected (n, 4, 4) with n >= 1, got {own.shape}")
    _finite(own, f"{what}: frame")
    turns = own[:, :3, :3]
    off = np.abs(turns @ np.swapaxes(turns, -1, -2) - np.eye(3)).max((-1, -2)) + (np.linalg.det(turns) < 0)
    if off.max() > 1e-3:
        raise ShapeError(f"{what}: frame {int(off.argmax())} is not a rotation and a translation")
    return own


def _square(matrices: ArrayLike) -> FloatArray:
    """(n, 3, 4) or (n, 4, 4) as (n, 4, 4)."""
    own = np.asarray(matrices, np.float64)
    if own.ndim != 3 or own.shape[1:] not in ((3, 4), (4, 4)):
        raise ShapeError(f"expected matrices (n, 3, 4) or (n, 4, 4), got {own.shape}")
    _finite(own, "matrix")
    whole = np.zeros((len(own), 4, 4))
    whole[:, :3] = own[:, :3]
    whole[:, 3, 3] = 1.0
    return whole


def _rows(rows: ArrayLike) -> FloatArray:
    table = np.asarray(rows, np.float64)
    if table.ndim != 2 or table.shape[1] != 7 or len(table) == 0:
        raise ShapeError(f"expected rows tx ty tz qx qy qz qw (n, 7) with n >= 1, got {table.shape}")
    _finite(table, "row")
    return table


def _finite(values: FloatArray, what: str) -> None:
    wrong = np.argwhere(~(np.abs(values) < _TOO_LARGE))
    if len(wrong):
        raise ShapeError(f"{what} {int(wrong[0][0])} holds values that are not finite, or too large")
