"""Explore, then generate: what the model is shown and what it is asked for (paper section 4.1).

Trial questions have the same form, about a loop in an embedded settlement.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions, describe
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.model import ModelSpec, RolloutRequest, WorldModel
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.engine.suite.rollout import ROLLOUT, caption_for, fit_context, fit_truth, write_rollout
from worldgauge.engine.suite.trial_questions import WalkQuestions
from worldgauge.suites.loopnav.format import aligned_actions
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.suites.loopnav.walks import VoxelSite, record_loop
from worldgauge.worlds import open_world
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.world import VERTICAL_FOV_DEG


def perform(task: Task, model: WorldModel, task_context: TaskContext, settings: LoopNavSettings) -> Record:
    """Run a model on one loop and store its frames lossless in the record's folder."""
    episode, start = episode_of(task)
    request = replace(make_request(episode, start, model.spec, settings, seed=task_context.seed), task=task.id)
    video = task_context.directory / ROLLOUT
    written = write_rollout(model, request, video, episode.clip.fps, task_context, resample=settings.resample)
    width, height = request.frame_size
    facts: dict[str, Any] = {
        "frames": len(episode),
        "generated_from": start,
        "frames_generated": written.frames,
        "context_frames_used": len(request.context),
        "control": model.spec.control,
        "inputs": sorted(model.spec.inputs),
        "crop": list(model.spec.crop) if model.spec.crop else None,
        "caption": request.caption,
        "resolution": [width, height],
        "seed": task_context.seed,
        "flags": list(task.sample["flags"]),
        **written.facts,
    }
    return Record(task, model.spec.name, task_context.directory, facts, ROLLOUT)


def _place_caption(episode: Episode) -> str:
    """The scene of a published loop, from the name of its place."""
    return Voxel.describe(str(episode.facts.get("location", "")).partition("_village_")[0])


def make_request(
    episode: Episode, start: int, spec: ModelSpec, settings: LoopNavSettings, *, seed: int
) -> RolloutRequest:
    """The request to a model: frames [0, start), cut to what fits, and the controls of the requested frames."""
    if spec.view != "perspective":
        raise NotApplicableError(f"'{spec.name}' draws panoramas; the recordings of loopnav are perspective views")
    context = fit_context(episode.context(0, start), spec, settings.context, episode.world)
    # Row start - 1 leads from the last context frame to the first frame that is asked for.
    future = episode.actions[start - 1 :]
    return RolloutRequest(
        context,
        horizon=len(episode) - start,
        seed=seed,
        actions=future,
        poses=episode.poses[start:],
        text=describe(future),
        caption=caption_for(episode, context, start) or _place_caption(episode),
        world=episode.world if "world" in spec.inputs else None,
        truth=fit_truth(episode.clip[start:], spec) if "truth" in spec.inputs else None,
    )


class LoopQuestions(WalkQuestions):
    """One loop of 379 frames in a small settlement; its camera changes by any angle."""

    starts = (203, 227)
    # 18 trajectories x 8 cells. Frames from the mean lengths that the paper prints: less 60 of look-around, half of an
    # ABA walk is the way back, and a third of an ABCA walk.
    action_space = LOOP_WALK.name
    by_default = True
    world = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})

    def walk(self) -> tuple[FloatArray, Actions]:
        """See `WalkQuestions.walk`."""
        return _walk()

    def camera(self, size: tuple[int, int]) -> Camera:
        """See `WalkQuestions.camera`."""
        return Camera.from_vertical_fov(*size, VERTICAL_FOV_DEG)

    def turning(self, turn: float) -> tuple[str, float]:
        """See `WalkQuestions.turning`."""
        return "camera_yaw", turn

    def request(self, episode: Episode, context: int, spec: ModelSpec, seed: int) -> RolloutRequest:
        """See `WalkQuestions.request`."""
        return make_request(episode, context, spec, LoopNavSettings(), seed=seed)


@lru_cache(maxsize=1)
def _walk() -> tuple[FloatArray, Actions]:
    world = open_world(LoopQuestions.world)
    assert isinstance(world, Voxel)
    walk = record_loop(VoxelSite(world.voxels), kind="ABA", radius=15, rng=np.random.default_rng(1))
    return walk.poses, aligned_actions(walk)
