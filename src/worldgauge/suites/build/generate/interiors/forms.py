"""What is asked about rooms: the contract of a form of question, and what forms share.

A form stages a room in which its question may be asked, then looks at the finished room only: what it says is what the
floor plan holds, not what staging meant to put there. The forms are in `commonsense_ways`, `commonsense_use` and
`commonsense_places`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from worldgauge.suites.build.generate.interiors.interiors import Piece, Room
from worldgauge.suites.build.generate.interiors.pieces import DESIGNS
from worldgauge.suites.build.generate.interiors.plan import Plan

YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Asked:
    """A question about one room. value: which of its form's answers it has. answer: in words, with reason, at most 70
    words. facts: what the answer must hold, by what it is of: tendency, thing, other, place, direction, action."""

    question: str
    value: str
    answer: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Form:
    """One way to ask. sense: of commonsense, as the paper sorts it. values: answers, in turn equally often.

    stage: draws a room for an answer, None where it comes to nothing. ask: the question, None where the room leaves
    the answer in doubt.
    """

    name: str
    sense: str
    values: tuple[str, ...]
    stage: Callable[[np.random.Generator, str], Plan | None]
    ask: Callable[[Room, np.random.Generator], Asked | None]


def misplaced(room: Room) -> list[Piece]:
    """Pieces that do not belong in the room."""
    return [piece for piece in room.pieces if room.kind not in DESIGNS[piece.name].rooms]


def belongs_in(name: str) -> str:
    """The kind of room a piece belongs in, the first by the alphabet."""
    return min(DESIGNS[name].rooms)
