"""What manipulation says to the loop: whole plans, within so many poses, until the simulator says that it is solved."""

import math
from typing import Any

import numpy as np
import pytest

from suites.closedloop.manipulation.table_sight import table
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.loop import FALLBACK
from worldgauge.suites.closedloop.manipulation.env import RefusedPlan, TableEnv, plan_fault
from worldgauge.suites.closedloop.manipulation.task import SOLVED, UNSTABLE, ManipulationRules
from worldgauge.suites.closedloop.policies.contract import REFUSED, ActionPlan, Decision
from worldgauge.suites.closedloop.task import Settings
from worldgauge.worlds.tabletop.pose_plans import HandPose

POSE = HandPose(0.3, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@pytest.fixture
def place() -> TableEnv:
    return TableEnv(table(), 48)


def rules_of(place: TableEnv, **options: Any) -> ManipulationRules:
    settings = Settings.of({"task": "manipulation", **options})
    return ManipulationRules(place, settings.of_task("manipulation"), settings)


def plan_of(*poses: HandPose) -> ActionPlan:
    return ActionPlan((), "test", poses=poses)


def carried_out(rules: ManipulationRules, place: TableEnv, plan: ActionPlan | None) -> list[object]:
    done = []
    for action in rules.actions(Decision(plan)):
        place.step(action)
        done.append(action)
    return done


def test_the_paper_s_numbers() -> None:
    own = Settings.of({"task": "manipulation"}).of_task("manipulation")
    assert (own.decisions, own.candidates, own.length, own.clip, own.view_px) == (15, 5, 5, 13, 448)
    long = Settings.of({"task": "manipulation", "length": 50, "decisions": 400}).of_task("manipulation")
    assert (long.length, long.clip) == (50, 13), "a longer plan is thinned out, its clip is as long"


def test_whole_plans_as_far_as_poses_are_left(place: TableEnv) -> None:
    rules = rules_of(place, decisions=3, length=2)
    assert carried_out(rules, place, plan_of(POSE, POSE)) == [POSE, POSE]
    assert not rules.truncated(())
    assert carried_out(rules, place, plan_of(POSE, POSE)) == [POSE]
    assert rules.truncated(())
    assert rules.taken == 3


@pytest.mark.parametrize("poses", [(), (POSE,) * 6, (POSE, POSE._replace(x=math.nan)), (POSE._replace(qx=0.0),)])
def test_a_plan_that_cannot_be_begun_is_one_failed_step(place: TableEnv, poses: tuple[HandPose, ...]) -> None:
    rules = rules_of(place)
    (done,) = carried_out(rules, place, plan_of(*poses))
    assert isinstance(done, RefusedPlan)
    assert place.reasons == [done.reason]
    assert done.reason == plan_fault(poses, 5)
    assert (rules.taken, rules.true_value(plan_of(*poses))) == (1, None)


def test_no_plan_is_one_failed_step_too(place: TableEnv) -> None:
    (done,) = carried_out(rules_of(place), place, None)
    assert isinstance(done, RefusedPlan)


def test_it_is_over_when_it_is_solved(place: TableEnv) -> None:
    rules = rules_of(place)
    assert rules.terminated() is None
    assert rules.checks_every_step
    for pose in place.observe().expert():
        place.step(pose)
        if rules.terminated():
            break
    assert rules.terminated() == SOLVED
    place.unstable = True
    assert rules.terminated() == UNSTABLE, "whatever it looks like"


def test_the_true_value_is_the_progress_in_the_end(place: TableEnv) -> None:
    rules = rules_of(place)
    expert = tuple(place.observe().expert())[:5]
    first = rules.true_value(plan_of(*expert[:2]))
    assert first == pytest.approx(1 / 3), "one of three buttons"
    whole = rules.true_value(plan_of(*expert))
    assert whole is not None
    assert whole > first
    assert rules.true_value(plan_of(POSE)) == 0.0


def test_the_fallback_is_one_random_pose_with_an_open_gripper(place: TableEnv) -> None:
    rules = rules_of(place)
    made = [rules.fallback(place.observe(), np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    for plan in made:
        assert plan.flags == (FALLBACK,)
        (pose,) = plan.poses
        assert pose.gripper == 1.0
        assert plan_fault(plan.poses, 1) is None


def test_a_plan_that_was_refused_before_is_a_failed_step_for_that_reason(place: TableEnv) -> None:
    plan = ActionPlan((), "test", aim={"text": "policy 'odd' gives plans of 6 poses"}, flags=(REFUSED,))
    (done,) = carried_out(rules_of(place), place, plan)
    assert done == RefusedPlan("policy 'odd' gives plans of 6 poses")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"expert_noise_m": -1}, "expert_noise_m"),
        ({"expert_noise_m": math.nan}, "expert_noise_m"),
        ({"expert_wrong": 2}, "expert_wrong"),
        ({"proposer": "cloned"}, "demonstrations"),
        ({"proposer": "process"}, "policy"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_before_anything_runs(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Settings.of({"task": "manipulation", **options})
