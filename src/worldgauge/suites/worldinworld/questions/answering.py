"""Questions as their words are read, and answers from what was really seen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.suites.worldinworld.policies.contract import SIDES, Decision, HomeObservation
from worldgauge.suites.worldinworld.questions.episodes import SEEN_SHARE
from worldgauge.suites.worldinworld.questions.forms import (
    NAMES,
    ROOMS,
    TWICE,
    QuestionForm,
    Slots,
    normalised,
    thing_of,
)
from worldgauge.suites.worldinworld.questions.habits import categories_of, rooms_of
from worldgauge.suites.worldinworld.questions.templates import names_meant, read_question
from worldgauge.worlds.indoor.homes import LABELS


@dataclass(frozen=True)
class ParsedQuestion:
    """What an agent should look for. `form`: Its form; None if it has no known one."""

    form: QuestionForm | None
    slots: Slots
    names: frozenset[str]
    room: str | None
    rooms: Mapping[str, float]


def parse_question(question: str) -> ParsedQuestion:
    """Parse a question; one of no known form gives the names and rooms that it mentions."""
    read = read_question(question)
    if read is None:
        plain = f" {normalised(question)} "
        names = frozenset(name for name in NAMES if re.search(rf"\b{re.escape(name)}s?\b", plain))
        rooms = [room for room in ROOMS if re.search(rf"\b{re.escape(room)}s?\b", plain)]
        return ParsedQuestion(
            None, {}, names, rooms[0] if rooms else None, _believed(names, rooms[0] if rooms else None)
        )
    form, slots = read
    names = names_meant(form, slots)
    said = slots.get("room") or next((thing_of(slots, name).room for name in form.about), None)
    return ParsedQuestion(form, slots, names, said, _believed(names, said))


def room_evidence(room: str) -> FloatArray:
    """Return (27,), how strongly the sight of each of LABELS indicates a room of that kind, in [0, 1]."""
    held = {kind: (2.0 if kind in TWICE else 1.0) * _shares(kind) for kind in ROOMS}
    indicates: FloatArray = held[room] / np.maximum(sum(held.values()), 1e-9)
    return indicates


def _shares(room: str) -> FloatArray:
    """Return (27,), how often a room of a kind holds one of each of LABELS."""
    held = categories_of(room)
    return np.array([held.get(label, 0.0) for label in LABELS])


def _believed(names: Sequence[str] | frozenset[str], room: str | None) -> dict[str, float]:
    if room is not None:
        return {room: 1.0}
    belief = dict.fromkeys(ROOMS, 0.0)
    for name in names:
        for kind, share in rooms_of(name).items():
            belief[kind] = belief.get(kind, 0.0) + share
    total = sum(belief.values())
    return {kind: (share / total if total else 1 / len(belief)) for kind, share in belief.items()}


class SeenThings:
    """What was seen in one episode, and the answer that follows from it."""

    def __init__(self, question: str) -> None:
        self.asked: ParsedQuestion = parse_question(question)
        self.things: dict[int, Any] = {}

    def look(self, observation: HomeObservation) -> None:
        """Add the things that cover SEEN_SHARE of one of the four real views."""
        enough = SEEN_SHARE * observation.camera.width * observation.camera.height
        for side in SIDES:
            numbers, counts = np.unique(observation.instances(side), return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                if number in observation.things and count >= enough:
                    self.things[number] = observation.things[number]

    def answer(self) -> Decision | None:
        """Return the decision that answers the question; None while what was seen does not justify an answer."""
        asked = self.asked
        found = None if asked.form is None else asked.form.answer(asked.slots, list(self.things.values()))
        if found is None:
            return None
        return Decision(None, answer=found.text, confidence=1.0, stop=True, notes={"seen": list(found.evidence)})
