"""Explore, then generate: what the model is shown and what it is asked for (paper section 4.1).

Trial questions have the same form, about a loop in an embedded settlement.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions, describe
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.model import ModelSpec, RolloutRequest, WorldModel
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.engine.suite.rollout import ROLLOUT, fit_context, fit_truth, write_rollout
from worldgauge.engine.suite.trial_questions import Sizes, TrialQuestions, Workload, episode_of_walk, with_frames_drawn
from worldgauge.suites.loopnav.format import aligned_actions
from worldgauge.suites.loopnav.settings import LoopNavSettings
from worldgauge.suites.loopnav.tasks import episode_of
from worldgauge.suites.loopnav.walks import VoxelSite, record_loop
from worldgauge.worlds import caption_of, open_world
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.world import PLACES, VERTICAL_FOV_DEG


def perform(task: Task, subject: WorldModel, task_context: TaskContext, settings: LoopNavSettings) -> Record:
    """Run a model on one loop and store its frames lossless in the record's folder."""
    episode, start = episode_of(task)
    request = replace(make_request(episode, start, subject.spec, settings, seed=task_context.seed), task=task.id)
    video = task_context.directory / ROLLOUT
    written = write_rollout(subject, request, video, episode.clip.fps, task_context, drawn=settings.drawn)
    width, height = request.frame_size
    facts: dict[str, Any] = {
        "frames": len(episode),
        "generated_from": start,
        "frames_generated": written.frames,
        "context_frames_used": len(request.context),
        "control": subject.spec.control,
        "inputs": sorted(subject.spec.inputs),
        "crop": list(subject.spec.crop) if subject.spec.crop else None,
        "caption": request.caption,
        "resolution": [width, height],
        "seed": task_context.seed,
        "flags": list(task.sample["flags"]),
        **written.facts,
    }
    return Record(task, subject.spec.name, task_context.directory, facts, ROLLOUT)


def caption_of_loop(episode: Episode) -> str:
    """The scene of a loop in a sentence: what its world says of itself, else what the name of its place tells."""
    described = caption_of(episode.world)
    if described is None:
        village = _VILLAGE.fullmatch(str(episode.facts.get("location", "")))
        place = PLACES.get(village[1], "a village") if village else "a place"
        described = f"A walk through {place} in a world built of blocks, in first person."
    return described


_VILLAGE = re.compile(r"(.+)_village_\d+")


def make_request(
    episode: Episode, start: int, spec: ModelSpec, settings: LoopNavSettings, *, seed: int
) -> RolloutRequest:
    """The request to a model: what it is shown, and the controls of the frames it is asked for.

    Args:
        start: First frame of the way back. Frames [0, start) are shown, cut to what fits.
    """
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
        caption=caption_of_loop(episode),
        world=episode.world if "world" in spec.inputs else None,
        truth=fit_truth(episode.clip[start:], spec) if "truth" in spec.inputs else None,
    )


FRAMES_TO_IMAGINE, WALKS = 34_000, 144
"""Of the standard evaluation: 18 trajectories x 8 cells. Frames from the mean lengths that the paper prints: less 60 of
look-around, half of an ABA walk is the way back, and a third of an ABCA walk."""

_WORLD = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})
_RADIUS = 15


class LoopQuestions(TrialQuestions):
    """One loop of 379 frames; its camera changes by any angle."""

    sizes: ClassVar[Sizes] = {"perspective": ((160, 90), (640, 360))}
    starts = (203, 227)
    workload = Workload(FRAMES_TO_IMAGINE, f"{WALKS} walks", LOOP_WALK.fps)
    action_space = LOOP_WALK.name
    by_default = True

    @property
    def frames(self) -> int:
        """Number of frames of the loop."""
        return len(_walk()[0])

    def question(
        self,
        spec: ModelSpec,
        *,
        start: int,
        context: int,
        horizon: int,
        seed: int,
        size: tuple[int, int] | None = None,
        turn: float | None = None,
    ) -> RolloutRequest:
        """A question about the loop; see `TrialQuestions.question`."""
        poses, actions = _walk()
        first, stop = start - context, start + horizon
        camera = Camera.from_vertical_fov(*(size or self.recorded_size(spec)), VERTICAL_FOV_DEG)
        turned = None
        if turn is not None:
            turned = np.zeros(len(LOOP_WALK), np.float32)
            turned[LOOP_WALK.column("camera_yaw")] = turn
        episode = episode_of_walk(
            poses[first:stop],
            actions[first : stop - 1],
            _WORLD,
            camera,
            context=context,
            fps=spec.fps,
            turned=turned,
        )
        return with_frames_drawn(make_request(episode, context, spec, LoopNavSettings(), seed=seed))


@lru_cache(maxsize=1)
def _walk() -> tuple[FloatArray, Actions]:
    """Poses (N, 4, 4) and N - 1 actions of one loop in a small settlement."""
    world = open_world(_WORLD)
    assert isinstance(world, Voxel)
    walk = record_loop(VoxelSite(world.voxels), kind="ABA", radius=_RADIUS, rng=np.random.default_rng(1))
    return walk.poses, aligned_actions(walk)
