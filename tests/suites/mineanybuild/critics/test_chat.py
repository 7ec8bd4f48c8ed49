"""The critic that asks a language model: what it is shown, how replies are read, what is asked again or no grade."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.chat_endpoint import FakeEndpoint, error, ok
from worldgauge.chat.endpoint import open_chat
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.prompt_runner import Misread
from worldgauge.chat.question import ChatQuestion
from worldgauge.chat.reply import BudgetError, EndpointError, PromptTooLongError
from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.critics import DIMENSIONS, CriticError, CriticKit, Submission, critics
from worldgauge.suites.mineanybuild.critics.chat import ASKS, ChatCritic, read_choice, read_grades, read_mark
from worldgauge.worlds.blocks.blueprint import Blueprint

BUILT = Blueprint.of([[[1]]], ["stone"])
RED, BLUE = (np.full((6, 8, 3), colour, np.uint8) for colour in ((200, 0, 0), (0, 0, 200)))
PLANNED = {
    "completeness": {"grade": 7, "comment": "nearly all"},
    "complexity": {"grade": 4, "comment": "plain"},
    "aesthetic": {"grade": 6.5, "comment": "neat"},
}


def submission(kind: str = "planning", picture: Any = RED) -> Submission:
    reference = None if kind == "creativity" else lambda: BLUE
    return Submission("t1", kind, "Build a hut.", BUILT, lambda: picture, reference_picture=reference)  # type: ignore[arg-type]


class Asked:
    """A critic of these replies, and the questions that came."""

    def __init__(self, replies: Sequence[str | Exception]) -> None:
        self.questions: list[ChatQuestion] = []
        left = iter(replies)

        def script(question: ChatQuestion) -> str | Exception:
            self.questions.append(question)
            return next(left)

        made = critics.get("chat")(CriticKit(ScriptedChat(script)))
        assert isinstance(made, ChatCritic)
        self.critic = made


def test_a_model_grades_and_comments() -> None:
    # It needs a model.
    assert critics.entry("chat").facts == {"chat": True, "version": 2}
    with pytest.raises(UsageError, match="chat=MODEL@URL"):
        ChatCritic(CriticKit())
    # Grades and comments are read.
    asked = Asked([json.dumps(PLANNED)])
    graded = asked.critic.grade(submission(), 3)
    assert graded.grades == {"completeness": 7.0, "complexity": 4.0, "aesthetic": 6.5}
    assert graded.comments == {"completeness": "nearly all", "complexity": "plain", "aesthetic": "neat"}
    (note,) = graded.notes["asked"]
    assert (note["asks"], note["problems"]) == (1, [])
    assert note["prompt"].startswith("critic-planning/1@")
    json.dumps(graded.notes, allow_nan=False)


@pytest.mark.parametrize("comment", ["it's neat", 'a "fine" roof', "both ' and \"", "back \\\\ slash", "plain"])
def test_grades_as_python_writes_them_are_read(comment: str) -> None:
    """The release reads its critic's replies as Python literals."""
    reply = f"Here: { ({'Completeness': {'grade': 7, 'comment': comment}})!r}"
    grades, comments = read_grades(reply, ("completeness",))
    assert (grades, comments) == ({"completeness": 7.0}, {"completeness": comment})


@pytest.mark.parametrize("kind", DIMENSIONS)
def test_it_is_shown_the_reference_and_then_the_build(kind: str) -> None:
    asked = Asked([json.dumps({name: {"grade": 5, "comment": ""} for name in DIMENSIONS[kind]})])
    asked.critic.grade(submission(kind), 3)
    (question,) = asked.questions
    shown = [BLUE, RED] if kind != "creativity" else [RED]
    assert [image.tolist() for image in question.images] == [image.tolist() for image in shown]
    assert "Build a hut." in str(question.messages[1].parts[0])
    assert (question.seed, question.temperature) == (3, 0.0)
    assert list(question.schema["properties"]) == list(DIMENSIONS[kind])


def test_a_lacking_reference_is_said() -> None:
    asked = Asked([json.dumps(PLANNED)])
    asked.critic.grade(Submission("t1", "planning", "x", BUILT, lambda: RED), 0)
    assert "(there is none)" in str(asked.questions[0].messages[1].parts[0])
    assert len(asked.questions[0].images) == 1


@pytest.mark.parametrize(
    "spelling",
    [
        ("Completeness(Instruction Following)", "Complexity", "Overall Aesthetic, Atmosphere and Fidelity"),
        ("Instruction Following(Completeness)", "complexity", "overall aesthetic atmosphere and fidelity"),
        ("Completeness", "COMPLEXITY", "Aesthetic"),
    ],
)
def test_names_of_the_paper_are_known(spelling: tuple[str, ...]) -> None:
    fields = dict(zip(spelling, PLANNED.values(), strict=True))
    grades, _ = read_grades(f"Here it is:\n```json\n{json.dumps(fields)}\n```\nDone.", DIMENSIONS["planning"])
    assert list(grades.values()) == [7.0, 4.0, 6.5]


def test_bare_numbers_and_numbers_as_text_are_grades() -> None:
    assert read_grades('{"completeness": 9}', ("completeness",)) == ({"completeness": 9.0}, {"completeness": ""})
    assert read_grades('{"completeness": {"grade": " 8.5 "}}', ("completeness",))[0] == {"completeness": 8.5}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("} {", "no JSON object"),
        ("I would give it an 8.", "no JSON object"),
        ('{"complexity": {"grade": 8}}', "no grade of completeness"),
        ('{"completeness": {"grade": 0}}', "0, where 1 to 10"),
        ('{"completeness": {"grade": 10.5}}', "10.5, where 1 to 10"),
        ('{"completeness": {"grade": "8/10"}}', "'8/10', no number"),
        ('{"completeness": {"grade": true}}', "'True', no number"),
        ('{"completeness": {"grade": null}}', "'None', no number"),
        ('{"completeness": {"grade": NaN}}', "is not JSON"),
        ('{"completeness": {"grade": 1e999}}', "'inf', no number"),
        ('{"completeness": [8]}', "no number"),
        ('{"completeness": ' + "[" * 100_000 + "}", "is not JSON"),
        ('{"completeness": ' + "9" * 10_000 + "}", "is not JSON|where 1 to 10"),
    ],
)
def test_what_is_no_grade_is_told(text: str, problem: str) -> None:
    with pytest.raises(Misread, match=problem):
        read_grades(text, ("completeness",))


def test_replies_that_cannot_be_read_are_asked_for_again() -> None:
    # It is asked again hotter then without a schema.
    asked = Asked(["hm", '{"completeness": 7}', "no", f"So: {json.dumps(PLANNED)}"])
    graded = asked.critic.grade(submission(), 3)
    assert graded.grades["completeness"] == 7.0
    assert [question.temperature for question in asked.questions] == pytest.approx([0.0, 0.2, 0.4, 0.6])
    assert [question.sample for question in asked.questions] == [0, 1, 2, 3]
    assert [question.schema is None for question in asked.questions] == [False, False, True, True]
    (note,) = graded.notes["asked"]
    assert (note["asks"], len(note["problems"])) == (4, 3)
    # Without a grade the work is ungraded.
    asked = Asked(["hm"] * ASKS)
    with pytest.raises(CriticError, match=f"no usable answer in {ASKS} replies") as caught:
        asked.critic.grade(submission(), 3)
    assert not caught.value.outage
    assert len(asked.questions) == ASKS


@pytest.mark.parametrize(
    ("problem", "outage"),
    [(EndpointError("down"), True), (BudgetError("spent"), True), (PromptTooLongError("long"), False)],
)
def test_an_outage_is_told_apart(problem: Exception, outage: bool) -> None:
    with pytest.raises(CriticError, match=str(problem)) as caught:
        Asked([problem] * 4).critic.grade(submission(), 3)
    assert caught.value.outage is outage


def test_comparing_asks_in_both_orders() -> None:
    asked = Asked(['{"reason": "red is lively", "choice": 1}', '{"reason": "red again", "choice": 2}'])
    choice = asked.critic.compare(submission("creativity", RED), submission("creativity", BLUE), 3)
    assert (choice.first, choice.reason, choice.notes["agreed"]) == (True, "red is lively", True)
    shown = [[image[0, 0].tolist() for image in question.images] for question in asked.questions]
    assert shown == [[[200, 0, 0], [0, 0, 200]], [[0, 0, 200], [200, 0, 0]]]
    assert len(choice.notes["asked"]) == 2


@pytest.mark.parametrize("place", [1, 2])
def test_who_always_takes_one_place_disagrees_and_the_first_reply_counts(place: int) -> None:
    asked = Asked([json.dumps({"reason": "", "choice": place})] * 2)
    choice = asked.critic.compare(submission("creativity"), submission("creativity"), 3)
    assert choice.first is (place == 1)
    assert choice.notes["agreed"] is False


@pytest.mark.parametrize("text", ['{"choice": 3}', '{"choice": 1.5}', '{"choice": "first"}', "{}", "1"])
def test_a_choice_is_one_or_two(text: str) -> None:
    with pytest.raises(Misread):
        read_choice(text)


def test_marks_comments_and_what_is_refused() -> None:
    # Marks are read and no answer costs nothing.
    asked = Asked(['{"reason": "same side", "score": 9}'])
    marked = asked.critic.mark("Is it lit?", "Yes, by the lamp.", "Yes. $question", 3)
    assert (marked.mark, marked.reason) == (9.0, "same side")
    text = str(asked.questions[0].messages[1].parts[0])
    assert all(words in text for words in ("Is it lit?", "Yes, by the lamp.", "Yes. $question"))
    assert Asked([]).critic.mark("q", "a", " \n", 3).mark == 0.0
    # A mark of nought is a mark and eleven is none.
    assert read_mark('{"score": 0}') == (0.0, "")
    for text in ('{"score": 11}', '{"score": -1}', '{"score": null}'):
        with pytest.raises(Misread):
            read_mark(text)
    # Long comments are cut.
    text = json.dumps({"completeness": {"grade": 5, "comment": "very " * 1000}})
    assert len(read_grades(text, ("completeness",))[1]["completeness"]) == 600
    # What is no build is refused.
    with pytest.raises(UsageError, match="'reasoning' is no build"):
        Asked([]).critic.grade(submission("reasoning"), 0)


def test_settings_of_the_kit_hold(tmp_path: Path) -> None:
    (tmp_path / "commonsense-judge.txt").write_text("$question|$reference|$answer")
    seen: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        seen.append(question)
        return '{"reason": "", "score": 1}'

    ChatCritic(CriticKit(ScriptedChat(script), str(tmp_path), {"max_tokens": 77})).mark("q", "a", "b", 0)
    assert seen[0].messages[0].parts == ("q|a|b",)
    assert seen[0].max_tokens == 77


def test_grades_come_back_from_a_recording(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(ok("no grades"), ok(json.dumps(PLANNED)))
    text = f"m@{endpoint.url}"
    first = ChatCritic(CriticKit(open_chat(text, tmp_path))).grade(submission(), 3)
    endpoint.always = error(500)
    again = ChatCritic(CriticKit(open_chat(text, tmp_path, replay="only"))).grade(submission(), 3)
    assert first == again
    assert len(endpoint.asked) == 2
    form = endpoint.asked[0].body["response_format"]["json_schema"]["schema"]
    assert list(form["properties"]) == list(DIMENSIONS["planning"])
