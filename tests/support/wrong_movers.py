"""Models that draw the true world and move wrongly in it: with made-up gains, signs, delays, or not at all."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import numpy as np

from worldgauge.core.geometry import pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.worlds import open_world

NAMES = ("forward", "left", "up", "yaw", "pitch")
OPPOSITE = {"forward": "back", "left": "right", "yaw": "yaw_right", "pitch": "pitch_down", "up": "down"}
POSITIVE = {"forward": "forward", "left": "left", "yaw": "yaw_left", "pitch": "pitch_up", "up": "up"}


class WrongMover:
    """The true world, seen by a camera that does `gains` times what it is asked, `delay` frames late.

    Args:
        gains: Factor of each control; 1 for those that are left out, 0 for those that it ignores.
        control: "camera", "actions" or "text", of which it reads nothing but that.
        delay: Frames.
        fixed_m: Metres a frame of any walk, and half a degree a millimetre of it of any turn, whatever speed is asked.
        drift_m: Metres forward in each frame, whatever is asked.
        diagonal: Factor on what is asked while two things are asked at once.
        noise: Frames of noise instead of the world.
        leak: Radians of yaw for each metre forward.
        size: Width and height of its frames.
        lengths: As `ModelSpec.lengths`.
        fps: Its rate.
    """

    def __init__(
        self,
        gains: Mapping[str, float] | None = None,
        control: str = "camera",
        delay: int = 0,
        fixed_m: float = 0.0,
        drift_m: float = 0.0,
        diagonal: float = 1.0,
        noise: bool = False,
        leak: float = 0.0,
        size: tuple[int, int] | None = None,
        lengths: str | None = None,
        fps: float | None = None,
    ) -> None:
        given = dict(gains or {})
        self.gains, self.delay, self.fixed_m, self.drift_m = given, delay, fixed_m, drift_m
        self.diagonal, self.noise, self.leak = diagonal, noise, leak
        settings = {"gains": given, "delay": delay, "fixed_m": fixed_m, "drift_m": drift_m, "noise": noise}
        self.spec = ModelSpec(
            "wrong-mover",
            control=control,  # type: ignore[arg-type]
            inputs=frozenset({"world"}),
            frame_size=None if size is None else (size[0], size[1]),
            settings={**settings, "diagonal": diagonal, "leak": leak, "digest": "wrong-mover"},
            lengths=lengths,
            fps=fps,
        )

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        if self.noise:
            size = (1, request.context.camera.height, request.context.camera.width, 3)
            rng = np.random.default_rng(request.seed)
            yield from (rng.integers(0, 256, size, np.uint8) for _ in range(request.horizon))
            return
        assert request.world is not None
        world = open_world(request.world)
        for pose in self.camera_path(request):
            yield world.view(pose, request.context.camera).rgb[None]

    def camera_path(self, request: RolloutRequest) -> np.ndarray:
        moves = self._asked(request)
        moves = np.concatenate([np.zeros((self.delay, 5)), moves])[: request.horizon]
        pose = request.context.poses[-1]
        yaw, pitch = (float(angle) for angle in yaw_pitch_from_pose(pose))
        x, y, z = pose[:3, 3]
        path = []
        for move in moves.tolist():
            forward, left, up, turn, tilt = self._done(dict(zip(NAMES, move, strict=True)))
            x += forward * math.cos(yaw) - left * math.sin(yaw)
            y += forward * math.sin(yaw) + left * math.cos(yaw)
            z, yaw, pitch = z + up, yaw + turn, pitch + tilt
            path.append(pose_from_yaw_pitch((x, y, z), yaw, pitch))
        return np.stack(path)

    def _asked(self, request: RolloutRequest) -> np.ndarray:
        """Moves (horizon, 5) in the frame of the walker."""
        if request.actions is not None and self.spec.control == "actions":
            told = np.array([axis.motion for axis in request.actions.space.axes])
            return request.actions.values.astype(float) @ told
        if self.spec.control == "text":
            return self._read(str(request.text), request.horizon, request.context.clip.fps)
        every = np.concatenate([request.context.poses[-1:], request.poses])
        yaw, pitch = yaw_pitch_from_pose(every)
        moves = np.zeros((len(every) - 1, 5))
        for t in range(len(moves)):
            step = every[t + 1, :3, 3] - every[t, :3, 3]
            c, s = math.cos(yaw[t]), math.sin(yaw[t])
            turn = (yaw[t + 1] - yaw[t] + math.pi) % (2 * math.pi) - math.pi
            moves[t] = (step[0] * c + step[1] * s, step[1] * c - step[0] * s, step[2], turn, pitch[t + 1] - pitch[t])
        return moves

    def _read(self, text: str, horizon: int, fps: float) -> np.ndarray:
        """Moves of sentences: the seconds in which it is to stand are as told, all else takes the time that is left."""
        told = re.split(r", then |\. ", text.lower().removesuffix("."))
        found = [re.fullmatch(r"(walk|step|turn|look|stand) (\w+)(?: for)? ([\d.]+) \w+", one) for one in told]
        assert all(found), text
        clauses = [one.groups() for one in found if one is not None]
        standing = [round(float(amount) * fps) if verb == "stand" else 0 for verb, _, amount in clauses]
        moving = sum(verb != "stand" for verb, *_ in clauses)
        moves, at = np.zeros((horizon, 5)), 0
        for (verb, way, amount), still in zip(clauses, standing, strict=True):
            if verb == "stand":
                at += still
                continue
            frames = (horizon - sum(standing)) // moving
            column = {"walk": 0, "step": 1, "turn": 3, "look": 4}[verb]
            whole = float(amount) if column < 2 else math.radians(float(amount))
            moves[at : at + frames, column] = whole / frames * (1 if way in ("forward", "left", "up") else -1)
            at += frames
        return moves

    def _done(self, move: dict[str, float]) -> list[float]:
        several = sum(abs(amount) > 1e-9 for amount in move.values()) > 1
        done = {}
        for name, amount in move.items():
            key = (POSITIVE if amount > 0 else OPPOSITE)[name]
            size = amount
            if self.fixed_m and abs(amount) > 1e-9:
                fixed = self.fixed_m if name in NAMES[:3] else math.radians(500 * self.fixed_m)
                size = math.copysign(fixed, amount)
            done[name] = size * self.gains.get(key, 1.0) * (self.diagonal if several else 1.0)
        done["yaw"] += self.leak * done["forward"]
        done["forward"] += self.drift_m
        return [done[name] for name in NAMES]
