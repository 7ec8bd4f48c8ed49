"""What is asked about rooms: the contract of a form of question, and what forms share.

A form stages a room in which its question may be asked, then looks at the finished room only: what it says is what the
floor plan holds, not what staging meant to put there. The forms are in `yes_no_questions` and
`choice_questions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from worldgauge.suites.build.generate.interiors.furnishing import RoomPlan
from worldgauge.suites.build.generate.interiors.furniture import COMPASS, DESIGNS, SIDES, turned
from worldgauge.suites.build.generate.interiors.rooms import Cell, Piece, Room

YES_NO = ("yes", "no")


@dataclass(frozen=True)
class AskedQuestion:
    """A question about one room.

    Attributes:
        question: The question.
        value: Which of its form's answers it has.
        answer: In words, with reason, at most 70 words.
        facts: What the answer must hold, by kind of fact: tendency, thing, other, place, direction, action.
    """

    question: str
    value: str
    answer: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Form:
    """One form of question.

    Attributes:
        name: Its name.
        sense: Kind of commonsense, as in the paper.
        values: Its answers; each is right equally often.
        stage: Draws a room for an answer; None if that fails.
        ask: Makes the question; None if the room leaves the answer in doubt.
    """

    name: str
    sense: str
    values: tuple[str, ...]
    stage: Callable[[np.random.Generator, str], RoomPlan | None]
    ask: Callable[[Room, np.random.Generator], AskedQuestion | None]


def misplaced(room: Room) -> list[Piece]:
    """Return the pieces that do not belong in the room."""
    return [piece for piece in room.pieces if room.kind not in DESIGNS[piece.name].rooms]


def belongs_in(name: str) -> str:
    """Return the kind of room a piece belongs in, alphabetically first."""
    return min(DESIGNS[name].rooms)


STRAIGHT_ON = "straight on"


def place_words(room: Room, piece: Piece) -> str:
    """Describe where a piece stands: "in the north-west corner", "at the east wall", "away from the walls"."""
    walls = [wall for wall in ("north", "south", "west", "east") if set(room.along(wall)) & set(piece.cells)]
    upright = [wall for wall in walls if wall in ("north", "south")]
    across = [wall for wall in walls if wall in ("west", "east")]
    if len(upright) == 1 and len(across) == 1:
        return f"in the {upright[0]}-{across[0]} corner"
    return f"at the {walls[0]} wall" if walls else "away from the walls"


def gap(a: Sequence[Cell], b: Sequence[Cell]) -> int:
    """Return the blocks of floor between two sets of cells, the larger of both axes; 0 if they touch."""
    return min(max(abs(x - u), abs(z - v)) for x, z in a for u, v in b) - 1


def from_door(room: Room, at: tuple[float, float]) -> tuple[float, float]:
    """Return how far ahead and to the right a point is, seen by somebody who enters by the door.

    Args:
        room: The room.
        at: x and z, blocks.

    Returns:
        Blocks ahead, blocks to the right.
    """
    (x, z), ahead = room.door.inside[0], COMPASS[room.door.inward]
    right = COMPASS[turned(room.door.inward, 1)]
    dx, dz = at[0] - (x + 0.5 - ahead[0] / 2), at[1] - (z + 0.5 - ahead[1] / 2)
    return dx * ahead[0] + dz * ahead[1], dx * right[0] + dz * right[1]


def free_run(room: Room, wall: str) -> tuple[Cell, ...]:
    """Return the longest run of floor cells along a wall without a piece, and clear of door and window."""
    best: list[Cell] = []
    run: list[Cell] = []
    shut = {*room.taken, *room.door.inside, *room.window.inside}
    for cell in room.along(wall):
        run = [] if cell in shut else [*run, cell]
        best = run if len(run) > len(best) else best
    return tuple(best)


def roomiest(room: Room, but: str = "") -> str:
    """Return the wall with the longest free run, other than `but`; the first by compass of equals."""
    return max((wall for wall in SIDES if wall != but), key=lambda wall: len(free_run(room, wall)))
