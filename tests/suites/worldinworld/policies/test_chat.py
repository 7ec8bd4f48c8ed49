"""A language model that walks: its plans, and their recordings."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suites.worldinworld.policies.home_scene import F, L, R, S, Seen, candidates, largest_thing
from support.chat_endpoint import Asked, FakeEndpoint, error, likely, ok
from worldgauge.chat.endpoint import open_chat
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.question import ChatQuestion
from worldgauge.chat.reply import BudgetError, EndpointError
from worldgauge.core.episode import Goal
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.suites.worldinworld.policies.contract import (
    ActionPlan,
    Decision,
    PastDecision,
    PolicyKit,
    merge_plans,
    proposers,
    revisers,
)
from worldgauge.suites.worldinworld.questions.landmarks import Landmarks
from worldgauge.suites.worldinworld.questions.travel import AnsweredSteps, ChatLowLevel

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


def text_of(question: ChatQuestion) -> str:
    return "\n".join(str(part) for message in question.messages for part in message.parts if isinstance(part, str))


def test_navigation_takes_one_reply_a_plan_and_shows_goal_and_views() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return PLAN % ['["F", "L"]', '["R"]', '["F", "L"]'][question.sample]

    plans = propose("navigation", ScriptedChat(script), NAVIGATION)
    assert [plan.steps for plan in plans] == [(F, L), (R,), (F, L)]
    assert ({plan.source for plan in plans}, len(merge_plans(plans))) == ({"chat"}, 2)
    assert [question.sample for question in asked] == [0, 1, 2]
    assert len({question.seed for question in asked}) == 1
    goal, views = asked[0].images
    # The goal is a panorama, of which its front is shown as the camera of the views sees it.
    assert goal.shape == (128, 128, 3)
    assert views.shape == (2 * 156 + 6, 2 * 128 + 6, 3)
    assert "at most 5" in text_of(asked[0])


def test_a_goal_that_is_no_panorama_is_shown_as_it_is() -> None:
    picture = np.full((90, 120, 3), 9, np.uint8)
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
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
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
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
    assert to_landmark.aim["landmark"] == far
    assert to_landmark.turn_left_rad == pytest.approx(landmarks[far].left_rad(seen.pose))
    assert to_landmark.steps == (F,) * 13
    assert back.aim == {"view": "back", "landmark": None, "text": "go on in the view ahead"}
    assert abs(back.turn_left_rad) > np.pi / 2
    assert abs(front_plan.turn_left_rad) < np.pi / 3
    assert S not in front_plan.steps


def test_landmarks_keep_their_numbers_until_the_next_episode() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
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


GOALS = {
    "navigation": Goal(image=np.zeros((72, 128, 3), np.uint8)),
    "recognition": Goal(choices=("bed", "chair", "sofa")),
    "questions": Goal(text="Where is the bed?"),
}


def fitting(handler: BaseHTTPRequestHandler, asked: Asked) -> None:
    """Answers in the form that is asked for, every third time in none; what it says depends on the seed."""
    body, seed = asked.body, int(asked.body["seed"])
    if seed % 3 == 0:
        return ok("I would rather not.", logprobs=likely({"I": -0.1}))(handler, asked)
    if body.get("logprobs"):
        return ok("B", logprobs=likely({"B": -0.5, "A": -1.5}))(handler, asked)
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    value: dict[str, Any] = {"reason": "r", "answer": None, "view": "left", "landmark": None, "choice": 1 + seed % 2}
    value |= (
        {"plan": "go on" if fields["plan"]["type"] == "string" else ["FLR"[seed % 2], "F"]} if "plan" in fields else {}
    )
    return ok(json.dumps({name: value[name] for name in fields}))(handler, asked)


def decided_of_chat_replay(
    task: str, chat: Any, prompts: Path | None = None, **options: Any
) -> tuple[list[ActionPlan], Decision, Any]:
    kit = PolicyKit(task, 5, chat, None if prompts is None else str(prompts), options)
    seen = Seen()
    if task == "recognition":
        seen = Seen(target=largest_thing(seen))
    proposer: Any = proposers.get("chat")(kit)
    plans = list(proposer.propose(seen, GOALS[task], [], 2, np.random.default_rng(1)))
    made = candidates(plans or [ActionPlan((F,), "x")], seen)
    decision = revisers.get("chat")(kit).revise(made, seen, GOALS[task], [], np.random.default_rng(2))
    return plans, decision, proposer.asked


@pytest.mark.parametrize("kind", ["select", "rewrite"])
@pytest.mark.parametrize("task", list(GOALS))
def test_a_decision_comes_back_from_its_recording(task: str, kind: str, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.always = fitting
    text = f"m@{endpoint.url}"
    first = decided_of_chat_replay(task, open_chat(text, tmp_path), kind=kind)
    assert first[0]
    asked = len(endpoint.asked)
    assert asked >= 3
    endpoint.always = error(500)
    assert decided_of_chat_replay(task, open_chat(text, tmp_path, replay="only"), kind=kind) == first
    assert len(endpoint.asked) == asked


def test_a_fallback_comes_back_from_its_recording(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.always = ok("no", logprobs=likely({"no": -0.1}))
    text = f"m@{endpoint.url}"
    first = decided_of_chat_replay("recognition", open_chat(text, tmp_path), asks=2)
    assert first[1].notes["fallback_answer"]
    again = decided_of_chat_replay("recognition", open_chat(text, tmp_path, replay="only"), asks=2)
    assert again == first


def test_an_outage_in_mid_decision_fails_it_and_another_try_goes_on(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    text = f"m@{endpoint.url}"
    plan = ok('{"reason": "r", "plan": ["F"]}'), ok('{"reason": "r", "plan": ["L", "F"]}')
    endpoint.then(*plan, error(401))
    with pytest.raises(EndpointError):
        decided_of_chat_replay("navigation", open_chat(text, tmp_path))
    endpoint.then(ok('{"reason": "r", "choice": 2}'))
    plans, decision, _ = decided_of_chat_replay("navigation", open_chat(text, tmp_path))
    assert decision.plan == plans[1]
    # The plans were not paid for twice.
    assert len(endpoint.asked) == 4


def test_a_users_prompts_are_used_and_named_in_the_notes(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.always = fitting
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "navigation-propose.txt").write_text("version: mine\nMY WORDS $goal $views $history $length")
    _, decision, asked = decided_of_chat_replay("navigation", open_chat(f"m@{endpoint.url}"), folder)
    assert asked[0]["prompt"] == Prompts("worldgauge.suites.worldinworld", folder)["navigation-propose"].label
    assert asked[0]["prompt"].startswith("navigation-propose/mine@")
    sent = [part["text"] for part in endpoint.asked[0].body["messages"][0]["content"] if part["type"] == "text"]
    assert sent[0] == "MY WORDS"
    assert all(note["prompt"].startswith("navigation-select/1@") for note in decision.notes["asks"])


PLAN_LOW_LEVEL = ActionPlan(
    (F,) * 13, "chat", 0.0, {"view": "left", "landmark": None, "text": "look into the left view"}
)


def low_level(script: Callable[[ChatQuestion], object], **options: object) -> ChatLowLevel:
    kit = PolicyKit("questions", 13, ScriptedChat(script), options=options)  # type: ignore[arg-type]
    return ChatLowLevel(kit, "Where is it?", np.random.default_rng(0))


def test_it_sees_the_words_the_question_and_what_it_saw_before() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return ['{"reason": "", "plan": ["F", "L"]}', '{"reason": "", "plan": ["F", "S"]}'][len(asked) - 1]

    go, seen = low_level(script), Seen()
    assert go(PLAN_LOW_LEVEL, lambda: seen, []) == (F, L)
    assert go(PLAN_LOW_LEVEL, lambda: seen, [AnsweredSteps((F, L), True)]) == (F, S)
    first = asked[0].messages[1].parts
    assert "look into the view ahead" in str(first[0])
    assert "Where is it?" in str(first[0])
    assert (len(asked[0].images), len(asked[1].images)) == (1, 2)
    assert np.array_equal(asked[1].images[1], seen.front)
    assert asked[0].seed != asked[1].seed
    assert [note["prompt"].split("/")[0] for note in go.asked] == ["questions-step"] * 2


def test_a_new_plan_forgets_the_pictures_of_the_one_before() -> None:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return '{"reason": "", "plan": ["F"]}'

    go, seen = low_level(script), Seen()
    go(PLAN_LOW_LEVEL, lambda: seen, [])
    go(PLAN_LOW_LEVEL, lambda: seen, [])
    assert [len(question.images) for question in asked] == [1, 1]


def test_without_a_reply_that_can_be_read_it_stops_and_says_so() -> None:
    go = low_level(lambda question: '{"reason": "", "plan": ["F", "F", "F", "F", "F"]}', asks=2)
    assert go(PLAN_LOW_LEVEL, Seen, []) == (S,)
    assert "2 times asked" in go.asked[-1]["fallback"]


def test_an_outage_passes() -> None:
    with pytest.raises(EndpointError):
        low_level(lambda question: EndpointError("down"))(PLAN_LOW_LEVEL, Seen, [])
