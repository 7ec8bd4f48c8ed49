"""Reading a language model's replies: options by their letters, plans, high-level decisions, marks.

Each reader raises Misread, with the reason, for a reply that is not what was asked for; the caller asks again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from worldgauge.chat.prompt_runner import Misread
from worldgauge.core.errors import UsageError
from worldgauge.suites.closedloop.policies.contract import SIDES, Side
from worldgauge.worlds.tabletop.pose_plans import HandPose, Poses, poses_from_bins
from worldgauge.worlds.walking.primitives import Primitive, Steps

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZΓΔΘΛΞΠΣΦΨΩ"
"""Names of options: the capitals, and the Greek ones that look like none of them."""
STEP_LETTERS: Mapping[str, Primitive] = {
    "F": Primitive.FORWARD,
    "L": Primitive.TURN_LEFT,
    "R": Primitive.TURN_RIGHT,
    "S": Primitive.STOP,
}
NEUTRAL_VIEW = "the view ahead"
"""What view names become in a plan that is followed facing the chosen view."""


def token_choice(
    alternatives: Sequence[tuple[str, float]], categories: Sequence[str], letters: str = LETTERS
) -> dict[str, float]:
    """Confidence of each category that the likeliest first tokens name, in the order of the categories.

    A token counts when it is exactly one of the first len(categories) letters; its probability is used as it is, not
    scaled to sum to 1. Source: specification, 5.1; vectors: wiw_loop, token_choice.

    Args:
        alternatives: (token, log-probability), likeliest first.
        categories: The options.
        letters: Letters of the options, in order.

    Returns:
        By category; empty when no token counts.

    Raises:
        UsageError: For more categories than letters.
    """
    if len(categories) > len(letters):
        raise UsageError(f"{len(categories)} options, but there are {len(letters)} letters to name them")
    named = dict(zip(letters, categories, strict=False))
    found: dict[str, float] = {}
    for token, logprob in alternatives:
        if token in named:
            found.setdefault(named[token], math.exp(min(0.0, logprob)))
    return {category: found[category] for category in categories if category in found}


def lettered(options: Sequence[str]) -> str:
    """The options, one per line, each after its letter.

    Raises:
        UsageError: For more options than letters.
    """
    if len(options) > len(LETTERS):
        raise UsageError(f"{len(options)} options, but there are {len(LETTERS)} letters to name them")
    return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def read_steps(given: str | Sequence[Any], length: int, *, stop: bool = False) -> Steps:
    """A plan from a list, or the text of one: letters F, L, R, names such as turn_left, or numbers 1, 2, 3.

    Args:
        given: The list or its text.
        length: Most steps. A longer plan is not cut, since it would be another plan.
        stop: Whether S may end it, as its last or only step.

    Raises:
        Misread: For an empty list, one of more than `length` steps, and anything that is no step.
    """
    tokens = re.split(r"[\s,;]+", given.strip().strip("[]()`.").strip()) if isinstance(given, str) else list(given)
    steps = tuple(_step(token) for token in tokens if token != "")
    if not 1 <= len(steps) <= length:
        raise Misread(f"a plan of {len(steps)} steps, where 1 to {length} were asked for")
    stops = [place for place, step in enumerate(steps) if step is Primitive.STOP]
    if stops and (not stop or stops != [len(steps) - 1]):
        raise Misread("S only ends a plan" if stop else "there is no stop here")
    return steps


def read_poses(given: Any, length: int) -> Poses:
    """Poses of a robot's hand from a list of lists of 7 whole numbers, the bins of `pose_plans.poses_from_bins`.

    Raises:
        Misread: For an empty list, one of more than `length` poses, rows of another form, and bins out of range.
    """
    rows = given if isinstance(given, list) else []
    if not 1 <= len(rows) <= length:
        raise Misread(f"a plan of {len(rows)} poses, where 1 to {length} were asked for")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list) or len(row) != 7:
            raise Misread(f"pose {number} is not a list of 7 numbers")
        if any(isinstance(one, bool) or not isinstance(one, (int, float)) or not abs(one) < 1000 for one in row):
            raise Misread(f"pose {number} holds what is no bin")
    try:
        return tuple(HandPose(*map(float, pose)) for pose in poses_from_bins(rows))
    except UsageError as error:
        raise Misread(str(error)) from None


def read_index(value: Any, count: int) -> int:
    """Index, from 0, of a candidate that was named by its number from 1.

    Raises:
        Misread: For a number out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= count:
        raise Misread(f"candidate {value!r}, where 1 to {count} were shown")
    return value - 1


@dataclass(frozen=True)
class HighLevelDecision:
    """What a model decides about a question.

    Attributes:
        reason: Its words.
        plan: Its words.
        view: The side to face.
        landmark: Number of the one to walk to; None to follow the words instead.
        answer: None when it goes on searching.
    """

    reason: str
    plan: str
    view: Side
    landmark: int | None
    answer: str | None


def read_high_level(value: Any, visible: Mapping[Side, AbstractSet[int]]) -> HighLevelDecision:
    """The five fields of a high-level reply.

    Args:
        value: The reply.
        visible: Numbers of the landmarks marked in each view.

    Raises:
        Misread: Unless all five are there, the view is one of `visible`, a chosen landmark is marked in it, and there
            is something to do: an answer, a landmark, or words to follow.
    """
    if not isinstance(value, dict) or (missing := [name for name in FIVE if name not in value]):
        raise Misread(f"lacks {', '.join(missing if isinstance(value, dict) else FIVE)}")
    side, landmark = value["view"], value["landmark"]
    if side not in SIDES or side not in visible:
        raise Misread(f"view {side!r}, where {', '.join(visible)} were shown")
    if landmark is not None and (isinstance(landmark, bool) or landmark not in visible[side]):
        marked = ", ".join(map(str, sorted(visible[side]))) or "none"
        raise Misread(f"landmark {landmark!r} is not marked in the {side} view; there: {marked}")
    answer, plan = read_answer(value["answer"]), str(value["plan"] or "").strip()
    if answer is None and landmark is None and not plan:
        raise Misread("neither an answer nor a landmark nor a plan")
    return HighLevelDecision(str(value["reason"] or ""), plan, side, landmark, answer)


FIVE = ("reason", "plan", "view", "landmark", "answer")
_NO_ANSWER = ("", "none", "null", "n/a", "no answer")


def read_answer(value: Any) -> str | None:
    """An answer cut after its last full stop; None where there is none.

    Raises:
        Misread: When it is no text.
    """
    if value is None:
        return None
    if not isinstance(value, str):
        raise Misread("the answer is no text")
    said = to_last_stop(value)
    return None if said.strip(" .").lower() in _NO_ANSWER else said


def to_last_stop(text: str) -> str:
    """`text` without what follows its last full stop; all of it where it has none. A decimal point is no full stop."""
    text = " ".join(text.split())
    ends = [match.end() for match in re.finditer(r"\.(?=\s|$)", text)]
    return text[: ends[-1]] if ends else text


_VIEW_NAMES = re.compile(
    r"\b(?:(?:the|my|your)\s+)?(?:front|left|right|back|rear)(?:[\s-]hand)?[\s-](?:view|image|picture|photo)\b", re.I
)


def neutral_views(plan: str) -> str:
    """`plan` with names of views rewritten, since its reader faces the chosen view and sees no other.

    Turns such as "go left" stay; they start from there.
    """
    return _VIEW_NAMES.sub(NEUTRAL_VIEW, plan)


MARK_TAG = "MARK:"


def read_mark(text: str) -> int:
    """The whole number 1 to 5 after the last `MARK:` of a judge's reply.

    Raises:
        Misread: For anything else.
    """
    found = re.findall(rf"{MARK_TAG}\s*\**\s*(-?\d+(?:\.\d+)?)", text)
    if not found:
        raise Misread(f"no {MARK_TAG} in the reply")
    if found[-1] not in ("1", "2", "3", "4", "5"):
        raise Misread(f"mark {found[-1]}, where 1 to 5 was asked for")
    return int(found[-1])


_NAMES: Mapping[str, Primitive] = {
    **STEP_LETTERS,
    **{step.name: step for step in Primitive},
    **{str(int(step)): step for step in Primitive},
    "LEFT": Primitive.TURN_LEFT,
    "RIGHT": Primitive.TURN_RIGHT,
}


def _step(token: Any) -> Primitive:
    name = str(token).strip().strip("\"'`").upper().replace(" ", "_").replace("-", "_")
    if isinstance(token, bool) or name not in _NAMES:
        raise Misread(f"{str(token)[:40]!r} is no step")
    return _NAMES[name]
