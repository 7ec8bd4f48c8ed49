"""One frame and a sentence, then a video: what each kind of model is given, and what is kept of its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from worldgauge.core.episode import Context
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.geometry import Camera
from worldgauge.core.model import HoldsVideos, ModelSpec, RolloutRequest, WorldModel, holds_videos
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.engine.suite.rollout import (
    RateBridge,
    copy_video,
    crop_camera,
    fit_context,
    fit_truth,
    run_rollout,
    takes_rate,
)
from worldgauge.suites.targetbench.decoding import history, rows_after, truth_at
from worldgauge.suites.targetbench.format.scenario import Scenario
from worldgauge.suites.targetbench.planners import INFORMED, current_pose, default_planner, plan_for, poses_at, steps_of
from worldgauge.suites.targetbench.settings import TargetSettings, template_of
from worldgauge.suites.targetbench.tasks import scenario_of

ASSUMED_HFOV_DEG = 80.0
"""Horizontal field of view that models are given where the real one is unknown."""
FEWEST_FRAMES = 2


class ScenarioQuestion(NamedTuple):
    """The request to one model, at `fps` frames per second.

    `hfov_deg` is that of the context's frames, `planner` None if the model plans itself, and `bridge` the fact of
    frame-rate conversion, else empty.
    """

    request: RolloutRequest
    fps: float
    hfov_deg: float | None
    planner: str | None
    prompt: str
    bridge: Mapping[str, Any]


def perform(task: Task, model: WorldModel, task_context: TaskContext, settings: TargetSettings) -> Record:
    """Request a video of one scenario (stored lossless), or copy the model's finished one as it is."""
    scenario = scenario_of(task, settings)
    if holds_videos(model):
        return _finished(task, model, model.spec, scenario, task_context, settings)
    question = make_question(scenario, model.spec, settings, seed=task_context.seed)
    request = replace(question.request, task=task.id)
    answer = run_rollout(model, request, question.fps, task_context, resample=settings.resample)
    template = template_of(settings.prompt)
    facts: dict[str, Any] = {
        **common_facts(model.spec, scenario, task_context),
        **answer.facts,
        **question.bridge,
        "hfov_deg": question.hfov_deg,
        "context_frames_used": len(request.context),
        "caption": request.caption,
        "planner": question.planner,
        "planner_informed": question.planner in INFORMED,
        "prompt": question.prompt,
        "prompt_template": {"name": template.name, "digest": template.digest},
    }
    return Record(task, model.spec.name, task_context.directory, facts, answer.rollout)


def make_question(scenario: Scenario, spec: ModelSpec, settings: TargetSettings, *, seed: int) -> ScenarioQuestion:
    """Make the question to a model: the current frame, and the future in the form it takes."""
    if scenario.unasked:
        raise DataError(f"{scenario.id}: {scenario.unasked}")
    if spec.view != "perspective":
        raise NotApplicableError(f"'{spec.name}' draws panoramas; the frames of target are perspective views")
    fps = _rate(scenario, spec, settings)
    horizon = round(settings.horizon_s * fps)
    if horizon < FEWEST_FRAMES:
        raise NotApplicableError(f"'{spec.name}' runs at {fps:g} frames/s: {settings.horizon_s:g} s are no video")
    context, hfov_deg = _context(scenario, spec, settings, fps)
    name = None if spec.control == "text" else settings.planner or default_planner(scenario)
    planned = None if name is None else plan_for(scenario, name, horizon, fps, seed)
    prompt = template_of(settings.prompt).filled(scenario.target_text, settings.horizon_s)
    wants_truth = "truth" in spec.inputs and scenario.video is not None
    request = RolloutRequest(
        context,
        horizon=horizon,
        seed=seed,
        actions=None if planned is None else steps_of(planned, context.path[-1], fps),
        poses=planned,
        text=prompt,
        caption=scenario.caption_at((len(context) - 1) / context.clip.fps) or scenario.target_text,
        world=scenario.world if "world" in spec.inputs else None,
        truth=fit_truth(truth_at(scenario, horizon, fps), spec) if wants_truth else None,
        truth_poses=poses_at(scenario, rows_after(scenario, horizon, fps).astype(np.float64) * scenario.dt)
        if wants_truth and scenario.poses is not None
        else None,
    )
    # A model that is given the truth follows no planner.
    planner = None if "truth" in spec.inputs else name
    return ScenarioQuestion(request, fps, hfov_deg, planner, prompt, _bridge(scenario, spec, settings, fps, horizon))


def _finished(
    task: Task,
    model: HoldsVideos,
    spec: ModelSpec,
    scenario: Scenario,
    task_context: TaskContext,
    settings: TargetSettings,
) -> Record:
    """A video that somebody has made already, copied unchanged."""
    fps = _rate(scenario, spec, settings)
    answer = copy_video(model, spec, task.id, task_context, fps, fewest=FEWEST_FRAMES)
    facts: dict[str, Any] = {
        **common_facts(spec, scenario, task_context),
        **answer.facts,
        "hfov_deg": None if scenario.camera is None else crop_camera(scenario.camera, answer.clip).hfov_deg,
        "context_frames_used": None,
        "planner": None,
        "planner_informed": False,
        "prompt": None,
        "prompt_template": None,
    }
    return Record(task, spec.name, task_context.directory, facts, answer.rollout)


def common_facts(spec: ModelSpec, scenario: Scenario, task_context: TaskContext) -> dict[str, Any]:
    """Collect what is stored with every answer, whatever the protocol."""
    return {
        "control": spec.control,
        "inputs": sorted(spec.inputs),
        "crop": list(spec.crop) if spec.crop else None,
        "seed": task_context.seed,
        "horizon_s": scenario.horizon_s,
        "target_text": scenario.target_text,
        "warnings": list(scenario.warnings),
    }


def rates_of(scenario: Scenario, settings: TargetSettings) -> frozenset[float]:
    """Frames a second of the recording, and of what is asked where settings name another rate."""
    recorded = _recorded_rate(scenario)
    return frozenset({recorded, float(settings.fps or recorded)})


def _rate(scenario: Scenario, spec: ModelSpec, settings: TargetSettings) -> float:
    """Frames a second: asked for, the model's own, or the recording's."""
    return float(settings.fps or spec.fps or _recorded_rate(scenario))


def _recorded_rate(scenario: Scenario) -> float:
    return round(1 / scenario.dt, 3)


def _bridge(scenario: Scenario, spec: ModelSpec, settings: TargetSettings, fps: float, horizon: int) -> dict[str, Any]:
    """The fact "bridge". A video at the model's own rate is judged as it is, since paths are compared by time."""
    bridge = RateBridge.to(spec, fps, horizon, settings.resample)
    if bridge is not None:
        return {"bridge": bridge.facts}
    recorded = _recorded_rate(scenario)
    if takes_rate(spec, recorded):
        return {}
    rates = {"own_fps": spec.fps, "fps": recorded, "resample": None}
    return {"bridge": {**rates, "frames_asked": horizon, "never_imagined": 0}}


def _context(scenario: Scenario, spec: ModelSpec, settings: TargetSettings, fps: float) -> tuple[Context, float | None]:
    """The context and its frames' field of view; privileged baselines get the whole history, nothing new to them."""
    count = math.ceil(scenario.history_s * fps) + 1 if spec.privileged else settings.context
    count = count if spec.max_context is None else min(count, spec.max_context)
    clip, times = history(scenario, count, fps)
    if scenario.camera is not None:
        camera = scenario.camera.resized(clip.width, clip.height)
    else:
        camera = Camera.from_horizontal_fov(clip.width, clip.height, ASSUMED_HFOV_DEG)
    poses = poses_at(scenario, times)
    poses[-1] = current_pose(scenario)
    whole = Context(clip, poses, steps_of(poses[1:], poses[0], fps), camera)
    context = fit_context(whole, spec, None, scenario.world)
    hfov_deg = None if scenario.camera is None else context.camera.hfov_deg
    return context, hfov_deg
