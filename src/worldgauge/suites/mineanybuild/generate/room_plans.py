"""Plans of rooms: furnishing piece by piece, and the forms of question that are asked of a room.

A form stages a room in which its question may be asked, then looks at the finished room only: what it says is what the
floor plan holds, not what staging meant to put there. The forms are in `yes_no_questions` and `commonsense`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from worldgauge.core.errors import UnknownNameError
from worldgauge.suites.mineanybuild.generate.rooms import (
    COMPASS,
    DESIGNS,
    KINDS,
    SIDES,
    Cell,
    FurnishedRoom,
    Furniture,
    Style,
    WallOpening,
    turned,
)

_TILED = frozenset({"kitchen", "bathroom"})
_TILES, _BOARDS = ("stone_bricks", "polished_andesite"), ("mangrove_planks", "cyan_terracotta", "gray_terracotta")
"""Floors, of other colours than the wood of the furniture."""
_SIDES, _BATH_SIDES = (7, 10), (6, 7)
"""Least and most blocks of floor along x and z."""
_TRIES = 40
_T = TypeVar("_T")


@dataclass
class RoomPlan:
    """A room that is being furnished; sides in blocks of floor. kept: cells that must stay free."""

    kind: str
    width: int
    depth: int
    style: Style
    door: WallOpening
    window: WallOpening
    pieces: list[Furniture] = field(default_factory=list)
    kept: set[Cell] = field(default_factory=set)

    @classmethod
    def empty(
        cls,
        kind: str,
        rng: np.random.Generator,
        *,
        door: str | None = None,
        window: str | None = None,
        sides: tuple[int, int] | None = None,
    ) -> RoomPlan:
        """Make an empty room with one door and one window, in different walls."""
        if kind not in KINDS:
            raise UnknownNameError("kind of room", kind, KINDS)
        least, most = sides or (_BATH_SIDES if kind == "bathroom" else _SIDES)
        width, depth = (int(n) for n in rng.integers(least, most + 1, 2))
        door = door or drawn(rng, SIDES)
        window = window or turned(door, int(rng.integers(1, 4)))
        style = Style(
            wood=drawn(rng, ("oak", "spruce", "birch", "jungle", "acacia", "dark_oak")),
            dye=drawn(rng, ("red", "blue", "green", "yellow", "purple", "cyan")),
            sofa=drawn(rng, ("red_nether_brick", "dark_prismarine", "purpur", "warped", "crimson")),
            wall=drawn(rng, ("white_terracotta", "light_gray_concrete", "sandstone", "white_concrete")),
            floor=drawn(rng, _TILES if kind in _TILED else _BOARDS),
        )
        door_at = _opening(door, 1, width, depth, rng)
        plan = cls(kind, width, depth, style, door_at, _opening(window, 2, width, depth, rng))
        plan.kept.update(plan.entrance)
        return plan

    @property
    def entrance(self) -> tuple[Cell, ...]:
        """The two cells behind the door."""
        (x, z), outside = self.door.inside[0], self.door.cells[0]
        return (x, z), (2 * x - outside[0], 2 * z - outside[1])

    def put(self, name: str, corner: Cell, front: str, *, width: int | None = None, force: bool = False) -> bool:
        """Put a piece down, see `Furniture`. Cells in front of a piece that needs them stay free."""
        if name not in DESIGNS:
            raise UnknownNameError("piece of furniture", name, DESIGNS)
        piece = Furniture(name, corner, front, width)
        room = self.room()
        front_cells = piece.before if DESIGNS[name].used and not force else ()
        taken = {cell for other in self.pieces for cell in other.cells}
        if not all(map(room.within, (*piece.cells, *front_cells))) or taken & {*piece.cells, *front_cells}:
            return False
        if not force and self.kept & set(piece.cells) and not DESIGNS[name].flat:
            return False
        self.pieces.append(piece)
        self.kept.update(front_cells)
        return True

    def by_wall(self, name: str, wall: str, offset: int, *, width: int | None = None, force: bool = False) -> bool:
        """Put a piece with its back to a wall."""
        front = turned(wall, 2)
        wide = DESIGNS[name].size(width)[0]
        first = offset if front in ("south", "west") else offset + wide - 1
        cells = self.room().along(wall)
        return 0 <= offset <= len(cells) - wide and self.put(name, cells[first], front, width=width, force=force)

    def somewhere(self, name: str, rng: np.random.Generator, *, walls: Sequence[str] = SIDES) -> bool:
        """Put a piece by a wall, tall ones not before the window or next to the door; all pieces stay reachable."""
        wide, _, high = DESIGNS[name].size()
        room = self.room()
        reached = set(filter(room.is_reached, room.pieces))
        for _ in range(_TRIES):
            wall = drawn(rng, walls)
            offset = int(rng.integers(0, max(1, room.long(wall) - wide + 1)))
            pieces, kept = list(self.pieces), set(self.kept)
            if not self.by_wall(name, wall, offset):
                continue
            after = self.room()
            hides = high > 1 and set(after.pieces[-1].cells) & {*self.window.inside, *self.door.beside}
            if not hides and set(filter(after.is_reached, after.pieces)) >= {*reached, after.pieces[-1]}:
                return True
            self.pieces, self.kept = pieces, kept
        return False

    def furnish(
        self, names: Iterable[str], rng: np.random.Generator, *, walls: Sequence[str] = SIDES, most: int = 99
    ) -> None:
        """Put pieces by walls in the given order, skipping those that are there already."""
        for name in names:
            if len(self.pieces) < most and all(piece.name != name for piece in self.pieces):
                self.somewhere(name, rng, walls=walls)

    def lay_rug(self, rng: np.random.Generator) -> None:
        """Lay a rug on free floor in rooms that have one, if there is room."""
        if self.kind in DESIGNS["rug"].rooms:
            for _ in range(_TRIES):
                corner = int(rng.integers(2, self.width)), int(rng.integers(2, self.depth))
                if self.put("rug", corner, drawn(rng, SIDES)):
                    return

    def room(self) -> FurnishedRoom:
        """Return the room as it is now."""
        return FurnishedRoom(self.kind, self.width, self.depth, self.style, self.door, self.window, tuple(self.pieces))


def drawn(rng: np.random.Generator, among: Sequence[_T]) -> _T:
    """Draw one of several uniformly."""
    return among[int(rng.integers(len(among)))]


def _opening(wall: str, wide: int, width: int, depth: int, rng: np.random.Generator) -> WallOpening:
    long = width if wall in ("north", "south") else depth
    first = int(rng.integers(2, long - wide + 1))
    places = range(first, first + wide)
    cells, inside = {
        "north": ([(n, 0) for n in places], [(n, 1) for n in places]),
        "south": ([(n, depth + 1) for n in places], [(n, depth) for n in places]),
        "west": ([(0, n) for n in places], [(1, n) for n in places]),
        "east": ([(width + 1, n) for n in places], [(width, n) for n in places]),
    }[wall]
    return WallOpening(wall, tuple(cells), tuple(inside))


YES_NO = ("yes", "no")
_TEXTS: dict[str, dict[str, Any]] = json.loads((files(__package__) / "room_questions.json").read_text("utf-8"))
"""Wordings and answers of each form, with their facts; names in braces are filled in."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question about one room; the answer has a reason and at most 70 words, `facts` are its content by kind."""

    question: str
    value: str
    answer: str
    facts: Mapping[str, str] = field(default_factory=dict)


def wording(rng: np.random.Generator, form: str, **words: Any) -> str:
    """Return a form's question in one of its wordings."""
    asks: list[str] = _TEXTS[form]["asks"]
    return (drawn(rng, asks) if len(asks) > 1 else asks[0]).format(**words)


def answered(question: str, form: str, answer: str, value: str = "", **words: Any) -> AskedQuestion:
    """Return a question with one of its form's answers; value: the answer's key by default."""
    texts = _TEXTS[form]["answers"][answer]
    facts = {kind: fact.format(**words) for kind, fact in texts["facts"].items()}
    return AskedQuestion(question, value or answer, texts["text"].format(**words), facts)


@dataclass(frozen=True)
class Form:
    """One form of question.

    Attributes:
        values: Its answers; each is right equally often.
        stage: Generates a room for an answer; None if that fails.
        ask: Makes the question; None if the room leaves the answer in doubt.
    """

    name: str
    sense: str
    values: tuple[str, ...]
    stage: Callable[[np.random.Generator, str], RoomPlan | None]
    ask: Callable[[FurnishedRoom, np.random.Generator], AskedQuestion | None]


def misplaced(room: FurnishedRoom) -> list[Furniture]:
    """Return the pieces that do not belong in the room."""
    return [piece for piece in room.pieces if room.kind not in DESIGNS[piece.name].rooms]


def belongs_in(name: str) -> str:
    """Return the kind of room a piece belongs in, alphabetically first."""
    return min(DESIGNS[name].rooms)


STRAIGHT_ON = "straight on"


def place_words(room: FurnishedRoom, piece: Furniture) -> str:
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


def from_door(room: FurnishedRoom, at: tuple[float, float]) -> tuple[float, float]:
    """Return how far ahead and to the right a point is, seen by somebody who enters by the door."""
    (x, z), ahead = room.door.inside[0], COMPASS[room.door.inward]
    right = COMPASS[turned(room.door.inward, 1)]
    dx, dz = at[0] - (x + 0.5 - ahead[0] / 2), at[1] - (z + 0.5 - ahead[1] / 2)
    return dx * ahead[0] + dz * ahead[1], dx * right[0] + dz * right[1]


def free_run(room: FurnishedRoom, wall: str) -> tuple[Cell, ...]:
    """Return the longest run of floor cells along a wall without a piece, and clear of door and window."""
    best: list[Cell] = []
    run: list[Cell] = []
    shut = {*room.taken, *room.door.inside, *room.window.inside}
    for cell in room.along(wall):
        run = [] if cell in shut else [*run, cell]
        best = run if len(run) > len(best) else best
    return tuple(best)


def roomiest(room: FurnishedRoom, but: str = "") -> str:
    """Return the wall with the longest free run, other than `but`; the first by compass of equals."""
    return max((wall for wall in SIDES if wall != but), key=lambda wall: len(free_run(room, wall)))
