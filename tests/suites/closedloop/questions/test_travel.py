"""Journeys: to a landmark by the shortest way, in words some steps at a time, and turns that are counted."""

import math

import numpy as np
import pytest

from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.policies.contract import ActionPlan
from worldgauge.suites.closedloop.questions.travel import MOST_STEPS, Traveller, ahead, turn_steps
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.ground import Level
from worldgauge.worlds.walking.primitives import Primitive, Stance, walked

F, L, R, STOP = Primitive.FORWARD, Primitive.TURN_LEFT, Primitive.TURN_RIGHT, Primitive.STOP


class Walker:
    """Somebody in a hall of 20 x 6 m, with a wall across it at x = 10 but for a gap at its top."""

    def __init__(self, x, y, yaw=0.0):
        free = np.ones((400, 120), bool)
        free[200:202, :100] = False
        self.floor = FloorPlan(free, np.zeros(free.shape, np.float32), (0.0, 0.0), 0.05)
        self.stance = Stance(x, y, yaw)

    def traveller(self, things=None, low_level=ahead):
        return Traveller(Level(self.floor), lambda: self.stance, lambda: None, things or {}, low_level)

    def go(self, plan, seed=0, **kwargs):
        journey = self.traveller(**kwargs).journey(plan, np.random.default_rng(seed))
        self.stance = self.stance.turned(journey.turn_left_rad)
        taken = []
        for step in journey:
            self.stance, _ = walked(self.floor, self.stance, step)
            taken.append(step)
        return journey, taken


def landmark(x, y, radius=0.5, number=1):
    return ActionPlan(
        (F,) * 13, "test", 1.0, {"landmark": number, "view": "front", "centre": [x, y, 0.5], "radius_m": radius}
    )


def test_the_way_to_a_landmark_ends_within_reach_of_it_and_turns_are_steps():
    walker = Walker(2.0, 3.0, math.pi / 2)
    journey, taken = walker.go(landmark(7.0, 3.0))
    assert (journey.turn_left_rad, journey.turn_steps, journey.complete) == (0.0, 0, False)
    away = math.hypot(walker.stance.x - 7.0, walker.stance.y - 3.0)
    assert 1.7 < away < 0.5 + 2.0 + 0.25 + 0.1
    assert taken.count(F) == pytest.approx((5.0 - 2.5) / 0.2, abs=2)
    assert taken.count(R) == 4


def test_the_nearest_of_the_places_about_a_landmark_by_foot_not_by_air():
    walker = Walker(9.0, 0.5)
    _, taken = walker.go(landmark(11.0, 0.5, radius=0.0))
    assert walker.stance.x < 10, "a place this side of the wall is nearer by foot"
    assert len(taken) < 12


def test_steps_that_are_the_way_are_walked_as_planned():
    plan = ActionPlan((L, F, R, R, F), "test", aim={"view": "front", "landmark": None, "as_planned": True})
    journey, taken = Walker(5.0, 3.0).go(plan)
    assert (taken, journey.complete) == ([L, F, R, R, F], False)
    journey, taken = Walker(5.0, 3.0).go(ActionPlan((), "test", aim=plan.aim))
    assert (taken, journey.complete) == ([], True)


def test_no_more_than_fifty_primitives_a_plan():
    walker = Walker(0.5, 0.5)
    _, taken = walker.go(landmark(19.0, 0.5))
    assert len(taken) == MOST_STEPS


def test_a_landmark_that_is_reached_or_cannot_be_is_complete_at_once():
    for walker, plan in (
        (Walker(2.0, 3.0), landmark(3.6, 3.0)),
        (Walker(2.0, 3.0), landmark(60.0, 3.0)),
    ):
        journey, taken = walker.go(plan)
        assert journey.complete
        assert taken == []


def test_a_landmark_without_a_place_is_an_object_or_nobody_knows():
    class Thing:
        low, high = (6.5, 2.5, 0.0), (7.5, 3.5, 1.0)

    plan = ActionPlan((F,), "test", 0.0, {"landmark": 4, "view": "front", "text": ""})
    walker = Walker(2.0, 3.0)
    _, taken = walker.go(plan, things={4: Thing()})
    assert 10 <= len(taken) <= 15
    with pytest.raises(UsageError, match="landmark 4"):
        walker.go(plan)


def test_same_generator_same_way():
    assert Walker(2.0, 3.0).go(landmark(7.0, 3.0), 5)[1] == Walker(2.0, 3.0).go(landmark(7.0, 3.0), 5)[1]


def test_words_go_ahead_after_a_turn_that_is_counted_as_its_size():
    walker = Walker(2.0, 3.0)
    journey, taken = walker.go(ActionPlan((F,) * 13, "test", math.radians(-100), {"landmark": None}))
    assert journey.turn_steps == 4
    assert taken == [F] * 13
    assert walker.stance.yaw == pytest.approx(math.radians(-100))


def test_words_go_as_far_as_the_aim_says():
    assert len(Walker(2.0, 3.0).go(ActionPlan((F,) * 13, "test", 0.0, {"metres": 0.9}))[1]) == 5
    assert len(Walker(2.0, 3.0).go(ActionPlan((F,) * 13, "test", 0.0, {"metres": 9.0}))[1]) == 13


def test_words_end_where_something_stands_in_the_way():
    walker = Walker(9.0, 0.5)
    _, taken = walker.go(ActionPlan((F,) * 13, "test", 0.0))
    assert len(taken) == 5
    assert walker.stance.x == pytest.approx(9.9, abs=0.06)


def test_a_low_level_gets_four_turns_of_four_primitives_and_may_stop():
    asked = []

    def eager(plan, look, past):
        asked.append(len(past))
        return (L, F, L, F, L, F)

    _, taken = Walker(2.0, 3.0).go(ActionPlan((F,), "test"), low_level=eager)
    assert taken == [L, F, L, F] * 4
    assert asked == [0, 1, 2, 3]
    _, taken = Walker(2.0, 3.0).go(ActionPlan((F,), "test"), low_level=lambda plan, look, past: (F, STOP, F))
    assert taken == [F]
    _, taken = Walker(2.0, 3.0).go(ActionPlan((F,), "test"), low_level=lambda plan, look, past: ())
    assert taken == []


@pytest.mark.parametrize(
    ("degrees", "steps"), [(0, 0), (11.2, 0), (11.25, 1), (-22.5, 1), (33.75, 2), (180, 8), (-180, 8)]
)
def test_turns_are_counted_in_steps_of_22_5_degrees(degrees, steps):
    assert turn_steps(math.radians(degrees)) == steps
