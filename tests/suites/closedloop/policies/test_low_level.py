"""Words turned into primitives, a few at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from suites.closedloop.policies.home_scene import F, L, S, Seen
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.question import Question
from worldgauge.chat.reply import EndpointError
from worldgauge.suites.closedloop.policies.contract import ActionPlan, PolicyKit
from worldgauge.suites.closedloop.questions.travel import ChatLowLevel, Leg

PLAN = ActionPlan((F,) * 13, "chat", 0.0, {"view": "left", "landmark": None, "text": "look into the left view"})


def low_level(script: Callable[[Question], object], **options: object) -> ChatLowLevel:
    kit = PolicyKit("questions", 13, ScriptedChat(script), options=options)  # type: ignore[arg-type]
    return ChatLowLevel(kit, "Where is it?", np.random.default_rng(0))


def test_it_sees_the_words_the_question_and_what_it_saw_before() -> None:
    asked: list[Question] = []

    def script(question: Question) -> str:
        asked.append(question)
        return ['{"reason": "", "plan": ["F", "L"]}', '{"reason": "", "plan": ["F", "S"]}'][len(asked) - 1]

    go, seen = low_level(script), Seen()
    assert go(PLAN, lambda: seen, []) == (F, L)
    assert go(PLAN, lambda: seen, [Leg((F, L), True)]) == (F, S)
    first = asked[0].messages[1].parts
    assert "look into the view ahead" in str(first[0])
    assert "Where is it?" in str(first[0])
    assert (len(asked[0].images), len(asked[1].images)) == (1, 2)
    assert np.array_equal(asked[1].images[1], seen.front)
    assert asked[0].seed != asked[1].seed
    assert [note["prompt"].split("/")[0] for note in go.asked] == ["questions-step"] * 2


def test_a_new_plan_forgets_the_pictures_of_the_one_before() -> None:
    asked: list[Question] = []

    def script(question: Question) -> str:
        asked.append(question)
        return '{"reason": "", "plan": ["F"]}'

    go, seen = low_level(script), Seen()
    go(PLAN, lambda: seen, [])
    go(PLAN, lambda: seen, [])
    assert [len(question.images) for question in asked] == [1, 1]


def test_without_a_reply_that_can_be_read_it_stops_and_says_so() -> None:
    go = low_level(lambda question: '{"reason": "", "plan": ["F", "F", "F", "F", "F"]}', asks=2)
    assert go(PLAN, Seen, []) == (S,)
    assert "2 times asked" in go.asked[-1]["fallback"]


def test_an_outage_passes() -> None:
    with pytest.raises(EndpointError):
        low_level(lambda question: EndpointError("down"))(PLAN, Seen, [])
