"""`hedge`: what an error in pixels rewards in a model without memory."""

from __future__ import annotations

import math
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.models.references.trivial import mean_frame

FADE_S = 4.0
"""Seconds in which the turned frame loses all but 1/e of its weight. Of 0.25 to 4 s it has the least error on walks."""


@models.register("hedge")
class Hedge:
    """The last context frame turned as asked, fading into the mean frame: no memory, and a low error.

    Where the camera turns to what the last frame does not show, there is the mean frame. A model that is no better than
    this has not shown that it remembers.

    Args:
        fade_s: Seconds in which the turned frame loses all but 1/e of its weight.

    Raises:
        UsageError: The time is not positive.
    """

    def __init__(self, fade_s: float = FADE_S) -> None:
        if not 0 < fade_s < math.inf:
            raise UsageError(f"hedge: fade_s must be a time above 0, got {fade_s}")
        self._fade_s = fade_s
        self.spec = ModelSpec("hedge", control="camera", settings={"fade_s": fade_s})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The last context frame, turned by the rotation of `request.poses` and faded.

        Args:
            request: The request; its context needs perspective frames.

        Yields:
            `horizon` frames, each (1, H, W, 3).

        Raises:
            NotApplicableError: The frames are panoramas.
        """
        context, camera = request.context, request.context.camera
        if not isinstance(camera, Camera):
            raise NotApplicableError("'hedge' turns perspective views; it draws no panoramas")
        assert request.poses is not None
        mean = mean_frame(context.clip).astype(np.float32)
        last = np.concatenate([context.clip[-1], np.full_like(mean[..., :1], 1)], -1).astype(np.float32)
        rays = camera.rays().astype(np.float32)
        for index, pose in enumerate(request.poses):
            shown = math.exp(-(index + 1) / context.clip.fps / self._fade_s)
            turned = _turned(last, camera, rays, context.poses[-1, :3, :3].T @ pose[:3, :3])
            frame = mean + shown * (turned[..., :3] - turned[..., 3:] * mean)
            yield np.rint(frame).astype(np.uint8)[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The requested poses."""
        return request.poses


def _turned(
    frame: NDArray[np.float32], camera: Camera, rays: NDArray[np.float32], rotation: FloatArray
) -> NDArray[np.float32]:
    """A frame (H, W, channels) seen by the camera after `rotation`, (3, 3), as if all were infinitely far; 0 outside.

    rays: Directions of the pixels, (H, W, 3), in the frame of the turned camera.
    """
    x, y, z = np.moveaxis(rays @ rotation.astype(np.float32).T, -1, 0)
    ahead = z > 1e-6
    depth = np.where(ahead, z, np.float32(1))
    # Pixel centres lie at halves in a camera, and at whole numbers in OpenCV. -2 is outside of every frame.
    u = np.where(ahead, camera.fx * x / depth + camera.cx - 0.5, -2).astype(np.float32)
    v = np.where(ahead, camera.fy * y / depth + camera.cy - 0.5, -2).astype(np.float32)
    return np.asarray(cv2.remap(frame, u, v, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT), np.float32)
