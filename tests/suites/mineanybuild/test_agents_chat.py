"""The agent that asks a language model: what it sends, what it takes for an answer, what passes as an outage."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.chat_endpoint import FakeEndpoint, error, ok
from worldgauge.chat.model import ScriptedChat
from worldgauge.chat.prompt_runner import UnansweredError
from worldgauge.chat.prompts import Prompts
from worldgauge.chat.question import ChatQuestion
from worldgauge.chat.reply import BudgetError, EndpointError, PromptTooLongError
from worldgauge.core.agent import Answer, Problem, agents
from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.agents import ChatAgent, fields_of, prompt_of
from worldgauge.suites.mineanybuild.format import KINDS, LIMITS, Kind

RED, BLUE = (np.full((6, 8, 3), colour, np.uint8) for colour in ((200, 0, 0), (0, 0, 200)))


def problem(kind: Kind, variant: str = "") -> Problem:
    return Problem(
        "t1",
        kind,
        "Make a $5 thing.",
        7,
        variant,
        images=() if kind == "creativity" else (RED, BLUE),
        captions=() if kind == "creativity" else ("From the door", "From above"),
        materials=("stone", "oak_planks") if kind in ("planning", "understanding", "creativity") else (),
        choices=("A", "B", "C") if kind == "reasoning" else (),
        most=LIMITS,
    )


def asked_by(kind: Kind, variant: str = "") -> ChatQuestion:
    asked: list[ChatQuestion] = []

    def script(question: ChatQuestion) -> str:
        asked.append(question)
        return "B"

    assert ChatAgent(ScriptedChat(script)).answer(problem(kind, variant)).text == "B"
    (question,) = asked
    return question


def words(question: ChatQuestion) -> str:
    return "\n".join(part for message in question.messages for part in message.parts if isinstance(part, str))


@pytest.mark.parametrize(
    ("kind", "variant", "prompt"),
    [
        ("planning", "detailed", "planning-detailed"),
        ("planning", "simple", "planning-simple"),
        ("planning", "", "planning-detailed"),
        ("understanding", "", "understanding"),
        ("creativity", "", "creativity"),
        ("reasoning", "same", "reasoning"),
        ("commonsense", "", "commonsense"),
    ],
)
def test_each_kind_has_its_prompt(kind: Kind, variant: str, prompt: str) -> None:
    assert prompt_of(problem(kind, variant)) == prompt
    question = asked_by(kind, variant)
    assert question.prompt_version == Prompts("worldgauge.suites.mineanybuild")[prompt].label
    assert [message.role for message in question.messages] == ["system", "user"]
    assert "Make a $5 thing." in words(question)
    assert (question.seed, question.sample, question.temperature, question.max_tokens) == (7, 0, 0.0, 8192)
    assert question.allow_truncated


@pytest.mark.parametrize("kind", KINDS)
def test_every_place_is_filled(kind: Kind) -> None:
    asked = problem(kind)
    assert set(fields_of(asked)) == Prompts("worldgauge.suites.mineanybuild")[prompt_of(asked)].places


def test_builds_are_told_materials_and_limits() -> None:
    text = words(asked_by("creativity"))
    assert 'Materials: {"air": -1, "stone": 1, "oak_planks": 2}' in text
    assert "At most 50 layers, 80 rows in a layer and 80 numbers in a row." in text


@pytest.mark.parametrize("kind", ["planning", "understanding", "reasoning", "commonsense"])
def test_all_pictures_go_along_after_their_captions(kind: Kind) -> None:
    parts = asked_by(kind).messages[-1].parts
    places = [n for n, part in enumerate(parts) if not isinstance(part, str)]
    assert [parts[n].tolist() for n in places] == [RED.tolist(), BLUE.tolist()]  # type: ignore[union-attr]
    assert str(parts[places[0] - 1]).endswith("From the door:")
    assert str(parts[places[1] - 1]).endswith("From above:")


def test_pictures_and_choices_of_a_prompt() -> None:
    # Creativity shows none and a lacking one is said.
    assert asked_by("creativity").images == []
    assert fields_of(Problem("t", "planning", "x", 0, most=LIMITS))["picture"] == ["(there is none)"]
    # Only the fitting choices are offered.
    assert "A, B or C." in words(asked_by("reasoning"))
    assert fields_of(Problem("t", "reasoning", "x", 0, choices=("True", "False")))["choices"] == "True or False"
    assert fields_of(Problem("t", "reasoning", "x", 0))["choices"] == ""


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (ok(None, message={"refusal": "I must not build"}), "I must not build"),
        (ok(None), "no text"),
        (ok("<think>\nA corner first:\n```json\n[[[1]]]\n```\n", finish="length"), "only reasoning.*max_tokens=8192"),
    ],
)
def test_a_reply_without_an_answer_is_an_error(endpoint: FakeEndpoint, reply: Any, why: str) -> None:
    endpoint.then(reply)
    with pytest.raises(UnansweredError, match=why):
        ChatAgent(f"m@{endpoint.url}").answer(problem("creativity"))
    assert len(endpoint.asked) == 1


def test_a_cut_answer_is_an_answer(endpoint: FakeEndpoint) -> None:
    endpoint.then(ok("```json\n[[[1,", finish="length"))
    answer = ChatAgent(f"m@{endpoint.url}", max_tokens=16).answer(problem("creativity"))
    assert answer.text == "```json\n[[[1,"
    assert answer.notes["finish"] == "length"
    assert endpoint.asked[0].body["max_tokens"] == 16


def test_the_record_tells_how_it_was_asked(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(ok("B", usage=(100, 5)))
    agent = ChatAgent(f"org/vlm@{endpoint.url}", recording=tmp_path, input_price=1.0, output_price=2.0, budget=1.0)
    notes = agent.answer(problem("reasoning")).notes
    assert notes["prompt"] == Prompts("worldgauge.suites.mineanybuild")["reasoning"].label
    assert (notes["input_tokens"], notes["output_tokens"], notes["asks"]) == (100, 5, 1)
    assert notes["cost"] == pytest.approx(110e-6)
    assert "reply" not in notes
    json.dumps(notes, allow_nan=False)
    sent = endpoint.asked[0].body
    assert (sent["model"], sent["temperature"], sent["seed"]) == ("org/vlm", 0.0, 7)
    kinds = [part["type"] for part in sent["messages"][1]["content"]]
    assert kinds == ["text", "image_url", "text", "image_url", "text"]


def test_the_spec_holds_what_changes_answers(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    text = f"org/vlm@{endpoint.url}"
    spec = ChatAgent(text, temperature=0.5, max_tokens=99).spec
    assert spec.name == "vlm"
    assert not spec.privileged
    facts = dict(spec.settings)
    assert (facts["model"], facts["temperature"], facts["max_tokens"]) == ("org/vlm", 0.5, 99)
    assert facts["prompts"] == Prompts("worldgauge.suites.mineanybuild").digest
    json.dumps(facts, allow_nan=False)
    assert ChatAgent(text, recording=tmp_path / "kept").spec == ChatAgent(text).spec
    own = tmp_path / "own"
    own.mkdir()
    (own / "reasoning.txt").write_text("$question $picture $choices")
    assert ChatAgent(text, prompts=own).spec.settings["prompts"] != facts["prompts"]


def test_answers_come_back_from_a_recording(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    endpoint.then(ok("first"))
    text = f"m@{endpoint.url}"
    first = agents.get("chat")(model=text, recording=str(tmp_path)).answer(problem("planning"))
    endpoint.always = error(500)
    again = agents.get("chat")(model=text, recording=str(tmp_path), replay="only").answer(problem("planning"))
    assert isinstance(first, Answer)
    assert first == again
    assert len(endpoint.asked) == 1
    with pytest.raises(EndpointError, match="no recorded answer"):
        agents.get("chat")(model=text, recording=str(tmp_path), replay="only").answer(problem("creativity"))


@pytest.mark.parametrize("problem_met", [EndpointError("down"), BudgetError("spent")])
def test_outages_pass(problem_met: Exception) -> None:
    with pytest.raises(type(problem_met), match=str(problem_met)):
        ChatAgent(ScriptedChat([problem_met])).answer(problem("planning"))


def test_pictures_shrink_where_the_prompt_is_too_long() -> None:
    sizes: list[int] = []

    def script(question: ChatQuestion) -> str | Exception:
        sizes.append(question.images[0].shape[0])
        return PromptTooLongError("too long") if len(sizes) < 3 else "B"

    answer = ChatAgent(ScriptedChat(script)).answer(problem("reasoning"))
    assert (answer.text, sizes) == ("B", [6, 6, 3])
    assert answer.notes["squeeze"] == 2


def test_sampling_threads_and_names(endpoint: FakeEndpoint) -> None:
    # Sampling can be left to the endpoint.
    agent = ChatAgent(f"m@{endpoint.url}", temperature=None, top_p=None)
    agent.answer(problem("creativity"))
    assert not {"temperature", "top_p"} & set(endpoint.asked[0].body)
    assert agent.spec.settings["temperature"] is None
    # Threads do not mix their notes.
    agent = ChatAgent(f"m@{endpoint.url}")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(agent.answer, [problem(kind) for kind in KINDS] * 4))
    expected = [Prompts("worldgauge.suites.mineanybuild")[prompt_of(problem(kind))].label for kind in KINDS] * 4
    assert [answer.notes["prompt"] for answer in answers] == expected
    assert all(answer.notes["asks"] == 1 for answer in answers)
    # A model is named with its address.
    with pytest.raises(UsageError, match="give MODEL@URL"):
        ChatAgent("gpt")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"temperature": -1}, "temperature is -1"),
        ({"top_p": 2}, "top_p is 2"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": "many"}, "are numbers"),
        ({"temperature": "hot"}, "are numbers"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_at_once(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        ChatAgent(ScriptedChat([]), **settings)
