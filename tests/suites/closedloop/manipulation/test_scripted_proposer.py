"""The scripted expert with noise: how many plans, how far off they are, and about what."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.manipulation.scripted_proposer import (
    NOISE_M,
    ScriptedProposer,
    describe_plan,
    make_mistakes,
    thing_at,
)
from worldgauge.suites.closedloop.policies.contract import PolicyKit, SeenThing, proposers
from worldgauge.worlds.tabletop.pose_plans import HandPose, bins_from_poses


def pose(x: float, y: float, z: float, gripper: float = 0.0) -> HandPose:
    return HandPose(x, y, z, 1.0, 0.0, 0.0, 0.0, gripper)


def thing(name: str, x: float, y: float, category: str = "cup", z: float = 0.8) -> SeenThing:
    return SeenThing(f"{name} {category}", category, name, (x, y, z), (0.04, 0.04, 0.04))


HOME = pose(0.0, 0.0, 0.95, 1.0)
RED, BLUE, BLOCK = thing("red", 0.2, 0.0), thing("blue", 0.1, 0.25), thing("grey", 0.35, -0.2, "block")
# Above the red cup, grasp, up; off to a place where nothing is, and down.
EXPERT = (
    pose(0.2, 0.0, 0.95, 1.0),
    pose(0.2, 0.01, 0.83),
    pose(0.2, 0.0, 0.95),
    pose(0.0, -0.3, 0.95),
    pose(0.0, -0.3, 0.8, 1.0),
    pose(0.0, -0.3, 0.95, 1.0),
)


class Seen:
    """What is sensed, as far as the proposer looks."""

    def __init__(self, expert: Sequence[HandPose] = EXPERT, things: tuple[SeenThing, ...] = (RED, BLUE, BLOCK)) -> None:
        self.hand, self.things, self._expert = HOME, things, expert

    def expert(self) -> Sequence[HandPose]:
        return list(self._expert)


def proposed(seen: Any, n: int = 5, seed: int = 0, length: int = 5, **options: Any) -> list[Any]:
    proposer = ScriptedProposer(PolicyKit("manipulation", length, options=options))
    return list(proposer.propose(seen, Goal(), [], n, np.random.default_rng(seed)))


def places(plans: Sequence[Any]) -> np.ndarray:
    return np.array([plan.poses for plan in plans])[:, :, :3]


def test_without_noise_all_plans_are_the_experts() -> None:
    plans = proposed(Seen(), noise_m=0, wrong=0)
    assert [plan.poses for plan in plans] == [EXPERT[:5]] * 5
    assert all(plan.steps == () and plan.source == "scripted" and plan.turn_left_rad == 0 for plan in plans)
    assert len({plan.aim["text"] for plan in plans}) == 1


@pytest.mark.parametrize(("n", "length"), [(1, 5), (3, 2), (7, 14)])
def test_as_many_plans_and_poses_as_are_asked_for(n: int, length: int) -> None:
    plans = proposed(Seen(), n, length=length)
    assert len(plans) == n
    assert {len(plan.poses) for plan in plans} == {min(length, len(EXPERT))}


def test_a_plan_with_room_for_it_ends_with_the_hand_where_it_hides_nothing() -> None:
    (plan,) = proposed(Seen(EXPERT[:2]), 1, noise_m=0, wrong=0)
    assert plan.poses == (*EXPERT[:2], EXPERT[1]._replace(z=HOME.z)), "as high as it has been"
    (full,) = proposed(Seen(EXPERT[:2]), 1, noise_m=0, wrong=0, length=2)
    assert full.poses == EXPERT[:2], "no room"
    high = EXPERT[0]._replace(z=HOME.z - 0.005)
    (there,) = proposed(Seen((high,)), 1, noise_m=0, wrong=0)
    assert there.poses == (high,), "it is there already"


def test_nothing_is_proposed_where_the_expert_has_no_plan() -> None:
    assert proposed(Seen(expert=())) == []


def test_seeds() -> None:
    assert proposed(Seen(), seed=4) == proposed(Seen(), seed=4)
    assert proposed(Seen(), seed=4) != proposed(Seen(), seed=5)


def test_a_plan_is_off_by_one_error_from_its_first_pose_on() -> None:
    off = places(proposed(Seen(), 4000, seed=1, noise_m=0.03, wrong=0)) - np.array(EXPERT[:5])[:, :3]
    assert np.ptp(off, axis=1).max() < 1e-12
    assert np.abs(off[..., 2]).max() == 0
    assert off[:, 0, :2].mean(0) == pytest.approx([0, 0], abs=4 * 0.03 / 4000**0.5)
    assert off[:, 0, :2].std(0) == pytest.approx([0.03, 0.03], rel=0.05)
    assert abs(np.corrcoef(off[:, 0, 0], off[:, 0, 1])[0, 1]) < 0.06


@pytest.mark.parametrize(("category", "noise_m"), [*NOISE_M.items(), ("spoon", 0.02)])
def test_how_far_off_plans_are_depends_on_what_is_handled(category: str, noise_m: float) -> None:
    off = places(proposed(Seen(things=(thing("red", 0.2, 0.0, category),)), 2000)) - np.array(EXPERT[:5])[:, :3]
    assert off[:, 0, :2].std() == pytest.approx(noise_m, rel=0.08)


def test_a_mistaken_plan_goes_to_the_other_cup() -> None:
    (plan,) = proposed(Seen(), 1, noise_m=0, wrong=1)
    # From (0.2, 0) to (0.1, 0.25): the three poses at the red cup, 0.1 back and 0.25 to the right; the others stay.
    assert np.array(plan.poses)[:, :2] == pytest.approx(
        np.array([[0.1, 0.25], [0.1, 0.26], [0.1, 0.25], [0.0, -0.3], [0.0, -0.3]])
    )
    assert [one[2:] for one in plan.poses] == [one[2:] for one in EXPERT[:5]]


def test_mistakes_are_as_frequent_as_is_said() -> None:
    plans = proposed(Seen(), 3000, seed=2, noise_m=0, wrong=0.3)
    assert np.mean([plan.poses != EXPERT[:5] for plan in plans]) == pytest.approx(0.3, abs=0.03)


def test_a_higher_cup_is_grasped_higher() -> None:
    high = thing("blue", 0.1, 0.25, z=0.83)
    poses = make_mistakes(EXPERT[:1], (RED, high), np.random.default_rng(0))
    assert poses[0][:3] == pytest.approx((0.1, 0.25, 0.98))


def test_nothing_is_mistaken_that_is_alone_of_its_kind_or_far() -> None:
    rng = np.random.default_rng(0)
    assert make_mistakes(EXPERT, (RED, BLOCK), rng) == EXPERT
    assert make_mistakes(EXPERT[3:], (RED, BLUE, BLOCK), rng) == EXPERT[3:]
    assert make_mistakes(EXPERT, (), rng) == EXPERT


def test_every_other_thing_and_every_thing_a_plan_is_at_has_its_turn() -> None:
    green = thing("green", -0.1, 0.3)
    expert = (pose(0.2, 0.0, 0.8), pose(0.1, 0.25, 0.8))
    rng = np.random.default_rng(0)
    found = {
        tuple(np.round(np.array(make_mistakes(expert, (RED, BLUE, green), rng))[:, :2].ravel(), 6)) for _ in range(60)
    }
    assert found == {(0.1, 0.25, 0.1, 0.25), (-0.1, 0.3, 0.1, 0.25), (0.2, 0.0, 0.2, 0.0), (0.2, 0.0, -0.1, 0.3)}


def test_a_pose_is_at_the_nearest_thing_along_the_table() -> None:
    assert thing_at(pose(0.2, 0.069, 1.5), (RED, BLUE)) is RED
    assert thing_at(pose(0.2, 0.071, 0.8), (RED, BLUE)) is None
    near = thing("green", 0.2, 0.1)
    assert thing_at(pose(0.2, 0.06, 0.8), (RED, near)) is near
    assert thing_at(pose(0, 0, 0), ()) is None


def test_poses_stay_inside_the_workspace() -> None:
    corners = (pose(-0.3, -0.5, 0.6), pose(0.69999, 0.49999, 1.59999))
    for plan in proposed(Seen(expert=corners), 200, noise_m=0.5, wrong=0):
        bins = bins_from_poses(plan.poses)[:, :3]
        assert ((bins >= 0) & (bins < 100)).all()
    assert places(proposed(Seen(expert=(pose(5, 5, 5),)), 1, noise_m=0))[0, 0] == pytest.approx([0.695, 0.495, 1.595])


def test_what_a_plan_does_in_words() -> None:
    assert describe_plan(EXPERT, HOME, (RED, BLUE, BLOCK)) == (
        "move over the red cup, then move down, then close the gripper, then move up, "
        "then move 30 cm to the left and 20 cm to the back, then move down, then open the gripper, then move up"
    )
    assert describe_plan((HOME,), HOME, ()) == "stay"
    assert describe_plan((pose(0.35, -0.2, 0.8, 1.0),), HOME, (RED, BLOCK)) == "move to the grey block"


@pytest.mark.parametrize(
    ("options", "words"),
    [({"noise_m": -0.1}, "noise_m .* 0 or more"), ({"noise_m": float("inf")}, "noise_m"), ({"wrong": 1.1}, "between 0")]
    + [({"wrong": value}, "wrong of the proposer 'scripted'") for value in (float("nan"), "much", True)],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ScriptedProposer(PolicyKit("manipulation", 5, options=options))


def test_it_is_registered() -> None:
    facts = proposers.entry("scripted").facts
    assert facts["tasks"] == ("manipulation",)
    assert facts["chat"] is False
