"""`chat`: a language model that sees grades builds, compares two, and marks answers in words.

The paper's critic is GPT-4.1, asked in words of its own; ours are in the folder `prompts`. Pictures are contact
sheets of our renderer where the paper shows one frame of a film, so grades of the two must not be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from worldgauge.chat.answers import answer_text, last_object
from worldgauge.chat.prompt_runner import Asker, Misread, UnansweredError
from worldgauge.chat.prompts import Field, Prompts
from worldgauge.chat.reply import AnswerError, BudgetError, EndpointError, PromptTooLongError, one_line, read_json
from worldgauge.core.errors import UsageError
from worldgauge.suites.mineanybuild.critics import (
    BEST,
    DIMENSIONS,
    WORST,
    CommonsenseMark,
    CriticError,
    CriticKit,
    Grades,
    Preference,
    Submission,
    critics,
)
from worldgauge.suites.mineanybuild.metrics.scores import dimension_of

T = TypeVar("T")
ASKS = 4
"""Most requests for one result; the second half without a schema, for endpoints that do not support one."""
HOTTER = 0.2
"""Rise of temperature per request; the first is at temperature 0."""
MAX_TOKENS = 1024


@critics.register("chat", chat=True, version=2)
class ChatCritic:
    """A vision language model as critic.

    Prompts: `critic-planning`, `critic-understanding`, `critic-creativity`, `compare`, `commonsense-judge`. Kit option:
    max_tokens, of a reply.
    """

    def __init__(self, kit: CriticKit) -> None:
        if kit.chat is None:
            raise UsageError("critic 'chat' asks a language model; name one with chat=MODEL@URL, or take critic=rules")
        self._chat = kit.chat
        self._prompts = Prompts("worldgauge.suites.mineanybuild", kit.prompts)
        self._tokens = int(kit.options.get("max_tokens", MAX_TOKENS))

    def grade(self, submission: Submission, seed: int) -> Grades:
        """Grade from 1 to 10 with a comment each; see `Critic.grade`."""
        dimensions = _dimensions(submission)
        fields: dict[str, Field] = {"instruction": submission.instruction, "picture": submission.picture()}
        if submission.kind != "creativity":
            reference = submission.reference_picture
            fields["reference"] = "(there is none)" if reference is None else reference()
        (grades, comments), note = self._ask(
            f"critic-{submission.kind}",
            fields,
            grades_form(dimensions),
            lambda text: read_grades(text, dimensions),
            seed,
        )
        return Grades(grades, comments, {"asked": [note]})

    def compare(self, first: Submission, second: Submission, seed: int) -> Preference:
        """Choose the better of two, queried in both orders against bias; on disagreement the first reply counts."""
        _dimensions(first)
        fields: dict[str, Field] = {"first": first.picture(), "second": second.picture()}
        fields["instruction"] = first.instruction
        (one, reason), note = self._ask("compare", fields, choice_form(), read_choice, seed)
        fields = {**fields, "first": fields["second"], "second": fields["first"]}
        (other, _), swapped = self._ask("compare", fields, choice_form(), read_choice, seed)
        agreed = one != other
        return Preference(one, reason, {"agreed": agreed, "asked": [note, swapped]})

    def mark(self, question: str, expected: str, given: str, seed: int) -> CommonsenseMark:
        """Mark from 0 to 10; an empty answer gets 0 without a request. See `Critic.mark`."""
        if not given.strip():
            return CommonsenseMark(0.0, "no answer")
        fields: dict[str, Field] = {"question": question, "reference": expected, "answer": given}
        (mark, reason), note = self._ask("commonsense-judge", fields, mark_form(), read_mark, seed)
        return CommonsenseMark(mark, reason, {"asked": [note]})

    def _ask(
        self, name: str, fields: Mapping[str, Field], form: Mapping[str, Any], read: Callable[[str], T], seed: int
    ) -> tuple[T, Mapping[str, Any]]:
        """Return the parsed reply, and how it was asked for, earlier problems included."""
        asker = Asker(self._chat, self._prompts, top_p=1.0, max_tokens=self._tokens)
        problem: Exception | None = None
        for attempt in range(ASKS):
            try:
                answered = asker.ask(
                    name,
                    lambda squeeze: fields,
                    lambda reply: read(reply.text),
                    seed=seed,
                    sample=attempt,
                    asks=1,
                    temperature=HOTTER * attempt,
                    schema=form if attempt < ASKS // 2 else None,
                )
            except (AnswerError, UnansweredError) as error:
                problem = error
                continue
            except (EndpointError, BudgetError) as error:
                outage = not isinstance(error, PromptTooLongError)  # an outage will not pass by asking again
                raise CriticError(f"the critic gave no answer: {error}", outage=outage) from error
            problems = [text for note in asker.taken() for text in note["problems"]]
            return answered.value, {**answered.note, "asks": attempt + 1, "problems": problems}
        raise CriticError(f"the critic gave no usable answer in {ASKS} replies: {problem}", outage=False) from problem


def _dimensions(submission: Submission) -> tuple[str, ...]:
    if submission.kind not in DIMENSIONS:
        raise UsageError(
            f"task '{submission.task}' of kind '{submission.kind}' is no build; grade {', '.join(DIMENSIONS)}"
        )
    return DIMENSIONS[submission.kind]


LONGEST = 600
"""Most characters of a comment that are kept."""

Form = Mapping[str, Any]


def grades_form(dimensions: Sequence[str]) -> Form:
    """Return the schema {dimension: {grade, comment}}. Ranges are checked on reading: few endpoints do."""
    graded = _object(grade={"type": "number"}, comment={"type": "string"})
    return _object(**dict.fromkeys(dimensions, graded))


def choice_form() -> Form:
    """Return the schema {reason, choice}."""
    return _object(reason={"type": "string"}, choice={"type": "integer"})


def mark_form() -> Form:
    """Return the schema {reason, score}."""
    return _object(reason={"type": "string"}, score={"type": "number"})


def read_grades(text: str, dimensions: Sequence[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Read grade and comment of each dimension."""
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
    """Read whether the first is better, and why."""
    given = _json_object(text)
    choice = _number(given.get("choice"), 1, 2, "the choice")
    if choice not in (1.0, 2.0):
        raise Misread(f"the choice {choice:g} is neither 1 nor 2")
    return choice == 1.0, one_line(str(given.get("reason") or ""), LONGEST)


def read_mark(text: str) -> tuple[float, str]:
    """Read a mark from 0 to 10, and why."""
    given = _json_object(text)
    return _number(given.get("score"), 0, BEST, "the score"), one_line(str(given.get("reason") or ""), LONGEST)


def _json_object(text: str) -> dict[str, Any]:
    """The last complete JSON object in a reply; texts may have Python's single quotes, as in the release."""
    found = last_object(answer_text(text))
    if found is None:
        raise Misread("no JSON object in the reply")
    try:
        value = read_json(found)
    except ValueError as error:
        try:
            value = read_json(_QUOTED.sub(_in_double_quotes, found))
        except ValueError:
            raise Misread(f"the reply is not JSON ({error})") from None
    assert isinstance(value, dict)
    return value


_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*+)'|\"(?:[^\"\\]|\\.)*+\"", re.DOTALL)
_ESCAPED = re.compile(r"\\'|\\.|\"", re.DOTALL)


def _in_double_quotes(text: re.Match[str]) -> str:
    """A text in single quotes as JSON has it; one in double quotes as it is."""
    if text[1] is None:
        return text[0]
    return '"' + _ESCAPED.sub(lambda sign: {"\\'": "'", '"': '\\"'}.get(sign[0], sign[0]), text[1]) + '"'


_LARGEST = 1e300


def _number(value: Any, least: float, most: float, what: str) -> float:
    if isinstance(value, str) and re.fullmatch(r"\s*\d{1,3}(?:\.\d{1,3})?\s*", value):
        value = float(value)
    # Compared, since a whole number may be larger than any that math.isfinite takes, or that is shown.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
        raise Misread(f"{what} is {str(value)[:40]!r}, no number")
    if not least <= value <= most:
        raise Misread(f"{what} is {value:g}, where {least} to {most} was asked for")
    return float(value)


def _object(**fields: Any) -> Form:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
