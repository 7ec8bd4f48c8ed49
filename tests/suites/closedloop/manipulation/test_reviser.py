"""Which plan of an arm is taken by how like the goal it leaves the table."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, Decision, PolicyKit, Rollout, revisers
from worldgauge.worlds.tabletop.pose_plans import HandPose

POSE = HandPose(0.1, 0.0, 0.9, 1.0, 0.0, 0.0, 0.0, 1.0)


def picture(block: int, size: int = 64) -> Any:
    """A table with a red block in one of eight columns."""
    table = np.full((size, size, 3), (180, 155, 125), np.uint8)
    side = size // 8
    table[3 * side : 4 * side, block * side : (block + 1) * side] = (220, 30, 30)
    return table


GOAL = Goal(text="slide the block to the right", image=picture(6), before=picture(1))


def candidate(*blocks: int | None, valid: int | None = None, size: int = 64) -> Candidate:
    """A plan in whose frames after the first the block is in these columns; nothing was imagined for none."""
    plan = ActionPlan((), "test", poses=(POSE._replace(x=0.01 * (blocks[-1] or 0)),) * max(len(blocks), 1))
    if blocks[0] is None:
        return Candidate(plan, None, lambda: None)
    frames = np.stack([picture(1, size), *(picture(int(block or 0), size) for block in blocks)])
    count = len(frames) if valid is None else valid
    camera = Camera.from_vertical_fov(size, size, 40)
    return Candidate(plan, Rollout(frames, "perspective", camera, np.arange(len(frames)), count), lambda: None)


def decision(*candidates: Candidate, goal: Goal = GOAL, reviser: Any = None) -> Decision:
    reviser = reviser or revisers.get("similarity")(PolicyKit("manipulation", 5))
    return reviser.revise(candidates, SimpleNamespace(), goal, [], np.random.default_rng(0))


def test_the_plan_that_ends_as_the_goal_is_taken() -> None:
    made = decision(candidate(1, 2), candidate(3, 6), candidate(6, 1))
    assert made.chosen == 1
    assert made.scores[1:] == pytest.approx((1.0, 0.0), abs=0.02), "of the last frame alone"
    assert 0.5 < made.scores[0] < 0.6, "gone from its place, and a little nearer"
    assert made.plan is not None
    assert made.plan.poses[0].x == pytest.approx(0.06)


def test_frames_beyond_the_plan_are_not_looked_at() -> None:
    cut_off, short = decision(candidate(2, 6, valid=2), candidate(2, 2)).scores
    assert cut_off == short


def test_of_equal_ones_the_first() -> None:
    assert decision(candidate(3), candidate(6), candidate(6)).chosen == 1


def test_a_plan_without_a_frame_has_no_score_and_is_taken_last() -> None:
    made = decision(candidate(None), candidate(6, valid=1), candidate(1))
    assert made.chosen == 2
    assert made.scores[:2] == (None, None)
    assert json.loads(json.dumps(made.scores, allow_nan=False))[2] == pytest.approx(0, abs=0.02)


def test_where_nothing_was_imagined_the_first_is_taken() -> None:
    made = decision(candidate(None), candidate(None))
    assert (made.chosen, made.scores) == (0, ())
    assert decision(candidate(6, valid=1), candidate(6, valid=1)).chosen == 0


def test_rollouts_of_another_size_than_the_goal() -> None:
    made = decision(candidate(2, size=96), candidate(6, size=96), candidate(1, size=96))
    assert made.chosen == 1


def test_rollouts_that_show_the_centre_of_the_view() -> None:
    whole = candidate(2), candidate(6), candidate(1)
    cut = []
    for one in whole:
        assert one.rollout is not None
        frames, camera = one.rollout.frames[:, :, 8:56], one.rollout.camera.cropped(48, 64)
        cut.append(replace(one, rollout=replace(one.rollout, frames=frames, camera=camera)))
    assert decision(*cut).scores == pytest.approx(decision(*whole).scores, abs=0.02)


def test_another_goal_is_another_comparison() -> None:
    reviser = revisers.get("similarity")(PolicyKit("manipulation", 5))
    assert decision(candidate(6), candidate(4), reviser=reviser).chosen == 0
    other = Goal(image=picture(4), before=picture(1))
    assert decision(candidate(6), candidate(4), goal=other, reviser=reviser).chosen == 1


@pytest.mark.parametrize("goal", [Goal(text="push"), Goal(image=picture(6)), Goal(before=picture(6))])
def test_a_goal_without_both_pictures_is_refused(goal: Goal) -> None:
    with pytest.raises(UsageError, match="needs images of the table at the start and at the goal"):
        decision(candidate(6), goal=goal)


@pytest.mark.parametrize(("name", "chosen"), [("none", 0), ("oracle", 2)])
def test_the_others_serve_an_arm_too(name: str, chosen: int) -> None:
    assert "manipulation" in revisers.entry(name).facts["tasks"]
    values = (0.2, None, 0.7)
    candidates = [Candidate(candidate(6).plan, None, lambda value=value: value) for value in values]  # type: ignore[misc]
    made = revisers.get(name)(PolicyKit("manipulation", 5)).revise(candidates, None, GOAL, [], np.random.default_rng(0))
    assert made.chosen == chosen
