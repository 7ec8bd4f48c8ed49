"""Forms of questions about a home: how each is worded, read and answered.

The same function answers for the generator and for an agent: from all objects of a home it gives the right answer, from
those that an agent has seen the answer that they justify. All sentences are our own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from worldgauge.worlds.indoor.furniture import STATES
from worldgauge.worlds.indoor.homes import HomeObject as Known


def _texts(name: str) -> dict[str, tuple[str, ...]]:
    """A table of `words.json`: texts by word, in the order of the file."""
    return {word: tuple(texts) for word, texts in WORDS[name].items()}


WORDS: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
ROOMS = _texts("rooms")
"""Kinds of rooms, and their synonyms."""
TWICE = frozenset({"bedroom"})
"""Kinds that a home may have several of."""
COLOURS = _texts("colours")
"""Colours that can be asked about, and their synonyms."""
ALIKE = {colour: frozenset(others) for colour, others in WORDS["similar_colours"].items()}
"""Vivid colours, and those that can be mistaken for them."""
NAMES = _texts("names")
"""Names of things that can be asked about, and their synonyms. Networks number them in this order."""
MANY = frozenset(WORDS["plural_names"])
_CATEGORY_OF: dict[str, str] = {name: category for category, names in WORDS["categories"].items() for name in names}


def synonyms(word: str) -> tuple[str, ...]:
    """Return synonyms of a room, a colour or a thing; none for unknown words."""
    return tuple(dict.fromkeys(other for table in (ROOMS, COLOURS, NAMES) for other in table.get(word, ())))


def category_of(name: str) -> str:
    """Return the category of a thing's name; the name itself if no category is known."""
    return _CATEGORY_OF.get(name, name)


class NamedThing(NamedTuple):
    """A description of a thing: its name, and its colour and room if they are said."""

    name: str
    colour: str | None = None
    room: str | None = None

    def words(self) -> str:
        """Return words such as "the teal armchair in the bedroom"."""
        where = "" if self.room is None else f" in {room_words(self.room)}"
        return f"the {'' if self.colour is None else self.colour + ' '}{self.name}{where}"

    def meant(self, objects: Sequence[Known]) -> list[Known]:
        """Return those of `objects` that the description fits."""
        return [
            one
            for one in objects
            if one.name == self.name and self.colour in (None, one.colour) and self.room in (None, one.room)
        ]


def room_words(room: str) -> str:
    """Return words such as "the kitchen", "one of the bedrooms"."""
    return f"one of the {room}s" if room in TWICE else f"the {room}"


def _any_of(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_NAMED_ROOM = rf"(?:one of )?(?:the |a |an )?(?P<room>{_any_of(tuple(ROOMS))})s?"
_NAMED_THING = (
    rf"(?:the |a |an |my |your )?(?:(?P<colour>{_any_of(tuple(COLOURS))}) )?(?P<name>{_any_of(tuple(NAMES))})"
    rf"(?: in {_NAMED_ROOM})?"
)
ROOM_PATTERN, THING_PATTERN = (re.sub(r"\?P<\w+>", "?:", named) for named in (_NAMED_ROOM, _NAMED_THING))
"""What `read_room` and `read_thing` match, without groups."""
COLOUR_PATTERN = f"(?:{_any_of(tuple(COLOURS))})"
STATE_PATTERN = f"(?:{_any_of(sorted({state for pair in STATES.values() for state in pair}))})"


def read_thing(text: str) -> NamedThing | None:
    """Read a description in the form of `NamedThing.words` or close to it; None if there is none."""
    found = re.fullmatch(_NAMED_THING, text)
    return None if found is None else NamedThing(found["name"], found["colour"], found["room"])


def read_room(text: str) -> str | None:
    """Read a kind of room in the form of `room_words` or close to it; None if there is none."""
    found = re.fullmatch(_NAMED_ROOM, text)
    return None if found is None else str(found["room"])


def normalised(text: str) -> str:
    """Return lower case words with single spaces, no final punctuation, and British spelling of colours."""
    plain = " ".join(text.lower().replace("color", "colour").replace("gray", "grey").split())
    return plain.rstrip(" ?.!")


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
"""What a question is about, in words: things as `NamedThing.words` gives them, rooms by their kind."""


class QuestionAnswer(NamedTuple):
    """An answer to a question."""

    text: str
    extra: tuple[str, ...] = ()
    evidence: tuple[int, ...] = ()
    any_of: bool = False


Objects = Sequence[Known]


@dataclass(frozen=True)
class QuestionForm:
    """One form of question; `answer` is None if the objects do not justify an answer."""

    name: str
    category: str
    phrasings: tuple[str, ...]
    answer: Callable[[Slots, Objects], QuestionAnswer | None]
    drafts: Callable[[Objects], Iterator[Slots]]
    key: Callable[[Slots], str]
    about: tuple[str, ...] = ("thing",)
    guess: Callable[[Slots], str] | None = None

    def worded(self, slots: Slots, phrasing: int) -> str:
        """Word the question."""
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


def thing_of(slots: Slots, name: str = "thing") -> NamedThing:
    """Return the thing in a slot."""
    thing = read_thing(slots[name])
    assert thing is not None, slots
    return thing


def referring(one: Known, objects: Objects, *, hide: frozenset[str] = frozenset()) -> NamedThing | None:
    """Find the shortest description of an object that fits no other: the description; None if there is none."""
    if one.name not in NAMES:
        return None
    group = {other.instance for other in objects if _pair(one, other)}
    for said in ((), ("room",), ("colour",), ("colour", "room")):
        if hide & set(said) or ("colour" in said and one.colour not in COLOURS):
            continue
        thing = NamedThing(one.name, one.colour if "colour" in said else None, one.room if "room" in said else None)
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


def each_thing(objects: Objects, hide: frozenset[str], fits: Callable[[Known], bool]) -> Iterator[Slots]:
    """Yield the slots of questions about one thing, each thing once."""
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
    """Make the answer function of questions about one thing; None if the objects meant differ, or without a word."""

    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        meant = thing_of(slots).meant(objects)
        values = {value(one) for one in meant}
        common = values.pop() if len(values) == 1 else None
        said = None if common is None else words(common)
        return None if said is None else said._replace(evidence=tuple(one.instance for one in meant), any_of=True)

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
