"""Forms of questions about a home: how each is worded, read and answered.

The same function answers for the generator and for an agent: from all objects of a home it gives the right answer, from
those that an agent has seen the answer that they justify. All sentences are our own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from worldgauge.suites.closedloop.questions.generate.words import (
    ALIKE,
    COLOUR_PATTERN,
    COLOURS,
    MANY,
    NAMES,
    ROOM_PATTERN,
    STATE_PATTERN,
    THING_PATTERN,
    Thing,
    normalised,
    read_room,
    read_thing,
    room_words,
    synonyms,
)
from worldgauge.worlds.indoor.homes import HomeObject as Known

CATEGORIES = (
    "object localization",
    "attribute recognition",
    "world knowledge",
    "object state recognition",
    "object recognition",
    "spatial understanding",
    "functional reasoning",
)
"""The seven categories of World-in-World, section 5.3."""

Slots = Mapping[str, str]
"""What a question is about, in words: things as `Thing.words` gives them, rooms by their kind."""


class QuestionAnswer(NamedTuple):
    """An answer to a question.

    Attributes:
        text: The answer.
        extra: Other right answers.
        evidence: Numbers of the objects it rests on.
        any_of: Whether each of them alone justifies it; else all are needed.
    """

    text: str
    extra: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()
    any_of: bool = False


Objects = Sequence[Known]


@dataclass(frozen=True)
class QuestionForm:
    """One form of question.

    Attributes:
        name: Its name.
        category: One of CATEGORIES.
        phrasings: Sentences with {slots}.
        answer: Answers the question from some objects; None if they do not justify an answer.
        drafts: All slots that can be asked about some objects; answering may still fail.
        key: What a blind guess goes by.
        about: Slots that hold a thing.
        guess: The blind guess, where it follows from the question.
    """

    name: str
    category: str
    phrasings: tuple[str, ...]
    answer: Callable[[Slots, Objects], QuestionAnswer | None]
    drafts: Callable[[Objects], Iterator[Slots]]
    key: Callable[[Slots], str]
    about: tuple[str, ...] = ("thing",)
    guess: Callable[[Slots], str] | None = None

    def worded(self, slots: Slots, phrasing: int) -> str:
        """Word the question.

        Args:
            slots: What it is about.
            phrasing: Index of the phrasing, modulo their number.
        """
        said = {name: room_words(value) if name == "room" else value for name, value in slots.items()}
        return self.phrasings[phrasing % len(self.phrasings)].format(**said)

    def read(self, question: str) -> Slots | None:
        """Read the slots of a question of this form in any phrasing; None for other questions."""
        plain = normalised(question)
        for pattern in self._patterns:
            found = pattern.fullmatch(plain)
            if found is not None:
                slots = _understood(found.groupdict(), self.about)
                if slots is not None:
                    return slots
        return None

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        patterns = []
        for phrasing in self.phrasings:
            parts = re.split(r"\{(\w+)\}", normalised(phrasing))
            source = "".join(
                f"(?P<{part}>{self._pattern_of(part)})" if n % 2 else re.escape(part) for n, part in enumerate(parts)
            )
            patterns.append(re.compile(source))
        return tuple(patterns)

    def _pattern_of(self, slot: str) -> str:
        if slot in self.about:
            return THING_PATTERN
        known = {"room": ROOM_PATTERN, "colour": COLOUR_PATTERN, "a": STATE_PATTERN, "b": STATE_PATTERN}
        return known.get(slot, ".+?")


def _understood(found: Mapping[str, str], about: Sequence[str]) -> Slots | None:
    slots = dict(found)
    for name, value in found.items():
        if name in about:
            thing = read_thing(value)
            if thing is None:
                return None
            slots[name] = thing.words()
        elif name == "room":
            room = read_room(value)
            if room is None:
                return None
            slots[name] = room
    return slots


def thing_of(slots: Slots, name: str = "thing") -> Thing:
    """Return the thing in a slot."""
    thing = read_thing(slots[name])
    assert thing is not None, slots
    return thing


def referring(one: Known, objects: Objects, *, hide: frozenset[str] = frozenset()) -> Thing | None:
    """Find the shortest description of an object that fits no other.

    Args:
        one: The object.
        objects: Those it must be told apart from; both curtains of a window count as one.
        hide: Attributes that may not be used: "colour", "room".

    Returns:
        The description; None if there is none.
    """
    if one.name not in NAMES:
        return None
    group = {other.instance for other in objects if _pair(one, other)}
    for said in ((), ("room",), ("colour",), ("colour", "room")):
        if hide & set(said) or ("colour" in said and one.colour not in COLOURS):
            continue
        thing = Thing(one.name, one.colour if "colour" in said else None, one.room if "room" in said else None)
        if {other.instance for other in thing.meant(objects)} <= group:
            return thing
    return None


def plan_gap_m(a: Known, b: Known) -> float:
    """Return the distance in metres between the outlines of two objects in the plane; 0 if they overlap."""
    return math.hypot(*(max(a.low[n] - b.high[n], b.low[n] - a.high[n], 0.0) for n in range(2)))


def _pair(one: Known, other: Known) -> bool:
    """Whether two objects pass for one: the same object, or the two curtains of a window."""
    if one.instance == other.instance:
        return True
    same = (one.name, one.room, one.colour, one.state) == (other.name, other.room, other.colour, other.state)
    return same and one.name == "curtain" and plan_gap_m(one, other) < 3.0


def _single(meant: Objects, value: Callable[[Known], str]) -> str | None:
    """Return the value that all objects share; None if they differ or there are none."""
    values = {value(one) for one in meant}
    return values.pop() if len(values) == 1 else None


def _ids(objects: Objects) -> tuple[int, ...]:
    return tuple(one.instance for one in objects)


def each_thing(objects: Objects, hide: frozenset[str], fits: Callable[[Known], bool]) -> Iterator[Slots]:
    """Yield the slots of questions about one thing, each thing once.

    Args:
        objects: The objects of the home.
        hide: Attributes that may not be used to describe it, see `referring`.
        fits: Whether a question may be about an object.
    """
    said = set()
    for one in objects:
        thing = referring(one, objects, hide=hide) if one.name not in MANY and fits(one) else None
        if thing is not None and thing not in said:
            said.add(thing)
            yield {"thing": thing.words()}


def by_name(slots: Slots) -> str:
    """Return the name of the thing that is asked about."""
    return thing_of(slots).name


def answered_of(
    value: Callable[[Known], str], words: Callable[[str], QuestionAnswer | None]
) -> Callable[..., QuestionAnswer | None]:
    """Make the answering function of questions about one thing.

    Args:
        value: The attribute of an object that is asked for.
        words: The answer that names a value; None if it has no word.

    Returns:
        A function of slots and objects; it gives None where the objects meant differ in that value.
    """

    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        meant = thing_of(slots).meant(objects)
        common = _single(meant, value)
        said = None if common is None else words(common)
        return None if said is None else said._replace(evidence=_ids(meant), any_of=True)

    return answer


def in_room(room: str) -> QuestionAnswer:
    """Return the answer that names a room."""
    return QuestionAnswer(f"in the {room}", (room, *synonyms(room)))


def of_colour(colour: str) -> QuestionAnswer | None:
    """Return the answer that names a colour; None for one without a word."""
    return QuestionAnswer(colour, synonyms(colour)) if colour in COLOURS else None


def of_name(name: str) -> QuestionAnswer:
    """Return the answer that names a thing."""
    return QuestionAnswer(name, synonyms(name))


def vivid_alone(room: str, colour: str, objects: Objects) -> list[Known]:
    """Return the objects of a room in a vivid colour; none if another object there has a colour like it."""
    inside = [one for one in objects if one.room == room]
    if any(one.colour in ALIKE[colour] for one in inside):
        return []
    return [one for one in inside if one.colour == colour]


def answerable(form: QuestionForm, objects: Sequence[Known]) -> dict[str, list[tuple[Slots, QuestionAnswer]]]:
    """Return all questions of a form that `objects` answer, by answer."""
    found: dict[str, list[tuple[Slots, QuestionAnswer]]] = {}
    for slots in form.drafts(objects):
        answer = form.answer(slots, objects)
        if answer is not None:
            found.setdefault(answer.text, []).append((slots, answer))
    return found
