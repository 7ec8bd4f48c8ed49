"""The decoy test: which recordings are decoys, and what a model gets in an arm."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from support.task_context import QuietContext
from worldgauge.core.actions import LOOP_WALK, Actions
from worldgauge.core.episode import Episode
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch, relative
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.engine.suite import decoy
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Score, Task

FPS, HIDDEN = 4.0, 6
LENGTHS = {"a1": 20, "a2": 16, "a3": 18, "b1": 20, "short": 7}
"""Frames of context by task; the kind is the first letter."""
FACTS = {"source": "own", "inputs": []}


class Walks(Suite):
    """Walks of gray frames: the value of a frame names its task and its place in it."""

    name = "walks"
    claims_memory = True
    memory_metrics: ClassVar[Mapping[str, str]] = {"mse": "MSE"}
    floor_baselines = ("freeze",)

    def tasks(self, source: Path) -> Iterator[Task]:
        for name in LENGTHS:
            yield Task(self.name, name, {"source": str(source)}, name, {"kind": name[0]}, cluster=f"in {name}")

    def episode(self, task: Task) -> tuple[Episode, int]:
        start = LENGTHS[task.id]
        number, count = list(LENGTHS).index(task.id), start + HIDDEN
        values = 40 * number + np.arange(count)
        frames = np.broadcast_to(values[:, None, None, None], (count, 9, 16, 3)).astype(np.uint8)
        yaw = 0.1 * number + 0.05 * np.arange(count)
        places = np.stack([3.0 * number + 0.2 * np.arange(count), 0.1 * np.arange(count), np.full(count, 1.6)], axis=1)
        actions = Actions(LOOP_WALK, np.full((count - 1, len(LOOP_WALK)), number, np.float32))
        camera = Camera.from_vertical_fov(16, 9, 60)
        return Episode(task.id, Clip.from_array(frames, FPS), pose_from_yaw_pitch(places, yaw), actions, camera), start

    def score(self, record: Record, task_context: Any) -> list[Score]:
        return [Score(record.task.id, "mse", 1.0), Score(record.task.id, "psnr", 2.0)]


class Keeps:
    """A model that keeps its requests."""

    def __init__(self, **spec: Any) -> None:
        self.spec = ModelSpec("keeps", control="camera", **spec)
        self.requests: list[RolloutRequest] = []

    def rollout(self, request: RolloutRequest) -> Iterator[Any]:
        self.requests.append(request)
        return (request.context.clip[-1][None] for _ in range(request.horizon))


SUITE = Walks()
TASKS = list(SUITE.tasks(Path("data")))
ARMS = {arm.id: arm for arm in decoy.arms_of(SUITE, TASKS, TASKS)}


def ask(name: str, folder: Path, **spec: Any) -> RolloutRequest:
    model, task = Keeps(**spec), ARMS.get(name) or next(one for one in TASKS if one.id == name)
    folder.mkdir(exist_ok=True)
    decoy.perform(SUITE, task, model, QuietContext(folder))
    (request,) = model.requests
    return request


def values(request: RolloutRequest) -> list[int]:
    return [int(frame[0, 0, 0]) for frame in request.context.clip]


def test_arms_have_a_decoy_of_their_kind_in_another_place() -> None:
    assert list(ARMS) == [f"{name}.decoy-{arm}" for name in ("a1", "a2", "a3") for arm in decoy.ARMS]
    chosen = {decoy.main_id(arm.id): arm.sample["decoy"]["id"] for arm in ARMS.values()}
    assert chosen == {"a1": "a3", "a2": "a1", "a3": "a1"}  # similar walks, and rather longer than shorter
    assert {arm.cluster for arm in ARMS.values()} == {"in a1", "in a2", "in a3"}
    assert decoy.main_id("a1.decoy-same") == "a1"
    assert decoy.main_id("a1") == "a1"
    few = decoy.arms_of(SUITE, TASKS[:1], TASKS)
    assert [arm.id for arm in few] == list(ARMS)[:2]
    assert few[0].fingerprint == ARMS["a1.decoy-same"].fingerprint
    assert decoy.cost_of(few) == "Decoy test of memory: 2 x 1 rollouts of each model."
    assert decoy.arms_of(SUITE, TASKS[:1], TASKS[:1]) == []
    assert decoy.cost_of([]).startswith("No decoy test of memory: it needs two places")


def test_both_arms_have_as_many_frames_and_the_real_last_second(tmp_path: Path) -> None:
    """a1 has 20 frames of context and 12 before the gap. Its decoy, a3, has 10."""
    same, other, whole = (ask(f"a1{end}", tmp_path / (end or "whole")) for end in (".decoy-same", ".decoy-other", ""))
    assert values(same) == [*range(2, 12), *range(16, 20)]
    assert values(other) == [*range(80, 90), *range(16, 20)]
    for arm in (same, other):
        assert np.array_equal(arm.poses, whole.poses)  # type: ignore[arg-type]
        assert np.array_equal(arm.actions.values, whole.actions.values)  # type: ignore[union-attr]
        assert len(arm.context.actions) == len(arm.context) - 1
    assert (other.context.actions.values[:, 0] == [*[2] * 9, *[0] * 4]).all()


def test_the_cut_is_the_same_in_both_arms(tmp_path: Path) -> None:
    same, other = (ask(f"a1.decoy-{arm}", tmp_path / arm) for arm in decoy.ARMS)
    assert same.context.path[9:] == pytest.approx(other.context.path[9:])
    own = SUITE.episode(TASKS[2])[0].poses
    assert relative(other.context.path[0], other.context.path[9]) == pytest.approx(relative(own[0], own[9]))
    assert other.context.path[:, 2, 3] == pytest.approx(same.context.path[:, 2, 3])


def test_a_model_gets_what_it_takes_of_an_arm(tmp_path: Path) -> None:
    assert values(ask("a1.decoy-same", tmp_path / "few", max_context=6)) == [10, 11, 16, 17, 18, 19]
    slow = [ask(f"a1.decoy-{arm}", tmp_path / arm, fps=2.0) for arm in decoy.ARMS]
    assert [values(one) for one in slow] == [[3, 5, 7, 9, 11, 17, 19], [81, 83, 85, 87, 89, 17, 19]]
    with pytest.raises(NotApplicableError, match="'keeps' sees 4 frames: the last second alone"):
        ask("a1.decoy-same", tmp_path / "last", max_context=4)


def test_scores_of_an_arm_carry_its_name(tmp_path: Path) -> None:
    record = Record(ARMS["a1.decoy-other"], "keeps", tmp_path)
    assert [(one.task, one.metric) for one in decoy.scores(SUITE, record, None)] == [("a1.decoy-other", "other/mse")]
    plain = decoy.scores(SUITE, replace(record, task=TASKS[0]), None)
    assert [one.metric for one in plain] == ["mse", "psnr"]


def test_who_is_tested() -> None:
    assert decoy.is_tested(SUITE, FACTS)
    for other in ({"source": "freeze"}, {"source": "videos"}, {"inputs": ["truth"]}):
        assert not decoy.is_tested(SUITE, {**FACTS, **other})
    arms = list(ARMS.values())
    assert decoy.arms_for(SUITE, FACTS, arms) == decoy.arms_for(SUITE, {**FACTS, "max_context": 5}, arms) == arms
    assert decoy.arms_for(SUITE, {**FACTS, "max_context": 4}, arms) == []
    assert decoy.arms_for(SUITE, {**FACTS, "max_context": 5, "fps": 8.0}, arms) == []
