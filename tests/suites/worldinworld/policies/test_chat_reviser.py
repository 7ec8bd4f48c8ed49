"""A language model that chooses among imagined outcomes: what it is shown, what it may say, what else happens."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.policies.home_scene import F, L, R, Seen, candidates, largest_thing
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.prompts import RED, Prompts
from worldgauge.chat.question import ChatQuestion
from worldgauge.chat.reply import BudgetError, EndpointError
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UsageError
from worldgauge.suites.worldinworld.policies.asking import LETTERS
from worldgauge.suites.worldinworld.policies.contract import ActionPlan, Decision, PolicyKit, revisers

LABELS = tuple(f"label {n}" for n in range(27))
NAVIGATION = Goal(image=np.zeros((72, 128, 3), np.uint8))
RECOGNITION = Goal(choices=LABELS)
QUESTION = Goal(text="Where is the bed?")
PLANS = [ActionPlan((F, L, F), "x"), ActionPlan((R, R, F), "x")]
GOALS = {"navigation": NAVIGATION, "recognition": RECOGNITION, "questions": QUESTION}


class Asked(list[ChatQuestion]):
    """Keeps the questions, and answers each prompt by its name: a reply, a list of them, or an exception."""

    def __init__(self, **replies: Any) -> None:
        super().__init__()
        self.replies = {name.replace("_", "-"): reply for name, reply in replies.items()}

    def __call__(self, question: ChatQuestion) -> Any:
        self.append(question)
        reply = self.replies[question.prompt_version.split("/")[0]]
        reply = reply.pop(0) if isinstance(reply, list) else reply
        return json.dumps(reply) if isinstance(reply, dict) and "reason" in reply else reply

    @property
    def names(self) -> list[str]:
        return [question.prompt_version.split("/")[0] for question in self]


def text_of(question: ChatQuestion) -> str:
    return "\n".join(str(part) for message in question.messages for part in message.parts if isinstance(part, str))


def revise(
    task: str,
    script: Any,
    *,
    seen: Seen | None = None,
    plans: list[ActionPlan] = PLANS,
    clip: int | None = 0,
    length: int = 5,
    view: str = "panorama",
    **options: Any,
) -> Decision:
    """One decision; clip None for the base policy, of which nothing is imagined."""
    seen = seen or Seen()
    kit = PolicyKit(task, length, ScriptedChat(script), options=options)
    made = candidates(plans, None if clip is None else seen, **({} if clip is None else {"clip": clip, "view": view}))
    return revisers.get("chat")(kit).revise(made, seen, GOALS[task], [], np.random.default_rng(0))


def chosen(number: int, **more: Any) -> Mapping[str, Any]:
    return {"reason": "r", "choice": number, **more}


def test_navigation_selects_a_candidate_by_its_number() -> None:
    asked = Asked(navigation_select=chosen(2))
    decision = revise("navigation", asked)
    assert (decision.plan, decision.chosen) == (PLANS[1], 1)
    goal, *strips = asked[0].images
    assert goal.shape == (128, 128, 3)
    assert [strip.shape for strip in strips] == [(156, 3 * 128 + 2 * 6, 3)] * 2
    text = text_of(asked[0])
    assert text.index("Candidate 1: forward, turn left, forward") < text.index("Candidate 2: 2 x turn right, forward")
    (note,) = decision.notes["asks"]
    assert note["prompt"] == Prompts("worldgauge.suites.worldinworld")["navigation-select"].label
    assert "fallback" not in decision.notes


def test_navigation_rewrites_as_released() -> None:
    decision = revise("navigation", Asked(navigation_rewrite={"reason": "r", "plan": ["L", "F"]}), kind="rewrite")
    assert (decision.plan, decision.chosen) == (ActionPlan((L, F), "chat"), None)


@pytest.mark.parametrize("kind", ["select", "rewrite"])
def test_the_base_policy_of_navigation_asks_nothing_and_takes_the_first_plan(kind: str) -> None:
    decision = revise("navigation", Asked(), clip=None, kind=kind)
    assert (decision.plan, decision.chosen) == (PLANS[0], 0)
    assert decision.notes["asks"] == []


def test_one_candidate_needs_no_selecting() -> None:
    assert revise("navigation", Asked(), plans=PLANS[:1]).chosen == 0


def test_numbers_that_no_candidate_has_are_asked_for_again_and_fall_back_in_the_end() -> None:
    asked = Asked(navigation_select=[chosen(0), chosen(3), chosen(2)])
    assert (revise("navigation", asked).chosen, len({question.sample for question in asked})) == (1, 3)
    decision = revise("navigation", Asked(navigation_select=chosen(3)), asks=2)
    assert (decision.chosen, decision.plan) == (0, PLANS[0])
    assert "candidate 3, where 1 to 2 were shown (2 times asked)" in decision.notes["fallback"]


@pytest.mark.parametrize("task", list(GOALS))
@pytest.mark.parametrize("error", [EndpointError("down"), BudgetError("spent")])
def test_outages_decide_nothing(task: str, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        revise(task, lambda question: error, kind="select")


def test_a_stop_is_declared_only_where_that_is_the_task() -> None:
    arrived = Asked(navigation_stop={"reason": "r", "arrived": True})
    decision = revise("navigation", arrived, declared=True)
    assert (decision.stop, decision.plan) == (True, None)
    assert [picture.shape[1] > 128 for picture in arrived[0].images] == [False, True]
    going = Asked(navigation_stop={"reason": "r", "arrived": False}, navigation_select=chosen(1))
    assert not revise("navigation", going, declared=True).stop
    assert going.names == ["navigation-stop", "navigation-select"]
    unclear = Asked(navigation_stop="perhaps", navigation_select=chosen(1))
    decision = revise("navigation", unclear, declared=True)
    assert not decision.stop
    assert "5 times asked" in decision.notes["stop_fallback"]


def test_recognition_takes_the_likeliest_label_as_it_is() -> None:
    asked = Asked(recognition_answer={"B": 0.3, "C": 0.4, "Γ": 0.1, "The": 0.2})
    decision = revise("recognition", asked, clip=None)
    assert (decision.answer, decision.confidence) == ("label 2", pytest.approx(0.4))
    assert decision.notes["probabilities"] == pytest.approx({"label 1": 0.3, "label 2": 0.4, "label 26": 0.1})
    assert decision.chosen == 0
    assert (asked[0].top_logprobs, asked[0].choices) == (5, tuple(LETTERS[:27]))
    assert "Γ. label 26" in text_of(asked[0])


def test_a_reply_without_a_letter_is_asked_for_five_times_and_then_all_are_equally_likely() -> None:
    asked = Asked(recognition_answer={"Z": 0.9, "α": 0.1, " A": 0.5})
    decision = revise("recognition", asked, clip=None)
    assert decision.answer == "label 25"
    asked = Asked(recognition_answer={" A": 0.9})
    decision = revise("recognition", asked, clip=None)
    assert (decision.answer, decision.confidence) == ("label 0", 1 / 27)
    assert "5 times asked" in decision.notes["fallback_answer"]
    assert len(asked) == 5


def boxed() -> Seen:
    return Seen(target=largest_thing(Seen()))


def test_recognition_shows_close_ups_with_the_answer_and_the_plan_with_the_choice() -> None:
    asked = Asked(recognition_answer_imagined={"A": 0.5}, recognition_select=chosen(2))
    plans = [ActionPlan((F,), "x"), ActionPlan((L, F, F, F), "x")]
    decision = revise("recognition", asked, seen=boxed(), plans=plans, clip=13, length=4)
    assert (decision.answer, decision.chosen) == ("label 0", 1)
    answer, choice = asked
    assert "imagined" in text_of(answer)
    view, *close = answer.images
    assert view.shape == (128, 128, 3)
    assert 1 <= len(close) <= 2
    view, first, second = choice.images
    assert first.shape == (156, 128, 3)
    assert second.shape == (2 * 156 + 6, 3 * 128 + 12, 3)


def test_a_plan_that_loses_the_target_gives_no_close_up_and_no_box() -> None:
    asked = Asked(recognition_answer={"A": 0.5}, recognition_select=chosen(1))
    away = [ActionPlan((R,) * 8, "x"), ActionPlan((R,) * 7, "x")]
    revise("recognition", asked, seen=boxed(), plans=away, length=8, view="perspective")
    assert asked.names == ["recognition-answer", "recognition-select"]
    view, first, second = asked[1].images
    assert (view == RED).all(-1).any()
    for strip in (first, second):
        assert not (strip[-156:] == RED).all(-1).any()


def test_recognition_rewrites_with_and_without_rollouts() -> None:
    asked = Asked(recognition_answer={"A": 0.5}, recognition_act={"B": 0.6, "A": 0.4})
    decision = revise("recognition", asked, clip=None, kind="rewrite")
    assert (decision.plan, decision.chosen) == (ActionPlan((L,), "chat"), None)
    asked = Asked(recognition_answer={"A": 0.5}, recognition_act_imagined={"C": 0.6})
    assert revise("recognition", asked, kind="rewrite").plan == ActionPlan((R,), "chat")
    silent = Asked(recognition_answer={"A": 0.5}, recognition_act={"Q": 0.6})
    decision = revise("recognition", silent, clip=None, kind="rewrite")
    assert decision.plan == PLANS[0]
    assert "5 times asked" in decision.notes["fallback"]


def test_who_is_sure_is_asked_for_no_way_on() -> None:
    for confidence, names in ((0.95, 1), (0.9499, 2)):
        asked = Asked(recognition_answer={"A": confidence}, recognition_act={"A": 1.0})
        decision = revise("recognition", asked, clip=None, kind="rewrite")
        assert math.isclose(decision.confidence or 0, confidence)
        assert len(asked.names) == names


def said(**change: Any) -> dict[str, Any]:
    return {"reason": "r", "plan": "go on", "view": "left", "landmark": None, "answer": None} | change


AHEAD = [
    ActionPlan((F,) * 4, "x", 0.5, {"view": "front", "landmark": None, "text": "on"}),
    ActionPlan((), "x", -1.0, {"view": "right"}),
]


def test_questions_end_with_the_second_of_two_answers() -> None:
    asked = Asked(questions_plan=[said(answer="In the bedroom. Or"), said(answer="bedroom")])
    decision = revise("questions", asked, plans=AHEAD, clip=None)
    assert (decision.answer, decision.stop) == ("bedroom", True)
    assert decision.notes["first_answer"] == "In the bedroom."
    first, second = asked
    assert text_of(first) == text_of(second)
    assert (first.seed, first.sample, second.sample) == (second.seed, 0, 1)


def test_an_answer_that_is_not_confirmed_is_none() -> None:
    asked = Asked(questions_plan=[said(answer="bedroom"), said()])
    decision = revise("questions", asked, plans=AHEAD, clip=None)
    assert (decision.answer, decision.stop, decision.plan) == (None, False, AHEAD[0])
    asked = Asked(questions_plan=[said(answer="bedroom"), "?", "?"])
    decision = revise("questions", asked, plans=AHEAD, clip=None, asks=2)
    assert (decision.answer, decision.stop) == (None, False)
    assert "2 times asked" in decision.notes["fallback"]


def test_questions_select_among_pairs_of_plan_and_pictures() -> None:
    asked = Asked(questions_select=chosen(2, answer=None))
    decision = revise("questions", asked, plans=AHEAD)
    assert (decision.plan, decision.chosen, decision.answer) == (AHEAD[1], 1, None)
    text = text_of(asked[0])
    views, end = asked[0].images
    assert views.shape == end.shape == (2 * 156 + 6, 2 * 128 + 6, 3)
    assert "Candidate 1: on - turn 29 degrees to the left, then 4 x forward" in text
    # The second leads nowhere that could be imagined, and nothing of it is shown under another's number.
    assert text.index("Candidate 2: turn 57 degrees to the right") < text.index("Nothing was imagined for it")


def test_who_has_the_answer_need_not_choose() -> None:
    asked = Asked(questions_select=[chosen(0, answer="bedroom"), chosen(2, answer="the bedroom")])
    decision = revise("questions", asked, plans=AHEAD)
    assert (decision.answer, decision.stop, decision.chosen) == ("the bedroom", True, 1)


def test_questions_rewrite_with_a_plan_of_their_own() -> None:
    decision = revise("questions", Asked(questions_plan_imagined=said()), plans=AHEAD, kind="rewrite", length=13)
    assert decision.chosen is None
    assert decision.plan.aim == {"view": "left", "landmark": None, "text": "go on"}
    base = revise("questions", Asked(questions_plan=said(view="right")), plans=AHEAD, clip=None, kind="rewrite")
    assert base.plan.aim["view"] == "right"


def test_the_first_candidate_is_taken_where_no_decision_can_be_read() -> None:
    decision = revise("questions", Asked(questions_select="?"), plans=AHEAD, asks=3)
    assert (decision.plan, decision.chosen, decision.answer, decision.stop) == (AHEAD[0], 0, None, False)
    assert "3 times asked" in decision.notes["fallback"]


@pytest.mark.parametrize("task", list(GOALS))
def test_notes_are_plain_values(task: str) -> None:
    asked = Asked(
        recognition_answer={"A": 0.5},
        recognition_answer_imagined={"A": 0.5},
        recognition_select=chosen(1),
        navigation_select=chosen(1),
        questions_select=chosen(1, answer=None),
    )
    notes = revise(task, asked, plans=AHEAD if task == "questions" else PLANS).notes
    assert (json.loads(json.dumps(notes)), notes["kind"]) == (notes, "select")


@pytest.mark.parametrize("task", list(GOALS))
def test_what_a_task_needs_is_asked_for(task: str) -> None:
    reviser = revisers.get("chat")(PolicyKit(task, 5, ScriptedChat([])))
    with pytest.raises(UsageError, match="this episode has none"):
        reviser.revise(candidates(PLANS), Seen(), Goal(), [], np.random.default_rng(0))
