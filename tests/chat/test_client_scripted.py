"""The stand-in answers as a model would, and is held to the same rules."""

from typing import Any

import pytest

from worldgauge.chat.model import Chat, ScriptedChat
from worldgauge.chat.question import ChatQuestion
from worldgauge.chat.reply import AnswerError, EndpointError
from worldgauge.core.errors import UsageError

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_lists_functions_and_outages_are_scripts() -> None:
    chat: Chat = ScriptedChat(["one", "two"])
    assert [chat.ask("x").text, chat.ask("x").text] == ["one", "two"]
    with pytest.raises(AnswerError, match="no more answers"):
        chat.ask("x")

    def script(question: ChatQuestion) -> str:
        return f"{question.messages[-1].parts[0]} {question.sample}"

    assert ScriptedChat(script).ask("again?", sample=3).text == "again? 3"
    with pytest.raises(EndpointError, match="down"):
        ScriptedChat([EndpointError("down")]).ask("x")


def test_scripted_answers_are_checked_and_choices_have_probabilities() -> None:
    chat = ScriptedChat(['{"n": 3}', '{"n": "three"}'])
    assert chat.ask("x", schema=SCHEMA).value == {"n": 3}
    with pytest.raises(AnswerError, match=r"scripted answer: does not fit the schema at \$.n"):
        chat.ask("x", schema=SCHEMA)
    chat = ScriptedChat(["B", {"A": 0.6, "B": 0.2}, "Z"])
    sure, unsure = (chat.ask("x", choices="ABC").probabilities for _ in range(2))
    assert (sure.mass, sure.missing, sure.best) == ({"B": 1.0}, ("A", "C"), "B")
    assert unsure.normalised == pytest.approx({"A": 0.75, "B": 0.25})
    with pytest.raises(AnswerError, match="none of the choices A, B, C"):
        chat.ask("x", choices="ABC")


@pytest.mark.parametrize("wrong", [{"images": ["/etc/passwd"]}, {"temperature": -1}, {"choices": []}])
def test_questions_are_checked_as_for_a_model(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ScriptedChat(["x"]).ask("x", **wrong)
