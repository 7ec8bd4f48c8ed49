"""What models are asked about an arm's plans, and how their frames stand beside the poses."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from suites.closedloop.manipulation.table_sight import table
from worldgauge.core.errors import NotApplicableError, SubjectError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.suites.closedloop.manipulation.env import FPS, REMEMBERED, TableEnv, TableImagination
from worldgauge.suites.closedloop.policies.contract import ActionPlan
from worldgauge.suites.closedloop.task import Settings
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop.pose_plans import from_actions
from worldgauge.worlds.tabletop.simulation import Simulation


class Asked:
    """Keeps what it is asked; draws grey."""

    def __init__(self, **spec: Any) -> None:
        self.spec = ModelSpec("asked", **spec)
        self.batches: list[int] = []
        self.requests: list[RolloutRequest] = []

    def rollout(self, request: RolloutRequest) -> list[Frames]:
        return self.rollout_batch([request])[0]

    def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
        self.batches.append(len(requests))
        self.requests += requests
        width, height = requests[0].frame_size
        return [[np.full((request.horizon, height, width, 3), 99, np.uint8)] for request in requests]


@pytest.fixture
def place() -> TableEnv:
    return TableEnv(table(), 48)


def imagination(model: Any, place: TableEnv) -> TableImagination:
    defaults = Settings.of({"task": "manipulation"}).of_task("manipulation")
    made = TableImagination(model, place, defaults, table().facts, "push it", 7, "manipulation/x")
    made.remember()
    return made


def plans_of(place: TableEnv, *lengths: int) -> list[ActionPlan]:
    expert = tuple(place.observe().expert())
    return [ActionPlan((), "test", poses=expert[:length], aim={"text": f"go {length} ways"}) for length in lengths]


def test_all_plans_of_a_decision_are_one_batch_of_thirteen_frames_each(place: TableEnv) -> None:
    model = Asked()
    imagine = imagination(model, place)
    plans = plans_of(place, 1, 3, 5)
    rollouts = imagine(place.observe(), plans, 0)
    assert (model.batches, imagine.calls) == ([3], 3)
    for plan, rollout, request in zip(plans, rollouts, model.requests, strict=True):
        assert rollout is not None
        assert rollout.frames.shape == (14, 48, 48, 3)
        np.testing.assert_array_equal(rollout.frames[0], place.observe().front)
        assert (rollout.frames[1:] == 99).all()
        assert rollout.valid_len == 14
        assert len(rollout.anchors) == len(plan.poses)
        assert rollout.frame_to_action[list(rollout.anchors)].tolist() == list(range(1, len(plan.poses) + 1))
        assert request.actions is not None
        reached = from_actions(request.actions)[np.array(rollout.anchors) - 1]
        np.testing.assert_allclose(reached[:, :3], np.array(plan.poses)[:, :3], atol=1e-6)
        assert (request.world, request.truth, rollout.text) == (None, None, "")
        np.testing.assert_array_equal(request.poses, np.repeat(place.observe().pose[None], 13, axis=0))
        assert str(plan.aim["text"]) in str(request.text)  # type: ignore[index]
        assert "button" in str(request.caption)
    seeds = [request.seed for request in model.requests]
    assert len(set(seeds)) == 3


def test_a_model_sees_what_was_seen_and_which_poses_led_there(place: TableEnv) -> None:
    """As they were: a frame comes after a pose, so a model's rate means nothing to it."""
    model = Asked(fps=1)
    imagine = imagination(model, place)
    first, poses = place.observe().front, place.observe().expert()[:2]
    for pose in poses:
        place.step(pose)
        imagine.remember()
    imagine(place.observe(), plans_of(place, 1), 1)
    context = model.requests[0].context
    assert (len(context), len(context.actions), context.clip.fps) == (3, 2, FPS)
    np.testing.assert_allclose(from_actions(context.actions)[:, :3], np.array(poses)[:, :3], atol=5e-3)
    np.testing.assert_array_equal(context.clip[-1], place.observe().front)
    for _ in range(REMEMBERED):
        imagine.remember()
    imagine(place.observe(), plans_of(place, 1), 2)
    context = model.requests[-1].context
    assert (len(context), len(context.actions)) == (REMEMBERED, REMEMBERED - 1)
    np.testing.assert_array_equal(context.clip[0], first, "the first frame stays: the arm at home")


def test_the_oracle_foresees_what_then_happens(place: TableEnv) -> None:
    plan = plans_of(place, 3)[0]
    (rollout,) = imagination(models.get("oracle")(), place)(place.observe(), [plan], 0)
    place.begin(plan.poses, 14)
    seen = []
    for pose in plan.poses:
        place.step(pose)
        seen += list(place.clip(place.seen))
    assert rollout is not None
    np.testing.assert_array_equal(rollout.frames[1:], np.stack(seen))


def test_words_a_world_and_depth_are_given_where_they_are_asked_for(place: TableEnv) -> None:
    model = Asked(control="text", inputs=frozenset({"world", "depth"}))
    place.step(place.observe().expert()[0])
    imagine = imagination(model, place)
    (rollout,) = imagine(place.observe(), plans_of(place, 2), 0)
    assert rollout is not None
    assert not rollout.aligned, "words bind no frame to a pose"
    (request,) = model.requests
    assert request.text is not None
    assert request.text.endswith("go 2 ways")
    assert rollout.text == request.text
    assert request.actions is not None
    assert request.world is not None
    there = Simulation(open_world(request.world))  # type: ignore[arg-type]
    assert there.state() == place.state, "the table as it is now"
    assert request.context.depth is not None
    np.testing.assert_array_equal(request.context.depth(0), place.observe().depth)


def test_a_plan_that_cannot_be_begun_is_not_asked_about(place: TableEnv) -> None:
    model = Asked()
    plans = [
        ActionPlan((), "test"),
        *plans_of(place, 1),
        ActionPlan((), "test", poses=place.observe().expert()[0:1] * 6),
    ]
    rollouts = imagination(model, place)(place.observe(), plans, 0)
    assert [one is None for one in rollouts] == [True, False, True]
    assert model.batches == [1]


@pytest.mark.parametrize(
    ("spec", "said"), [({"view": "panorama"}, "panoramas"), ({"control": "camera"}, "camera path")]
)
def test_models_that_need_a_moving_camera_are_not_asked(place: TableEnv, spec: dict[str, Any], said: str) -> None:
    with pytest.raises(NotApplicableError, match=said):
        imagination(Asked(**spec), place)


def test_a_model_may_have_a_size_of_its_own(place: TableEnv) -> None:
    model = Asked(frame_size=(32, 32), crop=(2, 1))
    (rollout,) = imagination(model, place)(place.observe(), plans_of(place, 1), 0)
    assert rollout is not None
    assert rollout.frames.shape == (14, 32, 32, 3)
    assert (rollout.camera.width, rollout.camera.height) == (32, 32)


def test_a_broken_promise_is_the_model_s_fault(place: TableEnv) -> None:
    class Short(Asked):
        def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
            return [[frames[0][:2]] for frames in super().rollout_batch(requests)]

    with pytest.raises(SubjectError):
        imagination(Short(), place)(place.observe(), plans_of(place, 1, 2), 0)
