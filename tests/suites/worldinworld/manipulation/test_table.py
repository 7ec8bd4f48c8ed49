"""The table: its environment, rollouts, and the task."""

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.manipulation.table_sight import table
from worldgauge.core.errors import ModelError, NotApplicableError, UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.resume import RunKeys
from worldgauge.models import models
from worldgauge.suites.worldinworld.loop import FALLBACK
from worldgauge.suites.worldinworld.manipulation.env import (
    FPS,
    REMEMBERED,
    RefusedPlan,
    TableEnv,
    TableImagination,
    plan_fault,
)
from worldgauge.suites.worldinworld.manipulation.task import SOLVED, UNSTABLE, ManipulationRules, ManipulationTask
from worldgauge.suites.worldinworld.policies.contract import REFUSED, ActionPlan, Decision
from worldgauge.suites.worldinworld.task import LoopSettings
from worldgauge.worlds import open_world
from worldgauge.worlds.tabletop.pose_plans import HandPose, clip_plan, from_actions
from worldgauge.worlds.tabletop.simulation import Simulation, UnstableError, front_pose

FRAMES = 14


@pytest.fixture
def place() -> TableEnv:
    return TableEnv(table(), 64)


def test_what_is_foreseen_is_what_then_happens(place: TableEnv) -> None:
    poses = list(place.observe().expert())[:3]
    told = clip_plan(place.hand, np.array(poses), FRAMES)
    before = place.state
    foreseen = place.future(poses)
    film = place.film(poses, told).to_array()
    assert place.state == before, "looking ahead moves nothing"
    place.begin(poses, FRAMES)
    seen = []
    for pose in poses:
        assert not place.step(pose)
        seen += place.seen
    assert (place.state, place.progress) == (foreseen.states[-1][-1], foreseen.progress)
    np.testing.assert_array_equal(place.clip(seen).to_array(), film)
    assert len(seen) == FRAMES - 1


def test_a_task_that_is_solved_on_the_way_is_solved_and_the_plan_is_foreseen_to_its_end(place: TableEnv) -> None:
    poses = list(place.observe().expert())
    away = poses[-1]._replace(z=poses[-1].z + 0.1)
    future = place.future([*poses, away])
    assert (future.progress, len(future.states)) == (1.0, len(poses) + 1)
    assert future.states[:-1] == place.future(poses).states
    with place.at(future.states[-1][-1]) as simulation:
        assert simulation.hand.z == pytest.approx(away.z, abs=0.01), "the hand no longer hides what it has done"


@pytest.mark.parametrize(
    ("pose", "said"),
    [
        (HandPose(0.9, 0, 1, 1, 0, 0, 0, 1), "outside the workspace"),
        (HandPose(math.nan, 0, 1, 1, 0, 0, 0, 1), "not finite"),
        (HandPose(0.3, 0, 1, 0, 0, 0, 0, 1), "quaternion"),
        (HandPose(0.3, 0, 1, 1, 0, 0, 0, 7), "gripper"),
        (HandPose(0.69, 0.49, 1.59, 1, 0, 0, 0, 1), "cannot reach"),
        ((1, 2, 3), "8 numbers"),
        (RefusedPlan("the plan has 9 poses"), "9 poses"),
    ],
)
def test_what_cannot_be_done_is_a_failed_step_and_moves_nothing(place, pose, said):
    before = place.state
    assert place.step(pose)
    assert said in str(place.reasons[-1])
    assert (place.state, place.seen) == (before, [before])
    assert not place.step(place.observe().expert()[0]), "and the next one is carried out"
    assert place.reasons[1] is None


def test_physics_that_blow_up_end_it(place: TableEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    def blow_up(self: Simulation, pose: object) -> None:
        raise UnstableError("the physics of the table became unstable")

    pose = place.observe().expert()[0]
    monkeypatch.setattr(Simulation, "move", blow_up)
    assert place.future([pose]).progress == 0.0, "of a plan that is only imagined it is the worst there is"
    assert not place.unstable
    assert place.step(pose)
    assert place.unstable
    assert "unstable" in str(place.reasons[-1])


def test_an_agent_senses_the_table(place: TableEnv) -> None:
    sight = place.observe()
    assert sight.front.shape == (64, 64, 3)
    assert sight.depth.shape == sight.instances.shape == (64, 64)
    assert [thing.name for thing in sight.things] == [thing.name for thing in table().task.things]
    again = place.observe()
    place.step(sight.expert()[0])
    assert again.expert()[0] == sight.expert()[0], "a sight stays what it was"
    assert place.observe().expert()[0] != sight.expert()[0]


def test_the_goal_is_shown_without_doing_anything(place: TableEnv) -> None:
    before = place.state
    start, goal = place.goal_picture()
    assert place.state == before
    assert start.shape == goal.shape == (64, 64, 3)
    assert (start != goal).any()
    changed = (start != goal).any(-1).mean()
    assert changed < 0.1, "three buttons light up, nothing else"


def test_of_a_plan_that_is_thinned_out_the_frames_of_its_clip_are_seen(place: TableEnv) -> None:
    hand = place.hand
    poses = [hand._replace(z=hand.z - 0.004 * k) for k in range(1, 31)]
    told = clip_plan(hand, np.array(poses), FRAMES)
    film = place.film(poses, told).to_array()
    place.begin(poses, FRAMES)
    seen = []
    for pose in poses:
        place.step(pose)
        seen += place.seen
    np.testing.assert_array_equal(place.clip(seen).to_array(), film)


def test_where_it_ends_is_seen_although_the_clip_has_no_frame_there(place: TableEnv) -> None:
    hand = place.hand
    place.begin([hand] * 30, FRAMES)
    assert place.step(HandPose(9, 9, 9, 1, 0, 0, 0, 1))
    assert place.seen == [place.state]


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
def place_of_imagination() -> TableEnv:
    return TableEnv(table(), 48)


def imagination(model: Any, place_of_imagination: TableEnv) -> TableImagination:
    defaults = LoopSettings.of({"task": "manipulation"}).of_task("manipulation")
    made = TableImagination(model, place_of_imagination, defaults, table().facts, "push it", 7, "manipulation/x")
    made.remember()
    return made


def plans_of(place_of_imagination: TableEnv, *lengths: int) -> list[ActionPlan]:
    expert = tuple(place_of_imagination.observe().expert())
    return [ActionPlan((), "test", poses=expert[:length], aim={"text": f"go {length} ways"}) for length in lengths]


def test_all_plans_of_a_decision_are_one_batch_of_thirteen_frames_each(place_of_imagination: TableEnv) -> None:
    model = Asked()
    imagine = imagination(model, place_of_imagination)
    plans = plans_of(place_of_imagination, 1, 3, 5)
    rollouts = imagine(place_of_imagination.observe(), plans, 0)
    assert (model.batches, imagine.calls) == ([3], 3)
    for plan, rollout, request in zip(plans, rollouts, model.requests, strict=True):
        assert rollout.frames.shape == (14, 48, 48, 3)
        np.testing.assert_array_equal(rollout.frames[0], place_of_imagination.observe().front)
        assert (rollout.frames[1:] == 99).all()
        assert (rollout.valid_len, len(rollout.anchors)) == (14, len(plan.poses))
        assert rollout.frame_to_action[list(rollout.anchors)].tolist() == list(range(1, len(plan.poses) + 1))
        assert request.actions is not None
        reached = from_actions(request.actions)[np.array(rollout.anchors) - 1]
        np.testing.assert_allclose(reached[:, :3], np.array(plan.poses)[:, :3], atol=1e-6)
        assert (request.world, request.truth, rollout.text) == (None, None, "")
        assert request.poses is request.context.poses is None
        assert request.text == str(plan.aim["text"]).capitalize() + "."  # type: ignore[index]
        assert "button" in str(request.caption)
    seeds = [request.seed for request in model.requests]
    assert len(set(seeds)) == 3


def test_a_model_sees_what_was_seen_and_which_poses_led_there(place_of_imagination: TableEnv) -> None:
    """As they were: a frame comes after a pose, so a model's rate means nothing to it."""
    model = Asked(fps=1)
    imagine = imagination(model, place_of_imagination)
    first, poses = place_of_imagination.observe().front, place_of_imagination.observe().expert()[:2]
    for pose in poses:
        place_of_imagination.step(pose)
        imagine.remember()
    imagine(place_of_imagination.observe(), plans_of(place_of_imagination, 1), 1)
    context = model.requests[0].context
    assert (len(context), len(context.actions), context.clip.fps) == (3, 2, FPS)
    np.testing.assert_allclose(from_actions(context.actions)[:, :3], np.array(poses)[:, :3], atol=5e-3)
    np.testing.assert_array_equal(context.clip[-1], place_of_imagination.observe().front)
    for _ in range(REMEMBERED):
        imagine.remember()
    imagine(place_of_imagination.observe(), plans_of(place_of_imagination, 1), 2)
    context = model.requests[-1].context
    assert (len(context), len(context.actions)) == (REMEMBERED, REMEMBERED - 1)
    np.testing.assert_array_equal(context.clip[0], first, "the first frame stays: the arm at home")


def test_the_oracle_foresees_what_then_happens(place_of_imagination: TableEnv) -> None:
    plan = plans_of(place_of_imagination, 3)[0]
    (rollout,) = imagination(models.get("oracle")(), place_of_imagination)(place_of_imagination.observe(), [plan], 0)
    place_of_imagination.begin(plan.poses, 14)
    seen = []
    for pose in plan.poses:
        place_of_imagination.step(pose)
        seen += list(place_of_imagination.clip(place_of_imagination.seen))
    np.testing.assert_array_equal(rollout.frames[1:], np.stack(seen))


def test_words_a_world_and_depth_are_given_where_they_are_asked_for(place_of_imagination: TableEnv) -> None:
    model = Asked(control="text", inputs=frozenset({"world", "depth"}))
    place_of_imagination.step(place_of_imagination.observe().expert()[0])
    imagine = imagination(model, place_of_imagination)
    (rollout,) = imagine(place_of_imagination.observe(), plans_of(place_of_imagination, 2), 0)
    assert not rollout.aligned, "words bind no frame to a pose"
    (request,) = model.requests
    assert request.text == "Go 2 ways."
    assert rollout.text == request.text
    assert request.actions is not None
    assert request.world is not None
    there = Simulation(open_world(request.world))  # type: ignore[arg-type]
    assert there.state() == place_of_imagination.state, "the table as it is now"
    np.testing.assert_array_equal(request.context.depth(0), place_of_imagination.observe().depth)


def test_a_plan_that_cannot_be_begun_is_not_asked_about(place_of_imagination: TableEnv) -> None:
    model = Asked()
    plans = [
        ActionPlan((), "test"),
        *plans_of(place_of_imagination, 1),
        ActionPlan((), "test", poses=place_of_imagination.observe().expert()[0:1] * 6),
    ]
    rollouts = imagination(model, place_of_imagination)(place_of_imagination.observe(), plans, 0)
    assert ([one is None for one in rollouts], model.batches) == ([True, False, True], [1])


@pytest.mark.parametrize(
    ("spec", "said"), [({"view": "panorama"}, "panoramas"), ({"control": "camera"}, "camera path")]
)
def test_models_that_need_a_moving_camera_are_not_asked(place_of_imagination, spec, said):
    with pytest.raises(NotApplicableError, match=said):
        imagination(Asked(**spec), place_of_imagination)


def test_a_model_may_have_a_size_of_its_own(place_of_imagination: TableEnv) -> None:
    model = Asked(frame_size=(32, 32), crop=(2, 1))
    (rollout,) = imagination(model, place_of_imagination)(
        place_of_imagination.observe(), plans_of(place_of_imagination, 1), 0
    )
    assert rollout.frames.shape == (14, 32, 32, 3)
    assert (rollout.camera.width, rollout.camera.height) == (32, 32)


def test_a_broken_promise_is_the_model_s_fault(place_of_imagination: TableEnv) -> None:
    class Short(Asked):
        def rollout_batch(self, requests: Sequence[RolloutRequest]) -> list[list[Frames]]:
            return [[frames[0][:2]] for frames in super().rollout_batch(requests)]

    with pytest.raises(ModelError):
        imagination(Short(), place_of_imagination)(
            place_of_imagination.observe(), plans_of(place_of_imagination, 1, 2), 0
        )


POSE = HandPose(0.3, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@pytest.fixture
def place_of_task() -> TableEnv:
    return TableEnv(table(), 48)


def rules_of(place_of_task: TableEnv, **options: Any) -> ManipulationRules:
    settings = LoopSettings.of({"task": "manipulation", **options})
    return ManipulationRules(place_of_task, settings.of_task("manipulation"), settings)


def test_the_published_front_camera_is_a_setting() -> None:
    """A setting that is not given is as if it had never been there: old runs go on."""
    kinds = ({}, {"camera": "default"}, {"camera": "published"})
    keys = [RunKeys(open_suite("worldinworld", kind), {}, 0).of_record("a", "b") for kind in kinds]
    assert keys[0] == keys[1] != keys[2]
    ours, theirs = TableEnv(table(), 48), TableEnv(table(), 48, published=True)
    sight = theirs.observe()
    assert sight.camera.hfov_deg == pytest.approx(40)
    np.testing.assert_array_equal(sight.pose, front_pose(published=True))
    np.testing.assert_array_equal(theirs.goal_picture()[0], sight.front)
    assert (sight.front != ours.observe().front).any()
    np.testing.assert_array_equal(sight.wrist, ours.observe().wrist)
    assert sight.wrist.shape == (48, 48, 3)


def test_the_camera_of_an_episode_is_the_one_set() -> None:
    world = table().facts
    episode: Any = SimpleNamespace(
        table_task=world.params["task"], variation=world.params["variation"], instruction=table().task.instruction
    )
    for name, degrees in (("default", 38), ("published", 40)):
        settings = LoopSettings.of({"task": "manipulation", "camera": name})
        env = ManipulationTask(episode, world, settings).make_env()
        assert env.camera.hfov_deg == pytest.approx(degrees)


def plan_of(*poses: HandPose) -> ActionPlan:
    return ActionPlan((), "test", poses=poses)


def carried_out(rules: ManipulationRules, place_of_task: TableEnv, plan: ActionPlan | None) -> list[object]:
    done = []
    for action in rules.actions(Decision(plan)):
        place_of_task.step(action)
        done.append(action)
    return done


def test_the_paper_s_numbers() -> None:
    own = LoopSettings.of({"task": "manipulation"}).of_task("manipulation")
    assert (own.decisions, own.candidates, own.length, own.clip, own.view_px) == (15, 5, 5, 13, 448)
    long = LoopSettings.of({"task": "manipulation", "length": 50, "decisions": 400}).of_task("manipulation")
    assert (long.length, long.clip) == (50, 13), "a longer plan is thinned out, its clip is as long"


def test_whole_plans_as_far_as_poses_are_left(place_of_task: TableEnv) -> None:
    rules = rules_of(place_of_task, decisions=3, length=2)
    assert carried_out(rules, place_of_task, plan_of(POSE, POSE)) == [POSE, POSE]
    assert not rules.truncated(())
    assert carried_out(rules, place_of_task, plan_of(POSE, POSE)) == [POSE]
    assert rules.truncated(())
    assert rules.taken == 3


@pytest.mark.parametrize("poses", [(), (POSE,) * 6, (POSE, POSE._replace(x=math.nan)), (POSE._replace(qx=0.0),)])
def test_a_plan_that_cannot_be_begun_is_one_failed_step(place_of_task: TableEnv, poses: tuple[HandPose, ...]) -> None:
    rules = rules_of(place_of_task)
    (done,) = carried_out(rules, place_of_task, plan_of(*poses))
    assert isinstance(done, RefusedPlan)
    assert (place_of_task.reasons, done.reason) == ([done.reason], plan_fault(poses, 5))
    assert (rules.taken, rules.true_value(plan_of(*poses))) == (1, None)


def test_no_plan_is_one_failed_step_too(place_of_task: TableEnv) -> None:
    (done,) = carried_out(rules_of(place_of_task), place_of_task, None)
    assert isinstance(done, RefusedPlan)


def test_it_is_over_when_it_is_solved(place_of_task: TableEnv) -> None:
    rules = rules_of(place_of_task)
    assert rules.terminated() is None
    assert rules.checks_every_step
    for pose in place_of_task.observe().expert():
        place_of_task.step(pose)
        if rules.terminated():
            break
    assert rules.terminated() == SOLVED
    place_of_task.unstable = True
    assert rules.terminated() == UNSTABLE, "whatever it looks like"


def test_the_true_value_is_the_progress_in_the_end(place_of_task: TableEnv) -> None:
    rules = rules_of(place_of_task)
    expert = tuple(place_of_task.observe().expert())[:5]
    first = rules.true_value(plan_of(*expert[:2]))
    assert first == pytest.approx(1 / 3), "one of three buttons"
    whole = rules.true_value(plan_of(*expert))
    assert whole > first
    assert rules.true_value(plan_of(POSE)) == 0.0


def test_the_fallback_is_one_random_pose_with_an_open_gripper(place_of_task: TableEnv) -> None:
    rules = rules_of(place_of_task)
    made = [rules.fallback(place_of_task.observe(), np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    for plan in made:
        assert plan.flags == (FALLBACK,)
        (pose,) = plan.poses
        assert pose.gripper == 1.0
        assert plan_fault(plan.poses, 1) is None


def test_a_plan_that_was_refused_before_is_a_failed_step_for_that_reason(place_of_task: TableEnv) -> None:
    plan = ActionPlan((), "test", aim={"text": "policy 'odd' gives plans of 6 poses"}, flags=(REFUSED,))
    (done,) = carried_out(rules_of(place_of_task), place_of_task, plan)
    assert done == RefusedPlan("policy 'odd' gives plans of 6 poses")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"expert_noise_m": -1}, "expert_noise_m"),
        ({"expert_noise_m": math.nan}, "expert_noise_m"),
        ({"expert_wrong": 2}, "expert_wrong"),
        ({"proposer": "cloned"}, "demonstrations"),
        ({"proposer": "process"}, "policy"),
        ({"shots": 1}, "for a language model"),
        ({"shots": 2}, "shots"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_before_anything_runs(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        LoopSettings.of({"task": "manipulation", **options})
