"""Replies: how a response is read and checked against the question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from worldgauge.chat.answers import answer_start, answer_text, last_object
from worldgauge.chat.client.bodies import one_line, read_json, stated_failure
from worldgauge.chat.client.errors import Failure, Unfit
from worldgauge.chat.client.question import Question, is_whole, validator


@dataclass(frozen=True)
class Probabilities:
    """Probability of each choice as the first token of the answer.

    Attributes:
        mass: Probability of each choice that the endpoint listed, as the model gave it.
        missing: Choices that were not among the listed tokens; their probability is unknown, not zero.
        listed: All tokens that the endpoint listed, choices or not: (token, log-probability) as given, spaces included.
    """

    mass: Mapping[str, float]
    missing: tuple[str, ...]
    listed: tuple[tuple[str, float], ...] = ()

    @property
    def normalised(self) -> dict[str, float]:
        """`mass` scaled so that it sums to 1 over the choices that were listed."""
        total = sum(self.mass.values())
        return {choice: mass / total for choice, mass in self.mass.items()}

    @property
    def uncovered(self) -> float:
        """Probability that went to none of the listed choices, in [0, 1]."""
        return max(0.0, 1.0 - sum(self.mass.values()))

    @property
    def best(self) -> str:
        """The likeliest choice; of equal ones, the first in the question."""
        return max(self.mass, key=lambda choice: self.mass[choice])


@dataclass(frozen=True)
class Reply:
    """An answer that fits its question, with its costs.

    Attributes:
        text: The text, as the model wrote it.
        value: The parsed answer, when a schema was given.
        probabilities: Probabilities of the choices, when choices were given.
        finish_reason: "stop", or "length" when the answer was cut off and that was allowed.
        input_tokens: Input tokens of all attempts together; None when the endpoint did not count them.
        output_tokens: Output tokens of all attempts together; None when the endpoint did not count them.
        cost: Cost of all attempts together; None when no prices were given.
        cost_estimated: Whether part of the cost is an estimate.
        seconds: Seconds of all attempts together, waiting included.
        attempts: Calls sent.
        replayed: Whether it comes from a recording. Nothing was spent then, and the numbers are those of the first
            time.
        model: Name of the model, as the endpoint reports it.
        fingerprint: Version of the model, as the endpoint reports it.
        key: Digest of the question, its name in the recording.
    """

    text: str
    value: Any = None
    probabilities: Probabilities | None = None
    finish_reason: str = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    cost_estimated: bool = False
    seconds: float = 0.0
    attempts: int = 1
    replayed: bool = False
    model: str = ""
    fingerprint: str = ""
    key: str = ""

    @property
    def answer(self) -> str:
        """`text` without reasoning; see `answer_text`."""
        return answer_text(self.text)


@dataclass(frozen=True)
class ParsedAnswer:
    """The part of a reply that is read from the body.

    Attributes:
        text: The text, as the model wrote it.
        value: The parsed answer, when a schema was given.
        probabilities: Probabilities of the choices, when choices were given.
        finish_reason: "stop" or "length".
    """

    text: str
    value: Any
    probabilities: Probabilities | None
    finish_reason: str


def read_completion(body: str) -> dict[str, Any]:
    """Parse the completion that an endpoint sent with status 200.

    Args:
        body: Body of the response.

    Returns:
        The completion.

    Raises:
        Failure: It is no completion, or holds no choice.
    """
    try:
        completion = read_json(body)
    except ValueError as error:
        if body.lstrip()[:1] == "{":
            raise Failure(f"sent JSON that ends early or is damaged ({error})", again=True, charged=True) from None
        raise Failure("sent something that is no JSON; does base_url end with /v1, and is it the endpoint?") from None
    if (failure := stated_failure(completion)) is not None:
        raise failure
    choices = completion.get("choices") if isinstance(completion, dict) else None
    if not isinstance(completion, dict) or not isinstance(choices, list):
        raise Failure("sent JSON that is no chat completion; does base_url end with /v1?")
    if not choices or not isinstance(choices[0], dict) or not isinstance(choices[0].get("message"), dict):
        raise Failure("sent a completion without a message", again=True, charged=True)
    return completion


def read_answer(completion: Mapping[str, Any], question: Question) -> ParsedAnswer:
    """Read the answer of a completion.

    Args:
        completion: The completion.
        question: The question that it must fit.

    Returns:
        The answer.

    Raises:
        Unfit: The answer does not fit the question.
        Failure: The endpoint cannot give such an answer.
    """
    choice = completion["choices"][0]
    message, finish = choice["message"], str(choice.get("finish_reason") or "stop").lower()
    finish = "length" if finish in _CUT_OFF else finish
    content = message.get("content")
    if refusal := message.get("refusal") or _refusal(content):
        raise Unfit(f"the model refused: {one_line(str(refusal))}", again=False, silent=True)
    if finish in _FILTERED:
        raise Unfit(
            f"the endpoint's content filter stopped the answer (finish reason {finish})", again=False, silent=True
        )
    text = _text_of(content)
    if not answer_text(text).strip():
        cut = f", cut off at max_tokens={question.max_tokens}; raise it" if finish == "length" else ""
        raise Unfit(f"{_lacking(message, text)} (finish reason {finish}{cut})", again=not cut, silent=True)
    # Of an answer to choices only the first token is read, so it may be cut after it.
    if finish == "length" and not question.allow_truncated and question.choices is None:
        raise Unfit(f"cut off at max_tokens={question.max_tokens}; raise it, or allow_truncated", again=False)
    if not is_whole(text):
        raise Unfit("half a character in the text", again=True)
    value = None if question.schema is None else checked_value(text, question.schema)
    probabilities = None if question.choices is None else _read_probabilities(choice, text, question.choices)
    return ParsedAnswer(text, value, probabilities, finish)


_CUT_OFF = frozenset({"length", "max_tokens", "model_length", "max_output_tokens"})
_FILTERED = frozenset(
    {"content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii", "refusal", "sensitive"}
)
_TEXT_PARTS = (None, "text", "output_text")
"""Types of the parts of a message that hold its answer; those of other types hold reasoning, sources and the like."""


def _text_of(content: Any) -> str:
    """The text of a message's content, which may be a list of parts; empty when it holds none."""
    if isinstance(content, list):
        return "".join(_text_of(part) for part in content if not isinstance(part, list))
    if isinstance(content, dict):
        shown = content.get("type") in _TEXT_PARTS and not content.get("thought")
        text = content.get("text") if shown else None
        content = text.get("value") if isinstance(text, dict) else text
    return content if isinstance(content, str) else ""


def _lacking(message: Mapping[str, Any], text: str) -> str:
    """What a message holds instead of an answer."""
    fields = ("reasoning_content", "reasoning", "reasoning_details", "thinking")
    if text.strip() or any(message.get(name) for name in fields):
        return "only reasoning, no answer"
    parts = message["content"] if isinstance(message.get("content"), list) else []
    kinds = {str(_field(part, "type")) for part in parts} | ({"tool_calls"} if message.get("tool_calls") else set())
    return f"no text, only {one_line(', '.join(sorted(kinds)))}" if kinds else "no text"


def _refusal(content: Any) -> Any:
    """What a part of type `refusal` says; None without one."""
    parts = content if isinstance(content, list) else []
    return next((part.get("refusal") or "yes" for part in parts if _field(part, "type") == "refusal"), None)


def checked_value(text: str, schema: Mapping[str, Any]) -> Any:
    """Parse the JSON of an answer, all of it or its last object, and check it against a schema.

    Args:
        text: The text, as the model wrote it.
        schema: JSON Schema.

    Returns:
        The value.

    Raises:
        Unfit: The text is not JSON, or does not fit the schema.
    """
    text = answer_text(text)
    try:
        value = read_json(_unfenced(text))
    except ValueError as error:
        try:
            value = read_json(last_object(text) or "")
        except ValueError:
            raise Unfit(f"not JSON ({error})", again=True) from None
    try:
        problem = next(iter(validator(schema).iter_errors(value)), None)
    except RecursionError:
        raise Unfit("the schema refers to itself without end", again=False) from None
    if problem is not None:
        raise Unfit(f"does not fit the schema at {problem.json_path}: {one_line(problem.message)}", again=True)
    return value


def read_usage(completion: Mapping[str, Any]) -> tuple[int, int] | None:
    """(input, output) tokens that the endpoint counted; None when it did not."""
    usage = completion.get("usage")
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")] if isinstance(usage, dict) else []
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**53]
    return (known[0], known[1]) if len(known) == 2 else None


def _unfenced(text: str) -> str:
    """What stands within ``` where that is the whole text: models like to frame JSON so."""
    text = text.strip()
    if not (text.startswith("```") and text.endswith("```") and "\n" in text):
        return text
    return text[text.index("\n") : -3]


def _read_probabilities(choice: Mapping[str, Any], text: str, choices: tuple[str, ...]) -> Probabilities:
    logprobs = choice.get("logprobs")
    places = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(places, list) or not places:
        raise Failure(
            "gives no token probabilities; use an endpoint that has logprobs, or ask without choices", charged=True
        )
    first = places[_first_of_answer([str(_field(place, "token")) for place in places], text)]
    mass: dict[str, float] = {}
    alternatives = tuple(_alternatives(first))
    for token, logprob in alternatives:
        # Tokens come with and without a leading space; both say the same.
        if token.strip() in choices:
            mass[token.strip()] = mass.get(token.strip(), 0.0) + math.exp(min(0.0, logprob))
    if not sum(mass.values()) > 0:
        raise Unfit(f"the first token is none of the choices {', '.join(choices)}", again=True)
    listed = {name: min(1.0, mass[name]) for name in choices if name in mass}
    return Probabilities(listed, tuple(name for name in choices if name not in mass), alternatives)


def _first_of_answer(tokens: Sequence[str], text: str) -> int:
    """Index of the first token of the answer that is not blank.

    Some servers list the tokens of the reasoning as well, marked or not, also when the text has none.
    """
    joined, wanted = "".join(tokens), answer_text(text).strip()
    start = max(answer_start(joined), joined.rfind(wanted))
    ends = accumulate(map(len, tokens))
    found = next((place for place, end in enumerate(ends) if end > start and tokens[place].strip()), None)
    if found is None:
        raise Unfit("the listed tokens hold no answer, only reasoning or blanks", again=False)
    return found


def _alternatives(place: Any) -> Iterator[tuple[str, float]]:
    listed = _field(place, "top_logprobs")
    for each in listed if isinstance(listed, list) else []:
        token, logprob = _field(each, "token"), _field(each, "logprob")
        if not isinstance(token, str) or not isinstance(logprob, (int, float)) or math.isnan(logprob):
            raise Unfit("a token probability is no number", again=True)
        yield token, float(logprob)


def _field(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, dict) else None
