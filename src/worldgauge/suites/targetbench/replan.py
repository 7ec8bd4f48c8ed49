"""Re-planning, the paper's future work: drive the beginning of an imagined path, look again, ask again.

Protocol `replan`, in embedded worlds. A model is asked as in protocol `once`; its path is decoded, and the robot drives
the first STRIDE_M metres of it. Then it is asked again from there, until its path leads nowhere (it considers itself
there), or all asks are used up. The first plan alone is driven as well, for comparison.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core import geometry
from worldgauge.core.episode import Captions
from worldgauge.core.errors import DataError, NotApplicableError, ShapeError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.core.image import Image
from worldgauge.core.model import ModelSpec, TellsPath, WorldModel, holds_videos
from worldgauge.core.video import Writer, resize
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.engine.suite.rollout import ROLLOUT, write_rollout
from worldgauge.perception.decoders import DecodedPath
from worldgauge.suites.targetbench.decoding import SCORED, current_frame, decode_video
from worldgauge.suites.targetbench.format.scenario import (
    Scenario,
    open_video,
    path_of_poses,
    video_frames_of,
    world_of_path,
)
from worldgauge.suites.targetbench.planners import INFORMED, default_planner
from worldgauge.suites.targetbench.protocol import ScenarioQuestion, common_facts, make_question
from worldgauge.suites.targetbench.settings import TargetSettings
from worldgauge.suites.targetbench.tasks import scenario_of
from worldgauge.worlds import open_world
from worldgauge.worlds.captions import captions_along
from worldgauge.worlds.walking.floor import FloorPlan

STRIDE_M = 1.0
"""Of each plan, before the model is asked again: about the 2 s that the history has."""
ARRIVED_M = 0.1
"""A path shorter than this leads nowhere: the model means that the robot is there."""
ARRIVED_RAD = 0.2
"""And so does a turn smaller than this; a larger one is made, and the model is asked again."""


@dataclass(frozen=True)
class PlannedLeg:
    """One plan: points (n, 2) in the world's plane, from the robot on, and headings (n,) in radians."""

    xy: FloatArray
    heading: FloatArray

    @property
    def length(self) -> float:
        """Length in metres."""
        return geometry.length(self.xy)

    @property
    def leads_nowhere(self) -> bool:
        """Whether it holds neither a path nor a turn of any size."""
        turn = np.abs(wrap_angle(self.heading - self.heading[0])).max()
        return bool(self.length < ARRIVED_M and turn < ARRIVED_RAD)

    def beginning(self, stride_m: float) -> PlannedLeg:
        """Its first `stride_m` metres; all of it where it is shorter, or only a turn."""
        along = geometry.along(self.xy)
        if along[-1] <= stride_m:
            return self
        kept = along < stride_m
        heading = np.interp(stride_m, along, np.unwrap(self.heading))
        return PlannedLeg(
            np.vstack([self.xy[kept], geometry.at(self.xy, stride_m)]), np.append(self.heading[kept], heading)
        )


def perform_replan(task: Task, model: WorldModel, task_context: TaskContext, settings: TargetSettings) -> Record:
    """Drive one scenario with a model as the planner; the record holds the drive and what was seen on it."""
    scenario = scenario_of(task, settings)
    floor = _floor_of(scenario, model, settings, built_in=task_context.is_built_in)
    trail = Trail(scenario, floor)
    asks: list[dict[str, Any]] = []
    once: dict[str, Any] | None = None
    now = task_context.directory / "now"
    for number in range(settings.asks):
        here = trail.scenario_now(now)
        path, question = _imagine(here, model, task_context, settings, task, number)
        ask: dict[str, Any] = {
            "prompt": question.prompt,
            "status": path.status,
            "reason": path.reason,
            "plan": None,
            "contact": False,
        }
        asks.append(ask)
        if path.status not in SCORED or path.xy is None:
            continue
        leg = leg_of(path, trail.pose)
        ask["plan"] = leg.xy.tolist()
        if once is None:
            whole = drive_along(floor, leg.xy)
            once = {"xy": whole.xy.tolist(), "contact": whole.contact, "status": path.status}
        if leg.leads_nowhere:
            break
        part = leg.beginning(STRIDE_M)
        driven = drive_along(floor, part.xy)
        ask["contact"] = driven.contact
        trail.go(driven.xy, float(part.heading[-1]))
    shutil.rmtree(now, ignore_errors=True)
    seen = trail.seen
    with Writer(task_context.directory / ROLLOUT, fps=trail.fps, kind="lossless") as out:
        for frame in seen:
            out.write(frame[None])
    facts = {
        **common_facts(model.spec, scenario, task_context),
        "frames_generated": len(seen),
        "fps": trail.fps,
        "resolution": list(seen[0].shape[1::-1]),
        "planner": question.planner,
        "planner_informed": question.planner in INFORMED,
        "prompt": question.prompt,
        "caption": question.request.caption,
        "context_frames_used": len(question.request.context),
        "finished_video": None,
        **question.bridge,
        "asks": asks,
        "driven": trail.driven_xy.tolist(),
        "once": once,
    }
    return Record(task, model.spec.name, task_context.directory, facts, ROLLOUT)


def leg_of(path: DecodedPath, pose: FloatArray) -> PlannedLeg:
    """Convert a decoded path to the world's plane; it begins where the camera is."""
    assert path.xy is not None
    xy = world_of_path(path.xy, pose)
    yaw = float(yaw_pitch_from_pose(pose)[0])
    if path.rotations is not None and len(path.rotations) == len(xy):
        right = np.arctan2(path.rotations[:, 0, 2], path.rotations[:, 2, 2])
        heading = yaw - right
    else:
        heading = np.full(len(xy), yaw)
    start = pose[:2, 3]
    if np.allclose(xy[0], start):
        return PlannedLeg(xy, heading)
    return PlannedLeg(np.vstack([start, xy]), np.append(yaw, heading))


def _imagine(
    here: Scenario, model: WorldModel, task_context: TaskContext, settings: TargetSettings, task: Task, number: int
) -> tuple[DecodedPath, ScenarioQuestion]:
    """The path in the video that `model` makes from where the robot is, and what it was asked."""
    question = make_question(here, model.spec, settings, seed=task_context.seed + number)
    request = replace(question.request, task=f"{task.id}.{number}")
    video = task_context.directory / "now" / "imagined.mp4"
    written = write_rollout(model, request, video, question.fps, task_context, resample=settings.resample)
    path = decode_video(
        video,
        here,
        settings,
        hfov_deg=question.hfov_deg,
        poses=written.poses,
        name=f"{task.id}.{number}",
        follows=True,
        crop=model.spec.crop,
    )
    task_context.progress(0, 0)
    return path, question


def _floor_of(scenario: Scenario, model: WorldModel, settings: TargetSettings, *, built_in: bool) -> FloorPlan:
    spec: ModelSpec = model.spec
    if holds_videos(model) or "truth" in spec.inputs:
        raise NotApplicableError(f"'{spec.name}' has one video a scenario: it cannot be asked again from another place")
    if settings.decoder == "exact" and not (built_in and isinstance(model, TellsPath)):
        raise NotApplicableError(f"'{spec.name}': decoder=exact is for built-in baselines; take decoder=sfm-global")
    if spec.control != "text" and (settings.planner or default_planner(scenario)) == "recorded":
        raise NotApplicableError("the recorded path has one start: take planner=walker, noisy, straight or still")
    world = None if scenario.world is None else open_world(scenario.world)
    floor = getattr(world, "floor", None)
    if not isinstance(floor, FloorPlan) or scenario.poses is None:
        raise NotApplicableError(f"'{scenario.id}' has no world to drive in: protocol=replan needs embedded data")
    return floor


ANCHOR_M = 0.8
"""The frame that gives a decoder its scale is the last one at least this far away (the published history has 1.1 m)."""
LEAST_SPEED_M_S = 0.3
"""Of the robot, where the history has none to go by."""


class Trail:
    """Poses and frames of one drive, the recorded history first, every `scenario.dt` seconds at the history's speed."""

    def __init__(self, scenario: Scenario, floor: FloorPlan) -> None:
        """Open the world at the scenario's current frame."""
        if scenario.world is None or scenario.poses is None or scenario.camera is None:
            raise DataError(f"{scenario.id}: nothing can be driven without a world")
        self._scenario = scenario
        self._floor = floor
        self._world = open_world(scenario.world)
        rows = scenario.history_rows + 1
        self._poses: list[FloatArray] = list(scenario.poses[:rows])
        video = open_video(scenario)
        before = video_frames_of(scenario, np.arange(rows - 1), len(video))
        current = current_frame(scenario)
        size = current.shape[1::-1]
        self._frames: list[Image] = [*(resize(frame, *size) for frame in video.take(before.tolist())), current]
        self.start = len(self._poses) - 1
        speed = scenario.anchor_distance_m / scenario.history_s if scenario.history_s > 0 else 0.0
        self._stride_m = max(speed, LEAST_SPEED_M_S) * scenario.dt

    @property
    def pose(self) -> FloatArray:
        """Current pose (4, 4) of the robot's camera."""
        return self._poses[-1]

    @property
    def driven_xy(self) -> FloatArray:
        """(n, 2) metres in the world's plane, from where the drive began to where the robot is."""
        xy: FloatArray = np.array(self._poses)[self.start :, :2, 3]
        return xy

    @property
    def seen(self) -> Sequence[Image]:
        """The frames of the drive, the scenario's current frame first; one per row, not copied."""
        return self._frames[self.start :]

    @property
    def fps(self) -> float:
        """Frames a second of `seen`."""
        return 1 / self._scenario.dt

    def go(self, xy: FloatArray, heading: float) -> None:
        """Drive from where the robot is along points (n, 2) of the world's plane; `heading` is that at the end."""
        length = float(geometry.along(xy)[-1])
        yaw, pitch = (float(angle) for angle in yaw_pitch_from_pose(self.pose))
        turn = float(wrap_angle(heading - yaw))
        rows = max(math.ceil(length / self._stride_m), math.ceil(abs(turn) / _MOST_TURN_RAD), 1)
        share = np.arange(1, rows + 1) / rows
        points = geometry.at(xy, share * length)
        rise = self._floor.height_at(points) - float(self._floor.height_at(self.pose[:2, 3]))
        height = self.pose[2, 3] + np.where(np.isfinite(rise), rise, 0.0)
        camera = self._scenario.camera
        assert camera is not None
        for pose in pose_from_yaw_pitch(np.column_stack([points, height]), yaw + share * turn, pitch):
            self._poses.append(pose)
            self._frames.append(self._world.view(pose, camera).rgb)

    def _captions(self, poses: FloatArray) -> Captions:
        """Captions along poses (n, 4, 4); none where the scenario has none."""
        scenario = self._scenario
        if not scenario.captions or scenario.camera is None:
            return ()
        return captions_along(self._world, poses, scenario.camera)

    def scenario_now(self, folder: Path) -> Scenario:
        """The scenario from here, with the drive as history and the time left; rewrites pictures and video."""
        scenario, here = self._scenario, len(self._poses) - 1
        spent_s = geometry.length(self.driven_xy) / self._stride_m * scenario.dt
        xy = np.array(self._poses)[:, :2, 3]
        apart = np.hypot(*(xy - xy[-1]).T)
        far = np.flatnonzero(apart >= ANCHOR_M)
        anchor = int(far[-1]) if len(far) else int(np.argmax(apart))
        poses = np.array(self._poses[anchor:])
        folder.mkdir(exist_ok=True)
        current, first, video = folder / "current.png", folder / "first.png", folder / "seen.mp4"
        _write_png(current, self._frames[here])
        _write_png(first, self._frames[anchor])
        with Writer(video, fps=self.fps, kind="lossless") as out:
            for frame in self._frames[anchor:]:
                out.write(frame[None])
        return replace(
            scenario,
            current_frame=current,
            first_frame=first,
            video=video,
            first_video_frame=0,
            captions=self._captions(poses),
            poses=poses,
            path_xy=path_of_poses(poses, here - anchor),
            horizon_s=max(0.0, scenario.horizon_s - spent_s),
            history_rows=here - anchor,
            history_s=(here - anchor) * scenario.dt,
            anchor_distance_m=float(np.hypot(*(poses[-1] - poses[0])[:2, 3])),
        )


_MOST_TURN_RAD = 0.08
"""In one row: 115 degrees a second."""


def _write_png(path: Path, frame: Image) -> None:
    import cv2

    if not cv2.imwrite(str(path), frame[..., ::-1]):
        raise DataError(f"{path}: cannot be written")


RADIUS_M = 0.2
"""Half the width of the robot (a quadruped of the size that the paper used)."""
STEP_M = 0.02
"""Between two tests for contact."""


@dataclass(frozen=True)
class DrivenPath:
    """The outcome of a plan; `xy` (n, 2) metres is the robot's place at the requested times."""

    xy: FloatArray
    contact: bool


def drive_along(floor: FloorPlan, xy: ArrayLike, radius_m: float = RADIUS_M) -> DrivenPath:
    """Follow points (n, 2) in straight lines: places (n, 2), and whether the robot touched anything and stopped.

    A start without room (a plan may begin next to a wall) may leave, but not go deeper.
    """
    points = np.asarray(xy, np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0 or not np.isfinite(points).all():
        raise ShapeError(f"a plan to drive needs (n, 2) finite points, n >= 1, got shape {points.shape}")
    reached = points.copy()
    room = float(floor.clearance_at(points[0]))
    for k in range(1, len(points)):
        start, end = reached[k - 1], points[k]
        steps = max(1, math.ceil(float(np.hypot(*(end - start))) / STEP_M))
        way = start + (end - start) * (np.arange(1, steps + 1) / steps)[:, None]
        clear = floor.clearance_at(way)
        # Never less room than the radius, or than there was before where it began with less.
        least = np.minimum(radius_m, np.maximum.accumulate(np.concatenate([[room], clear]))[:-1])
        stopped = np.flatnonzero(clear < least - 1e-9)
        if len(stopped):
            last = way[stopped[0] - 1] if stopped[0] else start
            reached[k:] = last
            return DrivenPath(reached, True)
        reached[k] = end
        room = float(max(room, clear.max()))
    return DrivenPath(reached, False)
