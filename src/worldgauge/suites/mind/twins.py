"""Counterfactual twins: two rollouts of one context and one seed, in which one key is pressed or its opposite.

A walker stands for `REST` frames, then holds its key for `HELD`. The world is known, so both futures are exact. The
video of a record holds both rollouts side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray, yaw_pitch_from_pose
from worldgauge.core.image import Image
from worldgauge.core.model import Blinding, RolloutRequest, WorldModel, holds_videos
from worldgauge.core.video import Clip, Writer
from worldgauge.engine.suite.contract import Record, Score, Task, TaskContext, TaskView
from worldgauge.engine.suite.rollout import ROLLOUT, open_rollout, write_rollout
from worldgauge.engine.suite.scores import make_mean_score, make_score
from worldgauge.metrics.alternatives import twin_ahead, twin_frames
from worldgauge.suites.mind import key_policy
from worldgauge.suites.mind.actions import TWIN_KEYS, Keys, actions_of, walk_look
from worldgauge.suites.mind.format.files import MindClip
from worldgauge.suites.mind.key_walks import KeyWalk
from worldgauge.suites.mind.protocol import ClipQuestion, reachable, rendered, request_of
from worldgauge.suites.mind.settings import MindSettings
from worldgauge.suites.mind.tasks import clip_of, episode_of
from worldgauge.worlds import open_world
from worldgauge.worlds.third_person import feet_of
from worldgauge.worlds.walking.floor import Walkable

REST, HELD = 8, 16
"""Frames that both twins share, in which a walker comes to rest, and frames with a key."""
PREFIX = "twins/"
ALIKE = "both futures look the same, as before a wall"


def twin_keys(codes: tuple[int, ...]) -> Keys:
    """Key codes (REST + HELD + 1, 4) of a twin; row 0 leads nowhere."""
    keys = np.zeros((1 + REST + HELD, 4), np.uint8)
    keys[1 + REST :] = codes
    return keys


def walk_on(clip: MindClip, poses: FloatArray, keys: Keys) -> FloatArray:
    """Camera poses (T - 1, 4, 4) of a walker that goes on by its keys (T, 4) after poses (n, 4, 4) of a clip.

    It stops at walls, and where the camera behind it would touch something.
    """
    assert clip.world is not None
    third = clip.perspective == "3rd"
    feet = feet_of(poses[-2:]) if third else poses[-2:, :3, 3]
    area = key_policy.area_around(cast("Walkable", open_world(clip.world)), feet[-1, :2], arm=third)
    step, turn = key_policy.strides_of(clip.space)
    yaw, pitch = yaw_pitch_from_pose(poses[-1])
    state = key_policy.start_state(feet[-1, :2], float(yaw), float(pitch))
    state[[key_policy.VX, key_policy.VY]] = (feet[-1, :2] - feet[0, :2]) / step
    states = []
    for codes in keys[1:]:
        before = state.copy()
        key_policy.advance(state, codes, area.terrain, step, turn)
        if not key_policy.stands_well(area.terrain, state):
            state = before
            state[[key_policy.VX, key_policy.VY]] = 0.0
        states.append(state.copy())
    made = np.array(states)
    yaws, pitches, headings = (made[:, column] for column in (key_policy.YAW, key_policy.PITCH, key_policy.HEADING))
    walked = key_policy.feet_of(area, made)
    return KeyWalk(keys[1:], walked, yaws, pitches, headings, clip.perspective, clip.space, 0, seen=0.0).poses


@lru_cache(maxsize=4)
def _paths(clip: MindClip, keys: str, fingerprint: str) -> tuple[FloatArray, FloatArray]:
    """Camera poses (REST + HELD, 4, 4) of both twins."""
    shown = episode_of(clip).poses[: clip.mark_time]
    first, second = (walk_on(clip, shown, twin_keys(codes)) for codes in TWIN_KEYS[keys])
    return first, second


def twin_questions(task: Task) -> tuple[ClipQuestion, ClipQuestion]:
    """The questions of both twins."""
    clip, keys = clip_of(task), str(task.group["keys"])
    episode = episode_of(clip)
    assert episode.world is not None

    def question(codes: tuple[int, ...], poses: FloatArray) -> ClipQuestion:
        assert episode.world is not None
        truth = rendered(episode.world, poses, episode.camera, episode.clip.fps)
        return ClipQuestion(episode, clip.mark_time, actions_of(twin_keys(codes)[1:], clip.space), poses, truth)

    first, second = map(question, TWIN_KEYS[keys], _paths(clip, keys, task.fingerprint))
    return first, second


@dataclass(frozen=True)
class _OneSeed(Blinding):
    """Hides tasks as usual, and gives both twins one seed, although their texts differ."""

    def request(self, request: RolloutRequest) -> RolloutRequest:
        return replace(super().request(replace(request, text=None)), text=request.text)


def perform_twins(task: Task, model: WorldModel, task_context: TaskContext, settings: MindSettings) -> Record:
    """Ask a model for both futures, and store them side by side, lossless."""
    if holds_videos(model):
        raise NotApplicableError("finished videos show one future of a clip, and twins are two")
    plain = task_context.speed.blinding
    task_context.speed.blinding = _OneSeed(plain.salt, plain.seed)
    parts, written, fps = [], [], 0.0
    for side, question in enumerate(twin_questions(task)):
        request = request_of(question, model.spec, settings, task=task.id, seed=task_context.seed)
        parts.append(task_context.directory / f"twin-{side}.mp4")
        fps = question.episode.clip.fps
        written.append(write_rollout(model, request, parts[-1], fps, task_context, resample=settings.resample))
    with Writer(task_context.directory / ROLLOUT, fps=fps, kind="lossless") as out:
        for frames in zip(*map(Clip.open, parts), strict=True):
            out.write(np.hstack(frames))
    for part in parts:
        part.unlink()
    width, height = request.frame_size
    facts = {
        "control": model.spec.control,
        "inputs": sorted(model.spec.inputs),
        "crop": list(model.spec.crop) if model.spec.crop else None,
        "seed": task_context.seed,
        "mark_time": question.context_end,
        "frames_asked": len(question),
        "context_frames_used": len(request.context),
        "caption": request.caption,
        "frames_generated": written[0].frames,
        "fps": fps,
        "resolution": [2 * width, height],
        "finished_video": None,
        "poses": None,
        **written[0].facts,
    }
    return Record(task, model.spec.name, task_context.directory, facts, ROLLOUT)


def score_twins(record: Record) -> list[Score]:
    """Score both rollouts beside both futures, at the size of the model."""
    rollout = open_rollout(record)
    width, count = rollout.width // 2, len(rollout)
    drawn = rollout.to_array()
    truths = [_shown(question, record, width, rollout.height)[REST:count] for question in twin_questions(record.task)]
    sides = drawn[:, :, :width], drawn[:, :, width:]
    frames = list(enumerate(twin_frames(*(side[REST:] for side in sides), *truths), REST))
    known = [frame for _, frame in frames if frame is not None]
    facts: dict[str, Any] = {
        "frames_asked": reachable(record, REST + HELD),
        "frames_scored": count,
        "control": record.facts["control"],
        "posed": record.facts["control"] == "camera" or "poses" in record.facts["inputs"],
        "fps": record.facts["fps"],
        "recorded_fps": record.facts["fps"],
    }
    right = [(at, None if frame is None else frame.right) for at, frame in frames]
    along = [(at, None if frame is None else frame.along / frame.apart) for at, frame in frames]
    gain = sum(frame.along for frame in known) / sum(frame.apart for frame in known) if known else None
    shared = _shared(record)
    ahead = twin_ahead(sides[0][:shared], sides[1][:shared])
    why = ALIKE if frames else "the rollouts end before their keys differ"
    late = None if ahead is not None else "no frame is made before the keys differ"
    return [
        make_mean_score(record, "twin_accuracy", right, reason=why, prefix=PREFIX, **facts),
        make_score(record, "twin_gain", gain, n=len(known), reason=None if known else why, series=along, prefix=PREFIX),
        make_score(record, "twin_ahead", ahead, n=shared, reason=late, prefix=PREFIX),
    ]


def _shared(record: Record) -> int:
    """Frames that no differing key reaches; of a model of another rate, those made of earlier frames of its own."""
    bridge = record.facts.get("bridge")
    if bridge is None:
        return REST
    own, fps = float(bridge["own_fps"]), float(bridge["fps"])
    return math.floor(math.floor(REST * own / fps) * fps / own)


def _shown(question: ClipQuestion, record: Record, width: int, height: int) -> Clip:
    """The true frames as a model of this size would draw them."""
    crop = record.facts["crop"]
    assert question.truth is not None
    return (question.truth.cropped(*crop) if crop else question.truth).resized(width, height)


def caption_of(task: Task) -> str:
    """What both sides of the videos of a task show."""
    held = actions_of(TWIN_KEYS[str(task.group["keys"])], walk_look())
    left, right = (held.space.axes[column].name for column in held.values.argmax(1))
    return f"Both stand for {REST} frames; then the left one holds {left}, the right one {right}."


def compared_twins(record: Record) -> tuple[Clip, Clip]:
    """Both true futures side by side, and both rollouts."""
    rollout = open_rollout(record)
    width, height = rollout.width // 2, rollout.height
    return _beside(*(_shown(each, record, width, height) for each in twin_questions(record.task)))[
        : len(rollout)
    ], rollout


def twin_view(task: Task) -> TaskView:
    """Both true futures side by side."""
    first, second = twin_questions(task)
    episode, start = first.episode, first.context_end
    assert first.truth is not None
    assert second.truth is not None
    poses = np.concatenate([episode.poses[:start], first.poses])
    x, y = poses[start - 1, :2, 3].tolist()
    both = _beside(first.truth, second.truth)
    return TaskView(both, poses, start, episode.world, {"start": (x, y)}, shown=episode.clip[:start])


def _beside(first: Clip, second: Clip) -> Clip:
    def frame(index: int) -> Image:
        return np.hstack([first[index], second[index]])

    return Clip.rendered(frame, len(first), first.fps, (2 * first.width, first.height))
