"""What a critic's reply means: its form as JSON Schema, and its reading."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from worldgauge.chat.client.reply import one_line, read_json
from worldgauge.chat.prompt_runner import Misread
from worldgauge.suites.build.critics import BEST, WORST
from worldgauge.suites.build.metrics.scores import dimension_of

LONGEST = 600
"""Characters of a comment that are kept."""

Form = Mapping[str, Any]


def grades_form(dimensions: Sequence[str]) -> Form:
    """{dimension: {grade, comment}}. Ranges are left to the reading: not every endpoint can hold a model to them."""
    graded = _object(grade={"type": "number"}, comment={"type": "string"})
    return _object(**dict.fromkeys(dimensions, graded))


def choice_form() -> Form:
    """{reason, choice}."""
    return _object(reason={"type": "string"}, choice={"type": "integer"})


def mark_form() -> Form:
    """{reason, score}."""
    return _object(reason={"type": "string"}, score={"type": "number"})


def read_grades(text: str, dimensions: Sequence[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Grade, 1 to 10, and comment of each dimension. Raises Misread when one is missing or out of range.

    A dimension may have the name that the paper or its release gives it (`build_scores.dimension_of`).
    """
    given = {dimension_of(name): value for name, value in _json_object(text).items()}
    grades: dict[str, float] = {}
    comments: dict[str, str] = {}
    for dimension in dimensions:
        found = given.get(dimension)
        if found is None:
            raise Misread(f"no grade of {dimension}")
        fields = found if isinstance(found, dict) else {"grade": found}
        grades[dimension] = _number(fields.get("grade"), WORST, BEST, f"the grade of {dimension}")
        comments[dimension] = one_line(str(fields.get("comment") or ""), LONGEST)
    return grades, comments


def read_choice(text: str) -> tuple[bool, str]:
    """Whether the first is better, and why. Raises Misread for anything but 1 and 2."""
    given = _json_object(text)
    choice = _number(given.get("choice"), 1, 2, "the choice")
    if choice not in (1.0, 2.0):
        raise Misread(f"the choice {choice:g} is neither 1 nor 2")
    return choice == 1.0, one_line(str(given.get("reason") or ""), LONGEST)


def read_mark(text: str) -> tuple[float, str]:
    """Mark 0 to 10, and why. Raises Misread."""
    given = _json_object(text)
    return _number(given.get("score"), 0, BEST, "the score"), one_line(str(given.get("reason") or ""), LONGEST)


def _json_object(text: str) -> dict[str, Any]:
    """The one JSON object in a reply: all of it, or what stands between the first { and the last }."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise Misread("no JSON object in the reply")
    try:
        value = read_json(text[start : end + 1])
    except ValueError as error:
        raise Misread(f"the reply is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise Misread("the reply is no JSON object")
    return value


def _number(value: Any, least: float, most: float, what: str) -> float:
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,3}(?:\.\d{1,3})?\s*", value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Misread(f"{what} is {str(value)[:40]!r}, no number")
    if not least <= value <= most:
        raise Misread(f"{what} is {value:g}, where {least} to {most} was asked for")
    return float(value)


def _object(**fields: Any) -> Form:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
