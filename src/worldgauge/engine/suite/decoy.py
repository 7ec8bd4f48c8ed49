"""The decoy test of memory: the last second of a context, after earlier frames of its own place or of another place.

Both arms hold as many frames, with the same cut before the last second. Only a model that uses what the earlier frames
show can answer better in the arm "same". A model sees nothing by which it knows the arm, except the frames themselves.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from worldgauge.core.actions import Actions
from worldgauge.core.episode import Context, Episode
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.geometry import FloatArray, invert, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.io import digest_of, dumps
from worldgauge.core.model import PRIVILEGED, ModelSpec, RolloutRequest, holds_videos
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record, Score, Task
from worldgauge.engine.suite.rollout import fit_context

if TYPE_CHECKING:
    from worldgauge.engine.suite.base import Suite

ARMS = ("same", "other")
"""The earlier frames are of the task's own place, or of another one."""
MOST_TASKS = 24
"""Tasks of a run that have arms, at most one per cluster."""
REAL_S = 1.0
"""Seconds at the end of a context that are real in both arms."""
GAP_S = 1.0
"""Seconds of the own recording between the earlier frames and the last second."""
LEAST_S = 0.5
"""Seconds of earlier frames that a test needs."""
_SUFFIX = ".decoy-"


def arm_of(task: str) -> str:
    """The arm that an id names; empty for a task of the suite itself."""
    arm = task.rpartition(_SUFFIX)[2]
    return arm if task.endswith(tuple(_SUFFIX + one for one in ARMS)) else ""


def main_id(task: str) -> str:
    """Id of the task that an arm is of; the id itself where it names no arm."""
    return task.rpartition(_SUFFIX)[0] if arm_of(task) else task


def arms_of(suite: Suite, tasks: Sequence[Task], pool: Sequence[Task]) -> list[Task]:
    """Both arms of the first task of each cluster for which `pool`, all tasks, has a recording with earlier frames."""
    walks: dict[str, _Walk | None] = {}
    kinds = {task.id: suite.decoy_kind(task) for task in (*pool, *tasks) if task.skip is None}
    by_kind: dict[Hashable, list[Task]] = {}
    for task in pool:
        by_kind.setdefault(kinds.get(task.id), []).append(task)
    found: dict[str, list[Task]] = {}
    for task in tasks:
        cluster, kind = _cluster(suite, task), kinds.get(task.id)
        if kind is None or cluster in found or len(found) == MOST_TASKS or (own := _walk(suite, task, walks)) is None:
            continue
        others = [one for one in by_kind[kind] if _cluster(suite, one) != cluster]
        fitting = [(own.distance(walk), one.id, one) for one in others if (walk := _walk(suite, one, walks))]
        near = [one for one in fitting if math.isfinite(one[0])]
        if near:
            found[cluster] = [_arm(task, min(near)[2], arm, cluster) for arm in ARMS]
    return [arm for arms in found.values() for arm in arms]


def cost_of(arms: Sequence[Task]) -> str:
    """What the test costs, or why there is none, in a line."""
    if not arms:
        least = REAL_S + GAP_S + LEAST_S
        return f"No decoy test of memory: it needs two places of the same kind, and {least:g} s of context."
    return f"Decoy test of memory: {len(ARMS)} x {len(arms) // len(ARMS)} rollouts of each model."


def is_tested(suite: Suite, identity: Mapping[str, Any]) -> bool:
    """Whether a model is put to the test. Floor baselines, privileged ones and finished videos are not."""
    source = identity["source"]
    hidden = PRIVILEGED & set(identity["inputs"])
    return suite.claims_memory and not hidden and source not in (*suite.floor_baselines, "videos")


def arms_for(suite: Suite, identity: Mapping[str, Any], arms: Sequence[Task]) -> list[Task]:
    """The arms that a model runs: none if it is not tested, or holds no more than the last second."""
    if not arms or not is_tested(suite, identity):
        return []
    return list(arms) if remembers(identity, max(suite.rates(Task(**arms[0].sample["task"])))) else []


def remembers(identity: Mapping[str, Any], fps: float = 20.0) -> bool:
    """Whether a model holds more than the last second of the context. fps: of models without a rate."""
    held = identity.get("max_context")
    return held is None or held > round(REAL_S * (identity.get("fps") or fps))


def judged_suite(suite: Suite, models: Iterable[Mapping[str, Any]]) -> Suite:
    """The suite as it judges runs whose "model" facts are given: not by memory if no model under test can remember."""
    tested = [model["identity"] for model in models if model["kind"] == "model"]
    return suite if any(map(remembers, tested)) or not tested else suite.without_memory() or suite


def _arm(task: Task, decoy: Task, arm: str, cluster: str) -> Task:
    sample = {"arm": arm, "task": asdict(task), "decoy": asdict(decoy)}
    facts = [arm, REAL_S, GAP_S, task.fingerprint, decoy.id, decoy.fingerprint]
    return Task(task.suite, f"{task.id}{_SUFFIX}{arm}", sample, digest_of(dumps(facts)), task.group, cluster=cluster)


def _cluster(suite: Suite, task: Task) -> str:
    return task.cluster or suite.cluster_of(task.id, task.group)


@dataclass(frozen=True)
class _Walk:
    """The earlier part of a context, to find a similar one. places: (n, 3), seen from where it ends."""

    places: FloatArray
    camera: Any
    space: Any
    least: int

    def distance(self, other: _Walk) -> float:
        """How far two walks are apart on average, with missing frames as steps; infinite where they do not fit."""
        shared = min(len(self.places), len(other.places))
        if (self.camera, self.space) != (other.camera, other.space) or shared < self.least:
            return math.inf
        step = np.linalg.norm(np.diff(self.places, axis=0), axis=1).mean()
        apart = np.linalg.norm(self.places[-shared:] - other.places[-shared:], axis=1).mean()
        return float(apart + step * max(0, len(self.places) - shared))


def _walk(suite: Suite, task: Task, known: dict[str, _Walk | None]) -> _Walk | None:
    """The walk of a task; None where its context is too short or cannot be read."""
    if task.id not in known:
        try:
            episode, start = suite.episode(task)
            end, least = _end_of_earlier(episode, start), max(2, round(LEAST_S * episode.clip.fps))
            poses = invert(_level(episode.poses[end - 1])) @ episode.poses[:end] if end >= least else None
        except DataError:
            poses = None
        known[task.id] = None if poses is None else _Walk(poses[:, :3, 3], episode.camera, episode.actions.space, least)
    return known[task.id]


def _end_of_earlier(episode: Episode, start: int) -> int:
    """The frame after the earlier frames."""
    return max(0, start - round(REAL_S * episode.clip.fps) - round(GAP_S * episode.clip.fps))


def _level(pose: FloatArray) -> FloatArray:
    """The pose without its pitch and roll, so that what is level stays level when it moves."""
    return pose_from_yaw_pitch(pose[:3, 3], yaw_pitch_from_pose(pose)[0])


def perform(suite: Suite, task: Task, model: Any, task_context: Any) -> Record:
    """`Suite.perform`, also of an arm: its task with another context."""
    if not arm_of(task.id):
        return suite.perform(task, model, task_context)
    if holds_videos(model):
        raise NotApplicableError("finished videos cannot be made again from other frames")
    own, decoy = (Task(**task.sample[name]) for name in ("task", "decoy"))
    shown: list[int] = []

    def with_decoy(request: RolloutRequest) -> RolloutRequest:
        context = _context(suite, own, decoy, str(task.sample["arm"]), request.context, model.spec)
        shown.append(len(context))
        return replace(request, context=context, task=task.id)

    armed = copy(task_context)
    armed.with_decoy = with_decoy
    record = suite.perform(own, model, armed)
    facts = {**record.facts, "context_frames_used": shown[0], "decoy": decoy.id}
    return replace(record, task=task, facts=facts)


def scores(suite: Suite, record: Record, task_context: Any) -> list[Score]:
    """`Suite.all_scores`; of an arm the metrics of memory, with the arm before their names."""
    task = record.task
    if not (arm := arm_of(task.id)):
        return suite.all_scores(record, task_context)
    found = suite.memory_scores(replace(record, task=Task(**task.sample["task"])), task_context)
    return [
        replace(score, task=task.id, metric=f"{arm}/{score.metric}", series=(), facts={})
        for score in found
        if score.metric in suite.memory_metrics
    ]


def _context(suite: Suite, task: Task, decoy: Task, arm: str, whole: Context, spec: ModelSpec) -> Context:
    """The context of an arm. whole: what the model gets in the task itself."""
    (own, start), (other, others_start) = suite.episode(task), suite.episode(decoy)
    ends = _end_of_earlier(own, start), _end_of_earlier(other, others_start)
    count, real = min(ends), max(1, round(REAL_S * whole.clip.fps))
    if len(whole) <= real:
        raise NotApplicableError(f"'{spec.name}' sees {len(whole)} frames: the last second alone")
    episode, end = (own, ends[0]) if arm == "same" else (other, ends[1])
    earlier = fit_context(episode.context(end - count, end), spec, None, episode.world).last(len(whole) - real)
    moved = np.eye(4) if arm == "same" else _level(own.poses[ends[0] - 1]) @ invert(_level(episode.poses[end - 1]))
    return _joined(earlier, moved, whole.last(real), whole.actions[len(whole) - real - 1 :])


def _joined(earlier: Context, moved: FloatArray, last: Context, actions: Actions) -> Context:
    """Two contexts as one. actions: those of the last one, after the step into it."""
    count = len(earlier)
    depths = earlier.depth, last.depth

    def frame(index: int) -> Any:
        return earlier.clip[index] if index < count else last.clip[index - count]

    def depth(index: int) -> Any:
        part = depths[index >= count]
        assert part is not None
        return part(index if index < count else index - count)

    return Context(
        Clip.rendered(frame, count + len(last), last.clip.fps, (last.clip.width, last.clip.height)),
        np.concatenate([moved @ earlier.path, last.path]),
        Actions(actions.space, np.concatenate([earlier.actions.values, actions.values])),
        last.camera,
        depth if None not in depths else None,
    )
