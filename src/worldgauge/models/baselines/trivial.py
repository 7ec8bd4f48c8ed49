"""Baselines without any model of the world: `freeze`, `replay`, `mean`, `noise`, `none`; and `hedge`."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.core.video import Clip
from worldgauge.models import models


@models.register("freeze")
class Freeze:
    """The last context frame, repeated."""

    def __init__(self, view: View = "perspective") -> None:
        self.spec = ModelSpec("freeze", view=view, max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` copies of the last context frame."""
        last = request.context.clip[-1][None]
        return (last for _ in range(request.horizon))

    def camera_path(self, request: RolloutRequest) -> FloatArray:
        """The pose of the last context frame, repeated."""
        return np.repeat(request.context.path[-1:], request.horizon, axis=0)


@models.register("replay")
class Replay:
    """The context in reverse order, then forward again, and so on."""

    spec = ModelSpec("replay")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Context frames C-1, C-2, ..., 0, 1, ..., C-1, ..., `horizon` in all."""
        count = len(request.context)
        cycle = [*range(count - 1, -1, -1), *range(1, count - 1)] or [0]
        order = (cycle[t % len(cycle)] for t in range(request.horizon))
        return (request.context.clip[index][None] for index in order)


@models.register("mean")
class Mean:
    """The mean context frame, repeated."""

    spec = ModelSpec("mean")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` copies of the per-pixel mean of the context."""
        mean = np.rint(mean_frame(request.context.clip)).astype(np.uint8)[None]
        return (mean for _ in range(request.horizon))


def mean_frame(clip: Clip) -> FloatArray:
    """Mean of all frames of a clip, (H, W, 3)."""
    total = np.zeros((clip.height, clip.width, 3), np.int64)
    for frame in clip:
        total += frame
    return np.asarray(total / len(clip), np.float64)


@models.register("noise")
class Noise:
    """Independent random colours in every frame: the floor.
    `block_px`: side of squares of one colour. White noise (1) cannot be compressed; 8 makes files sixty times
    smaller."""

    def __init__(self, block_px: int = 8, view: View = "perspective") -> None:
        if block_px < 1:
            raise UsageError(f"noise: block_px must be at least 1, got {block_px}")
        self._block_px = block_px
        self.spec = ModelSpec("noise", view=view, max_context=1, settings={"block_px": block_px})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames of uniform colours, seeded by the request."""
        width, height = request.frame_size
        rng = np.random.default_rng(request.seed)
        side = self._block_px
        for _ in range(request.horizon):
            grid = rng.integers(0, 256, (-(-height // side), -(-width // side), 3), dtype=np.uint8)
            yield grid.repeat(side, axis=0).repeat(side, axis=1)[None, :height, :width]


@models.register("none")
class NoModel:
    """Imagines nothing: the floor of the closed loop, where the same policies decide from what they see."""

    imagines = False

    spec = ModelSpec("none", max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Not available."""
        raise NotApplicableError("'none' generates nothing: it is a baseline of suites that do without a world model")


FADE_S = 4.0
"""Seconds in which the turned frame loses all but 1/e of its weight. Of 0.25 to 4 s it has the least error on walks."""


@models.register("hedge")
class Hedge:
    """The last context frame turned as asked, fading into the mean frame: no memory, and a low error.
    A model that is no better than this has not shown that it remembers. `fade_s`: seconds until the turned frame has
    1/e of its weight."""

    def __init__(self, fade_s: float = FADE_S) -> None:
        if not 0 < fade_s < math.inf:
            raise UsageError(f"hedge: fade_s must be a time above 0, got {fade_s}")
        self._fade_s = fade_s
        self.spec = ModelSpec("hedge", control="camera", settings={"fade_s": fade_s, "moves": False})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The last context frame, turned by the rotation of `request.poses` and faded."""
        context, camera = request.context, request.context.camera
        if not isinstance(camera, Camera):
            raise NotApplicableError("'hedge' turns perspective views; it draws no panoramas")
        assert request.poses is not None
        mean = mean_frame(context.clip).astype(np.float32)
        last = np.concatenate([context.clip[-1], np.full_like(mean[..., :1], 1)], -1).astype(np.float32)
        rays = camera.rays().astype(np.float32)
        for index, pose in enumerate(request.poses):
            shown = math.exp(-(index + 1) / context.clip.fps / self._fade_s)
            turned = _turned(last, camera, rays, context.path[-1, :3, :3].T @ pose[:3, :3])
            frame = mean + shown * (turned[..., :3] - turned[..., 3:] * mean)
            yield np.rint(frame).astype(np.uint8)[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray:
        """The requested rotations, in the place of the last context frame."""
        assert request.poses is not None
        return turned_in_place(request.poses, request.context.path[-1])


def turned_in_place(poses: FloatArray, start: FloatArray) -> FloatArray:
    """Poses (n, 4, 4) with the position of `start`, of a camera that turns and does not move."""
    path = np.array(poses, np.float64)
    path[:, :3, 3] = start[:3, 3]
    return path


def _turned(
    frame: NDArray[np.float32], camera: Camera, rays: NDArray[np.float32], rotation: FloatArray
) -> NDArray[np.float32]:
    """A frame seen after `rotation` (3, 3), as if infinitely far; 0 outside. `rays` are in the turned frame."""
    x, y, z = np.moveaxis(rays @ rotation.astype(np.float32).T, -1, 0)
    ahead = z > 1e-6
    depth = np.where(ahead, z, np.float32(1))
    # Pixel centres lie at halves in a camera, and at whole numbers in OpenCV. -2 is outside of every frame.
    u = np.where(ahead, camera.fx * x / depth + camera.cx - 0.5, -2).astype(np.float32)
    v = np.where(ahead, camera.fy * y / depth + camera.cy - 0.5, -2).astype(np.float32)
    return np.asarray(cv2.remap(frame, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT), np.float32)
