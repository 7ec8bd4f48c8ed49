"""What a model is shown and asked for: a walk to continue, or one of ten paths out and back from an image.

Trial questions have the same form, about a walk by keys in an embedded settlement.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from worldgauge.core.actions import Actions, describe
from worldgauge.core.episode import Episode, WorldFacts
from worldgauge.core.errors import NotApplicableError, SubjectError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.model import HoldsVideos, ModelSpec, RolloutRequest, WorldModel
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Task, TaskContext
from worldgauge.engine.suite.rollout import copy_video, fit_context, fit_truth, run_rollout
from worldgauge.engine.suite.trial_questions import Sizes, TrialQuestions, episode_of_walk, with_frames_drawn
from worldgauge.suites.mind import format as mind
from worldgauge.suites.mind.actions import mirror_poses
from worldgauge.suites.mind.format import SHARED_SPACE, MindClip, space_of
from worldgauge.suites.mind.format.read import HORIZONTAL_FOV_DEG
from worldgauge.suites.mind.key_walks import KeyWalk, record_key_walk
from worldgauge.suites.mind.settings import Settings
from worldgauge.suites.mind.tasks import clip_of, episode_of
from worldgauge.worlds import caption_of, open_world
from worldgauge.worlds.third_person import ARM_M
from worldgauge.worlds.walking.floor import Walkable


@dataclass(frozen=True)
class ClipQuestion:
    """What is asked about one clip.

    Attributes:
        context_end: Frames [0, context_end) of the episode may be seen.
        actions: One row per frame that is asked for.
        poses: (n, 4, 4) of those frames; of a mirrored path those of its reference simulator.
        truth: The real frames, or those of the embedded world along a mirrored path; None where unknown.
    """

    episode: Episode
    context_end: int
    actions: Actions
    poses: FloatArray
    truth: Clip | None

    def __len__(self) -> int:
        return len(self.actions)


def perform(task: Task, subject: WorldModel, task_context: TaskContext, settings: Settings) -> Record:
    """Ask a model one question and store its frames lossless; a finished video is copied as it is."""
    clip = clip_of(task)
    if clip.is_submitted:
        return _submitted(task, clip, subject, task_context)
    question = question_of(clip, settings)
    facts: dict[str, Any] = {
        "control": subject.spec.control,
        "inputs": sorted(subject.spec.inputs),
        "crop": list(subject.spec.crop) if subject.spec.crop else None,
        "seed": task_context.seed,
        "mark_time": clip.mark_time,
        "total_time": clip.frames,
        "frames_asked": len(question),
        "horizon": settings.frames_asked,
        "warnings": list(clip.warnings),
    }
    if isinstance(subject, HoldsVideos) and subject.spec.fps is None:
        fps = question.episode.clip.fps
        _refuse_context(subject.video_of(task.id), clip, fps)
        answer = copy_video(subject, subject.spec, task.id, task_context, fps)
        return Record(task, subject.spec.name, task_context.directory, {**facts, **answer.facts}, answer.rollout)
    request = request_of(question, subject.spec, settings, task=task.id, seed=task_context.seed)
    answer = run_rollout(subject, request, question.episode.clip.fps, task_context, drawn=settings.drawn)
    facts |= {"context_frames_used": len(request.context), "caption": request.caption}
    return Record(task, subject.spec.name, task_context.directory, {**facts, **answer.facts}, answer.rollout)


def _submitted(task: Task, clip: MindClip, subject: WorldModel, task_context: TaskContext) -> Record:
    """Keep a path out and back of a submission whose start image the data do not hold."""
    folder = task.id.rpartition("/")[0]
    if not isinstance(subject, HoldsVideos):
        raise NotApplicableError(f"the data hold no start image of {folder}: nothing to ask a model")
    if not any(held.rpartition("/")[0] == folder for held in subject.video_tasks()):
        raise NotApplicableError(f"{folder} is a folder of another submission")
    answer = copy_video(subject, subject.spec, task.id, task_context, mind.FPS)
    facts = {"control": subject.spec.control, "crop": None, "frames_asked": clip.frames}
    return Record(task, subject.spec.name, task_context.directory, {**facts, **answer.facts}, answer.rollout)


def reachable(record: Record, asked: int) -> int:
    """Those of the frames asked for that are not beyond the last frame of a model of another rate."""
    bridge = record.facts.get("bridge")
    return asked if bridge is None else min(asked, int(bridge["frames_asked"]) - int(bridge["never_imagined"]))


def _refuse_context(video: Path, clip: MindClip, fps: float) -> None:
    """Raises SubjectError for a video as long as the whole clip: its frame 0 is not the first that was asked for."""
    count = len(Clip.open(video, fps if video.is_file() else None))
    if clip.part != "mirror_test" and count == clip.frames > clip.frames - clip.mark_time:
        raise SubjectError(
            f"{video}: holds {count} frames, as many as the clip with its context; cut off the first {clip.mark_time}, "
            f"so that its frame 0 is frame {clip.mark_time}"
        )


def question_of(clip: MindClip, settings: Settings) -> ClipQuestion:
    """Make the question about a clip."""
    episode = episode_of(clip)
    if clip.is_submitted:
        raise NotApplicableError(f"the data hold no start image of {clip.id}")
    if clip.part == "mirror_test":
        actions = mind.mirror_actions(clip)
        poses = mirror_poses(
            mind.mirror_keys(clip), episode.poses[0], clip.space, arm_m=ARM_M if clip.perspective == "3rd" else 0.0
        )
        truth = None if episode.world is None else _rendered(episode.world, poses, episode.camera, episode.clip.fps)
        return ClipQuestion(episode, 1, actions, poses, truth)
    start, stop = clip.mark_time, len(episode)
    if settings.frames_asked is not None:
        stop = min(stop, start + settings.frames_asked)
    # Row start - 1 leads from the last context frame to the first frame that is asked for.
    return ClipQuestion(
        episode, start, episode.actions[start - 1 : stop - 1], episode.poses[start:stop], episode.clip[start:stop]
    )


def request_of(
    question: ClipQuestion, spec: ModelSpec, settings: Settings, *, task: str = "", seed: int = 0
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
        caption=episode.facts.get("caption") or caption_of(episode.world),
        world=episode.world if "world" in spec.inputs else None,
        truth=fit_truth(question.truth, spec) if wants_truth and question.truth is not None else None,
        truth_poses=question.poses if wants_truth else None,
        task=task,
    )


def _rendered(world: WorldFacts, poses: FloatArray, camera: Camera, fps: float) -> Clip:
    """What a perfect model would draw: frames of the world, rendered when they are read."""
    poses = np.asarray(poses, np.float64)
    size = (camera.width, camera.height)
    return Clip.rendered(lambda index: open_world(world).view(poses[index], camera).rgb, len(poses), fps, size)


FRAMES = 360
_WORLD = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})
_SEED = 2


class KeyQuestions(TrialQuestions):
    """One walk in first person; a turn is a held key."""

    sizes: ClassVar[Sizes] = {"perspective": ((160, 90), (640, 360))}
    starts = (194, 214)
    action_space = space_of(*SHARED_SPACE).name

    @property
    def frames(self) -> int:
        """Number of frames of the walk."""
        return len(_walk())

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
        """A question about the walk; see `TrialQuestions.question`."""
        walk = _walk()
        first, stop = start - context, start + horizon
        camera = Camera.from_horizontal_fov(*(size or self.recorded_size(spec)), HORIZONTAL_FOV_DEG)
        turned = None
        if turn is not None:
            turned = np.zeros(len(walk.space), np.float32)
            turned[walk.space.column("look_left" if turn > 0 else "look_right")] = 1
        episode = episode_of_walk(
            walk.poses[first:stop],
            walk.actions[first : stop - 1],
            _WORLD,
            camera,
            context=context,
            fps=spec.fps,
            turned=turned,
        )
        asked = ClipQuestion(
            episode, context, episode.actions[context - 1 :], episode.poses[context:], episode.clip[context:]
        )
        return with_frames_drawn(request_of(asked, spec, Settings(), seed=seed))


@lru_cache(maxsize=1)
def _walk() -> KeyWalk:
    """A walk in a small settlement."""
    return record_key_walk(
        cast("Walkable", open_world(_WORLD)),
        np.random.default_rng(_SEED),
        frames=FRAMES,
        mark_time=FRAMES // 3,
        space=space_of(*SHARED_SPACE),
        perspective="1st",
    )
