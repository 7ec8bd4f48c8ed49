"""Putting questions: asked again while replies mean nothing, shortened when too long, never answered by an outage."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from worldgauge.chat.model import Chat, ScriptedChat
from worldgauge.chat.prompt_runner import SQUEEZES, Asker, UnansweredError, kept, thinned
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.question import ChatQuestion
from worldgauge.chat.reply import AnswerError, BudgetError, EndpointError, NoAnswerError, PromptTooLongError, Reply
from worldgauge.core.errors import UsageError
from worldgauge.suites.worldinworld.policies.asking import asker_of, kind_of, read_mark
from worldgauge.suites.worldinworld.policies.contract import PolicyKit

FIELDS = {"question": "q", "reference": "r", "extra": "none", "prediction": "p"}
IMAGE = np.zeros((64, 64, 3), np.uint8)


def ask(chat: Chat, fields: Callable[[int], Any] = lambda squeeze: FIELDS, **more: Any) -> tuple[int, dict[str, Any]]:
    given = {"seed": 5, "asks": 3} | more
    answered = Asker(chat, Prompts("worldgauge.suites.worldinworld")).ask(
        "judge", fields, lambda reply: read_mark(reply.text), **given
    )
    return answered.value, dict(answered.note)


def test_unusable_replies_are_requested_again_up_to_a_limit() -> None:
    seen: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        seen.append(question)
        return "MARK: 9" if len(seen) < 3 else "MARK: 3"

    value, note = ask(ScriptedChat(script), sample=1, samples=4)
    assert value == 3
    assert (note["asks"], note["reply"]) == (3, "MARK: 3")
    assert note["problems"] == ["mark 9, where 1 to 5 was asked for"] * 2
    assert note["prompt"] == Prompts("worldgauge.suites.worldinworld")["judge"].label == seen[0].prompt_version
    # Every repetition is a sample of its own, and none is that of another sample's repetition.
    assert [question.sample for question in seen] == [1, 5, 9]
    assert {question.seed for question in seen} == {5}
    assert (seen[0].temperature, seen[0].top_p) == (1.0, 1.0)
    asker = Asker(ScriptedChat(["no", AnswerError("refused")]), Prompts("worldgauge.suites.worldinworld"))
    with pytest.raises(AnswerError, match=r"no usable reply to prompt 'judge': refused \(2 times asked\)"):
        asker.ask("judge", lambda squeeze: FIELDS, lambda reply: read_mark(reply.text), seed=0, asks=2)
    (note,) = asker.taken()
    assert (note["problems"], asker.taken()) == (["no MARK: in the reply", "refused"], [])


@pytest.mark.parametrize("error", [EndpointError("down"), BudgetError("spent")])
def test_outages_and_budgets_pass(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        ask(ScriptedChat([error, "MARK: 5"]))


def test_replies_without_an_answer_are_an_outage_and_not_an_unusable_answer() -> None:
    with pytest.raises(UnansweredError, match=r"it holds no answer \(3 times asked\)"):
        ask(ScriptedChat(["<think>MARK: 5", "", "MARK: 5</think>"]))
    with pytest.raises(AnswerError, match="no answer"):
        ask(ScriptedChat(["<think>MARK: 5", "It is right.", NoAnswerError("it gave no answer")]))


def test_a_prompt_that_is_too_long_is_shortened_without_counting_as_asked() -> None:
    sizes: list[tuple[int, int]] = []

    def script(question: ChatQuestion) -> Any:
        (picture,) = question.images
        sizes.append(picture.shape[:2])
        return PromptTooLongError("too long") if len(sizes) < SQUEEZES else "MARK: 2"

    squeezes: list[int] = []

    def fields(squeeze: int) -> Any:
        squeezes.append(squeeze)
        return FIELDS | {"extra": IMAGE}

    value, note = ask(ScriptedChat(script), fields, asks=1)
    assert (value, squeezes, sizes) == (2, [0, 1, 2, 3], [(64, 64), (64, 64), (32, 32), (16, 16)])
    assert note["squeeze"] == 3


def test_prompts_that_cannot_be_shortened_or_thinned() -> None:
    with pytest.raises(PromptTooLongError):
        ask(ScriptedChat(lambda question: PromptTooLongError("too long")))
    items = [1, 2, 3, 4, 5, 6]
    assert [thinned(items, squeeze) for squeeze in range(SQUEEZES)] == [items, [2, 4, 6], [2, 6], [6]]
    assert thinned([], 2) == []


@pytest.mark.parametrize(
    ("n", "expected"), [(8, [8, 4, 2, 0]), (5, [5, 3, 2, 0]), (1, [1, 1, 1, 0]), (0, [0, 0, 0, 0])]
)
def test_the_latest_are_kept(n: int, expected: list[int]) -> None:
    items = list(range(n))
    assert [kept(items, squeeze) for squeeze in range(SQUEEZES)] == [items[n - count :] for count in expected]


def test_a_policy_needs_a_model_and_a_kind_there_is() -> None:
    with pytest.raises(UsageError, match="chat=MODEL@URL"):
        asker_of(PolicyKit("navigation", 5))
    with pytest.raises(UsageError, match="select or rewrite, got 'both'"):
        kind_of(PolicyKit("navigation", 5, options={"kind": "both"}))
    made = asker_of(PolicyKit("navigation", 5, ScriptedChat([]), options={"temperature": 0.25, "other": 1}))
    assert made.temperature == 0.25


def test_notes_are_plain_values_and_hold_no_time() -> None:
    class Timed(Chat):
        def answer(self, question: ChatQuestion) -> Reply:
            return Reply("MARK: 1", input_tokens=7, output_tokens=2, cost=0.5, seconds=3.0, key="k")

    _, note = ask(Timed())
    assert note == {
        "prompt": Prompts("worldgauge.suites.worldinworld")["judge"].label,
        "asks": 1,
        "squeeze": 0,
        "problems": [],
        "reply": "MARK: 1",
        "key": "k",
        "input_tokens": 7,
        "output_tokens": 2,
        "cost": 0.5,
    }
