"""Bins in words, and poses from what a language model says: all that is none is refused with a reason."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from worldgauge.chat.prompt_runner import Misread
from worldgauge.chat.prompts import Prompts
from worldgauge.suites.closedloop.manipulation.prompts import AXIS_BINS, ORIGIN_BINS, read_hand_plan
from worldgauge.suites.closedloop.policies.asking import (
    OUTSIDE,
    moves_in_words,
    plan_in_words,
    pose_in_words,
    read_poses,
    things_in_words,
)
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Decision, PastDecision, SeenThing
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.pose_plans import HandPose, bins_from_points, poses_from_bins

DOWN = HandPose(0.305, 0.005, 1.005, 1.0, 0.0, 0.0, 0.0, 1.0)
ROW = [60, 50, 40, 0, 60, 60, 1]


def test_bins_are_read_as_the_poses_they_stand_for() -> None:
    (pose,) = read_poses([ROW], 5)
    assert pose == pytest.approx(DOWN)
    assert all(type(value) is float for value in pose)
    assert len(read_poses([ROW] * 5, 5)) == 5
    assert read_poses([[60.0, *ROW[1:]]], 5) == (pose,)


@pytest.mark.parametrize("place", range(7))
def test_every_bin_below_its_limit_is_one_and_the_limit_is_none(place: int) -> None:
    limit = (100, 100, 100, 120, 120, 120, 2)[place]
    for value, fine in ((0, True), (limit - 1, True), (limit, False), (-1, False), (0.5, False), (True, False)):
        row: list[Any] = list(ROW)
        row[place] = value
        if fine:
            assert len(read_poses([row], 1)) == 1
        else:
            with pytest.raises(Misread):
                read_poses([row], 1)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ([], "a plan of 0 poses, where 1 to 2 were asked for"),
        ([ROW] * 3, "a plan of 3 poses, where 1 to 2 were asked for"),
        (None, "a plan of 0 poses"),
        ("[[60, 50, 40, 0, 60, 60, 1]]", "a plan of 0 poses"),
        ({"x": 1}, "a plan of 0 poses"),
        ([ROW, ROW[:6]], "pose 2 is not a list of 7 numbers"),
        ([[*ROW, 1]], "pose 1 is not a list of 7 numbers"),
        ([60], "pose 1 is not a list of 7 numbers"),
        ([["60", *ROW[1:]]], "pose 1 holds what is no bin"),
        ([[None, *ROW[1:]]], "pose 1 holds what is no bin"),
        ([[10**30, *ROW[1:]]], "pose 1 holds what is no bin"),
        ([[math.nan, *ROW[1:]]], "pose 1 holds what is no bin"),
        ([[math.inf, *ROW[1:]]], "pose 1 holds what is no bin"),
        ([[100, *ROW[1:]]], "x is 100, its bins are 0 to 99"),
        ([[*ROW[:5], 120, 1]], "yaw is 120, its bins are 0 to 119"),
    ],
)
def test_what_is_no_plan_is_refused(given: Any, problem: str) -> None:
    with pytest.raises(Misread, match=re.escape(problem)):
        read_poses(given, 2)


def test_a_reply_becomes_a_plan_with_its_words() -> None:
    plan = read_hand_plan({"seen": "s", "reason": "r", "plan": " go \n up ", "poses": [ROW, ROW]}, 2)
    assert (plan.steps, plan.source, plan.aim) == ((), "chat", {"text": "go up"})
    assert [pose_in_words(pose) for pose in plan.poses] == [str(ROW)] * 2
    assert read_hand_plan({"plan": "  ", "poses": [ROW]}, 2).aim is None


def test_plans_are_told_with_words_and_bins() -> None:
    assert pose_in_words(DOWN) == str(ROW)
    assert plan_in_words(ActionPlan((), "x", aim={"text": "up"}, poses=(DOWN, DOWN))) == f"up - {ROW}, {ROW}"
    assert plan_in_words(ActionPlan((), "x", poses=(DOWN,))) == str(ROW)


def test_poses_that_have_no_bins_are_told_as_such() -> None:
    for change in ({"x": 0.71}, {"z": 0.1}, {"y": math.nan}, {"qx": 0.0}):
        assert pose_in_words(DOWN._replace(**change)) == OUTSIDE


def test_things_are_told_by_number_name_and_bins() -> None:
    things = [
        SeenThing("red cup", "cup", "red", (0.31, -0.07, 0.79), (0.1,) * 3),
        SeenThing("block", "block", "red", (0.31, -0.07, 0.02), (0.1,) * 3),
    ]
    assert things_in_words(things) == f"1. red cup: [61, 43, 19]\n2. block: {OUTSIDE}"


def test_the_past_is_told_by_decision_and_shortened_from_its_beginning() -> None:
    plan = ActionPlan((), "x", aim={"text": "down"}, poses=(DOWN,))
    history = [
        PastDecision(Decision(plan), (DOWN, DOWN), (False, True), np.eye(4)),
        PastDecision(Decision(ActionPlan((), "x", poses=(DOWN,))), (DOWN,), (False,), np.eye(4)),
        PastDecision(Decision(None), (), (), np.eye(4)),
    ]
    whole = [f"1. down - {ROW}, {ROW} (did not get there)", f"2. {ROW}", "3. nothing"]
    assert moves_in_words(history, 0).split("\n") == whole
    assert moves_in_words(history, 1).split("\n") == whole[1:]
    assert moves_in_words(history, 3) == "left out here"
    assert moves_in_words([], 0) == "nothing yet"


@pytest.mark.parametrize("name", ["manipulation-propose", "manipulation-rewrite"])
def test_what_the_prompts_say_of_bins_is_so(name: str) -> None:
    text = " ".join(Prompts("worldgauge.suites.closedloop")[name].text.split())
    table = bins_from_points([[0.2, 0.0, TABLE_M]])[0, 2]
    assert f"the table's top is at z {table}" in text
    assert f"drawn from x {ORIGIN_BINS[0]}, y {ORIGIN_BINS[1]} on the table's top, and each is {AXIS_BINS} bins" in text
    assert ORIGIN_BINS[2] == table
    assert "With roll 0 and pitch 60 the hand points straight down" in text
    assert "along y with yaw 60, along x with yaw 90, and 15 bins of yaw turn them by 45 degrees" in text
    for yaw, across in ((60, (0, 1)), (90, (1, 0)), (75, (0.5**0.5, -(0.5**0.5))), (45, (0.5**0.5, 0.5**0.5))):
        qx, qy, qz, qw = poses_from_bins([[50, 50, 50, 0, 60, yaw, 1]])[0, 3:7]
        # Second and third column of the rotation: across the fingers, and out between them.
        fingers = (2 * (qx * qy - qz * qw), 1 - 2 * (qx * qx + qz * qz))
        out = (2 * (qx * qz + qy * qw), 2 * (qy * qz - qx * qw), 1 - 2 * (qx * qx + qy * qy))
        assert abs(np.dot(fingers, across)) == pytest.approx(1)
        assert out == pytest.approx((0, 0, -1))
