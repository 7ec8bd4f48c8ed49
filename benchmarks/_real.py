"""Real changes of a video: a world model that makes them is worse."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks._harmless import Video
from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.io import dumps, loads
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.models import models
from worldgauge.models.baselines.forgetful import SEED_STEP
from worldgauge.models.baselines.trivial import mean_frame
from worldgauge.suites.worldinworld.models import WrongAction, mirrored
from worldgauge.worlds import World, open_world
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.tabletop.pose_plans import as_actions, from_actions
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import GROUND, LIQUID


@lru_cache(maxsize=16)
def _emptied(name: str, params: str, one_of: int) -> World:
    """The world without every `one_of`th object."""
    world = open_world(WorldFacts(name, loads(params)))
    if isinstance(world, Voxel):
        cells = world.voxels
        gone = (cells.instances > 0) & (cells.instances % one_of == 0) & ~(GROUND | LIQUID)[cells.states]
        left = np.where(gone, 0, cells.states).astype(np.uint8)
        return type(world).from_cells(replace(cells, states=left, instances=np.where(gone, 0, cells.instances)))
    if isinstance(world, Home):
        boxes = world.plan.boxes
        empty = copy.copy(world)
        empty.__dict__.pop("scene", None)
        empty.plan = replace(world.plan, boxes=boxes.kept((boxes.instance == 0) | (boxes.instance % one_of != 0)))
        return empty
    raise NotApplicableError(f"objects cannot be removed from the world '{name}'")


def _along(request: RolloutRequest) -> FloatArray:
    path = request.poses if request.truth_poses is None else request.truth_poses
    if path is None or request.world is None:
        raise NotApplicableError("this change needs a world that can be rendered")
    return path


def _without(request: RolloutRequest, one_of: int) -> Video:
    path = _along(request)
    assert request.world is not None
    world = _emptied(request.world.name, dumps(dict(request.world.params)), one_of)
    return np.stack([world.view(pose, request.context.camera).rgb for pose in path])


def _moved(request: RolloutRequest, aside_m: float = 0.0, turn_deg: float = 0.0) -> Video:
    path = _along(request)
    yaw, pitch = yaw_pitch_from_pose(path)
    poses = pose_from_yaw_pitch(path[:, :3, 3] + aside_m * path[:, :3, 0], yaw + np.radians(turn_deg), pitch)
    assert request.world is not None
    world = open_world(request.world)
    return np.stack([world.view(pose, request.context.camera).rgb for pose in poses])


def _repeated(frame: Callable[[RolloutRequest], Any]) -> Callable[[RolloutRequest], Video]:
    return lambda request: np.repeat(np.asarray(frame(request), np.uint8)[None], request.horizon, axis=0)


def _painted(request: RolloutRequest) -> Video:
    """The mean colour of each half of the last context frame, the upper and the lower one."""
    frame = request.context.clip[-1].copy()
    half = len(frame) // 2
    frame[:half], frame[half:] = (np.rint(part.mean((0, 1))) for part in (frame[:half], frame[half:]))
    return frame


def _true(request: RolloutRequest) -> Video:
    if request.truth is None:
        raise NotApplicableError("this change needs the recorded future")
    return np.stack(list(request.truth))


def _late(request: RolloutRequest) -> Video:
    second = round(request.context.clip.fps)
    context = np.stack(list(request.context.last(second).clip))
    before = np.concatenate([np.repeat(context[:1], second - len(context), axis=0), context])
    return np.concatenate([before, _true(request)])[: request.horizon]


def _elsewhere(request: RolloutRequest) -> Video:
    if request.world is not None and request.world.name == "tabletop":
        return _other_table(request)
    return np.concatenate(list(models.get("forgetful")().rollout(replace(request, poses=_along(request)))))


def _other_table(request: RolloutRequest) -> Video:
    """The plan at a table of the same task where things lie elsewhere, from that table's start."""
    assert request.world is not None
    assert request.actions is not None
    own = request.world.params
    other = {"task": own["task"], "variation": own["variation"], "seed": int(own["seed"]) + SEED_STEP}
    # `wrong-action` mirrors the poses: mirrored twice, they are the plan's.
    poses = as_actions(np.stack([mirrored(pose) for pose in from_actions(request.actions)]))
    there = replace(request, world=WorldFacts("tabletop", other), actions=poses)
    return np.concatenate(list(WrongAction().rollout(there)))


def _noise(request: RolloutRequest) -> Video:
    return np.concatenate(list(models.get("noise")().rollout(request)))


REAL: dict[str, Callable[[RolloutRequest], Video]] = {
    "frozen": _repeated(lambda request: request.context.clip[-1]),
    "another world": _elsewhere,
    "no objects": partial(_without, one_of=1),
    "turned 30°": partial(_moved, turn_deg=30),
    "2 m aside": partial(_moved, aside_m=2),
    "mirrored": lambda request: _true(request)[:, :, ::-1],
    "1 s late": _late,
    "flat paint": _repeated(_painted),
    "mean frame": _repeated(lambda request: np.rint(mean_frame(request.context.clip))),
    "only noise": _noise,
}
"""Each takes a request and returns (T, H, W, 3). Views from elsewhere and without objects are rendered, not warped."""
SHOWN_ONLY: dict[str, Callable[[RolloutRequest], Video]] = {
    "a third of objects gone": partial(_without, one_of=3),
    "turned 15°": partial(_moved, turn_deg=15),
}
"""Reported, not counted: how much of them is too much is a matter of taste."""


class Wrong:
    """The ground truth with a real change: `benchmarks/_real.py:Wrong?change=mirrored`.

    Args:
        change: A name of REAL or SHOWN_ONLY.
        view: Kind of image that it returns, "perspective" or "panorama".

    Attributes:
        needs_all_frames: Whether a frame of a rollout looks different when it is requested alone.
    """

    def __init__(self, change: str, view: View = "perspective") -> None:
        self._change = (REAL | SHOWN_ONLY)[change]
        self.needs_all_frames = change == "another world"  # An arm takes one pose after the other.
        self.spec = ModelSpec(
            change, view=view, inputs=frozenset({"truth", "world"}), settings={"change": change, "view": view}
        )

    def rollout(self, request: RolloutRequest) -> Iterator[Video]:
        """The changed frames, as one video."""
        yield self._change(request)
