"""References that know the world and render it: `render`, `drift`, `ahead`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.worlds import open_world


class _Rendered:
    """A reference that renders the true world along `camera_path`."""

    spec: ModelSpec

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Render the world along `camera_path`.

        Yields:
            `horizon` frames, each (1, H, W, 3).
        """
        path = self.camera_path(request)
        if path is None or request.world is None:
            raise NotApplicableError(
                f"'{self.spec.name}' needs a world that can be rendered; published recordings have none"
            )
        world = open_world(request.world)
        return (world.view(pose, request.context.camera).rgb[None] for pose in path)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The poses (horizon, 4, 4) from which it renders; None where it cannot."""
        raise NotImplementedError


@models.register("render")
class Render(_Rendered):
    """The true world from the requested poses; what can still go wrong is the plan and how it is read."""

    def __init__(self) -> None:
        self.spec = ModelSpec("render", control="camera", inputs=frozenset({"world"}))

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The requested poses."""
        return None if request.world is None else request.poses


@models.register("drift")
class Drift(_Rendered):
    """The true world from a pose whose error grows with each frame: perfect memory, imperfect odometry.

    Args:
        step_m: Metres of position error added in each frame, in one seeded direction of the plane.
        turn_rad: Radians of heading error added in each frame, to a seeded side.
    """

    def __init__(self, step_m: float = 0.01, turn_rad: float = 0.001) -> None:
        self._step_m = step_m
        self._turn_rad = turn_rad
        self.spec = ModelSpec(
            "drift",
            control="camera",
            inputs=frozenset({"world"}),
            settings={"step_m": step_m, "turn_rad": turn_rad},
        )

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The poses from which it renders, with their error."""
        if request.world is None or request.poses is None:
            return None
        rng = np.random.default_rng(request.seed)
        direction = rng.uniform(-np.pi, np.pi)
        side = rng.choice([-1.0, 1.0])
        yaw, pitch = yaw_pitch_from_pose(request.poses)
        grown = np.arange(1, request.horizon + 1)
        offset = self._step_m * np.array([np.cos(direction), np.sin(direction), 0.0])
        positions = request.poses[:, :3, 3] + grown[:, None] * offset
        return pose_from_yaw_pitch(positions, yaw + side * self._turn_rad * grown, pitch)


WALKING_MPS = 0.5
"""Walking speed of a legged robot, for a context of one frame, which has no speed."""


@models.register("ahead")
class Ahead(_Rendered):
    """The true world, seen while walking straight ahead through any obstacle.

    Args:
        speed_mps: Metres per second; None keeps the mean speed of the context, or 0.5 when the context is a single
            frame.
    """

    def __init__(self, speed_mps: float | None = None) -> None:
        if speed_mps is not None and not 0 <= speed_mps < np.inf:
            raise UsageError(f"ahead: speed_mps must be a speed of at least 0, got {speed_mps}")
        self._speed = speed_mps
        self.spec = ModelSpec("ahead", control="text", inputs=frozenset({"world"}), settings={"speed_mps": speed_mps})

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The last pose of the context, moved level along its heading by one step in each frame."""
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
