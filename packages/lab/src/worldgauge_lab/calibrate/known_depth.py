"""The camera's path in metres from a first frame whose depth is known: follow its points, and solve each pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import Camera, FloatArray, invert
from worldgauge.core.image import Frames, Image
from worldgauge.perception.decoders.frames import LONGEST_SIDE_PX
from worldgauge.perception.decoders.klt._tracks import follow
from worldgauge.perception.decoders.klt._views import AGREE_PX, place
from worldgauge.perception.pose_track import PoseTrack

SOURCE = "known-depth"
KEY_POINTS, POINTS = 150, 450
"""Of the first frame: most key points, and most points with corners. Twice as many are no more exact."""
FEWEST_POINTS = 20
"""Fewer points that agree say nothing certain about a pose."""
LARGEST_STEP = 1.15
"""Ratio of the depths round a point beyond which it lies on an edge, where depth is not that of one surface."""


def poses_from_depth(first: Image, depth: ArrayLike, camera: Camera, frames: Frames) -> PoseTrack:
    """Find where each frame was seen from, in metres, relative to a first frame with known depth.

    Corners and key points of the first frame are followed through the video (Lucas-Kanade, checked backwards), and each
    frame is placed by those that are left (perspective n points with RANSAC, then least squares). It ends where too few
    of them are left in view, so it suits short moves. The scale is that of the depth.

    Args:
        first: (H, W, 3) uint8, the frame before the video.
        depth: (H, W) metres along the optical axis of the first frame; infinite in the sky.
        camera: Intrinsics of every frame.
        frames: (n, H, W, 3) uint8.

    Returns:
        Poses camera-to-first-camera, metres, by index of the video. "failed" where no frame was placed.

    Raises:
        ShapeError: The sizes of the frames, the depth and the camera differ.
    """
    known = np.asarray(depth, np.float64)
    size = (camera.height, camera.width)
    if first.shape[:2] != size or known.shape != size or frames.ndim != 4 or frames.shape[1:3] != size:
        raise ShapeError(
            f"a first frame {first.shape[:2]}, its depth {known.shape} and frames {frames.shape[1:3]} "
            f"need the size of the camera, {size}"
        )
    grey = (_gray(frame) for frame in (first, *frames))
    xy = follow(grey, {0}, range(len(frames) + 1), seeds=KEY_POINTS, most=POINTS).xy.astype(np.float64)
    distance = _depth_at(known, xy[0])
    kept = np.isfinite(distance)
    xy, distance = xy[:, kept], distance[kept]
    # Rays in units of the horizontal focal length, so that pixels need not be square.
    seen = (xy + 0.5 - [camera.cx, camera.cy]) * [1.0, camera.fx / camera.fy]
    points = np.concatenate([seen[0] / camera.fx, np.ones((len(distance), 1))], 1) * distance[:, None]
    agree_px = max(1.5, AGREE_PX * max(camera.width, camera.height) / LONGEST_SIDE_PX)
    poses, placed = np.tile(np.eye(4), (len(frames), 1, 1)), np.zeros(len(frames), np.bool_)
    for t in range(len(frames)):
        shown = np.isfinite(seen[t + 1, :, 0])
        found = place(points[shown], seen[t + 1, shown], camera.fx, agree_px=agree_px, least=FEWEST_POINTS)
        if found is not None:
            poses[t, :3, :3], poses[t, :3, 3], placed[t] = found.rotation, found.translation, True
    at = np.flatnonzero(placed)
    facts = {"points": len(points)}
    if not len(at):
        few = "the first frame has too few points" if len(points) < FEWEST_POINTS else "its points are found nowhere"
        return PoseTrack("failed", few, None, at, SOURCE, facts)
    why = "" if placed.all() else f"{len(at)} of {len(frames)} frames show enough of the first one"
    return PoseTrack("partial" if why else "ok", why, invert(poses[at]), at, SOURCE, facts)


def _depth_at(depth: FloatArray, xy: FloatArray) -> FloatArray:
    """Depth at points (n, 2), pixel centres at whole numbers: 1 / depth between pixels, exact on planes; NaN at edges.

    The sky and the border have none either.
    """
    height, width = depth.shape
    left = np.floor(xy).astype(np.int64)
    inside = ((left >= 0) & (left < [width - 1, height - 1])).all(1)
    x, y = np.clip(left, 0, [width - 2, height - 2]).T
    corners = np.stack([depth[y, x], depth[y, x + 1], depth[y + 1, x], depth[y + 1, x + 1]])
    across, down = (xy - left).T
    weights = np.stack([(1 - across) * (1 - down), across * (1 - down), (1 - across) * down, across * down])
    whole = inside & np.isfinite(corners).all(0) & (corners > 0).all(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        smooth = whole & (corners.max(0) <= LARGEST_STEP * corners.min(0))
        return np.where(smooth, 1 / (weights / corners).sum(0), np.nan)


def _gray(frame: Image) -> NDArray[np.uint8]:
    import cv2

    return np.asarray(cv2.cvtColor(np.ascontiguousarray(frame), cv2.COLOR_RGB2GRAY), np.uint8)
