"""Baselines that have the recorded future: `truth` (also called `oracle`), `coarse`, `late`, `reencoded`,
`degraded`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.core.video import Clip, Writer
from worldgauge.models import models
from worldgauge.worlds import open_world
from worldgauge.worlds.recorded import RECORDED


@models.register("truth")
class TruthModel:
    """The recorded future itself: the ceiling.
    `fps`: its rate, by default the recording's. Another rate measures what frame-rate conversion alone costs."""

    name = "truth"

    def __init__(self, view: View = "perspective", fps: float | None = None) -> None:
        self.spec = ModelSpec(self.name, view=view, fps=fps, inputs=frozenset({"truth"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The recorded frames, in chunks of one."""
        if request.truth is None:
            raise NotApplicableError(f"'{self.name}' needs the recorded future, and this task has none")
        return self._shown(request.truth, request)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Poses of the recorded frames; None when they are not known."""
        return request.truth_poses

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[Frames]:
        """What is made of the recorded frames, in chunks of one."""
        return (frame[None] for frame in truth)


@models.register("oracle")
class Oracle(TruthModel):
    """`truth` under its name in closed loops: the simulator replays the plan, collisions included."""

    name = "oracle"


@models.register("coarse")
class Coarse(TruthModel):
    """The recorded future averaged down to a small size: what a perfect model of that size would score."""

    name = "coarse"

    def __init__(self, width: int = 64, height: int = 36, view: View = "perspective") -> None:
        if min(width, height) < 1:
            raise UsageError(f"coarse: {width}x{height} is no size; give width and height in pixels")
        self.spec = ModelSpec(self.name, view=view, frame_size=(width, height), inputs=frozenset({"truth"}))


@models.register("late")
class Late(TruthModel):
    """The recorded future one frame late: the last context frame, then the truth without its last frame."""

    name = "late"

    def __init__(self) -> None:
        super().__init__()

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Poses of the delayed frames; None when they are not known."""
        if request.truth_poses is None:
            return None
        return np.concatenate([request.context.path[-1:], request.truth_poses[: request.horizon - 1]])

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[Frames]:
        yield request.context.clip[-1][None]
        for frame in truth[: request.horizon - 1]:
            yield frame[None]


@models.register("reencoded")
class Reencoded(TruthModel):
    """The recorded future, encoded once as a video for browsers and read back: the ceiling of submitted videos."""

    name = "reencoded"

    def __init__(self) -> None:
        super().__init__()

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[Frames]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "truth.mp4"
            with Writer(path, fps=truth.fps, kind="viewable") as out:
                for frame in truth:
                    out.write(frame)
            for frame in Clip.open(path):
                # Odd sides were made even by one more row or column.
                yield frame[None, : truth.height, : truth.width]


GREY, SPREAD = 127.5, 64.0
"""Mean and standard deviation of the noise, in grey levels; pictures of rooms have about the same."""


@models.register("degraded")
class Degraded(TruthModel):
    """The recorded future mixed with noise: (1 - level) x truth + level x noise, in grey levels.
    The noise is equally strong at every scale, as the contrast of natural pictures is, so a level hides small and large
    things alike."""

    name = "degraded"

    def __init__(self, level: float = 0.5, view: View = "perspective") -> None:
        if not 0 <= level <= 1:
            raise UsageError(f"degraded: level is {level!r}; give a number from 0, the truth, to 1, nothing of it")
        self._level = float(level)
        self.spec = ModelSpec(
            self.name, view=view, max_context=1, inputs=frozenset({"truth"}), settings={"level": self._level}
        )

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Poses of the recorded frames; None where nothing of them is shown."""
        return None if self._level == 1 else request.truth_poses

    def _shown(self, truth: Clip, request: RolloutRequest) -> Iterator[Frames]:
        rng = np.random.default_rng(request.seed)
        return (self._mixed(frame, rng)[None] for frame in truth)

    def _mixed(self, frame: Frames, rng: np.random.Generator) -> Frames:
        if self._level == 0:
            return np.asarray(frame, np.uint8)
        noise = GREY + SPREAD * noise_of_all_scales(frame.shape[0], frame.shape[1], rng)
        mixed = np.float32(1 - self._level) * frame + np.float32(self._level) * noise
        return np.rint(mixed).clip(0, 255).astype(np.uint8)


def noise_of_all_scales(height: int, width: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Noise with equal strength at every scale: the sum of squares of 1, 2, 4, ... pixels."""
    sides = [1 << octave for octave in range(max(1, max(height, width).bit_length() - 1))]
    total = np.zeros((height, width, 3), np.float32)
    for side in sides:
        grid = rng.standard_normal((-(-height // side) + 1, -(-width // side) + 1, 3), np.float32)
        down, right = rng.integers(0, side, 2)  # so that borders of squares do not lie on each other
        squares = grid.repeat(side, axis=0)[down : down + height].repeat(side, axis=1)[:, right : right + width]
        total += squares
    return total / np.float32(np.sqrt(len(sides)))


class _Rendered:
    """A baseline that renders the true world along `camera_path`."""

    spec: ModelSpec

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Render the world along `camera_path`."""
        path = self.camera_path(request)
        if path is None or request.world is None or request.world.name == RECORDED:
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

    spec = ModelSpec("render", control="camera", inputs=frozenset({"world"}))

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The requested poses."""
        return None if request.world is None else request.poses


@models.register("drift")
class Drift(_Rendered):
    """The true world from a pose whose error grows with each frame: perfect memory, imperfect odometry.
    `step_m` and `turn_rad`: position and heading error added in each frame, in a seeded direction."""

    def __init__(self, step_m: float = 0.01, turn_rad: float = 0.001) -> None:
        self._step_m = step_m
        self._turn_rad = turn_rad
        self.spec = ModelSpec(
            "drift", control="camera", inputs=frozenset({"world"}), settings={"step_m": step_m, "turn_rad": turn_rad}
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
    `speed_mps`: None for the mean speed of the context, or 0.5 if the context is a single frame."""

    def __init__(self, speed_mps: float | None = None) -> None:
        if speed_mps is not None and not 0 <= speed_mps < np.inf:
            raise UsageError(f"ahead: speed_mps must be a speed of at least 0, got {speed_mps}")
        self._speed = speed_mps
        self.spec = ModelSpec("ahead", control="text", inputs=frozenset({"world"}), settings={"speed_mps": speed_mps})

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The last pose of the context, moved level along its heading by one step in each frame."""
        if request.world is None:
            return None
        last = request.context.path[-1]
        yaw, pitch = yaw_pitch_from_pose(last)
        step = self._metres_a_frame(request) * np.array([np.cos(yaw), np.sin(yaw), 0.0])
        return pose_from_yaw_pitch(last[:3, 3] + np.arange(1, request.horizon + 1)[:, None] * step, yaw, pitch)

    def _metres_a_frame(self, request: RolloutRequest) -> float:
        poses, fps = request.context.path, request.context.clip.fps
        if self._speed is not None or len(poses) < 2:
            return (WALKING_MPS if self._speed is None else self._speed) / fps
        return float(np.linalg.norm(poses[-1, :2, 3] - poses[0, :2, 3])) / (len(poses) - 1)
