"""Replies: how a response is read and checked against the question, and the errors of endpoints."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import accumulate
from typing import Any

from worldgauge.chat.answers import answer_start, answer_text, last_object
from worldgauge.chat.question import ChatQuestion, is_whole, validator
from worldgauge.core.errors import ModelError, WorldgaugeError


class EndpointError(WorldgaugeError):
    """The endpoint gave no answer: an outage, a refused request, or no recorded answer to replay.

    Args:
        message: The message.
        status: HTTP status; None when there was no response.

    Examples:
        >>> EndpointError("answered 503: busy", status=503).status
        503
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class PromptTooLongError(EndpointError):
    """The messages do not fit into the context of the model: ask again with fewer of them."""


class AnswerError(ModelError):
    """The model answered, but not in the requested form: cut off, refused, or in another form."""


class NoAnswerError(AnswerError):
    """The reply holds no text that could be an answer: nothing, reasoning alone, or a refusal."""


class BudgetError(WorldgaugeError):
    """The next call could cost more than what is left of the budget; it was not sent."""


class CallFailure(Exception):
    """One attempt without an answer, inside this package; `too_long` if messages exceed the model's context."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        again: bool = False,
        charged: bool = False,
        retry_after: float | None = None,
        too_long: bool = False,
        body: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.again = again
        self.charged = charged
        self.retry_after = retry_after
        self.too_long = too_long
        self.body = body


class Unfit(Exception):
    """A reply that does not answer the question, inside this package; `silent` if it has no text for an answer."""

    def __init__(self, message: str, *, again: bool, silent: bool = False) -> None:
        super().__init__(message)
        self.again = again
        self.silent = silent


DEEPEST = 64
"""Deepest allowed nesting of lists and objects."""


_RETRYABLE = frozenset({408, 409, 425, 429})
_PASSING = re.compile(
    r"overload|capacity|rate.?limit|too many|throttl|unavailable|time.?out|timed out|busy|resource.?exhausted|try again"
    r"|server.?error|internal.?error|bad gateway|upstream|provider returned error|temporar",
    re.IGNORECASE,
)
"""Words of errors that may be gone at the next attempt."""
_BROKEN_OFF = frozenset({"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"})
"""Finish reasons of an answer that the server did not end."""
_CODES = ("code", "status", "status_code", "error_code", "type")
_WORDS = ("message", "detail", "error_msg", "error_message", "msg")


def status_failure(status: int, headers: Mapping[str, str], body: str) -> CallFailure:
    """What an HTTP status other than 200 means for the question."""
    codes, said = stated_error(body)
    return _failure(
        f"answered {status}: {one_line(said) or 'nothing'}",
        codes,
        status=status,
        again=status in _RETRYABLE or status >= 500,
        retry_after=_retry_after(headers),
        too_long=status in (400, 413) and _is_too_long(f"{codes} {said}"),
        body=body,
    )


def stated_failure(completion: Any) -> CallFailure | None:
    """The failure that JSON with status 200 states in place of an answer, or within it."""
    choices = completion.get("choices") if isinstance(completion, dict) else None
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    ended = str(first.get("finish_reason") or "").lower()
    stated = completion if _is_error(completion) else first if _is_error(first) or ended in _BROKEN_OFF else None
    if stated is None:
        return None
    codes, said = _error_in(stated)
    said = said or (f"finish reason {ended}" if stated is first else str(stated))
    status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), None)
    passing = bool(_PASSING.search(f"{codes} {said}")) if status is None else status in _RETRYABLE or status >= 500
    return _failure(
        f"sent an error as its answer: {one_line(said)}",
        codes,
        status=status,
        again=passing or ended in _BROKEN_OFF,
        charged=bool(first),
        too_long=_is_too_long(f"{codes} {said}"),
    )


def stated_error(body: str) -> tuple[list[str], str]:
    """Codes and message in the body of an error; the body itself is the message when it has no usual form."""
    try:
        value = read_json(body)
    except ValueError:
        return [], body
    codes, said = _error_in(value)
    return codes, said or str(value)


def read_json(text: str) -> Any:
    """Parse strict JSON, not nested deeper than `DEEPEST`."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deep") from None
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise ValueError(f"nested deeper than {DEEPEST}")
    return value


def one_line(text: str, longest: int = 300) -> str:
    """Shorten `text` for a message: on one line, without control characters, at most `longest` characters."""
    flat = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: 4 * longest]).split())
    return flat if len(flat) <= longest else flat[: longest - 3] + "..."


def _failure(message: str, codes: list[str], *, again: bool, **facts: Any) -> CallFailure:
    # A used-up account answers 429 as well, but waiting does not fill it.
    return CallFailure(message, again=again and "insufficient_quota" not in codes, **facts)


def _is_too_long(said: str) -> bool:
    lower = said.lower()
    return "context" in lower and any(word in lower for word in ("length", "size", "window"))


def _is_error(value: Any) -> bool:
    """Whether a JSON value states an error: in a field of that name or kind, or as a message without choices."""
    if isinstance(value, list):
        return any(isinstance(one, dict) and _is_error(one) for one in value)
    if not isinstance(value, dict):
        return False
    if value.get("error") or value.get("errors") or "error" in (value.get("object"), value.get("type")):
        return True
    told = any(isinstance(value.get(name), (str, list)) and value[name] for name in _WORDS)
    return told and not value.keys() & {"choices", "finish_reason"}


def _error_in(value: Any) -> tuple[list[str], str]:
    """Codes and types, and the message, of what states an error; the message is empty when there is none."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return [], value if isinstance(value, str) else ""
    codes = [str(value[name]) for name in _CODES if isinstance(value.get(name), (str, int)) and value[name] != "error"]
    inner = value.get("error") or value.get("errors")
    if isinstance(inner, (str, list, dict)):
        inner_codes, said = _error_in(inner)
        return inner_codes + codes, said
    said = next((value[name] for name in _WORDS if value.get(name)), "")
    return codes, said if isinstance(said, str) else json.dumps(said)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the endpoint says, in whichever of the three usual forms."""
    try:
        if (milliseconds := headers.get("retry-after-ms")) is not None:
            return max(0.0, float(milliseconds) / 1000)
        if (given := headers.get("retry-after")) is None:
            return None
        if given.strip().replace(".", "", 1).isdigit():
            return float(given)
        return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


@dataclass(frozen=True)
class Probabilities:
    """Probability of each choice as the first token of the answer."""

    mass: Mapping[str, float]  # of each choice that the endpoint listed, as the model gave it
    missing: tuple[str, ...]  # choices that were not listed: unknown, not zero
    listed: tuple[tuple[str, float], ...] = ()  # all listed tokens with their log-probability, spaces included

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
    """An answer that fits its question, with its costs; these are of all attempts together."""

    text: str
    value: Any = None
    probabilities: Probabilities | None = None  # of the choices, if choices were given
    finish_reason: str = "stop"  # or "length", if the answer was cut off and that was allowed
    input_tokens: int | None = None  # None if the endpoint did not count them
    output_tokens: int | None = None
    cost: float | None = None  # None without prices
    cost_estimated: bool = False
    seconds: float = 0.0  # waiting included
    attempts: int = 1
    replayed: bool = False  # from a recording: nothing was spent, the numbers are those of the first time
    model: str = ""
    fingerprint: str = ""  # version of the model, as the endpoint reports it
    key: str = ""  # digest of the question, its name in the recording

    @property
    def answer(self) -> str:
        """`text` without reasoning; see `answer_text`."""
        return answer_text(self.text)


@dataclass(frozen=True)
class ParsedAnswer:
    """The part of a reply that is read from the body."""

    text: str
    value: Any
    probabilities: Probabilities | None
    finish_reason: str


def read_completion(body: str) -> dict[str, Any]:
    """Parse the completion that an endpoint sent with status 200."""
    try:
        completion = read_json(body)
    except ValueError as error:
        if body.lstrip()[:1] == "{":
            raise CallFailure(f"sent JSON that ends early or is damaged ({error})", again=True, charged=True) from None
        raise CallFailure(
            "sent something that is no JSON; does base_url end with /v1, and is it the endpoint?"
        ) from None
    if (failure := stated_failure(completion)) is not None:
        raise failure
    choices = completion.get("choices") if isinstance(completion, dict) else None
    if not isinstance(completion, dict) or not isinstance(choices, list):
        raise CallFailure("sent JSON that is no chat completion; does base_url end with /v1?")
    if not choices or not isinstance(choices[0], dict) or not isinstance(choices[0].get("message"), dict):
        raise CallFailure("sent a completion without a message", again=True, charged=True)
    return completion


def read_answer(completion: Mapping[str, Any], question: ChatQuestion) -> ParsedAnswer:
    """Read the answer of a completion."""
    choice = completion["choices"][0]
    message, finish = choice["message"], str(choice.get("finish_reason") or "stop").lower()
    finish = "length" if finish in _CUT_OFF else finish
    content = message.get("content")
    parts = [part for part in (content if isinstance(content, list) else []) if _field(part, "type") == "refusal"]
    if refusal := message.get("refusal") or (parts and (parts[0].get("refusal") or "yes")):
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


def checked_value(text: str, schema: Mapping[str, Any]) -> Any:
    """Parse the JSON of an answer, all of it or its last object, and check it against a schema."""
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
        raise CallFailure(
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
    """Index of the answer's first token that is not blank. Some servers list the tokens of the reasoning, too."""
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
