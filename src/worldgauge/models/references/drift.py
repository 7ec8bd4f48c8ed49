"""`drift`: knows the place perfectly but loses track of where it stands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.worlds import open_world


@models.register("drift")
class Drift:
    """The true world from a pose whose error grows by the frame: perfect memory, imperfect odometry.

    step_m: metres of position error added a frame, in one seeded direction of the plane.
    turn_rad: radians of heading error added a frame, to a seeded side.
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

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Frame t rendered at the true pose moved by (t + 1) steps of error."""
        path = self.camera_path(request)
        if path is None or request.world is None:
            raise NotApplicableError("'drift' needs a world that can be rendered; published recordings have none")
        world = open_world(request.world)
        return (world.view(pose, request.context.camera).rgb[None] for pose in path)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Where it really looks from."""
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
