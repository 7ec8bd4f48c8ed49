"""Questions of spatial commonsense about furnished rooms, with pictures to be drawn and answers in words.

    for question in commonsense(seed=7, count=50):
        question.question, question.answer, [scene.caption for scene in question.scenes]

The kind of task is MineAnyBuild's (section 3.1, D.2.5); rooms, questions and answers are ours. The answers follow from
the floor plan, and within each form every answer is right equally often, so none can be guessed from the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.suites.build.generate.interiors.choice_questions import PLACES
from worldgauge.suites.build.generate.interiors.forms import AskedQuestion, Form
from worldgauge.suites.build.generate.interiors.rooms import Room, RoomView, views
from worldgauge.suites.build.generate.interiors.yes_no_questions import USES, WAYS

FORMS: tuple[Form, ...] = (*WAYS, *USES, *PLACES)
MOST_WORDS = 70
"""Most words of an answer (appendix E.1)."""
_DRAFTS = 400


@dataclass(frozen=True)
class RoomQuestion:
    """One question.

    Attributes:
        id: Such as TSK_SC_0001.
        question: The question.
        answer: The right answer.
        facts: What a full answer holds, by kind of fact: tendency, thing, other, place, direction, action.
        form: Name of its form.
        sense: Kind of commonsense it needs.
        value: Which of the form's answers is right.
        env: Kind of room.
        room: The floor plan that the answer follows from.
    """

    id: str
    question: str
    answer: str
    facts: Mapping[str, str]
    form: str
    sense: str
    value: str
    env: str
    room: Room

    @property
    def views(self) -> tuple[RoomView, ...]:
        """Its images: from the door, and from above."""
        return views(self.room)


def commonsense(seed: int, count: int = 50) -> Iterator[RoomQuestion]:
    """Make questions, each about a room of its own, forms in turn.

    The first n questions are the same for every count of at least n.

    Args:
        seed: Same seed, same questions.
        count: Number of questions.

    Raises:
        WorldError: If a form finds no room.
    """
    for number in range(count):
        form = FORMS[number % len(FORMS)]
        value = _value(form, seed, number)
        rng = np.random.default_rng([seed, number])
        room, asked = _found(form, value, rng)
        yield RoomQuestion(
            f"TSK_SC_{number + 1:04d}",
            asked.question,
            asked.answer,
            dict(asked.facts),
            form.name,
            form.sense,
            value,
            room.kind,
            room,
        )


def _value(form: Form, seed: int, number: int) -> str:
    """Answers in turn, each form from another one on, so that yes and no come equally often at every count."""
    place = FORMS.index(form)
    turn = number // len(FORMS)
    order = np.random.default_rng([seed, 1_000_003, place // 2, turn // len(form.values)]).permutation(len(form.values))
    return form.values[int(order[(turn + place) % len(form.values)])]


def _found(form: Form, value: str, rng: np.random.Generator) -> tuple[Room, AskedQuestion]:
    for _ in range(_DRAFTS):
        plan = form.stage(rng, value)
        if plan is None:
            continue
        plan.lay_rug(rng)
        room = plan.room()
        asked = form.ask(room, rng)
        if asked is not None and asked.value == value:
            return room, asked
    raise WorldError(
        f"no room for the question '{form.name}' with the answer '{value}' in {_DRAFTS} drafts; use another seed"
    )
