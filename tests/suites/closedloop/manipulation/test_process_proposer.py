"""A policy in a process of its own: what it is told, what is kept of its plans, and how it may fail."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adapters import openpi
from support.policy_server import policy_server
from support.served import MODELS, PYTHON, http_server
from support.served_policies import policies_of_this_test
from worldgauge.core.episode import Goal
from worldgauge.core.errors import LostError, NotApplicableError, SubjectError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.suites.closedloop.manipulation.process_proposer import checked_poses
from worldgauge.suites.closedloop.policies.contract import (
    REFUSED,
    ActionPlan,
    Decision,
    PastDecision,
    PolicyKit,
    SeenThing,
    proposers,
)
from worldgauge.worlds.tabletop.pose_plans import HandPose

HAND = HandPose(0.1, 0.2, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0)
POSE = np.eye(4)
POSE[:3, 3] = 1.25, 0.0, 1.5


def at(target: str, scheme: str = "cmd") -> str:
    pipes = " --pipes" if scheme == "pipe" else ""
    return f"{scheme}:{PYTHON} -m worldgauge_serve{pipes} '{MODELS / 'policies.py'}:{target}'"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No policy of another test; none is left behind."""
    with policies_of_this_test():
        yield


def sight() -> Any:
    front = np.full((6, 8, 3), 7, np.uint8)
    depth = np.full((6, 8), 2.5, np.float32)
    depth[5, 7] = np.inf  # nothing is there
    thing = SeenThing("red button", "button", "red", (0.25, 0.125, 0.75), (0.02, 0.02, 0.01))
    camera = Camera.from_vertical_fov(8, 6, 40)
    return SimpleNamespace(front=front, depth=depth, camera=camera, pose=POSE, hand=HAND, things=(thing,))


def plans_of(text: str, n: int = 5, history: Any = (), length: int = 5, seed: int = 0) -> list[ActionPlan]:
    proposer = proposers.get("process")(PolicyKit("manipulation", length, options={"policy": text}))
    goal = Goal(text="push the red button")
    return list(proposer.propose(sight(), goal, history, n, np.random.default_rng(seed)))


@pytest.mark.parametrize("scheme", ["cmd", "pipe", "http"])
def test_plans_over_every_transport(scheme: str) -> None:
    with ExitStack() as stack:
        text = at("Reach", scheme)
        if scheme == "http":
            text = stack.enter_context(http_server("Reach", file="policies.py")).url
        plans = plans_of(text, n=2)
        assert [plan.source for plan in plans] == ["process", "process"]
        assert [len(plan.poses) for plan in plans] == [5, 5]
        assert plans[1].poses[-1][2] - plans[0].poses[-1][2] == pytest.approx(0.01, abs=1e-6)
        assert plans[0].poses[0] == pytest.approx((*HAND[:7], 0.0))
        assert isinstance(plans[0].poses[0], HandPose)


def test_it_is_told_everything_and_only_what_it_asks_for() -> None:
    executed = (HAND, HAND._replace(x=0.5, y=0.25, z=0.875))
    past = PastDecision(Decision(None), executed, (False, False), POSE)
    plans = plans_of(at("Told"), n=4, history=[past])
    numbers = {tuple(round(v, 6) for v in plan.poses[0][:3]) for plan in plans}
    fx = round(Camera.from_vertical_fov(8, 6, 40).fx, 6)
    assert numbers == {(4, 5, 2), (1.25, 0, 1.5), (7, 2.5, fx), (0.5, 0.25, 0.875)}
    assert plans_of(at("Told"), n=4)[0].poses[0][:3] == (4, 5, 0), "the first sample stays first"
    thing = plans_of(at("Reach?layout=things"))[0].poses[0]
    assert thing[:3] == (0.25, 0.125, 0.75)


def test_a_policy_server_of_openpi_is_asked_through_its_adapter() -> None:
    moves = np.tile(np.array([[0.2, 0, 0, 0, 0, 0, -1]], np.float32), (10, 1))
    with policy_server(moves) as server:
        text = f"cmd:{PYTHON} -m worldgauge_serve '{openpi.__file__}:OpenPi?url={server.url}&reach=nominal'"
        plans = plans_of(text, n=2)
        assert [len(plan.poses) for plan in plans] == [5, 5]
        assert plans[0].poses[-1] == pytest.approx((0.2, *HAND[1:7], 1.0)), "ten moves of a centimetre, an open hand"
        assert {asked["prompt"] for asked in server.asked} == {"push the red button"}
        server.answer = np.zeros((10, 8), np.float32)
        with pytest.raises(SubjectError, match="policy 'openpi' raised PolicyError: actions of 8 columns") as caught:
            plans_of(text, n=1)
        assert "\n" not in str(caught.value)


def test_more_samples_than_wanted_are_thinned_by_their_ends() -> None:
    plans = plans_of(at("Reach?samples=11"), n=3)
    ends = [round(plan.poses[-1][2] - 1.0, 3) for plan in plans]
    assert ends == [0.0, 0.1, 0.05]


def test_one_process_serves_many_proposers_and_answers_alike(tmp_path: Path) -> None:
    text = at(f"Odd?how=fine&log={tmp_path}")
    assert plans_of(text) == plans_of(text)
    assert len({path.name.split("-")[1] for path in tmp_path.iterdir()}) == 1


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("raises", "^policy 'odd' raised RuntimeError: CUDA error"),
        ("seven numbers", r"gives 'poses' as float64 of \(2, 5, 7\); expected float32 or float64 of \(n, n, 8\)$"),
        ("one plan", r"gives 'poses' as float64 of \(5, 8\)"),
        ("whole numbers", "gives 'poses' as int64"),
        ("too many", r"answers with 32000000 bytes; the limit is 81920$"),
        ("ragged", "policy 'odd' raised ValueError"),
        ("nothing", "its answer: array 'poses' is object with 0 sides"),
    ],
)
def test_what_it_does_wrong_is_one_line_that_names_it(how: str, words: str) -> None:
    with pytest.raises(SubjectError, match=words) as caught:
        plans_of(at(f"Odd?how={how.replace(' ', '+')}"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("nan", r"^policy 'odd', plan 1, pose 2: its numbers are not all finite"),
        (
            "no rotation",
            r"^policy 'odd', plan 1, pose 0: its quaternion does not have length 1 \(0.1 0.2 1 0 0 0 0 1\)$",
        ),
        ("gripper", r"^policy 'odd', plan 0, pose 1: its gripper is not between 0 and 1"),
        ("too long", "^policy 'odd' gives plans of 6 poses; a plan has 1 to 5$"),
        ("no poses", "^policy 'odd' gives plans of 0 poses; a plan has 1 to 5$"),
    ],
)
def test_what_are_no_poses_is_a_refused_plan_that_says_why(how: str, words: str) -> None:
    (plan,) = plans_of(at(f"Odd?how={how.replace(' ', '+')}"))
    assert (plan.poses, plan.flags) == ((), (REFUSED,))
    assert plan.aim is not None
    assert re.search(words, plan.aim["text"])


def test_no_plan_and_a_hair_too_much_are_no_errors() -> None:
    assert plans_of(at("Odd?how=no+plans")) == []
    assert {pose.gripper for plan in plans_of(at("Odd?how=hair")) for pose in plan.poses} == {1.0}


def test_what_it_cannot_be_asked_is_said() -> None:
    with pytest.raises(NotApplicableError, match="seven joints only"):
        plans_of(at("Odd?how=not+applicable"))


def test_one_that_dies_is_asked_again_and_then_given_up(tmp_path: Path) -> None:
    assert len(plans_of(at(f"Odd?how=killed+once&log={tmp_path}"))) == 2
    with pytest.raises(LostError, match="exited with code 3, 3 times before its first answer"):
        plans_of(at("Odd?how=exits"))


def test_one_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("worldgauge.serving.remote.RemoteEstimator.__init__", _impatient())
    with pytest.raises(LostError, match=r"timed out after 0.3 s without an answer"):
        plans_of(at("Odd?how=hangs"))


def _impatient() -> Any:
    from worldgauge.serving.remote import Remote

    return lambda self, channel, who, **given: Remote.__init__(self, channel, who, 0.3, **given)


@pytest.mark.parametrize("given", [{}, {"policy": ""}, {"policy": "my_policy.py:Mine"}])
def test_none_is_named(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"the proposer 'process' asks a policy of yours, .*docs/policies.md"):
        proposers.get("process")(PolicyKit("manipulation", 5, options=given))


@pytest.mark.parametrize("target", ["Reach?kind=decoder", "Reach?layout=vggt"])
def test_an_estimator_of_something_else(target: str) -> None:
    with pytest.raises(UsageError, match=r"'reach' is of kind '.*', layout '.*'; a policy is of kind 'policy'"):
        plans_of(at(target))


def test_checked_poses_leave_what_is_right_as_it_is() -> None:
    poses = np.tile(np.array(HAND), (3, 2, 1))
    np.testing.assert_array_equal(checked_poses(poses, 2, "it"), poses)
    assert checked_poses(np.zeros((0, 9, 8)), 2, "it").shape == (0, 9, 8)
    with pytest.raises(SubjectError, match=r"^it gives plans of 2 poses; a plan has 1 to 1"):
        checked_poses(poses, 1, "it")
