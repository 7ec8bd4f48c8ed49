"""Behaviour cloning: roles of things by hand, plans that move with them, and the likeness of moments."""

from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge.suites.closedloop.manipulation.cloned_proposer import CUTOFF_M, ClonedPolicy, roles
from worldgauge.suites.closedloop.training_data.demonstration import Demonstration, DemoThing
from worldgauge.worlds.tabletop.pose_plans import HandPose

DOWN = (1.0, 0.0, 0.0, 0.0)
HOME = HandPose(0.0, 0.0, 1.2, *DOWN, 1.0)
RED, BLUE = DemoThing("red button", "button", "red"), DemoThing("blue button", "button", "blue")


def pose(x: float, y: float, z: float, gripper: float = 0.0) -> HandPose:
    return HandPose(x, y, z, *DOWN, gripper)


def shown(
    sub_goals: list[HandPose], places: list[tuple[float, float, float]], instruction: str = "push the red button"
) -> Demonstration:
    """The hand is home, then at each sub-goal; nothing moves."""
    hand = np.array([HOME, *sub_goals])
    return Demonstration(
        id="push_buttons/000000",
        task="push_buttons",
        variation=0,
        seed=1,
        instruction=instruction,
        clip=Clip.from_array(np.zeros((len(hand), 4, 4, 3), np.uint8), 10),
        asked=np.array([*sub_goals, sub_goals[-1]]),
        hand=hand,
        sub_goals=np.array(sub_goals),
        reached=tuple(range(1, len(hand))),
        things=(RED, BLUE),
        places=np.array([places] * len(hand)),
        progress=np.linspace(0, 1, len(hand)),
        camera=Camera.from_vertical_fov(4, 4, 40),
        camera_pose=np.eye(4),
        world=WorldFacts("tabletop", {}),
    )


def told(red: tuple[float, float, float], blue: tuple[float, float, float]) -> dict[str, Any]:
    """Places by their roles where the red button is to be pushed."""
    return {"button named 1": np.array(red), "button other 1": np.array(blue)}


ABOVE, LOW = pose(0.1, 0.2, 0.9), pose(0.1, 0.2, 0.78)
AT_RED, AT_BLUE = (0.1, 0.2, 0.78), (0.3, -0.2, 0.78)


def test_roles_by_hand() -> None:
    green = DemoThing("green button", "button", "green")
    assert roles("Push the blue button, then the red button", [RED, BLUE, green]) == (
        *("button named 2", "button named 1", "button other 1"),
    )
    block = DemoThing("block", "block", "grey")
    targets = [DemoThing(f"{name} target", "target", name) for name in ("red", "green", "blue")]
    assert roles("push the block onto the green square", [block, *targets]) == (
        *("block named 1", "target other 1", "target named 2", "target other 2"),
    )
    # No word within another one: "redirect" names nothing red.
    assert roles("redirect it", [RED]) == ("button other 1",)


def test_a_plan_moves_with_its_thing() -> None:
    clone = ClonedPolicy([shown([ABOVE, LOW], [AT_RED, AT_BLUE])])
    (first, *_) = clone.plans(HOME, told((0.15, 0.1, 0.78), (0.3, 0.2, 0.78)), 5, 1)
    np.testing.assert_allclose(first, [pose(0.15, 0.1, 0.9), pose(0.15, 0.1, 0.78)])


def test_no_thing_beside_a_pose_leaves_it_where_it_was() -> None:
    away = pose(-0.2, 0.4, 1.0)
    clone = ClonedPolicy([shown([away, LOW], [AT_RED, AT_BLUE])], "apart")
    (plan,) = clone.plans(HOME, told((0.15, 0.1, 0.78), AT_BLUE), 5, 1)
    np.testing.assert_allclose(plan, [away, pose(0.15, 0.1, 0.78)])


def test_together_and_apart() -> None:
    over_blue = pose(0.3, -0.2, 0.9)
    moved = told((0.15, 0.2, 0.78), (0.3, -0.3, 0.78))
    shows = [shown([ABOVE, over_blue], [AT_RED, AT_BLUE])]
    (together,) = ClonedPolicy(shows, "together").plans(HOME, moved, 5, 1)
    (apart,) = ClonedPolicy(shows, "apart").plans(HOME, moved, 5, 1)
    np.testing.assert_allclose(together, [pose(0.15, 0.2, 0.9), pose(0.35, -0.2, 0.9)])
    np.testing.assert_allclose(apart, [pose(0.15, 0.2, 0.9), pose(0.3, -0.3, 0.9)])


def test_what_is_next_depends_on_where_the_hand_is() -> None:
    clone = ClonedPolicy([shown([ABOVE, LOW, ABOVE._replace(z=0.95)], [AT_RED, AT_BLUE])])
    places = told((0.2, 0.25, 0.78), AT_BLUE)
    (plan,) = clone.plans(pose(0.2, 0.25, 0.78), places, 5, 1)
    np.testing.assert_allclose(plan, [pose(0.2, 0.25, 0.95)])
    plans = clone.plans(pose(0.2, 0.25, 0.9), places, 1, 5)
    assert [len(plan) for plan in plans] == [1, 1, 1], "a pose each, from all three moments"
    np.testing.assert_allclose(plans[0], [pose(0.2, 0.25, 0.78)])


def test_equal_plans_are_one_and_the_length_is_kept() -> None:
    demonstrations = [shown([ABOVE, LOW], [AT_RED, AT_BLUE])] * 3
    plans = ClonedPolicy(demonstrations).plans(HOME, told(AT_RED, AT_BLUE), 1, 5)
    assert [len(plan) for plan in plans] == [1, 1]
    assert plans == ClonedPolicy(demonstrations).plans(HOME, told(AT_RED, AT_BLUE), 1, 5)
    opened = [shown([ABOVE], [AT_RED, AT_BLUE]), shown([ABOVE._replace(gripper=1.0)], [AT_RED, AT_BLUE])]
    assert len(ClonedPolicy(opened).plans(HOME, told(AT_RED, AT_BLUE), 1, 5)) == 2


def test_plans_stay_in_the_workspace() -> None:
    clone = ClonedPolicy([shown([pose(0.6, 0.2, 0.9)], [(0.5, 0.2, 0.78), AT_BLUE])])
    (plan,) = clone.plans(HOME, told((0.69, 0.2, 0.78), AT_BLUE), 5, 1)
    assert plan[0].x == pytest.approx(0.7)


def test_dissimilarity_by_loops() -> None:
    rng = np.random.default_rng(3)
    shows = [
        shown([pose(*rng.uniform(0, 0.4, 3), rng.integers(2)) for _ in range(3)], rng.uniform(0, 0.3, (2, 3)).tolist())
        for _ in range(4)
    ]
    hand, places = pose(0.1, 0.15, 0.2, 1.0), told((0.1, 0.1, 0.1), (0.2, 0.2, 0.2))
    del places["button other 1"]
    places["cup named 1"] = np.array([0.1, 0.0, 0.0])
    expected = []
    for one in shows:
        for frame in range(3):
            then, red = one.hand[frame], one.places[frame, 0]
            here = np.array(hand[:3])
            world = min(CUTOFF_M, float(np.linalg.norm(then[:3] - here)))
            of_red = min(CUTOFF_M, float(np.linalg.norm((then[:3] - red) - (here - places["button named 1"]))))
            grip = 2 * CUTOFF_M * abs(then[7] - 1)
            expected.append(world + of_red + grip + 2 * CUTOFF_M)  # a cup that it lacks, a button that is not here
    np.testing.assert_allclose(ClonedPolicy(shows).dissimilarity(hand, places), expected)
