"""Plans of poses from a language model: what it is shown, how many come of it, and what happens when none does."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from suites.closedloop.manipulation.table_sight import table_sight
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.question import Question
from worldgauge.chat.reply import BudgetError, EndpointError, PromptTooLongError
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.manipulation.prompts import ASKS, marked_table
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Decision,
    PastDecision,
    PolicyKit,
    TableObservation,
    proposers,
)
from worldgauge.suites.closedloop.task import serves
from worldgauge.worlds.tabletop.pose_plans import bins_from_points, bins_from_poses, poses_from_bins

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


def text_of(question: Question) -> str:
    return "\n".join(str(part) for message in question.messages for part in message.parts if isinstance(part, str))


def test_a_table_in_the_tests_is_one_that_policies_take() -> None:
    seen: TableObservation = table_sight()
    assert len(seen.expert()) > 0
    assert seen.front.shape == (*seen.depth.shape, 3) == (448, 448, 3)


def test_one_reply_a_plan_and_the_same_poses_only_once() -> None:
    asked: list[Question] = []

    def script(question: Question) -> str:
        asked.append(question)
        return [said(ROW, LOW), said(ROW), said(ROW, LOW, plan="in other words")][question.sample]

    plans = propose(script)
    assert [bins_from_poses(plan.poses).tolist() for plan in plans] == [[ROW, LOW], [ROW]]
    assert plans[0] == ActionPlan((), "chat", aim={"text": "press it"}, poses=plans[0].poses)
    assert np.allclose(plans[0].poses, poses_from_bins([ROW, LOW]))
    assert [question.sample for question in asked] == [0, 1, 2]
    assert len({question.seed for question in asked}) == 1
    assert {question.temperature for question in asked} == {1.0}
    assert asked[0].prompt_version == Prompts("worldgauge.suites.closedloop")["manipulation-propose"].label


def test_it_is_shown_the_marked_table_and_told_the_bins_of_all_that_is_there() -> None:
    asked: list[Question] = []

    def script(question: Question) -> str:
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
    asked: list[Question] = []

    def script(question: Question) -> str:
        asked.append(question)
        return bad if len(asked) < 3 else said(LOW)

    made = proposer(script)
    (plan,) = made.propose(table_sight(), GOAL, [], 1, np.random.default_rng(0))
    assert bins_from_poses(plan.poses).tolist() == [LOW]
    assert plan.flags == ()
    (note,) = made.asked
    assert (note["asks"], len(note["problems"])) == (3, 2)
    assert note["reply"] == said(LOW)
    assert json.loads(json.dumps(made.asked)) == made.asked
    assert len({question.sample for question in asked}) == 3


def test_what_cannot_be_read_is_no_plan_after_so_many_asks() -> None:
    asked: list[Question] = []

    def script(question: Question) -> str:
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
    asked: list[Question] = []

    def script(question: Question) -> Any:
        asked.append(question)
        return PromptTooLongError("too long") if len(asked) < 4 else said(ROW)

    history = [PastDecision(Decision(None), (table_sight().hand,), (False,), np.eye(4))] * 4
    made = proposer(script)
    assert len(made.propose(table_sight(), GOAL, history, 1, np.random.default_rng(0))) == 1
    lines = [sum(f"\n{n}. [" in text_of(question) for n in range(1, 5)) for question in asked]
    assert lines == [4, 2, 1, 0]
    assert [question.images[0].shape[0] for question in asked] == [448, 448, 224, 112]
    assert (made.asked[0]["squeeze"], made.asked[0]["asks"]) == (3, 4)


def test_it_needs_an_instruction_and_a_model() -> None:
    with pytest.raises(UsageError, match="this episode has none"):
        propose([], goal=Goal())
    with pytest.raises(UsageError, match="asks a language model"):
        proposers.get("chat")(PolicyKit("manipulation", 5))
    assert serves(proposers, "chat", "manipulation")
