"""Proposers at the table: cloned, of another process, and scripted."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from adapters import openpi
from support import demonstrations_data as fx
from support.policy_server import policy_server
from support.served import MODELS, PYTHON, http_server
from support.served_policies import policies_of_this_test
from worldgauge.core.episode import Goal, WorldFacts
from worldgauge.core.errors import DataError, LostError, ModelError, NotApplicableError, ShapeError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge.suites.worldinworld.format.demonstration import Demonstration, DemoThing
from worldgauge.suites.worldinworld.manipulation.cloned_proposer import CUTOFF_M, ClonedPolicy, roles
from worldgauge.suites.worldinworld.manipulation.process_proposer import checked_poses, farthest_points
from worldgauge.suites.worldinworld.manipulation.scripted_proposer import (
    NOISE_M,
    ScriptedProposer,
    describe_plan,
    make_mistakes,
    thing_at,
)
from worldgauge.suites.worldinworld.policies.contract import (
    REFUSED,
    ActionPlan,
    Decision,
    PastDecision,
    PolicyKit,
    SeenThing,
    proposers,
)
from worldgauge.worlds.tabletop.pose_plans import HandPose, bins_from_poses
from worldgauge_serve import WireError, scene_of

HOME = HandPose(0.1, 0.2, 1.3, 1.0, 0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demonstrations")
    fx.written(root)
    fx.written(root, 1, fx.SEED + 1)
    return root


def made(**options: Any) -> Any:
    return proposers.get("cloned")(PolicyKit("manipulation", 5, options=options))


def asked(proposer: Any, n: int = 5, text: str | None = "push the red button") -> list[ActionPlan]:
    things = (
        SeenThing("blue button", "button", "blue", (0.3, -0.2, 0.78), (0.02, 0.02, 0.01)),
        SeenThing("red button", "button", "red", (0.2, 0.1, 0.78), (0.02, 0.02, 0.01)),
    )
    observation: Any = SimpleNamespace(hand=HOME, things=things)
    return list(proposer.propose(observation, Goal(text=text), (), n, np.random.default_rng(0)))


def test_its_entry() -> None:
    facts = proposers.entry("cloned").facts
    assert (facts["tasks"], facts["chat"]) == (("manipulation",), False)


def test_it_goes_to_the_thing_that_is_named(folder: Path) -> None:
    (plan, *rest) = asked(made(demonstrations=str(folder)))
    assert (plan.steps, plan.source) == ((), "cloned")
    assert [len(one.poses) for one in rest] == [1], "from the other moment of the demonstration"
    # In the demonstration the red button is at (0.1, 0.2), here at (0.2, 0.1).
    np.testing.assert_allclose(plan.poses, [goal._replace(x=0.2, y=0.1) for goal in fx.GOALS], atol=1e-6)
    blue = asked(made(demonstrations=str(folder)), 1, "push the blue button")[0]
    np.testing.assert_allclose(blue.poses, [goal._replace(x=0.3, y=-0.2) for goal in fx.GOALS], atol=1e-6)


def test_same_question_same_plans(folder: Path) -> None:
    proposer = made(demonstrations=str(folder), moves="apart")
    assert (asked(proposer), len(asked(proposer, 1))) == (asked(proposer), 1)
    assert asked(proposer, text=None), "without words no thing is named, and it still has plans"


def test_what_it_must_be_given(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(UsageError, match="demonstrations=FOLDER"):
        made()
    with pytest.raises(UsageError, match="'together' or 'apart', got 'sideways'"):
        made(demonstrations=str(folder), moves="sideways")
    with pytest.raises(DataError, match="holds no demonstration"):
        made(demonstrations=str(tmp_path))
    with pytest.raises(DataError, match="no such folder"):
        made(demonstrations=str(tmp_path / "nowhere"))


DOWN = (1.0, 0.0, 0.0, 0.0)


HOME_CLONING = HandPose(0.0, 0.0, 1.2, *DOWN, 1.0)


RED, BLUE = DemoThing("red button", "button", "red"), DemoThing("blue button", "button", "blue")


def pose(x: float, y: float, z: float, gripper: float = 0.0) -> HandPose:
    return HandPose(x, y, z, *DOWN, gripper)


def shown(
    sub_goals: list[HandPose], places: list[tuple[float, float, float]], instruction: str = "push the red button"
) -> Demonstration:
    """The hand is home, then at each sub-goal; nothing moves."""
    hand = np.array([HOME_CLONING, *sub_goals])
    return Demonstration(
        task="push_buttons",
        number=0,
        fps=10.0,
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
    (first, *_) = clone.plans(HOME_CLONING, told((0.15, 0.1, 0.78), (0.3, 0.2, 0.78)), 5, 1)
    np.testing.assert_allclose(first, [pose(0.15, 0.1, 0.9), pose(0.15, 0.1, 0.78)])


def test_no_thing_beside_a_pose_leaves_it_where_it_was() -> None:
    away = pose(-0.2, 0.4, 1.0)
    clone = ClonedPolicy([shown([away, LOW], [AT_RED, AT_BLUE])], "apart")
    (plan,) = clone.plans(HOME_CLONING, told((0.15, 0.1, 0.78), AT_BLUE), 5, 1)
    np.testing.assert_allclose(plan, [away, pose(0.15, 0.1, 0.78)])


def test_together_and_apart() -> None:
    over_blue = pose(0.3, -0.2, 0.9)
    moved = told((0.15, 0.2, 0.78), (0.3, -0.3, 0.78))
    shows = [shown([ABOVE, over_blue], [AT_RED, AT_BLUE])]
    (together,) = ClonedPolicy(shows, "together").plans(HOME_CLONING, moved, 5, 1)
    (apart,) = ClonedPolicy(shows, "apart").plans(HOME_CLONING, moved, 5, 1)
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
    plans = ClonedPolicy(demonstrations).plans(HOME_CLONING, told(AT_RED, AT_BLUE), 1, 5)
    assert [len(plan) for plan in plans] == [1, 1]
    assert plans == ClonedPolicy(demonstrations).plans(HOME_CLONING, told(AT_RED, AT_BLUE), 1, 5)
    opened = [shown([ABOVE], [AT_RED, AT_BLUE]), shown([ABOVE._replace(gripper=1.0)], [AT_RED, AT_BLUE])]
    assert len(ClonedPolicy(opened).plans(HOME_CLONING, told(AT_RED, AT_BLUE), 1, 5)) == 2


def test_plans_stay_in_the_workspace() -> None:
    clone = ClonedPolicy([shown([pose(0.6, 0.2, 0.9)], [(0.5, 0.2, 0.78), AT_BLUE])])
    (plan,) = clone.plans(HOME_CLONING, told((0.69, 0.2, 0.78), AT_BLUE), 5, 1)
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


def test_by_hand() -> None:
    line = [[0.0], [1.0], [10.0], [4.0], [9.0]]
    assert (farthest_points(line, 1), farthest_points(line, 2)) == ([0], [0, 2])
    assert farthest_points(line, 3) == [0, 2, 3]  # 4 is 4 from the nearest taken one, 1 and 9 are 1
    assert (farthest_points(line, 4), farthest_points(line, 9)) == ([0, 2, 3, 1], [0, 2, 3, 1, 4])


def test_each_is_the_farthest_by_a_plain_loop() -> None:
    points = np.random.default_rng(0).normal(size=(40, 3))
    taken = farthest_points(points, 12)
    assert len(set(taken)) == 12
    for k in range(1, 12):
        far = [min(np.linalg.norm(point - points[one]) for one in taken[:k]) for point in points]
        assert far[taken[k]] == pytest.approx(max(far))
    reach = [min(np.linalg.norm(points[taken[k]] - points[one]) for one in taken[:k]) for k in range(1, 12)]
    assert all(one >= other for one, other in pairwise(reach))


def test_moving_turning_and_scaling_all_points_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(30, 3))
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    assert farthest_points(7 * points @ turn + [1, -2, 3], 8) == farthest_points(points, 8)


def test_points_in_one_place_are_all_taken_once_in_order() -> None:
    assert farthest_points(np.zeros((3, 3)), 5) == [0, 1, 2]
    assert (farthest_points([[0.0], [0.0], [1.0]], 2), farthest_points(np.zeros((0, 3)), 5)) == ([0, 2], [])
    assert farthest_points(np.zeros((3, 3)), 0) == []


@pytest.mark.parametrize("points", [[1.0, 2.0], [[np.nan, 0.0]], [[np.inf, 0.0]]])
def test_what_are_no_points(points: list[object]) -> None:
    with pytest.raises(ShapeError, match=r"finite points of shape \(m, k\)"):
        farthest_points(points, 1)  # type: ignore[arg-type]


HAND = HandPose(0.1, 0.2, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0)


WRIST = np.random.default_rng(0).integers(0, 256, (224, 224, 3), dtype=np.uint8)
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
    return SimpleNamespace(front=front, depth=depth, camera=camera, pose=POSE, hand=HAND, things=(thing,), wrist=WRIST)


def plans_of(
    text: str, n: int = 5, history: Any = (), length: int = 5, seed: int = 0, seen: Any = None
) -> list[ActionPlan]:
    proposer = proposers.get("process")(PolicyKit("manipulation", length, options={"policy": text}))
    goal = Goal(text="push the red button")
    return list(proposer.propose(seen or sight(), goal, history, n, np.random.default_rng(seed)))


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


class Blind(SimpleNamespace):
    """A sight whose wrist view must not be rendered."""

    @property
    def wrist(self) -> Any:
        raise AssertionError("nobody asked for it")


def test_the_wrist_view_is_rendered_only_for_a_policy_that_asks() -> None:
    blind = Blind(**{name: value for name, value in vars(sight()).items() if name != "wrist"})
    assert plans_of(at("Wrist?layout=things"), seen=blind)[0].poses[0][:3] == (0, 0, 0)
    both = plans_of(at("Wrist?layout=things+wrist"))[0].poses
    assert both[0][:3] == pytest.approx(tuple(WRIST[0, 0] / 1000))
    assert both[1][:3] == (0.25, 0.125, 0.75)


def test_a_policy_server_of_openpi_is_asked_through_its_adapter() -> None:
    moves = np.tile(np.array([[0.2, 0, 0, 0, 0, 0, -1]], np.float32), (10, 1))
    with policy_server(moves) as server:
        text = f"cmd:{PYTHON} -m worldgauge_serve '{openpi.__file__}:OpenPi?url={server.url}&reach=nominal'"
        plans = plans_of(text, n=2)
        assert [len(plan.poses) for plan in plans] == [5, 5]
        assert plans[0].poses[-1] == pytest.approx((0.2, *HAND[1:7], 1.0)), "ten moves of a centimetre, an open hand"
        assert {asked["prompt"] for asked in server.asked} == {"push the red button"}
        np.testing.assert_array_equal(server.asked[0]["observation/wrist_image"], WRIST[:, ::-1])
        server.answer = np.zeros((10, 8), np.float32)
        with pytest.raises(ModelError, match="policy 'openpi' raised PolicyError: actions of 8 columns") as caught:
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
    with pytest.raises(ModelError, match=words) as caught:
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
    monkeypatch.setattr("worldgauge.serving.remote_model.RemoteEstimator.__init__", _impatient())
    with pytest.raises(LostError, match=r"timed out after 0.3 s without an answer"):
        plans_of(at("Odd?how=hangs"))


def _impatient() -> Any:
    from worldgauge.serving.remote_model import RemoteServer

    return lambda self, channel, who, **given: RemoteServer.__init__(self, channel, who, 0.3, **given)


@pytest.mark.parametrize("given", [{}, {"policy": ""}, {"policy": "my_policy.py:Mine"}])
def test_none_is_named(given: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"the proposer 'process' asks a policy of yours, .*docs/howto/policies.md"):
        proposers.get("process")(PolicyKit("manipulation", 5, options=given))


@pytest.mark.parametrize("target", ["Reach?kind=decoder", "Reach?layout=vggt"])
def test_an_estimator_of_something_else(target: str) -> None:
    with pytest.raises(UsageError, match=r"'reach' is of kind '.*', layout '.*'; a policy is of kind 'policy'"):
        plans_of(at(target))


@pytest.mark.parametrize("wrist", [WRIST[..., 0], WRIST[..., :2], WRIST.astype(np.float32)])
def test_a_wrist_view_that_is_none_is_refused_by_the_server(wrist: Any) -> None:
    seen = sight()
    camera = {"width": 8, "height": 6, "fx": 8.0, "fy": 8.0, "cx": 4.0, "cy": 3.0}
    options = {"instruction": "", "n": 1, "length": 1, "seed": 0, "camera": camera}
    header = {"id": "1", "kind": "policy", "options": options}
    arrays = {"front": seen.front, "depth": seen.depth, "pose": POSE, "hand": np.array(HAND)}
    arrays["history"] = np.zeros((0, 8))
    assert scene_of(header, arrays).wrist is None
    np.testing.assert_array_equal(scene_of(header, {**arrays, "wrist": WRIST}).wrist, WRIST)
    with pytest.raises(WireError, match="garbles wrist: it is"):
        scene_of(header, {**arrays, "wrist": wrist})


def test_checked_poses_leave_what_is_right_as_it_is() -> None:
    poses = np.tile(np.array(HAND), (3, 2, 1))
    np.testing.assert_array_equal(checked_poses(poses, 2, "it"), poses)
    assert checked_poses(np.zeros((0, 9, 8)), 2, "it").shape == (0, 9, 8)
    with pytest.raises(ModelError, match=r"^it gives plans of 2 poses; a plan has 1 to 1"):
        checked_poses(poses, 1, "it")


def pose_of_scripted_proposer(x: float, y: float, z: float, gripper: float = 0.0) -> HandPose:
    return HandPose(x, y, z, 1.0, 0.0, 0.0, 0.0, gripper)


def thing(name: str, x: float, y: float, category: str = "cup", z: float = 0.8) -> SeenThing:
    return SeenThing(f"{name} {category}", category, name, (x, y, z), (0.04, 0.04, 0.04))


HOME_SCRIPTED_PROPOSER = pose_of_scripted_proposer(0.0, 0.0, 0.95, 1.0)


RED_SCRIPTED_PROPOSER, BLUE_SCRIPTED_PROPOSER, BLOCK = (
    thing("red", 0.2, 0.0),
    thing("blue", 0.1, 0.25),
    thing("grey", 0.35, -0.2, "block"),
)


# Above the red cup, grasp, up; off to a place where nothing is, and down.
EXPERT = (
    pose_of_scripted_proposer(0.2, 0.0, 0.95, 1.0),
    pose_of_scripted_proposer(0.2, 0.01, 0.83),
    pose_of_scripted_proposer(0.2, 0.0, 0.95),
    pose_of_scripted_proposer(0.0, -0.3, 0.95),
    pose_of_scripted_proposer(0.0, -0.3, 0.8, 1.0),
    pose_of_scripted_proposer(0.0, -0.3, 0.95, 1.0),
)


class Seen:
    """What is sensed, as far as the proposer looks."""

    def __init__(
        self,
        expert: Sequence[HandPose] = EXPERT,
        things: tuple[SeenThing, ...] = (RED_SCRIPTED_PROPOSER, BLUE_SCRIPTED_PROPOSER, BLOCK),
    ) -> None:
        self.hand, self.things, self._expert = HOME_SCRIPTED_PROPOSER, things, expert

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
    assert (len(plans), {len(plan.poses) for plan in plans}) == (n, {min(length, len(EXPERT))})


def test_a_plan_with_room_for_it_ends_with_the_hand_where_it_hides_nothing() -> None:
    (plan,) = proposed(Seen(EXPERT[:2]), 1, noise_m=0, wrong=0)
    assert plan.poses == (*EXPERT[:2], EXPERT[1]._replace(z=HOME_SCRIPTED_PROPOSER.z)), "as high as it has been"
    (full,) = proposed(Seen(EXPERT[:2]), 1, noise_m=0, wrong=0, length=2)
    assert full.poses == EXPERT[:2], "no room"
    high = EXPERT[0]._replace(z=HOME_SCRIPTED_PROPOSER.z - 0.005)
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
    poses = make_mistakes(EXPERT[:1], (RED_SCRIPTED_PROPOSER, high), np.random.default_rng(0))
    assert poses[0][:3] == pytest.approx((0.1, 0.25, 0.98))


def test_nothing_is_mistaken_that_is_alone_of_its_kind_or_far() -> None:
    rng = np.random.default_rng(0)
    assert make_mistakes(EXPERT, (RED_SCRIPTED_PROPOSER, BLOCK), rng) == EXPERT
    assert make_mistakes(EXPERT[3:], (RED_SCRIPTED_PROPOSER, BLUE_SCRIPTED_PROPOSER, BLOCK), rng) == EXPERT[3:]
    assert make_mistakes(EXPERT, (), rng) == EXPERT


def test_every_other_thing_and_every_thing_a_plan_is_at_has_its_turn() -> None:
    green = thing("green", -0.1, 0.3)
    expert = (pose_of_scripted_proposer(0.2, 0.0, 0.8), pose_of_scripted_proposer(0.1, 0.25, 0.8))
    rng = np.random.default_rng(0)
    found = {
        tuple(
            np.round(
                np.array(make_mistakes(expert, (RED_SCRIPTED_PROPOSER, BLUE_SCRIPTED_PROPOSER, green), rng))[
                    :, :2
                ].ravel(),
                6,
            )
        )
        for _ in range(60)
    }
    assert found == {(0.1, 0.25, 0.1, 0.25), (-0.1, 0.3, 0.1, 0.25), (0.2, 0.0, 0.2, 0.0), (0.2, 0.0, -0.1, 0.3)}


def test_a_pose_is_at_the_nearest_thing_along_the_table() -> None:
    assert (
        thing_at(pose_of_scripted_proposer(0.2, 0.069, 1.5), (RED_SCRIPTED_PROPOSER, BLUE_SCRIPTED_PROPOSER))
        is RED_SCRIPTED_PROPOSER
    )
    assert thing_at(pose_of_scripted_proposer(0.2, 0.071, 0.8), (RED_SCRIPTED_PROPOSER, BLUE_SCRIPTED_PROPOSER)) is None
    near = thing("green", 0.2, 0.1)
    assert thing_at(pose_of_scripted_proposer(0.2, 0.06, 0.8), (RED_SCRIPTED_PROPOSER, near)) is near
    assert thing_at(pose_of_scripted_proposer(0, 0, 0), ()) is None


def test_poses_stay_inside_the_workspace() -> None:
    corners = (pose_of_scripted_proposer(-0.3, -0.5, 0.6), pose_of_scripted_proposer(0.69999, 0.49999, 1.59999))
    for plan in proposed(Seen(expert=corners), 200, noise_m=0.5, wrong=0):
        bins = bins_from_poses(plan.poses)[:, :3]
        assert ((bins >= 0) & (bins < 100)).all()
    assert places(proposed(Seen(expert=(pose_of_scripted_proposer(5, 5, 5),)), 1, noise_m=0))[0, 0] == pytest.approx(
        [0.695, 0.495, 1.595]
    )


def test_what_a_plan_does_in_words() -> None:
    assert describe_plan(EXPERT, HOME_SCRIPTED_PROPOSER, (RED_SCRIPTED_PROPOSER, BLUE_SCRIPTED_PROPOSER, BLOCK)) == (
        "move over the red cup, then move down, then close the gripper, then move up, "
        "then move 30 cm to the left and 20 cm to the back, then move down, then open the gripper, then move up"
    )
    assert describe_plan((HOME_SCRIPTED_PROPOSER,), HOME_SCRIPTED_PROPOSER, ()) == "stay"
    assert (
        describe_plan(
            (pose_of_scripted_proposer(0.35, -0.2, 0.8, 1.0),), HOME_SCRIPTED_PROPOSER, (RED_SCRIPTED_PROPOSER, BLOCK)
        )
        == "move to the grey block"
    )


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
