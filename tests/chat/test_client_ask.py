"""What goes to the endpoint, and what is made of a good answer."""

import base64
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from support.chat_endpoint import FakeEndpoint, error, likely, ok
from worldgauge.chat.model import ChatModel
from worldgauge.chat.question import Encoding, Message
from worldgauge.chat.reply import AnswerError, EndpointError, NoAnswerError
from worldgauge.core.errors import ShapeError, UsageError

Make = Callable[..., ChatModel]
RNG = np.random.default_rng(3)
PLAN = {
    "type": "object",
    "properties": {"steps": {"type": "array", "items": {"type": "integer"}, "maxItems": 4}, "why": {"type": "string"}},
    "required": ["steps", "why"],
    "additionalProperties": False,
}


def pixels(height: int, width: int) -> Any:
    return RNG.integers(0, 256, (height, width, 3), np.uint8)


def pictures(body: dict[str, Any]) -> list[bytes]:
    """The encoded pictures of a request."""
    parts = [
        part for message in body["messages"] if not isinstance(message["content"], str) for part in message["content"]
    ]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.partition(",")[2], validate=True) for url in urls]


def decoded(data: bytes) -> Any:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)[..., ::-1]


def test_a_reply_says_what_came_and_parameters_are_sent_if_given(chat: Make, endpoint: FakeEndpoint) -> None:
    endpoint.then(ok("blue", usage=(20, 3)))
    reply = chat().ask("Which colour is the sky?")
    assert (reply.text, reply.value, reply.probabilities, reply.finish_reason) == ("blue", None, None, "stop")
    assert (reply.input_tokens, reply.output_tokens, reply.cost, reply.attempts) == (20, 3, None, 1)
    assert (reply.model, reply.fingerprint, reply.replayed) == ("fake-model-2025", "fp_1", False)
    asked = endpoint.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Which colour is the sky?"}],
        "max_tokens": 2048,
    }
    chat().ask("x", temperature=1.0, top_p=0.5, max_tokens=9, seed=7)
    body = endpoint.asked[-1].body
    assert (body["temperature"], body["top_p"], body["max_tokens"], body["seed"]) == (1.0, 0.5, 9, 7)


def test_messages_keep_their_order_and_pictures_their_place(chat: Make, endpoint: FakeEndpoint) -> None:
    first, last = pixels(4, 6), pixels(5, 3)
    talk = [Message("system", "be brief"), Message("user", ["before", first, "after"]), Message("assistant", "go on")]
    chat().ask([*talk, Message("user", "and this?")], images=[last])
    body = endpoint.asked[0].body
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert body["messages"][0]["content"] == "be brief"
    assert [part["type"] for part in body["messages"][1]["content"]] == ["text", "image_url", "text"]
    sent = pictures(body)
    assert np.array_equal(decoded(sent[0]), first)
    assert np.array_equal(decoded(sent[1]), last)


def test_pictures_are_scaled_and_encoded(chat: Make, endpoint: FakeEndpoint) -> None:
    image = np.full((300, 900, 3), (200, 100, 50), np.uint8)
    image[:, ::2] = 0
    chat(encoding=Encoding(max_side=90)).ask("x", images=[image])
    sent = decoded(pictures(endpoint.asked[0].body)[0])
    assert sent.shape == (30, 90, 3)
    assert (sent == (100, 50, 25)).all()
    ramp = np.tile(np.arange(128, dtype=np.uint8)[:, None, None], (1, 128, 3))
    chat(encoding=Encoding(format="jpeg", quality=95)).ask("x", images=[ramp])
    data = pictures(endpoint.asked[-1].body)[0]
    assert data[:3] == b"\xff\xd8\xff"
    assert np.abs(decoded(data).astype(int) - ramp).max() <= 3


@pytest.mark.parametrize("given", ["/etc/passwd", "file:///etc/passwd", "http://127.0.0.1/x.png", b"\x89PNG", 3])
def test_no_path_or_address_is_taken_for_a_picture(chat: Make, endpoint: FakeEndpoint, given: Any) -> None:
    with pytest.raises(UsageError, match="give its pixels"):
        chat().ask("x", images=[given])
    assert not endpoint.asked


@pytest.mark.parametrize(
    "given",
    [np.zeros((2, 2), np.uint8), np.zeros((2, 2, 3)), np.zeros((0, 2, 3), np.uint8), np.zeros((2, 2, 4), np.uint8)],
)
def test_other_arrays_are_refused(chat: Make, given: Any) -> None:
    with pytest.raises(ShapeError, match="give \\(H, W, 3\\) uint8"):
        chat().ask("x", images=[given])


def test_pictures_are_checked_before_sending(chat: Make, endpoint: FakeEndpoint) -> None:
    with pytest.raises(UsageError, match="lower max_side"):
        chat(encoding=Encoding(max_bytes=1000)).ask("x", images=[pixels(64, 64)])
    assert not endpoint.asked
    with pytest.raises(UsageError, match="pictures only as user"):
        Message("system", [pixels(2, 2)])
    with pytest.raises(UsageError, match="role 'tool'"):
        Message("tool", "x")


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"sample": 0.5}, "sample is 0.5"),
        ({"top_logprobs": 21}, "top_logprobs is 21"),
        ({"choices": ["A", "A"]}, "different words"),
        ({"choices": [" A"]}, "without spaces"),
        ({"choices": ["A"], "schema": PLAN}, "ask twice"),
        ({"prompt": []}, "no message"),
        ({"prompt": "\ud800"}, "half a character"),
    ],
)
def test_what_cannot_be_meant_is_refused(chat: Make, endpoint: FakeEndpoint, wrong: Any, rule: str) -> None:
    with pytest.raises(UsageError, match=rule):
        chat().ask(**{"prompt": "x", **wrong})
    assert not endpoint.asked


class TestStructured:
    def test_the_schema_is_sent_and_the_answer_parsed(self, chat: Make, endpoint: FakeEndpoint) -> None:
        endpoint.then(ok('{"steps": [1, 2], "why": "near"}'))
        reply = chat().ask("plan", schema=PLAN)
        assert reply.value == {"steps": [1, 2], "why": "near"}
        form = endpoint.asked[0].body["response_format"]
        assert form == {"type": "json_schema", "json_schema": {"name": "answer", "schema": PLAN, "strict": True}}

    def test_a_misfit_is_asked_again_with_another_seed(self, chat: Make, endpoint: FakeEndpoint) -> None:
        endpoint.then(ok('{"steps": "left", "why": ""}'), ok("no JSON"), ok('```json\n{"steps": [], "why": "x"}\n```'))
        reply = chat().ask("plan", schema=PLAN, seed=5)
        assert reply.value == {"steps": [], "why": "x"}
        assert (reply.attempts, reply.input_tokens, reply.output_tokens) == (3, 33, 21)
        seeds = [asked.body["seed"] for asked in endpoint.asked]
        assert (seeds[0], len(set(seeds))) == (5, 3)

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ('{"steps": [1, 2, 3, 4, 5], "why": ""}', r"at \$.steps"),
            ('{"steps": [1.5], "why": ""}', r"at \$.steps\[0\]"),
            ('{"steps": []}', "'why' is a required property"),
            ('{"steps": [], "why": "", "more": 1}', "Additional properties"),
            ('{"steps": [NaN], "why": ""}', "NaN is not JSON"),
            ("[" * 100_000, "not JSON"),
            ("[" * 100 + "]" * 100, "deeper than 64"),
            ('{"steps": [' + "9" * 5000 + '], "why": ""}', "not JSON"),
            ("```json", "not JSON"),
            ("", "no text"),
            ('"\ud800"', "half a character"),
        ],
    )
    def test_what_never_fits_is_an_error(self, chat: Make, endpoint: FakeEndpoint, text: str, why: str) -> None:
        endpoint.always = ok(text)
        with pytest.raises(AnswerError, match=f"{why}.*3 times asked"):
            chat().ask("plan", schema=PLAN)
        assert len(endpoint.asked) == 3

    def test_in_words_for_endpoints_without_schemas(self, chat: Make, endpoint: FakeEndpoint) -> None:
        endpoint.then(ok('{"steps": [3], "why": ""}'))
        image = pixels(2, 2)
        assert chat(structured="prompt").ask("plan", images=[image], schema=PLAN).value["steps"] == [3]
        body = endpoint.asked[0].body
        assert "response_format" not in body
        assert '"maxItems": 4' in body["messages"][0]["content"][-1]["text"]

    def test_an_endpoint_that_refuses_schemas_is_told_how_to_be_asked(self, chat: Make, endpoint: FakeEndpoint) -> None:
        endpoint.always = error(400, "response_format is not supported")
        with pytest.raises(EndpointError, match=r"400: response_format is not supported; .* structured='prompt'"):
            chat().ask("plan", schema=PLAN)
        assert len(endpoint.asked) == 1

    @pytest.mark.parametrize(
        "schema",
        [
            {"properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}},
            {"$ref": "file:///etc/passwd"},
            {"$ref": "#/absent"},
            {"$ref": "#"},
            {"type": "nonsense"},
            {"const": math.nan},
        ],
    )
    def test_a_schema_that_cannot_be_applied_is_refused(
        self, chat: Make, endpoint: FakeEndpoint, schema: dict[str, Any]
    ) -> None:
        with pytest.raises(UsageError, match="no JSON Schema we can use"):
            chat().ask("x", schema=schema)
        assert not endpoint.asked


class TestChoices:
    def test_probabilities_of_the_letters(self, chat: Make, endpoint: FakeEndpoint) -> None:
        listed = {"A": math.log(0.5), " A": math.log(0.1), "B": math.log(0.2), "The": math.log(0.1), "D": -9999.0}
        endpoint.then(ok("A", finish="length", logprobs=likely(listed)))
        reply = chat().ask("Which?", choices="ABCD", max_tokens=1, top_logprobs=5)
        found = reply.probabilities
        assert found.mass == pytest.approx({"A": 0.6, "B": 0.2, "D": 0.0})
        assert found.missing == ("C",)
        assert found.normalised == pytest.approx({"A": 0.75, "B": 0.25, "D": 0.0})
        assert (found.uncovered, found.best) == (pytest.approx(0.2), "A")
        body = endpoint.asked[0].body
        assert (body["logprobs"], body["top_logprobs"]) == (True, 5)

    def test_blank_tokens_before_the_answer_are_passed_over(self, chat: Make, endpoint: FakeEndpoint) -> None:
        endpoint.then(ok("\n B", logprobs=likely({"B": -0.1}, "\n", " ")))
        reply = chat().ask("Which?", choices=["A", "B"])
        assert reply.probabilities.mass == pytest.approx({"B": math.exp(-0.1)})

    def test_an_answer_that_is_no_choice_is_asked_again_then_an_error(self, chat: Make, endpoint: FakeEndpoint) -> None:
        endpoint.always = ok("Well", logprobs=likely({"Well": -0.01, "So": -5.0}))
        with pytest.raises(AnswerError, match=r"none of the choices A, B \(3 times asked\)"):
            chat().ask("Which?", choices=["A", "B"])

    @pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": []}, "yes"])
    def test_an_endpoint_without_them_is_an_error(self, chat: Make, endpoint: FakeEndpoint, logprobs: Any) -> None:
        endpoint.always = ok("A", logprobs=logprobs)
        with pytest.raises(EndpointError, match="gives no token probabilities; use an endpoint"):
            chat().ask("Which?", choices=["A", "B"])
        assert len(endpoint.asked) == 1

    @pytest.mark.parametrize("place", [{"top_logprobs": 3}, {"top_logprobs": [7]}, 5, {"token": "A"}])
    def test_damaged_probabilities_are_no_answer(self, chat: Make, endpoint: FakeEndpoint, place: Any) -> None:
        endpoint.always = ok("A", logprobs={"content": [place]})
        with pytest.raises(AnswerError):
            chat(reasks=0).ask("Which?", choices=["A", "B"])


class TestNoAnswer:
    def test_cut_off(self, chat: Make, endpoint: FakeEndpoint) -> None:
        endpoint.always = ok("[[1, 2,", finish="length")
        with pytest.raises(AnswerError, match="cut off at max_tokens=9; raise it"):
            chat().ask("build", max_tokens=9)
        assert len(endpoint.asked) == 1
        reply = chat().ask("build", max_tokens=9, allow_truncated=True)
        assert (reply.text, reply.finish_reason) == ("[[1, 2,", "length")

    @pytest.mark.parametrize("finish", ["length", "MAX_TOKENS", "model_length"])
    @pytest.mark.parametrize("text", ["<think>let me see", None])
    def test_cut_off_within_the_reasoning(
        self, chat: Make, endpoint: FakeEndpoint, finish: str, text: str | None
    ) -> None:
        endpoint.always = ok(text, finish=finish, message={"reasoning_content": None if text else "let me see"})
        for allowed in (False, True):
            with pytest.raises(NoAnswerError, match=r"only reasoning.*cut off at max_tokens=9; raise it"):
                chat().ask("build", max_tokens=9, allow_truncated=allowed)

    def test_refusals(self, chat: Make, endpoint: FakeEndpoint) -> None:
        endpoint.then(ok(None, message={"refusal": "I can't\nhelp"}), ok("half", finish="content_filter"))
        with pytest.raises(AnswerError, match="the model refused: I can't help"):
            chat().ask("x")
        with pytest.raises(AnswerError, match="content filter"):
            chat().ask("x")

    @pytest.mark.parametrize("text", [None, "", " \n"])
    def test_nothing_said(self, chat: Make, endpoint: FakeEndpoint, text: str | None) -> None:
        endpoint.always = ok(text)
        with pytest.raises(AnswerError, match="no text"):
            chat().ask("x")
        assert len(endpoint.asked) == 3

    @pytest.mark.parametrize(
        ("message", "why"),
        [
            ({"content": "<think>let me see</think>"}, "only reasoning"),
            ({"content": "<think>let me see"}, "only reasoning"),
            ({"reasoning_content": "let me see"}, "only reasoning"),
            ({"content": "", "reasoning": "let me see"}, "only reasoning"),
            ({"content": [{"type": "thinking", "thinking": "let me see"}]}, "no text, only thinking"),
            ({"content": []}, "no text"),
            ({"tool_calls": [{"id": "c", "function": {"name": "f"}}]}, "no text, only tool_calls"),
            ({"content": [{"type": "refusal", "refusal": "I can't"}]}, "the model refused: I can't"),
        ],
    )
    def test_nothing_but_other_things(
        self, chat: Make, endpoint: FakeEndpoint, message: dict[str, Any], why: str
    ) -> None:
        endpoint.always = ok(None, message=message)
        with pytest.raises(AnswerError, match=why):
            chat(reasks=0).ask("x")


THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "let me see"}]}


@pytest.mark.parametrize(
    "content",
    [
        [THINKING, {"type": "text", "text": "forty-two"}],
        [{"type": "text", "text": "forty"}, THINKING, {"type": "text", "text": "-two"}],
        [{"type": "output_text", "text": "forty-two", "annotations": []}],
        [{"type": "text", "text": {"value": "forty-two", "annotations": []}}],
        ["forty", "-two"],
        [{"reasoning": "let me see"}, {"text": "forty-two"}],
        [{"text": "let me see", "thought": True}, {"text": "forty-two"}],
        [{"type": "reasoning", "text": "let me see"}, {"type": "text", "text": "forty-two"}, {"type": "reference"}],
        {"type": "text", "text": "forty-two"},
    ],
)
def test_parts_of_the_content_are_joined(chat: Make, endpoint: FakeEndpoint, content: Any) -> None:
    endpoint.then(ok(None, message={"content": content, "reasoning_content": "forty-one?"}))
    assert chat().ask("six times seven?").text == "forty-two"


def test_reasoning_is_stored_and_replayed_but_is_no_answer(chat: Make, endpoint: FakeEndpoint, tmp_path: Path) -> None:
    text = '<think>\n{"a": 1}\n</think>\n{"a": 2}'
    endpoint.then(ok(text))
    for reply in (
        chat(recording=tmp_path).ask("x", schema={"type": "object"}),
        chat(recording=tmp_path, replay="only").ask("x", schema={"type": "object"}),
    ):
        assert (reply.text, reply.answer.strip(), reply.value) == (text, '{"a": 2}', {"a": 2})


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (("<think>", "A", " cube", "</think>", "\n"), "<think>A cube</think>\nB"),
        (("A", " cube", "</think>", "\n"), "A cube</think>\nB"),
        (("A", " cube", "</think>", "\n"), "B"),  # the server has cut the reasoning off the text alone
        (("A", " cube", "\n"), "B"),
    ],
)
def test_probabilities_are_those_of_the_answer(
    chat: Make, endpoint: FakeEndpoint, before: tuple[str, ...], text: str
) -> None:
    listed = [{"token": one, "logprob": -0.1, "top_logprobs": [{"token": one, "logprob": -0.1}]} for one in before]
    endpoint.then(ok(text, logprobs={"content": listed + likely({"B": -0.2, "C": -2.0})["content"]}))
    probabilities = chat().ask("A or B?", choices=["A", "B", "C"], max_tokens=9).probabilities
    assert (probabilities.best, probabilities.missing) == ("B", ("A",))


def test_probabilities_of_reasoning_are_no_answer(chat: Make, endpoint: FakeEndpoint) -> None:
    tokens = likely({"A": -0.1}, "<think>")
    endpoint.then(ok("<think>A", logprobs=tokens, finish="length"))
    with pytest.raises(AnswerError, match="only reasoning"):
        chat(reasks=0).ask("A or B?", choices=["A", "B"], max_tokens=2)
