"""Plans from a language model: how many, in which words, and what happens when it does not say any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suites.closedloop.policies.home_scene import F, L, R, S, Seen, largest_thing
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.question import Question
from worldgauge.chat.reply import BudgetError, EndpointError
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.suites.closedloop.policies.contract import (
    ActionPlan,
    Decision,
    PastDecision,
    PolicyKit,
    merge_plans,
    proposers,
)
from worldgauge.suites.closedloop.questions.landmarks import Landmarks

PLAN = '{"reason": "r", "plan": %s}'
NAVIGATION = Goal(image=np.zeros((72, 128, 3), np.uint8))
QUESTION = Goal(text="Where is the bed?")


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def propose(task: str, chat: ScriptedChat, goal: Goal, n: int = 3, **more: Any) -> list[ActionPlan]:
    seen = more.pop("seen", None) or Seen()
    length, history = more.pop("length", 5), more.pop("history", [])
    proposer = proposers.get("chat")(PolicyKit(task, length, chat, options=more))
    return list(proposer.propose(seen, goal, history, n, rng()))


def text_of(question: Question) -> str:
    return "\n".join(str(part) for message in question.messages for part in message.parts if isinstance(part, str))


def test_navigation_takes_one_reply_a_plan_and_shows_goal_and_views() -> None:
    asked: list[Question] = []

    def script(question: Question) -> str:
        asked.append(question)
        return PLAN % ['["F", "L"]', '["R"]', '["F", "L"]'][question.sample]

    plans = propose("navigation", ScriptedChat(script), NAVIGATION)
    assert [plan.steps for plan in plans] == [(F, L), (R,), (F, L)]
    assert {plan.source for plan in plans} == {"chat"}
    assert len(merge_plans(plans)) == 2
    assert [question.sample for question in asked] == [0, 1, 2]
    assert len({question.seed for question in asked}) == 1
    goal, views = asked[0].images
    # The goal is a panorama, of which its front is shown as the camera of the views sees it.
    assert goal.shape == (128, 128, 3)
    assert views.shape == (2 * 156 + 6, 2 * 128 + 6, 3)
    assert "at most 5" in text_of(asked[0])


def test_a_goal_that_is_no_panorama_is_shown_as_it_is() -> None:
    picture = np.full((90, 120, 3), 9, np.uint8)
    asked: list[Question] = []

    def script(question: Question) -> str:
        asked.append(question)
        return PLAN % '["F"]'

    propose("navigation", ScriptedChat(script), Goal(image=picture), 1)
    assert np.array_equal(asked[0].images[0], picture)


def test_overlong_plans_are_asked_for_again_and_left_out_in_the_end() -> None:
    chat = ScriptedChat([PLAN % '["F", "F", "F"]', PLAN % '["S"]', PLAN % '["F"]', *([PLAN % "[]"] * 2)])
    plans = propose("navigation", chat, NAVIGATION, length=2, asks=3)
    assert [plan.steps for plan in plans] == [(F,)]


def test_without_any_plan_there_is_none_and_the_notes_say_why() -> None:
    chat = ScriptedChat(lambda question: "gibberish")
    proposer: Any = proposers.get("chat")(PolicyKit("navigation", 5, chat, options={"asks": 2}))
    assert proposer.propose(Seen(), NAVIGATION, [], 3, rng()) == []
    (note,) = proposer.asked
    assert note["asks"] == 2
    assert "reply" not in note


@pytest.mark.parametrize("error", [EndpointError("down"), BudgetError("spent")])
@pytest.mark.parametrize(
    ("task", "goal"), [("navigation", NAVIGATION), ("recognition", Goal()), ("questions", QUESTION)]
)
def test_outages_pass(task: str, goal: Goal, error: Exception) -> None:
    with pytest.raises(type(error)):
        propose(task, ScriptedChat([error]), goal)


def test_recognition_shows_the_boxed_view_and_the_past() -> None:
    asked: list[Question] = []

    def script(question: Question) -> str:
        asked.append(question)
        return PLAN % '["L", "F"]'

    seen = Seen()
    boxed = Seen(target=largest_thing(seen))
    past = PastDecision(Decision(None), (F, L), (True, False), seen.pose)
    (plan,) = propose("recognition", ScriptedChat(script), Goal(), 1, seen=boxed, history=[past], length=4)
    assert plan.steps == (L, F)
    (picture,) = asked[0].images
    assert picture.shape == seen.front.shape
    assert not np.array_equal(picture, seen.front)
    assert "forward (met an obstacle), turn left" in text_of(asked[0])
    propose("recognition", ScriptedChat(script), Goal(), 1, seen=seen, length=4)
    assert np.array_equal(asked[1].images[0], seen.front)
    assert "not in sight" in text_of(asked[1])


def decided(**change: Any) -> str:
    import json

    fine = {"reason": "r", "plan": "go on in the left view", "view": "front", "landmark": None, "answer": None}
    return json.dumps(fine | change)


def test_questions_turn_landmarks_and_words_into_headings() -> None:
    seen = Seen(camera=Camera.from_horizontal_fov(168, 144, 105))
    landmarks = Landmarks()
    front = landmarks.look(seen)["front"]
    far = next(n for n in front if landmarks[n].distance_m(seen.pose) > 2.5)
    replies = [decided(landmark=far), decided(view="back"), decided(landmark=999), decided(view="front")]
    to_landmark, back, front_plan = propose("questions", ScriptedChat(replies), QUESTION, seen=seen, length=13)
    assert to_landmark.aim is not None
    assert to_landmark.aim["landmark"] == far
    assert to_landmark.turn_left_rad == pytest.approx(landmarks[far].left_rad(seen.pose))
    assert to_landmark.steps == (F,) * 13
    assert back.aim == {"view": "back", "landmark": None, "text": "go on in the view ahead"}
    assert abs(back.turn_left_rad) > np.pi / 2
    assert abs(front_plan.turn_left_rad) < np.pi / 3
    assert S not in front_plan.steps


def test_landmarks_keep_their_numbers_until_the_next_episode() -> None:
    asked: list[Question] = []

    def script(question: Question) -> str:
        asked.append(question)
        return decided()

    seen = Seen()
    proposer = proposers.get("chat")(PolicyKit("questions", 13, ScriptedChat(script)))
    past = [PastDecision(Decision(None), (), (), seen.pose)]
    for history in ([], past, []):
        proposer.propose(seen, QUESTION, history, 1, rng())
    first, later, anew = (text_of(question).split("Landmarks: ")[1].split("\n")[0] for question in asked)
    assert anew == first
    # What it stands beside counts as visited and is not marked any more.
    assert set(later.replace(":", ",").split(", ")) < set(first.replace(":", ",").split(", "))


def test_what_a_task_needs_is_asked_for() -> None:
    for task, goal in (("navigation", Goal()), ("questions", Goal())):
        with pytest.raises(UsageError, match="this episode has none"):
            propose(task, ScriptedChat([]), goal)
    with pytest.raises(UnknownNameError, match="no task 'cooking'"):
        proposers.get("chat")(PolicyKit("cooking", 5, ScriptedChat([])))
