"""`ahead`: goes straight on, whatever it is told. A plan that reads no words must do better."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.worlds import open_world

WALKING_MPS = 0.5
"""Speed of a legged robot at a walk, for a context of one frame, which has none."""


@models.register("ahead")
class Ahead:
    """The true world seen while walking straight ahead, through whatever stands there.

    speed_mps: metres a second; None keeps the mean speed of the context, and takes 0.5 where that is a single frame.
    """

    def __init__(self, speed_mps: float | None = None) -> None:
        if speed_mps is not None and not 0 <= speed_mps < np.inf:
            raise UsageError(f"ahead: speed_mps must be a speed of at least 0, got {speed_mps}")
        self._speed = speed_mps
        self.spec = ModelSpec("ahead", control="text", inputs=frozenset({"world"}), settings={"speed_mps": speed_mps})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk. Raises NotApplicableError without a world."""
        path = self.camera_path(request)
        if path is None or request.world is None:
            raise NotApplicableError("'ahead' needs a world that can be rendered; published recordings have none")
        world = open_world(request.world)
        return (world.view(pose, request.context.camera).rgb[None] for pose in path)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The last pose of the context moved along its heading, level, by one step a frame."""
        if request.world is None:
            return None
        last = request.context.poses[-1]
        yaw, pitch = yaw_pitch_from_pose(last)
        step = self._metres_a_frame(request) * np.array([np.cos(yaw), np.sin(yaw), 0.0])
        return pose_from_yaw_pitch(last[:3, 3] + np.arange(1, request.horizon + 1)[:, None] * step, yaw, pitch)

    def _metres_a_frame(self, request: RolloutRequest) -> float:
        poses, fps = request.context.poses, request.context.clip.fps
        if self._speed is not None or len(poses) < 2:
            return (WALKING_MPS if self._speed is None else self._speed) / fps
        return float(np.linalg.norm(poses[-1, :2, 3] - poses[0, :2, 3])) / (len(poses) - 1)
