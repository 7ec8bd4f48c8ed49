"""Re-planning, the paper's future work: drive the beginning of an imagined path, look again, ask again.

Protocol `replan`, in embedded worlds. A model is asked as in protocol `once`; its path is decoded, and the robot drives
the first STRIDE_M metres of it. Then it is asked again from there, until its path leads nowhere (it means to be there),
or all asks are used up. What the first plan alone would have come to is driven beside it, for comparison.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from worldgauge.core import polyline
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray, wrap_angle, yaw_pitch_from_pose
from worldgauge.core.model import HoldsVideos, ModelSpec, TellsPath, WorldModel
from worldgauge.core.video import Writer
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.engine.suite.rollout import ROLLOUT, write_rollout
from worldgauge.perception.decoders import DecodedPath
from worldgauge.suites.target.decoding import SCORED, decode_video
from worldgauge.suites.target.format.coordinates import world_of_path
from worldgauge.suites.target.format.scenario import Scenario
from worldgauge.suites.target.protocol import Question, common_facts, make_question
from worldgauge.suites.target.replan.driving import drive
from worldgauge.suites.target.replan.planners import INFORMED, default_planner
from worldgauge.suites.target.replan.trail import Trail
from worldgauge.suites.target.settings import Settings
from worldgauge.suites.target.tasks import scenario_of
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.floor import FloorPlan

STRIDE_M = 1.0
"""Of each plan, before the model is asked again: about the 2 s that the history has."""
ARRIVED_M = 0.1
"""A path shorter than this leads nowhere: the model means that the robot is there."""
ARRIVED_RAD = 0.2
"""And so does a turn smaller than this; a larger one is made, and the model is asked again."""


@dataclass(frozen=True)
class Leg:
    """One plan. xy: (n, 2) metres of the world's plane, from the robot on. heading: (n,) radians, of the world."""

    xy: FloatArray
    heading: FloatArray

    @property
    def length(self) -> float:
        """Metres."""
        return polyline.length(self.xy)

    @property
    def leads_nowhere(self) -> bool:
        """Whether neither a way nor a turn of any size is in it."""
        turn = np.abs(wrap_angle(self.heading - self.heading[0])).max()
        return bool(self.length < ARRIVED_M and turn < ARRIVED_RAD)

    def beginning(self, stride_m: float) -> Leg:
        """Its first `stride_m` metres; all of it where it is shorter, or only a turn."""
        along = polyline.along(self.xy)
        if along[-1] <= stride_m:
            return self
        kept = along < stride_m
        heading = np.interp(stride_m, along, np.unwrap(self.heading))
        return Leg(np.vstack([self.xy[kept], polyline.at(self.xy, stride_m)]), np.append(self.heading[kept], heading))


def perform_replan(task: Task, subject: WorldModel, task_context: TaskContext, settings: Settings) -> Record:
    """Drive one scenario with `subject` as the planner; the record holds the drive and what was seen on it.

    Raises NotApplicableError for finished videos, for models that want the recorded future, for the planner
    `recorded`, and for data without a world to drive in; SubjectError when the model breaks its promise.
    """
    scenario = scenario_of(task, settings)
    floor = _floor_of(scenario, subject, settings)
    trail = Trail(scenario, floor)
    asks: list[dict[str, Any]] = []
    once: dict[str, Any] | None = None
    now = task_context.directory / "now"
    for number in range(settings.asks):
        here = trail.question_from(now)
        path, question = _imagine(here, subject, task_context, settings, task, number)
        told: dict[str, Any] = {
            "prompt": question.prompt,
            "status": path.status,
            "reason": path.reason,
            "plan": None,
            "contact": False,
        }
        asks.append(told)
        if path.status not in SCORED or path.xy is None:
            continue
        leg = leg_of(path, trail.pose)
        told["plan"] = leg.xy.tolist()
        if once is None:
            whole = drive(floor, leg.xy)
            once = {"xy": whole.xy.tolist(), "contact": whole.contact, "status": path.status}
        if leg.leads_nowhere:
            break
        part = leg.beginning(STRIDE_M)
        driven = drive(floor, part.xy)
        told["contact"] = driven.contact
        trail.go(driven.xy, float(part.heading[-1]))
    shutil.rmtree(now, ignore_errors=True)
    seen = trail.seen
    with Writer(task_context.directory / ROLLOUT, fps=trail.fps, kind="lossless") as out:
        for frame in seen:
            out.write(frame[None])
    facts = {
        **common_facts(subject.spec, scenario, task_context),
        "frames_generated": len(seen),
        "fps": trail.fps,
        "resolution": list(seen[0].shape[1::-1]),
        "planner": question.planner,
        "planner_informed": question.planner in INFORMED,
        "prompt": question.prompt,
        "context_frames_used": len(question.request.context),
        "finished_video": None,
        "asks": asks,
        "driven": trail.driven_xy.tolist(),
        "once": once,
    }
    return Record(task, subject.spec.name, task_context.directory, facts, ROLLOUT)


def leg_of(path: DecodedPath, pose: FloatArray) -> Leg:
    """A decoded path as seen from camera `pose` (4, 4), in the world's plane; it begins where the camera is."""
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
        return Leg(xy, heading)
    return Leg(np.vstack([start, xy]), np.append(yaw, heading))


def _imagine(
    here: Scenario, subject: WorldModel, task_context: TaskContext, settings: Settings, task: Task, number: int
) -> tuple[DecodedPath, Question]:
    """The path in the video that `subject` makes from where the robot is, and what it was asked."""
    question = make_question(here, subject.spec, settings, seed=task_context.seed + number)
    request = replace(question.request, task=f"{task.id}.{number}")
    video = task_context.directory / "now" / "imagined.mp4"
    poses = write_rollout(subject, request, video, question.fps, task_context)
    path = decode_video(
        video,
        here,
        settings,
        hfov_deg=question.hfov_deg,
        poses=poses,
        name=f"{task.id}.{number}",
        follows=True,
        crop=subject.spec.crop,
    )
    task_context.progress(0, 0)
    return path, question


def _floor_of(scenario: Scenario, subject: WorldModel, settings: Settings) -> FloorPlan:
    spec: ModelSpec = subject.spec
    if isinstance(subject, HoldsVideos) or "truth" in spec.inputs:
        raise NotApplicableError(f"'{spec.name}' has one video a scenario: it cannot be asked again from another place")
    if settings.decoder == "exact" and not isinstance(subject, TellsPath):
        raise NotApplicableError(f"'{spec.name}' does not tell where its camera is: take decoder=sfm-global")
    if spec.control != "text" and (settings.planner or default_planner(scenario)) == "recorded":
        raise NotApplicableError("the recorded path has one start: take planner=walker, noisy, straight or still")
    world = None if scenario.world is None else open_world(scenario.world)
    floor = getattr(world, "floor", None)
    if not isinstance(floor, FloorPlan) or scenario.poses is None:
        raise NotApplicableError(f"'{scenario.id}' has no world to drive in: protocol=replan needs embedded data")
    return floor
