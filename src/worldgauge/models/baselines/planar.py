"""`planar`: the last context frame on a floor and a wall, rendered from each pose."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import Context
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models

Image = NDArray[np.float32]

EYE_M, WALL_M = 1.62, 16.0
"""Height of the camera above the floor, and distance of the wall."""
FADE_S, FADE_M = 28.0, 15.0
"""Seconds and metres in which the frame loses all but 1/e of its weight."""
BLUR_START, BLUR_PER_S, BLUR_PER_M = 0.0018, 0.00012, 0.004
"""Standard deviation of the blur at the start, per second and per metre, in widths of the frame."""
BORDER = 0.18
"""Widths beyond the border of the frame at which its continued colour loses all but 1/e of its weight."""
BANDS, SAMPLES = 60, 48
"""Bands of elevation that have a mean colour, and the most context frames that it is taken from."""


@models.register("planar")
class Planar:
    """The last context frame on a floor and a wall, rendered from each pose.
    It fades with distance and time to the context's mean colour at the same elevation. Its constants minimise the
    squared error on episodes that are in no named set."""

    spec = ModelSpec("planar", control="camera", settings={"version": 1})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The frame as seen from `request.poses`, in chunks of one."""
        assert request.poses is not None
        seconds = np.arange(1, request.horizon + 1) / request.context.clip.fps
        for view, shown, mean in planar_views(request.context, request.poses, seconds):
            yield np.rint(view + (1 - shown) * mean).astype(np.uint8)[None]


def planar_views(context: Context, poses: FloatArray, seconds: FloatArray) -> Iterator[tuple[Image, Image, Image]]:
    """Per pose: the frame's colours (H, W, 3) times weights (H, W, 1), the weights, and mean colours (H, W, 3)."""
    camera, start = context.camera, context.path[-1]
    if not isinstance(camera, Camera):
        raise NotApplicableError("'planar' renders perspective views; it renders no panoramas")
    rays = camera.rays()
    rays = (rays / np.linalg.norm(rays, axis=-1, keepdims=True)).astype(np.float32)
    means, frame = _mean_by_elevation(context, rays), context.clip[-1].astype(np.float32)
    for pose, time in zip(poses, seconds.tolist(), strict=True):
        offset = pose[:3, 3] - start[:3, 3]
        metres = float(np.linalg.norm(offset))
        directions = rays @ pose[:3, :3].T.astype(np.float32)
        points = _points(directions, offset.astype(np.float32)) @ start[:3, :3].astype(np.float32)
        view, shown = _seen(frame, camera, points)
        sigma = camera.width * (BLUR_START + BLUR_PER_S * time + BLUR_PER_M * metres)
        weight = math.exp(-time / FADE_S - metres / FADE_M)
        blurred = cv2.GaussianBlur(np.concatenate([view * shown, shown], -1), (0, 0), sigma) * np.float32(weight)
        yield blurred[..., :3], blurred[..., 3:], means[_bands(directions)]


def _points(directions: Image, offset: Image) -> Image:
    """Where rays from `offset` meet the floor or the wall around the origin, (H, W, 3)."""
    down = np.minimum(directions[..., 2], -1e-3)
    to_floor = np.where(directions[..., 2] < -1e-3, (-EYE_M - offset[2]) / down, np.inf)
    along, square = directions @ offset, float(offset @ offset)
    radius = max(WALL_M, 1.3 * math.sqrt(square))
    to_wall = np.sqrt(along**2 - square + radius**2) - along
    distance = np.where(to_floor > 0, np.minimum(to_floor, to_wall), to_wall)
    return np.asarray(offset + directions * distance[..., None], np.float32)


def _seen(frame: Image, camera: Camera, points: Image) -> tuple[Image, Image]:
    """Colours of points in the camera's frame, and their weights: 1 in the frame, less beyond its border."""
    ahead = points[..., 2] > 1e-3
    depth = np.where(ahead, points[..., 2], np.float32(1))
    # Pixel centres lie at halves in a camera, and at whole numbers in OpenCV.
    u, v = camera.fx * points[..., 0] / depth + camera.cx - 0.5, camera.fy * points[..., 1] / depth + camera.cy - 0.5
    inside = np.clip(u, 0, camera.width - 1), np.clip(v, 0, camera.height - 1)
    beyond = np.where(ahead, np.hypot(u - inside[0], v - inside[1]) / camera.width, np.inf)
    columns, rows = (place.astype(np.float32) for place in inside)
    view = np.asarray(cv2.remap(frame, columns, rows, cv2.INTER_LINEAR), np.float32)
    return view, np.exp(-beyond / BORDER).astype(np.float32)[..., None]


def _bands(directions: Image) -> NDArray[np.int64]:
    """Band of elevation of each direction."""
    return np.clip(((directions[..., 2] + 1) / 2 * BANDS).astype(np.int64), 0, BANDS - 1)


def _mean_by_elevation(context: Context, rays: Image) -> Image:
    """Mean colour of the context in each band of elevation, (BANDS, 3); bands that it does not show get the nearest."""
    total, count = np.zeros((BANDS, 3)), np.zeros(BANDS)
    for index in range(0, len(context), max(1, len(context) // SAMPLES)):
        bands = _bands(rays @ context.path[index, :3, :3].T.astype(np.float32)).ravel()
        frame = context.clip[index].reshape(-1, 3)
        count += np.bincount(bands, minlength=BANDS)
        total += np.stack([np.bincount(bands, channel, BANDS) for channel in frame.T], -1)
    known = np.flatnonzero(count)
    means = (total[known] / count[known, None]).T
    return np.stack([np.interp(np.arange(BANDS), known, mean) for mean in means], -1).astype(np.float32)
