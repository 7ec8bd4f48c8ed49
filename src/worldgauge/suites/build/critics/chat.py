"""`chat`: a language model that sees grades builds, compares two, and marks answers in words.

The paper's critic is GPT-4.1, asked in words of its own; ours are in `agents/prompts/build`. Pictures are contact
sheets of our renderer where the paper shows one frame of a film, so grades of the two must not be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from worldgauge.chat.client import AnswerError, BudgetError, EndpointError, PromptTooLongError, Reply
from worldgauge.chat.prompt_runner import Asker
from worldgauge.chat.prompts import Field, Prompts
from worldgauge.core.errors import UsageError
from worldgauge.suites.build.critics import DIMENSIONS, Choice, CriticError, CriticKit, Grades, Marked, Work, critics
from worldgauge.suites.build.critics._replies import (
    choice_form,
    grades_form,
    mark_form,
    read_choice,
    read_grades,
    read_mark,
)

T = TypeVar("T")
ASKS = 4
"""Times that one thing is asked for; the second half without a schema, for endpoints that keep to none."""
HOTTER = 0.2
"""By how much each is hotter than the one before; the first is at temperature 0."""
MAX_TOKENS = 1024


@critics.register("chat", chat=True, version=1)
class ChatCritic:
    """A language model judges what it is shown.

    Prompts: `critic-planning`, `critic-understanding`, `critic-creativity`, `compare` and `commonsense-judge`. Options
    of the kit: max_tokens, of a reply. Raises UsageError without a model.
    """

    def __init__(self, kit: CriticKit) -> None:
        if kit.chat is None:
            raise UsageError("critic 'chat' asks a language model; name one with chat=MODEL@URL, or take critic=rules")
        self._chat = kit.chat
        self._prompts = Prompts("worldgauge.suites.build", kit.prompts)
        self._tokens = int(kit.options.get("max_tokens", MAX_TOKENS))

    def grade(self, work: Work, seed: int) -> Grades:
        """Grades 1 to 10 with a comment each. Raises CriticError when none came."""
        dimensions = _dimensions(work)
        fields: dict[str, Field] = {"instruction": work.instruction, "picture": work.picture()}
        if work.kind != "creativity":
            reference = work.reference_picture
            fields["reference"] = "(there is none)" if reference is None else reference()
        (grades, comments), note = self._ask(
            f"critic-{work.kind}", fields, grades_form(dimensions), lambda text: read_grades(text, dimensions), seed
        )
        return Grades(grades, comments, {"asked": [note]})

    def compare(self, first: Work, second: Work, seed: int) -> Choice:
        """The better of two, asked in both orders; where they disagree the first reply counts, noted as not `agreed`.

        A critic that favours one place would else favour whoever is shown there. Raises CriticError when no reply came.
        """
        _dimensions(first)
        shown = (first.picture(), second.picture())
        (one, reason), note = self._compare(first.instruction, shown, seed)
        (other, _), swapped = self._compare(first.instruction, shown[::-1], seed)
        agreed = one != other
        return Choice(one, reason, {"agreed": agreed, "asked": [note, swapped]})

    def mark(self, question: str, expected: str, given: str, seed: int) -> Marked:
        """0 to 10; 0, unasked, for no answer. Raises CriticError when no reply came."""
        if not given.strip():
            return Marked(0.0, "no answer")
        fields: dict[str, Field] = {"question": question, "reference": expected, "answer": given}
        (mark, reason), note = self._ask("commonsense-judge", fields, mark_form(), read_mark, seed)
        return Marked(mark, reason, {"asked": [note]})

    def _compare(
        self, instruction: str, shown: tuple[Any, Any], seed: int
    ) -> tuple[tuple[bool, str], Mapping[str, Any]]:
        fields: dict[str, Field] = {"instruction": instruction, "first": shown[0], "second": shown[1]}
        return self._ask("compare", fields, choice_form(), read_choice, seed)

    def _ask(
        self, name: str, fields: Mapping[str, Field], form: Mapping[str, Any], read: Callable[[str], T], seed: int
    ) -> tuple[T, Mapping[str, Any]]:
        """What the reply means, and how it was asked for, earlier problems included."""
        asker = Asker(self._chat, self._prompts, top_p=1.0, max_tokens=self._tokens)
        problem: Exception | None = None
        for attempt in range(ASKS):
            try:
                answered = asker.ask(
                    name,
                    lambda squeeze: fields,
                    lambda reply: _meaning(reply, read),
                    seed=seed,
                    sample=attempt,
                    asks=1,
                    temperature=HOTTER * attempt,
                    schema=form if attempt < ASKS // 2 else None,
                )
            except AnswerError as error:
                problem = error
                continue
            except (EndpointError, BudgetError) as error:
                outage = not isinstance(error, PromptTooLongError)  # that one will not pass
                raise CriticError(f"the critic gave no answer: {error}", outage=outage) from error
            problems = [text for note in asker.taken() for text in note["problems"]]
            return answered.value, {**answered.note, "asks": attempt + 1, "problems": problems}
        raise CriticError(f"the critic gave no usable answer in {ASKS} replies: {problem}", outage=False) from problem


def _meaning(reply: Reply, read: Callable[[str], T]) -> T:
    return read(reply.text)


def _dimensions(work: Work) -> tuple[str, ...]:
    if work.kind not in DIMENSIONS:
        raise UsageError(f"task '{work.task}' of kind '{work.kind}' is no build; grade {', '.join(DIMENSIONS)}")
    return DIMENSIONS[work.kind]
