"""What a model is shown and asked for: a walk to continue, or one of ten paths out and back from an image.

Trial questions have the same form, about a walk by keys in an embedded settlement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from worldgauge.core.actions import Actions, describe
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import ModelError, NotApplicableError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.model import ModelSpec, RolloutRequest, WorldModel, holds_videos
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.engine.suite.rollout import caption_for, copy_video, fit_context, fit_truth, run_rollout
from worldgauge.engine.suite.trial_questions import WalkQuestions
from worldgauge.suites.mind.actions import mirror_poses, space_of
from worldgauge.suites.mind.format.files import FPS, SHARED_SPACE, MindClip
from worldgauge.suites.mind.format.read import HORIZONTAL_FOV_DEG, mirror_actions, mirror_keys
from worldgauge.suites.mind.key_walks import record_key_walk
from worldgauge.suites.mind.settings import MindSettings
from worldgauge.suites.mind.tasks import clip_of, episode_of
from worldgauge.worlds import open_world
from worldgauge.worlds.third_person import ARM_M
from worldgauge.worlds.walking.floor import Walkable


@dataclass(frozen=True)
class ClipQuestion:
    """Frames [0, context_end) of a clip are the context; then one frame per action is requested.

    A mirrored path has the `poses` of its reference simulator; `truth` is None if unknown.
    """

    episode: Episode
    context_end: int
    actions: Actions
    poses: FloatArray
    truth: Clip | None

    def __len__(self) -> int:
        return len(self.actions)


def perform(task: Task, model: WorldModel, task_context: TaskContext, settings: MindSettings) -> Record:
    """Ask a model one question and store its frames lossless; a finished video is copied as it is."""
    clip = clip_of(task)
    if clip.is_submitted:
        return _submitted(task, clip, model, task_context)
    question = question_of(clip, settings)
    facts: dict[str, Any] = {
        "control": model.spec.control,
        "inputs": sorted(model.spec.inputs),
        "crop": list(model.spec.crop) if model.spec.crop else None,
        "seed": task_context.seed,
        "mark_time": clip.mark_time,
        "total_time": clip.frames,
        "frames_asked": len(question),
        "horizon": settings.frames_asked,
        "warnings": list(clip.warnings),
    }
    if holds_videos(model) and model.spec.fps is None:
        fps = question.episode.clip.fps
        _refuse_context(model.video_of(task.id), clip, fps)
        answer = copy_video(model, model.spec, task.id, task_context, fps)
        return Record(task, model.spec.name, task_context.directory, {**facts, **answer.facts}, answer.rollout)
    request = request_of(question, model.spec, settings, task=task.id, seed=task_context.seed)
    answer = run_rollout(model, request, question.episode.clip.fps, task_context, resample=settings.resample)
    facts |= {"context_frames_used": len(request.context), "caption": request.caption}
    return Record(task, model.spec.name, task_context.directory, {**facts, **answer.facts}, answer.rollout)


def _submitted(task: Task, clip: MindClip, model: WorldModel, task_context: TaskContext) -> Record:
    """Keep a path out and back of a submission whose start image the data do not hold."""
    folder = task.id.rpartition("/")[0]
    if not holds_videos(model):
        raise NotApplicableError(f"the data hold no start image of {folder}: nothing to ask a model")
    if not any(held.rpartition("/")[0] == folder for held in model.video_tasks()):
        raise NotApplicableError(f"{folder} is a folder of another submission")
    answer = copy_video(model, model.spec, task.id, task_context, FPS)
    facts = {"control": model.spec.control, "crop": None, "frames_asked": clip.frames}
    return Record(task, model.spec.name, task_context.directory, {**facts, **answer.facts}, answer.rollout)


def reachable(record: Record, asked: int) -> int:
    """Those of the frames asked for that are not beyond the last frame of a model of another rate."""
    bridge = record.facts.get("bridge")
    return asked if bridge is None else min(asked, int(bridge["frames_asked"]) - int(bridge["never_imagined"]))


def _refuse_context(video: Path, clip: MindClip, fps: float) -> None:
    """Raises ModelError for a video as long as the whole clip: its frame 0 is not the first that was asked for."""
    count = len(Clip.open(video, fps if video.is_file() else None))
    if clip.part != "mirror_test" and count == clip.frames > clip.frames - clip.mark_time:
        raise ModelError(
            f"{video}: holds {count} frames, as many as the clip with its context; cut off the first {clip.mark_time}, "
            f"so that its frame 0 is frame {clip.mark_time}"
        )


def frames_of(clip: MindClip, settings: MindSettings) -> int:
    """Number of frames that a model generates for a clip with data."""
    if clip.part == "mirror_test":
        return len(mirror_actions(clip))
    return min(clip.frames - clip.mark_time, settings.frames_asked or clip.frames)


def question_of(clip: MindClip, settings: MindSettings) -> ClipQuestion:
    """Make the question about a clip."""
    episode = episode_of(clip)
    if clip.is_submitted:
        raise NotApplicableError(f"the data hold no start image of {clip.id}")
    if clip.part == "mirror_test":
        actions = mirror_actions(clip)
        poses = mirror_poses(
            mirror_keys(clip), episode.poses[0], clip.space, arm_m=ARM_M if clip.perspective == "3rd" else 0.0
        )
        truth = None if episode.world is None else rendered(episode.world, poses, episode.camera, episode.clip.fps)
        return ClipQuestion(episode, 1, actions, poses, truth)
    start, stop = clip.mark_time, len(episode)
    if settings.frames_asked is not None:
        stop = min(stop, start + settings.frames_asked)
    # Row start - 1 leads from the last context frame to the first frame that is asked for.
    return ClipQuestion(
        episode, start, episode.actions[start - 1 : stop - 1], episode.poses[start:stop], episode.clip[start:stop]
    )


def request_of(
    question: ClipQuestion, spec: ModelSpec, settings: MindSettings, *, task: str = "", seed: int = 0
) -> RolloutRequest:
    """Put a question in the form that a model takes."""
    episode = question.episode
    if spec.view != "perspective":
        raise NotApplicableError(f"'{spec.name}' draws panoramas; the recordings of mind are perspective views")
    context = fit_context(episode.context(0, question.context_end), spec, settings.context, episode.world)
    wants_truth = "truth" in spec.inputs and question.truth is not None
    return RolloutRequest(
        context,
        horizon=len(question),
        seed=seed,
        actions=question.actions,
        poses=question.poses,
        text=describe(question.actions),
        caption=caption_for(episode, context, question.context_end),
        world=episode.world if "world" in spec.inputs else None,
        truth=fit_truth(question.truth, spec) if wants_truth and question.truth is not None else None,
        truth_poses=question.poses if wants_truth else None,
        task=task,
    )


def rendered(world: WorldFacts, poses: FloatArray, camera: Camera, fps: float) -> Clip:
    """What a perfect model would draw: frames of the world, rendered when they are read."""
    poses = np.asarray(poses, np.float64)
    size = (camera.width, camera.height)
    return Clip.rendered(lambda index: open_world(world).view(poses[index], camera).rgb, len(poses), fps, size)


class KeyQuestions(WalkQuestions):
    """One walk of 360 frames in a small settlement, in first person; a turn is a held key."""

    starts = (194, 214)
    action_space = space_of(*SHARED_SPACE).name
    world = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})

    def walk(self) -> tuple[FloatArray, Actions]:
        """See `WalkQuestions.walk`."""
        return _walk()

    def camera(self, size: tuple[int, int]) -> Camera:
        """See `WalkQuestions.camera`."""
        return Camera.from_horizontal_fov(*size, HORIZONTAL_FOV_DEG)

    def turning(self, turn: float) -> tuple[str, float]:
        """See `WalkQuestions.turning`."""
        return "look_left" if turn > 0 else "look_right", 1.0

    def request(self, episode: Episode, context: int, spec: ModelSpec, seed: int) -> RolloutRequest:
        """See `WalkQuestions.request`."""
        rest = episode.actions[context - 1 :], episode.poses[context:], episode.clip[context:]
        return request_of(ClipQuestion(episode, context, *rest), spec, MindSettings(), seed=seed)


@lru_cache(maxsize=1)
def _walk() -> tuple[FloatArray, Actions]:
    world, space = cast("Walkable", open_world(KeyQuestions.world)), space_of(*SHARED_SPACE)
    rng = np.random.default_rng(2)
    walk = record_key_walk(world, rng, frames=360, mark_time=120, space=space, perspective="1st")
    return walk.poses, walk.actions
