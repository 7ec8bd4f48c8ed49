"""A language model that decides what an arm does next: what it is shown of each plan, and what it may say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from suites.closedloop.manipulation.table_sight import table_sight
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.prompt_runner import UnansweredError
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.question import Question
from worldgauge.chat.reply import BudgetError, EndpointError, PromptTooLongError
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera
from worldgauge.suites.closedloop.manipulation.chat import anchor_strip
from worldgauge.suites.closedloop.manipulation.prompts import marked_table
from worldgauge.suites.closedloop.policies.contract import ActionPlan, Candidate, Decision, PolicyKit, Rollout, revisers
from worldgauge.worlds.tabletop.pose_plans import HandPose, clip_plan, poses_from_bins

GOAL = Goal(text="push the blue button")
HIGH, LOW = ([60, 50, height, 0, 60, 60, 0] for height in (40, 18))
FRAMES, SIDE_PX = 14, 64


def plan_of(*rows: list[int], words: str = "") -> ActionPlan:
    poses = tuple(HandPose(*pose) for pose in poses_from_bins(rows).tolist())
    return ActionPlan((), "x", aim={"text": words} if words else None, poses=poses)


PLANS = [plan_of(HIGH, LOW, words="press it"), plan_of(HIGH), plan_of(LOW, HIGH, LOW)]


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


def text_of(question: Question) -> str:
    return "\n".join(str(part) for message in question.messages for part in message.parts if isinstance(part, str))


class Asked(list[Question]):
    """Keeps the questions, and answers each prompt by the end of its name: a reply, a list of them, or an exception."""

    def __init__(self, **replies: Any) -> None:
        super().__init__()
        self.replies = replies

    def __call__(self, question: Question) -> Any:
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
    assert note["prompt"] == Prompts("worldgauge.suites.closedloop")["manipulation-select"].label
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


def test_it_rewrites_as_released() -> None:
    asked = Asked(rewrite=[written(), written([100, *HIGH[1:]]), written(LOW, HIGH)])
    decision = decide(asked, kind="rewrite")
    assert decision.chosen is None
    assert decision.plan == ActionPlan((), "chat", aim={"text": "better so"}, poses=plan_of(LOW, HIGH).poses)
    (note,) = decision.notes["asks"]
    assert note["asks"] == 3
    assert "its bins are 0 to 99" in note["problems"][1]
    assert len(asked[0].images) == 4
    assert "At most 5 poses" in text_of(asked[0])
    assert decide(Asked(rewrite=written(LOW)), PLANS[:1], kind="rewrite").plan == ActionPlan(
        (), "chat", aim={"text": "better so"}, poses=plan_of(LOW).poses
    )


@pytest.mark.parametrize(("kind", "reply"), [("select", choice(4)), ("select", "?"), ("rewrite", written(*[LOW] * 6))])
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
    assert [note["asks"] for note in decision.notes["asks"]] == [1, 2, 3]
    assert decision.notes["kind"] == "select"


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
