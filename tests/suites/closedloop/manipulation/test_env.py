"""The table in the loop: what is foreseen is what happens, to the bit; what cannot be done is a failed step."""

import math

import numpy as np
import pytest

from suites.closedloop.manipulation.table_sight import table
from worldgauge.suites.closedloop.manipulation.env import RefusedPlan, TableEnv
from worldgauge.worlds.tabletop.pose_plans import HandPose, clip_plan
from worldgauge.worlds.tabletop.simulation import Simulation, UnstableError

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
    assert place.state == foreseen.states[-1][-1]
    assert place.progress == foreseen.progress
    np.testing.assert_array_equal(place.clip(seen).to_array(), film)
    assert len(seen) == FRAMES - 1


def test_a_task_that_is_solved_on_the_way_is_solved_and_the_plan_is_foreseen_to_its_end(place: TableEnv) -> None:
    poses = list(place.observe().expert())
    away = poses[-1]._replace(z=poses[-1].z + 0.1)
    future = place.future([*poses, away])
    assert future.progress == 1.0
    assert len(future.states) == len(poses) + 1
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
def test_what_cannot_be_done_is_a_failed_step_and_moves_nothing(
    place: TableEnv, pose: HandPose | RefusedPlan, said: str
) -> None:
    before = place.state
    assert place.step(pose)
    assert said in str(place.reasons[-1])
    assert place.state == before
    assert place.seen == [before]
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
