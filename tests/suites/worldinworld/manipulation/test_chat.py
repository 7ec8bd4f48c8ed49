"""A language model at the table: its plans, its choices, and what it is shown."""

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.manipulation.table_sight import table, table_sight
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.prompt_runner import Misread, UnansweredError
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.question import ChatQuestion
from worldgauge.chat.reply import BudgetError, EndpointError, PromptTooLongError
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, invert
from worldgauge.suites.worldinworld.manipulation.chat import anchor_strip
from worldgauge.suites.worldinworld.manipulation.episodes import TABLE_TASKS, ManipulationEpisode
from worldgauge.suites.worldinworld.manipulation.prompts import (
    ASKS,
    AXES,
    AXIS_BINS,
    EXAMPLE_SEED,
    ORIGIN_BINS,
    axes_m,
    discs_px,
    example_of,
    marked_table,
    middles_px,
    pixels,
    radius_px,
    read_hand_plan,
)
from worldgauge.suites.worldinworld.manipulation.task import ManipulationTask
from worldgauge.suites.worldinworld.policies.asking import (
    HAND_PLAN,
    OUTSIDE,
    moves_in_words,
    plan_in_words,
    pose_in_words,
    read_poses,
    things_in_words,
)
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Candidate,
    Decision,
    PastDecision,
    PolicyKit,
    Rollout,
    SeenThing,
    TableObservation,
    proposers,
    revisers,
)
from worldgauge.suites.worldinworld.task import LoopSettings, serves
from worldgauge.worlds.tabletop import Tabletop
from worldgauge.worlds.tabletop.contract import SEEDS, TABLE_M
from worldgauge.worlds.tabletop.pose_plans import (
    HandPose,
    bins_from_points,
    bins_from_poses,
    clip_plan,
    poses_from_bins,
)
from worldgauge.worlds.tabletop.simulation import Simulation

GOAL = Goal(text="push the blue button")


ROW = [60, 50, 40, 0, 60, 60, 1]


LOW = [60, 50, 18, 0, 60, 60, 0]


def said(*rows: Any, **change: Any) -> str:
    return json.dumps({"seen": "s", "reason": "r", "plan": "press it", "poses": list(rows)} | change)


def proposer(script: Any, **options: Any) -> Any:
    return proposers.get("chat")(
        PolicyKit("manipulation", options.pop("length", 5), ScriptedChat(script), options=options)
    )


def propose(
    script: Any, n: int = 3, goal: Goal = GOAL, history: Any = (), seed: int = 0, **options: Any
) -> list[ActionPlan]:
    return list(proposer(script, **options).propose(table_sight(), goal, history, n, np.random.default_rng(seed)))


def text_of(question: ChatQuestion) -> str:
    return "\n".join(str(part) for message in question.messages for part in message.parts if isinstance(part, str))


def test_a_table_in_the_tests_is_one_that_policies_take() -> None:
    seen: TableObservation = table_sight()
    assert len(seen.expert()) > 0
    assert seen.front.shape == (*seen.depth.shape, 3) == (448, 448, 3)


def test_one_reply_a_plan_and_the_same_poses_only_once() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return [said(ROW, LOW), said(ROW), said(ROW, LOW, plan="in other words")][question.sample]

    plans = propose(script)
    assert [bins_from_poses(plan.poses).tolist() for plan in plans] == [[ROW, LOW], [ROW]]
    assert plans[0] == ActionPlan((), "chat", aim={"text": "press it"}, poses=plans[0].poses)
    assert np.allclose(plans[0].poses, poses_from_bins([ROW, LOW]))
    assert [question.sample for question in asked] == [0, 1, 2]
    assert len({question.seed for question in asked}) == 1
    assert {question.temperature for question in asked} == {1.0}
    assert asked[0].prompt_version == Prompts("worldgauge.suites.worldinworld")["manipulation-propose"].label


def test_it_is_shown_the_marked_table_and_told_the_bins_of_all_that_is_there() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return said(ROW)

    done = ActionPlan((), "chat", aim={"text": "go above it"}, poses=(table_sight().hand,))
    past = PastDecision(Decision(done), (table_sight().hand, table_sight().hand), (False, True), np.eye(4))
    propose(script, 1, history=[past], length=4)
    (picture,) = asked[0].images
    assert np.array_equal(picture, marked_table(table_sight()))
    assert not np.array_equal(picture, table_sight().front)
    text = text_of(asked[0])
    hand = bins_from_poses([table_sight().hand])[0].tolist()
    assert "What is to be done: push the blue button" in text
    for number, thing in enumerate(table_sight().things, start=1):
        assert f"{number}. {thing.name}: {bins_from_points([thing.place_m])[0].tolist()}" in text
    assert f"The hand is now at {hand}." in text
    assert f"1. go above it - {hand}, {hand} (did not get there)" in text
    assert "at most 4" in text
    propose(script, 1)
    assert "nothing yet" in text_of(asked[1])


@pytest.mark.parametrize(
    "bad",
    [
        "gripper to the left",
        "[]",
        said(),
        said(*[ROW] * 6),
        said(ROW[:6]),
        said(ROW, [*ROW, 0]),
        said([100, *ROW[1:]]),
        said([*ROW[:3], 120, *ROW[4:]]),
        said(["60", *ROW[1:]]),
        said([60.5, *ROW[1:]]),
        said(ROW, poses="none"),
        said(ROW, plan=None),
        json.dumps({"seen": "s", "reason": "r", "poses": [ROW]}),
    ],
    ids=lambda text: text[-30:],
)
def test_replies_that_are_no_plan_are_asked_for_again(bad: str) -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return bad if len(asked) < 3 else said(LOW)

    made = proposer(script)
    (plan,) = made.propose(table_sight(), GOAL, [], 1, np.random.default_rng(0))
    assert bins_from_poses(plan.poses).tolist() == [LOW]
    assert plan.flags == ()
    (note,) = made.asked
    assert (note["asks"], len(note["problems"])) == (3, 2)
    assert (note["reply"], json.loads(json.dumps(made.asked))) == (said(LOW), made.asked)
    assert len({question.sample for question in asked}) == 3


def test_what_cannot_be_read_is_no_plan_after_so_many_asks() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return "gibberish"

    made = proposer(script)
    assert made.propose(table_sight(), GOAL, [], 5, np.random.default_rng(3)) == []
    assert len(asked) == ASKS == 12
    assert made.asked[0]["asks"] == 12
    assert "reply" not in made.asked[0]


def test_plans_that_were_read_stay_when_a_later_one_cannot_be() -> None:
    plans = propose([said(ROW), *["?"] * 2, said(LOW)], asks=2)
    assert [bins_from_poses(plan.poses).tolist() for plan in plans] == [[ROW]]
    assert plans[0].flags == ()


@pytest.mark.parametrize("error", [EndpointError("down"), BudgetError("spent")])
def test_outages_and_budgets_pass(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        propose([said(ROW), error])


def test_a_prompt_that_is_too_long_is_asked_with_less_of_the_past() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> Any:
        asked.append(question)
        return PromptTooLongError("too long") if len(asked) < 4 else said(ROW)

    history = [PastDecision(Decision(None), (table_sight().hand,), (False,), np.eye(4))] * 4
    made = proposer(script)
    assert len(made.propose(table_sight(), GOAL, history, 1, np.random.default_rng(0))) == 1
    lines = [sum(f"\n{n}. [" in text_of(question) for n in range(1, 5)) for question in asked]
    assert (lines, [question.images[0].shape[0] for question in asked]) == ([4, 2, 1, 0], [448, 448, 224, 112])
    assert (made.asked[0]["squeeze"], made.asked[0]["asks"]) == (3, 4)


def test_it_needs_an_instruction_and_a_model() -> None:
    with pytest.raises(UsageError, match="this episode has none"):
        propose([], goal=Goal())
    with pytest.raises(UsageError, match="asks a language model"):
        proposers.get("chat")(PolicyKit("manipulation", 5))
    assert serves(proposers, "chat", "manipulation")


HIGH, LOW_CHAT_REVISER = ([60, 50, height, 0, 60, 60, 0] for height in (40, 18))


FRAMES, SIDE_PX = 14, 64


def plan_of(*rows: list[int], words: str = "") -> ActionPlan:
    poses = tuple(HandPose(*pose) for pose in poses_from_bins(rows).tolist())
    return ActionPlan((), "x", aim={"text": words} if words else None, poses=poses)


PLANS = [
    plan_of(HIGH, LOW_CHAT_REVISER, words="press it"),
    plan_of(HIGH),
    plan_of(LOW_CHAT_REVISER, HIGH, LOW_CHAT_REVISER),
]


def imagined(plan: ActionPlan, *, aligned: bool = True) -> Rollout:
    """Grey frames: frame k is ten times k."""
    clip = clip_plan(table_sight().hand, plan.poses, FRAMES)
    frames = np.stack([np.full((SIDE_PX, SIDE_PX, 3), 10 * k, np.uint8) for k in range(FRAMES)])
    camera = Camera.from_vertical_fov(SIDE_PX, SIDE_PX, 40)
    return Rollout(frames, "perspective", camera, clip.step, FRAMES, aligned=aligned, anchors=clip.anchors)


def decide(
    script: Any, plans: list[ActionPlan] = PLANS, *, without: int | None = None, base: bool = False, **options: Any
) -> Decision:
    """One decision; without: index of a candidate that nothing was imagined for."""
    made = [
        Candidate(plan, None if base or number == without else imagined(plan), lambda: None)
        for number, plan in enumerate(plans)
    ]
    kit = PolicyKit("manipulation", options.pop("length", 5), ScriptedChat(script), options=options)
    history = options.pop("history", [])
    return revisers.get("chat")(kit).revise(made, table_sight(), GOAL, history, np.random.default_rng(0))


class Asked(list[ChatQuestion]):
    """Keeps the questions, and answers each prompt by the end of its name: a reply, a list of them, or an exception."""

    def __init__(self, **replies: Any) -> None:
        super().__init__()
        self.replies = replies

    def __call__(self, question: ChatQuestion) -> Any:
        self.append(question)
        reply = self.replies[question.prompt_version.split("/")[0].removeprefix("manipulation-")]
        reply = reply.pop(0) if isinstance(reply, list) else reply
        return json.dumps(reply) if isinstance(reply, dict) else reply


def choice(number: Any) -> dict[str, Any]:
    return {"reason": "r", "choice": number}


def written(*rows: list[int]) -> dict[str, Any]:
    return {"seen": "s", "reason": "r", "plan": "better so", "poses": list(rows)}


def test_it_selects_by_number_among_words_bins_and_frames_of_each_candidate() -> None:
    asked = Asked(select=choice(3))
    decision = decide(asked, without=1)
    assert (decision.plan, decision.chosen) == (PLANS[2], 2)
    (question,) = asked
    table, first, third = question.images
    assert np.array_equal(table, marked_table(table_sight()))
    # Two poses, frames 7 and 13 of 14; three poses, frames 4, 9 and 13.
    for strip, frames in ((first, (7, 13)), (third, (4, 9, 13))):
        assert strip.shape == (SIDE_PX + 28, len(frames) * SIDE_PX + 6 * (len(frames) - 1), 3)
        assert [strip[-1, place * (SIDE_PX + 6), 0] for place in range(len(frames))] == [10 * k for k in frames]
    text = text_of(question)
    order = [f"Candidate 1: press it - {HIGH}, {LOW}.", f"Candidate 2: {HIGH}.", "Nothing was imagined for it"]
    order.append(f"Candidate 3: {LOW}, {HIGH}, {LOW}.")
    assert sorted(order, key=text.index) == order
    assert "push the blue button" in text
    (note,) = decision.notes["asks"]
    assert note["prompt"] == Prompts("worldgauge.suites.worldinworld")["manipulation-select"].label
    assert (decision.notes["kind"], decision.notes["revision"]) == ("select", "frames")
    assert json.loads(json.dumps(decision.notes)) == decision.notes


def test_titles_stay_with_their_frames_when_there_must_be_fewer() -> None:
    rollout = imagined(plan_of(*[HIGH] * 5))
    assert rollout.anchors == (2, 5, 8, 11, 13)
    for squeeze, kept in ((0, 5), (1, 3), (2, 2), (3, 1)):
        (strip,) = anchor_strip(rollout, squeeze)
        rows, columns = divmod(kept - 1, 3)
        last = strip[rows * (SIDE_PX + 28 + 6) + 28 :, columns * (SIDE_PX + 6) :][: SIDE_PX - 8, : SIDE_PX - 8]
        assert (last == 130).all()
    (aligned,), (loose,) = anchor_strip(rollout, 0), anchor_strip(imagined(plan_of(*[HIGH] * 5), aligned=False), 0)
    assert aligned.shape == loose.shape
    assert (aligned[:28] != loose[:28]).any()
    assert (aligned[28 : 28 + SIDE_PX] == loose[28 : 28 + SIDE_PX]).all()


def test_poses_of_a_long_plan_that_share_a_frame_are_shown_once() -> None:
    rollout = imagined(plan_of(*[HIGH] * 50))
    assert len(rollout.anchors) == 50
    (strip,) = anchor_strip(rollout, 0)
    rows = -(-len(set(rollout.anchors)) // 3)
    assert strip.shape[0] == rows * (SIDE_PX + 28 + 6) - 6


@pytest.mark.parametrize("revision", ["frames", "described"])
def test_nothing_is_asked_where_nothing_was_imagined_or_there_is_one_candidate(revision: str) -> None:
    for how in ({"base": True}, {"plans": PLANS[1:2]}):
        decision = decide(Asked(), revision=revision, **how)
        assert (decision.plan, decision.chosen) == ((PLANS[1] if "plans" in how else PLANS[0]), 0)
        assert decision.notes["asks"] == []
    assert decide(Asked(), base=True, kind="rewrite").chosen == 0


def test_who_rewrites_is_shown_the_example_and_who_selects_is_not() -> None:
    for kind in ("rewrite", "select"):
        asked = Asked(select=choice(1), rewrite=written(HIGH))
        decide(asked, kind=kind, example="like this")
        assert text_of(asked[-1]).endswith("like this") is (kind == "rewrite")


def test_it_rewrites_as_released() -> None:
    asked = Asked(rewrite=[written(), written([100, *HIGH[1:]]), written(LOW_CHAT_REVISER, HIGH)])
    decision = decide(asked, kind="rewrite")
    assert decision.chosen is None
    assert decision.plan == ActionPlan(
        (), "chat", aim={"text": "better so"}, poses=plan_of(LOW_CHAT_REVISER, HIGH).poses
    )
    (note,) = decision.notes["asks"]
    assert note["asks"] == 3
    assert "its bins are 0 to 99" in note["problems"][1]
    assert len(asked[0].images) == 4
    assert "At most 5 poses" in text_of(asked[0])
    assert decide(Asked(rewrite=written(LOW_CHAT_REVISER)), PLANS[:1], kind="rewrite").plan == ActionPlan(
        (), "chat", aim={"text": "better so"}, poses=plan_of(LOW_CHAT_REVISER).poses
    )


@pytest.mark.parametrize(
    ("kind", "reply"), [("select", choice(4)), ("select", "?"), ("rewrite", written(*[LOW_CHAT_REVISER] * 6))]
)
def test_without_a_reply_that_can_be_read_it_takes_the_first_and_says_so(kind: str, reply: Any) -> None:
    asked = Asked(select=reply, rewrite=reply)
    decision = decide(asked, kind=kind)
    assert (decision.plan, decision.chosen) == (PLANS[0], 0)
    assert "12 times asked" in decision.notes["fallback"]
    assert len(asked) == 12


@pytest.mark.parametrize(("said", "index"), [(1, 0), (3, 2), (-1, 2)])
def test_it_chooses_by_descriptions_of_the_last_frames(said: int, index: int) -> None:
    asked = Asked(describe=["one\nlies", "", "three stands"], pick=[choice(0), choice(4), choice(said)])
    decision = decide(asked, without=1, revision="described", kind="rewrite")
    assert (decision.plan, decision.chosen) == (PLANS[index], index)
    first, _, third, *picks = asked
    for question in (first, third):
        assert [picture[0, 0, 0] for picture in question.images] == [130]
        assert "push the blue button" in text_of(question)
    assert all(not question.images for question in picks)
    assert "1. one lies\n2. nothing was imagined\n3. three stands" in text_of(picks[0])
    assert decision.notes["descriptions"] == ["one lies", "nothing was imagined", "three stands"]
    assert ([note["asks"] for note in decision.notes["asks"]], decision.notes["kind"]) == ([1, 2, 3], "select")


def test_long_plans_are_described_unless_it_is_said_otherwise() -> None:
    for length, names in ((13, ["select"]), (14, ["describe"] * 3 + ["pick"])):
        asked = Asked(describe="a table", pick=choice(1), select=choice(1))
        decide(asked, length=length)
        assert [question.prompt_version.split("/")[0].split("-")[1] for question in asked] == names
    with pytest.raises(UnansweredError, match="2 times asked"):
        decide(Asked(describe="  "), length=50, asks=2)
    with pytest.raises(UsageError, match="must be 'frames' or 'described', got 'guess'"):
        decide(Asked(), revision="guess")
    with pytest.raises(UsageError, match="select or rewrite"):
        decide(Asked(), kind="guess")


@pytest.mark.parametrize("error", [EndpointError("down"), BudgetError("spent")])
@pytest.mark.parametrize("options", [{}, {"kind": "rewrite"}, {"revision": "described"}])
def test_outages_and_budgets_decide_nothing(options: dict[str, Any], error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        decide(lambda question: error, **options)


def test_a_prompt_that_is_too_long_is_asked_with_fewer_frames() -> None:
    asked = Asked(select=[PromptTooLongError("too long"), PromptTooLongError("too long"), choice(2)])
    decision = decide(asked)
    assert decision.chosen == 1
    assert [question.images[3].shape[1] for question in asked] == [3 * 64 + 12, 2 * 64 + 6, 32]
    assert decision.notes["asks"][0]["squeeze"] == 2


def test_it_needs_an_instruction() -> None:
    reviser = revisers.get("chat")(PolicyKit("manipulation", 5, ScriptedChat([])))
    with pytest.raises(UsageError, match="this episode has none"):
        reviser.revise([Candidate(PLANS[0], None, lambda: None)], table_sight(), Goal(), [], np.random.default_rng(0))


class Blank:
    """A black picture from the front camera, with things at given places."""

    def __init__(self, places: list[tuple[float, float, float]], size_px: int = 448) -> None:
        real = table_sight(size_px)
        self.pose, self.camera, self.hand, self.size_px = real.pose, real.camera, real.hand, size_px
        self.things = tuple(SeenThing(f"thing {n}", "cup", "red", place, (0.02,) * 3) for n, place in enumerate(places))
        self.front: Any = np.zeros((size_px, size_px, 3), np.uint8)


def changed(seen: Any, *, without_axes: bool = True) -> Any:
    """(H, W) where the marked picture differs from the plain one."""
    drawn = marked_table(seen)
    assert (drawn.shape, drawn.dtype) == (seen.front.shape, np.uint8)
    if not without_axes:
        return (drawn != seen.front).any(-1)
    bare: Any = Blank([])
    bare.front, bare.camera = seen.front, seen.camera
    return (drawn != marked_table(bare)).any(-1)


def test_numbers_stand_where_the_masks_of_their_things_are() -> None:
    seen = table_sight()
    plain = seen.front.copy()
    middles = middles_px(seen)
    assert set(middles) == {1, 2, 3}
    for number, (u, v) in middles.items():
        rows, columns = np.nonzero(seen.instances == number)
        assert (u, v) == (pytest.approx(columns.mean() + 0.5, abs=2), pytest.approx(rows.mean() + 0.5, abs=3))
    assert discs_px(seen) == middles
    drawn = changed(seen)
    away = np.min([np.hypot(*(np.argwhere(drawn)[:, ::-1] + 0.5 - np.array(at)).T) for at in middles.values()], axis=0)
    assert away.max() <= radius_px(seen) + 2
    assert (seen.front == plain).all(), "the picture itself is not drawn on"


@pytest.mark.parametrize("size_px", [224, 448, 480])
def test_the_middle_of_a_disc_is_the_projection_of_its_thing(size_px: int) -> None:
    place = (0.31, -0.07, 0.79)
    seen: Any = Blank([place], size_px)
    # By hand: into the camera's frame, then the pinhole.
    x, y, z = (invert(seen.pose) @ [*place, 1.0])[:3]
    expected = (seen.camera.fx * x / z + seen.camera.cx, seen.camera.fy * y / z + seen.camera.cy)
    rows, columns = np.nonzero(changed(seen))
    ends = [(columns.min() + columns.max() + 1) / 2, (rows.min() + rows.max() + 1) / 2]
    assert ends == pytest.approx(expected, abs=1.0)
    assert columns.max() - columns.min() == pytest.approx(2 * radius_px(seen), abs=3)


def test_the_axes_run_along_the_bins() -> None:
    seen: Any = Blank([])
    begin, *ends = axes_m()
    assert (bins_from_points([begin])[0].tolist(), begin[2]) == (list(ORIGIN_BINS), pytest.approx(TABLE_M))
    drawn = marked_table(seen)
    for axis, (end, colour) in enumerate(zip(ends, AXES.values(), strict=True)):
        bins = bins_from_points([end])[0] - ORIGIN_BINS
        assert bins.tolist() == [AXIS_BINS * (axis == other) for other in range(3)]
        for share in (0.3, 0.6, 0.9):
            ((u, v),) = pixels(seen, begin + share * (end - begin))
            assert drawn[int(v), int(u)] == pytest.approx(colour, abs=25)
    # To the right, towards the camera and up, as the prompts say.
    from_origin = pixels(seen, axes_m()[1:]) - pixels(seen, axes_m()[:1])
    assert from_origin[0, 1] > 10
    assert from_origin[1, 0] > 10
    assert from_origin[1, 1] == pytest.approx(0, abs=1)
    assert from_origin[2, 1] < -10


def test_discs_that_would_cover_each_other_stand_apart_and_are_tied_to_their_things() -> None:
    stacked = [(0.3, 0.2, 0.78), (0.3, 0.2, 0.79), (0.3, 0.2, 0.80), (0.3, 0.0, 0.78), (0.3, 0.001, 0.78)]
    seen: Any = Blank(stacked)
    discs, middles = discs_px(seen), middles_px(seen)
    places = np.array(list(discs.values()))
    gaps = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)) + 1e9 * np.eye(len(places))
    assert gaps.min() > 2 * radius_px(seen)
    assert discs[1] == middles[1]
    assert discs[2] != middles[2]
    drawn = changed(seen)
    for number, disc in discs.items():
        u, v = (np.array(disc) + middles[number]) / 2
        assert drawn[int(v), int(u)]


def test_what_the_camera_does_not_see_gets_no_number() -> None:
    seen: Any = Blank([(0.3, 0.0, 0.8), (3.0, 0.0, 0.8), (0.3, 2.0, 0.8), (0.3, 0.1, 0.8)])
    assert set(middles_px(seen)) == {1, 4}
    seen.camera = replace(seen.camera, cx=seen.camera.cx + 5000)
    assert not changed(seen).any()
    behind: Any = Blank([])
    behind.pose = behind.pose @ np.diag([1.0, -1.0, -1.0, 1.0])
    assert not changed(behind, without_axes=False).any(), "axes behind the camera"


def test_numbers_differ_and_the_same_table_gives_the_same_picture():
    # The same place, another number.
    first: Any = Blank([(0.3, 0.0, 0.8)])
    second: Any = Blank([(3.0, 0.0, 0.8), (0.3, 0.0, 0.8)])
    assert (marked_table(first) != marked_table(second)).any()
    assert (marked_table(first) == marked_table(first)).all()


DOWN = HandPose(0.305, 0.005, 1.005, 1.0, 0.0, 0.0, 0.0, 1.0)


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
    assert (moves_in_words(history, 1).split("\n"), moves_in_words(history, 3)) == (whole[1:], "left out here")
    assert moves_in_words([], 0) == "nothing yet"


@pytest.mark.parametrize("name", ["manipulation-propose", "manipulation-repropose", "manipulation-rewrite"])
def test_what_the_prompts_say_of_bins_is_so(name: str) -> None:
    text = " ".join(Prompts("worldgauge.suites.worldinworld")[name].text.split())
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
        assert (abs(np.dot(fingers, across)), out) == (pytest.approx(1), pytest.approx((0, 0, -1)))


@pytest.mark.parametrize("task", TABLE_TASKS)
def test_the_poses_of_an_example_solve_its_table(task: str) -> None:
    """In bins, as they are written; the table is of no split."""
    assert not [name for name, seeds in SEEDS.items() if EXAMPLE_SEED in seeds]
    text, simulation = example_of(task, 50), Simulation(Tabletop(task, seed=EXAMPLE_SEED))
    reply = json.loads(text.splitlines()[-1])
    for pose in read_hand_plan(reply, 50).poses:
        assert not simulation.solved
        assert not simulation.move(pose).failed
    assert simulation.solved
    assert f"What was to be done there: {simulation.task.instruction}\n" in text
    assert set(reply) == set(HAND_PLAN["properties"])
    assert len(json.loads(example_of(task, 1).splitlines()[-1])["poses"]) == 1


def test_the_prompts_for_plans_end_with_an_example_of_the_task_at_hand() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return said(ROW)

    propose(script, 1)
    propose(script, 1, example="costs $5")
    plain, shown = map(text_of, asked)
    assert shown == f"{plain}\n\ncosts $5"
    assert asked[0].prompt_version != asked[1].prompt_version
    assert asked[0].prompt_version == Prompts("worldgauge.suites.worldinworld")["manipulation-propose"].label

    episode = ManipulationEpisode("t", "s", "stack_cups", 0, "stack the cups")
    settings = {"task": "manipulation", "proposer": "chat", "chat": "m@http://localhost:1/v1", "length": 3}
    for shots, options in ((0, {}), (1, {"example": example_of("stack_cups", 3)})):
        task = ManipulationTask(episode, table().facts, LoopSettings.of({**settings, "shots": shots}))
        assert task.episode_options() == options
