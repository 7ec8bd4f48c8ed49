"""Bodies of responses: strict JSON, and the errors that an endpoint states, with any HTTP status."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from worldgauge.chat.client.errors import Failure

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


def status_failure(status: int, headers: Mapping[str, str], body: str) -> Failure:
    """What an HTTP status other than 200 means for the question.

    Args:
        status: HTTP status.
        headers: Headers of the response.
        body: Body of the response.

    Returns:
        The failure of the attempt.
    """
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


def stated_failure(completion: Any) -> Failure | None:
    """The failure that JSON with status 200 states in place of an answer, or within it.

    Args:
        completion: The JSON value.

    Returns:
        The failure of the attempt; None when no error is stated.
    """
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
    """Parse strict JSON, not nested deeper than `DEEPEST`.

    Args:
        text: The text.

    Returns:
        The value.

    Raises:
        ValueError: The text is not strict JSON, or nested too deep.
    """
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


def _failure(message: str, codes: list[str], *, again: bool, **facts: Any) -> Failure:
    # A used-up account answers 429 as well, but waiting does not fill it.
    return Failure(message, again=again and "insufficient_quota" not in codes, **facts)


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
