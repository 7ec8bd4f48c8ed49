"""Forms of replies, as JSON Schema.

Lengths and numbers are checked by `reading`, since not every endpoint can force a model to keep them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from worldgauge.suites.closedloop.policies.contract import SIDES

Form = Mapping[str, Any]
_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": ["string", "null"]}
_NUMBER = {"type": "integer"}


def _object(**fields: Any) -> Form:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def plan_form(letters: Sequence[str]) -> Form:
    """A reason and a list of these letters."""
    return _object(reason=_TEXT, plan={"type": "array", "items": {"type": "string", "enum": list(letters)}})


CHOICE: Form = _object(reason=_TEXT, choice=_NUMBER)
ARRIVED: Form = _object(reason=_TEXT, arrived={"type": "boolean"})
HIGH_LEVEL: Form = _object(
    reason=_TEXT,
    plan=_TEXT,
    view={"type": "string", "enum": list(SIDES)},
    landmark={"type": ["integer", "null"]},
    answer=_MAYBE_TEXT,
)
HAND_PLAN: Form = _object(
    seen=_TEXT, reason=_TEXT, plan=_TEXT, poses={"type": "array", "items": {"type": "array", "items": _NUMBER}}
)
CHOICE_AND_ANSWER: Form = _object(reason=_TEXT, choice=_NUMBER, answer=_MAYBE_TEXT)
