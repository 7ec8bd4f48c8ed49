"""The forms of questions that homes are asked about, in the seven categories."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from worldgauge.suites.worldinworld.questions.forms import (
    ALIKE,
    COLOURS,
    NAMES,
    TWICE,
    WORDS,
    Objects,
    QuestionAnswer,
    QuestionForm,
    Slots,
    answered_of,
    by_name,
    category_of,
    each_thing,
    in_room,
    of_colour,
    of_name,
    plan_gap_m,
    referring,
    thing_of,
    vivid_alone,
)
from worldgauge.worlds.indoor.furniture import STATES, function_of
from worldgauge.worlds.indoor.homes import HomeObject as Known

WANDERING = frozenset(WORDS["names_in_any_room"])
"""Names of things whose room differs from home to home."""
NEARER_M, NEARER_TIMES = 0.7, 1.6
"""How much nearer one thing must be than the other, in metres and as a ratio."""
CLOSE_BY_M = 4.5
TOUCHING_M = 0.06
SINGLE_M = 1.2
"""Most width of a bed for one."""

_EVERYWHERE = frozenset(WORDS["names_in_every_room"])
"""Names that say nothing about where one is."""
_HIDE_COLOUR, _HIDE_ROOM, _HIDE_NONE = frozenset({"colour"}), frozenset({"room"}), frozenset[str]()

_KNOWLEDGE = {fact: frozenset(names) for fact, names in WORDS["true_of"].items()}
"""Facts, and the names of the things they are true of."""
_USES = {use: frozenset(names) for use, names in WORDS["uses"].items()}
"""Purposes, and the names of the things that serve them."""
_YES_WHEN: Mapping[str, str] = WORDS["yes_when"]
_IMPLIED: Mapping[str, Mapping[str, list[str]]] = WORDS["implied"]
"""Sentences that follow from the state of a thing, and the names they are about."""


def read_question(question: str) -> tuple[QuestionForm, Slots] | None:
    """Read the form of a question and its slots from its words alone; None if it has no known form."""
    for form in FORMS:
        slots = form.read(question)
        if slots is not None:
            return form, slots
    return None


def names_meant(form: QuestionForm, slots: Slots) -> frozenset[str]:
    """Return the names of things whose sight would answer a question; empty if it could be anything."""
    if form.about:
        return frozenset(thing_of(slots, name).name for name in form.about)
    if form.name == "use in":
        return _USES.get(slots["use"], frozenset())
    if form.name == "where known":
        return _KNOWLEDGE.get(slots["fact"], frozenset())
    if form.name == "where used":
        return frozenset(name for name in WANDERING if function_of(category_of(name), name) == slots["fact"])
    return frozenset()


def _pillows() -> QuestionForm:
    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        beds = thing_of(slots).meant(objects)
        if len(beds) != 1:
            return None
        on = [one for one in objects if one.name == "pillow" and _stands_on(one, beds[0], deep=True)]
        words = {1: ("one", "1"), 2: ("two", "2")}.get(len(on))
        if words is None:
            return None
        return QuestionAnswer(words[0], words[1:], (beds[0].instance, *(one.instance for one in on)))

    return QuestionForm(
        "pillows",
        "attribute recognition",
        ("How many pillows are on {thing}?", "How many pillows does {thing} have?", "Count the pillows on {thing}."),
        answer,
        lambda objects: each_thing(objects, _HIDE_NONE, lambda one: one.name == "bed"),
        lambda slots: "",
    )


def _stands() -> QuestionForm:
    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        meant = thing_of(slots).meant(objects)
        if len(meant) != 1:
            return None
        under = [one for one in objects if one.name in NAMES and _stands_on(meant[0], one)]
        if len(under) != 1:
            return None
        return of_name(under[0].name)._replace(evidence=(meant[0].instance, under[0].instance))

    return QuestionForm(
        "stands on",
        "spatial understanding",
        ("What does {thing} stand on?", "Which piece of furniture is {thing} on?", "What is right under {thing}?"),
        answer,
        lambda objects: each_thing(objects, _HIDE_NONE, lambda one: one.name == "table lamp"),
        by_name,
    )


def _nearer() -> QuestionForm:
    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        meant = [thing_of(slots, name).meant(objects) for name in ("thing", "one", "other")]
        if any(len(each) != 1 for each in meant):
            return None
        thing, one, other = (each[0] for each in meant)
        metres = plan_gap_m(thing, one), plan_gap_m(thing, other)
        if abs(metres[0] - metres[1]) < NEARER_M or max(metres) < NEARER_TIMES * min(metres):
            return None
        near = (one, other)[int(metres[1] < metres[0])]
        return of_name(near.name)._replace(evidence=(thing.instance, one.instance, other.instance))

    def drafts(objects: Objects) -> Iterator[Slots]:
        # Things in two rooms of one kind may be far apart for reasons that the question is not about.
        inside = [one for one in objects if one.room not in TWICE and one.name not in _EVERYWHERE]
        said = [(one, referring(one, objects)) for one in inside]
        known = [(one, thing) for one, thing in said if thing is not None]
        for a, thing in known:
            others = [(b, other) for b, other in known if a.room == b.room and a.instance != b.instance]
            near = [(b, other) for b, other in others if plan_gap_m(a, b) < CLOSE_BY_M]
            for b, one in near:
                for c, other in near:
                    if b.instance != c.instance and b.name != c.name:
                        yield {"thing": thing.words(), "one": one.words(), "other": other.words()}

    return QuestionForm(
        "nearer",
        "spatial understanding",
        ("Is {thing} closer to {one} or to {other}?", "Which is nearer to {thing}, {one} or {other}?"),
        answer,
        drafts,
        lambda slots: "",
        ("thing", "one", "other"),
        lambda slots: thing_of(slots, "one").name,
    )


def _state() -> QuestionForm:
    def drafts(objects: Objects) -> Iterator[Slots]:
        for slots in each_thing(objects, _HIDE_NONE, lambda one: one.name in STATES and one.state != ""):
            first, second = STATES[thing_of(slots).name]
            yield {**slots, "a": first, "b": second}
            yield {**slots, "a": second, "b": first}

    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        meant = thing_of(slots).meant(objects)
        state = {one.state for one in meant}
        if len(state) != 1 or not state <= {slots["a"], slots["b"]}:
            return None
        return QuestionAnswer(state.pop(), (), tuple(one.instance for one in meant), True)

    return QuestionForm(
        "state",
        "object state recognition",
        ("Is {thing} {a} or {b}?", "Tell me whether {thing} is {a} or {b}.", "{thing}: is it {a} or {b}?"),
        answer,
        drafts,
        by_name,
    )


def _implied(kind: str) -> QuestionForm:
    phrasings, names = tuple(_IMPLIED[kind]["phrasings"]), frozenset(_IMPLIED[kind]["names"])

    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        name = thing_of(slots).name
        if name not in names:
            return None
        said = {True: QuestionAnswer("yes"), False: QuestionAnswer("no")}
        return answered_of(lambda one: one.state, lambda state: said[state == _YES_WHEN[name]])(slots, objects)

    return QuestionForm(
        f"implied {kind}",
        "world knowledge",
        phrasings,
        answer,
        lambda objects: each_thing(objects, _HIDE_NONE, lambda one: one.name in names and one.state != ""),
        by_name,
    )


def _sleepers() -> QuestionForm:
    def width(one: Known) -> str:
        return "one" if min(one.high[n] - one.low[n] for n in range(2)) <= SINGLE_M else "two"

    return QuestionForm(
        "sleepers",
        "world knowledge",
        ("How many grown-ups is {thing} made for?", "For how many adults is there room to sleep in {thing}?"),
        answered_of(width, lambda count: QuestionAnswer(count, ({"one": "1", "two": "2"}[count],))),
        lambda objects: each_thing(objects, _HIDE_NONE, lambda one: one.name == "bed"),
        lambda slots: "",
    )


def _where(
    name: str, category: str, phrasings: tuple[str, ...], served: Callable[[Objects], Mapping[str, list[Known]]]
) -> QuestionForm:
    """Make a form that asks for the room of something of which `fact` is true."""

    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        meant = served(objects).get(slots["fact"], [])
        rooms = {one.room for one in meant}
        if len(rooms) != 1:
            return None
        return in_room(rooms.pop())._replace(evidence=tuple(one.instance for one in meant), any_of=True)

    return QuestionForm(
        name,
        category,
        phrasings,
        answer,
        lambda objects: ({"fact": fact} for fact in served(objects)),
        lambda slots: slots["fact"],
        (),
    )


def _by_function(objects: Objects) -> dict[str, list[Known]]:
    found: dict[str, list[Known]] = {}
    for one in objects:
        if one.function and one.name in WANDERING and one.name not in _EVERYWHERE:
            found.setdefault(one.function, []).append(one)
    return found


def _by_knowledge(objects: Objects) -> dict[str, list[Known]]:
    found = {fact: [one for one in objects if one.name in names] for fact, names in _KNOWLEDGE.items()}
    return {fact: meant for fact, meant in found.items() if meant}


def _use_in() -> QuestionForm:
    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        fitting = _USES.get(slots["use"], frozenset())
        meant = [one for one in objects if one.room == slots["room"] and one.name in fitting]
        names = {one.name for one in meant}
        if len(names) != 1:
            return None
        return of_name(names.pop())._replace(evidence=tuple(one.instance for one in meant), any_of=True)

    return QuestionForm(
        "use in",
        "functional reasoning",
        (
            "What in {room} could I {use}?",
            "I am in {room}: what is there to {use}?",
            "Name something in {room} that I could {use}.",
        ),
        answer,
        lambda objects: ({"room": room, "use": use} for room in sorted({one.room for one in objects}) for use in _USES),
        lambda slots: f"{slots['room']}|{slots['use']}",
        (),
    )


def _by_colour() -> QuestionForm:
    def answer(slots: Slots, objects: Objects) -> QuestionAnswer | None:
        if slots["colour"] not in ALIKE:
            return None
        meant = vivid_alone(slots["room"], slots["colour"], objects)
        names = {one.name for one in meant}
        if len(names) != 1 or not names <= NAMES.keys():
            return None
        return of_name(names.pop())._replace(evidence=tuple(one.instance for one in meant), any_of=True)

    def drafts(objects: Objects) -> Iterator[Slots]:
        for room in sorted({one.room for one in objects}):
            for colour in sorted({one.colour for one in objects if one.room == room} & ALIKE.keys()):
                yield {"room": room, "colour": colour}

    return QuestionForm(
        "by colour",
        "object recognition",
        ("What in {room} is {colour}?", "What is the {colour} object in {room}?", "Name what is {colour} in {room}."),
        answer,
        drafts,
        lambda slots: slots["room"],
        (),
    )


def _stands_on(one: Known, under: Known, *, deep: bool = False) -> bool:
    """Whether one thing stands on another, or with `deep` sinks into it, as into a bed."""
    if one.instance == under.instance:
        return False
    middle = [(one.low[n] + one.high[n]) / 2 for n in range(2)]
    over = all(under.low[n] <= middle[n] <= under.high[n] for n in range(2))
    return over and (under.low[2] < one.low[2] if deep else abs(one.low[2] - under.high[2]) < TOUCHING_M)


FORMS: tuple[QuestionForm, ...] = (
    QuestionForm(
        "room of",
        "object localization",
        ("Where is {thing}?", "In which room is {thing}?", "Which room would I find {thing} in?"),
        answered_of(lambda one: one.room, in_room),
        lambda objects: each_thing(objects, _HIDE_ROOM, lambda one: one.name in WANDERING),
        by_name,
    ),
    QuestionForm(
        "colour",
        "attribute recognition",
        ("What colour is {thing}?", "Which colour does {thing} have?", "Tell me the colour of {thing}."),
        answered_of(lambda one: one.colour, of_colour),
        lambda objects: each_thing(
            objects, _HIDE_COLOUR, lambda one: one.colour in COLOURS and one.name not in _EVERYWHERE
        ),
        by_name,
    ),
    _pillows(),
    *(_implied(kind) for kind in _IMPLIED),
    _sleepers(),
    _where(
        "where known",
        "world knowledge",
        ("Which room holds something that {fact}?", "Where is there something that {fact}?"),
        _by_knowledge,
    ),
    _state(),
    _by_colour(),
    _stands(),
    _nearer(),
    _use_in(),
    _where(
        "where used",
        "functional reasoning",
        ("Which room has something {fact}?", "Where would I go for something {fact}?"),
        _by_function,
    ),
)
"""Read in this order: the first whose words fit is meant."""

_BY_NAME = {form.name: form for form in FORMS}

OF_BOXES = tuple(_BY_NAME[name] for name in ("pillows", "sleepers", "stands on", "nearer"))
"""Forms whose answers follow from names and boxes of things alone, as in scans."""
