"""`roll`: turns on the spot exactly and never gets anywhere. What of a benchmark is looking around."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from worldgauge.core.geometry import Camera, FloatArray, Panorama, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.core.panorama import rolled
from worldgauge.models import models


@models.register("roll")
class Roll:
    """The last context frame, turned as the camera turns; its moves are ignored.

    A panorama turns exactly about the vertical, pitch is ignored. A perspective view is the part of it that stays in
    view, its border going on where it ends. view: kind of image that it takes and gives.
    """

    def __init__(self, view: View = "panorama") -> None:
        self.spec = ModelSpec("roll", control="camera", view=view, max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk."""
        path, camera, frame = self.camera_path(request), request.context.camera, request.context.clip[-1]
        start = request.context.poses[-1]
        for pose in path:
            if isinstance(camera, Panorama):
                yaws, _ = yaw_pitch_from_pose(np.stack([start, pose]))
                # Rounded, so that turns by whole pixels are just that.
                yield rolled(frame, round(math.degrees(yaws[0] - yaws[1]), 9))[None]
            else:
                yield _turned(frame, camera, start[:3, :3].T @ pose[:3, :3])[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray:
        """The poses that were asked for, all at the place of the last context frame."""
        assert request.poses is not None
        path = np.array(request.poses, np.float64)
        path[:, :3, 3] = request.context.poses[-1][:3, 3]
        return path


def _turned(frame: Frames, camera: Camera, rotation: FloatArray) -> Frames:
    """`frame` (H, W, 3) seen by a camera that is turned by `rotation` (3, 3), new to old."""
    import cv2

    rays = camera.rays() @ rotation.T
    rays[..., 2] = np.maximum(rays[..., 2], 1e-3)  # what is behind lies far beyond a border
    places, _ = camera.project(rays)
    columns = np.clip(places[..., 0] - 0.5, 0, camera.width - 1).astype(np.float32)
    rows = np.clip(places[..., 1] - 0.5, 0, camera.height - 1).astype(np.float32)
    return np.asarray(cv2.remap(frame, columns, rows, cv2.INTER_LINEAR), np.uint8)
