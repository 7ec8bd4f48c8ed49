"""The plan of a home: rooms on both sides of a corridor, doorways, windows, and the boxes of the shell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from worldgauge.worlds.indoor.boxes import CEILING, Paint, Point, floor_paint, wall_paint

HEIGHT_M = 2.6
DOOR_M = 0.9
"""Width of a doorway."""
DOOR_TOP_M = 2.05
SILL_M, WINDOW_TOP_M = 0.9, 2.15
HALF_WALL_M = 0.06
"""Between two rooms stand two slabs of this, one in the paint of each."""
OUTER_M = 0.2
DEPTHS_M = ((3.7, 5.0), (1.5, 1.8), (3.4, 4.5))
"""Depth of the rooms in the south, the corridor and the rooms in the north."""
WIDTHS_M = {
    "living room": (4.6, 6.4),
    "kitchen": (3.1, 4.2),
    "bedroom": (3.1, 4.4),
    "bathroom": (2.6, 3.1),
    "study": (2.7, 3.6),
    "gym": (2.8, 3.6),
}
"""Widths of rooms along the corridor, where the strip across from them is not longer."""
SLAB_M = 0.15
_GABLE_M = 2.5
"""Of a gable wall that stays without window: twice a door and a curtain."""

WEST, SOUTH, EAST, NORTH = range(4)
"""Sides of a room: the walls at its least x, least y, greatest x, greatest y."""


class Opening(NamedTuple):
    """A gap in a wall of a room, from the floor up.

    Attributes:
        side: The wall.
        start: First place along it, metres.
        stop: Last place along it, metres.
        top: Height, metres.
        leaf: Has a door, hung in this room.
        shut: The door is closed (in both rooms' openings).
    """

    side: int
    start: float
    stop: float
    top: float
    leaf: bool
    shut: bool = False


class Window(NamedTuple):
    """A window from `start` to `stop` metres along an outer side of a room."""

    side: int
    start: float
    stop: float


@dataclass(frozen=True)
class Room:
    """A room between its walls: corners in metres, with what opens in its walls."""

    kind: str
    low: tuple[float, float]
    high: tuple[float, float]
    openings: tuple[Opening, ...]
    windows: tuple[Window, ...]
    outer: tuple[int, ...]

    def span(self, side: int) -> tuple[float, float]:
        """Where a side starts and stops along its own axis."""
        axis = 1 if side in (WEST, EAST) else 0
        return self.low[axis], self.high[axis]

    def along(self, side: int, start: float, stop: float, near: float, far: float) -> tuple[float, float, float, float]:
        """Return the rectangle of a strip along a wall.

        Args:
            side: The wall.
            start: First place along it, metres.
            stop: Last place along it, metres.
            near: Smallest distance from it into the room, metres.
            far: Largest distance, metres.

        Returns:
            x0, y0, x1, y1 in metres.
        """
        if side == WEST:
            return self.low[0] + near, start, self.low[0] + far, stop
        if side == EAST:
            return self.high[0] - far, start, self.high[0] - near, stop
        if side == SOUTH:
            return start, self.low[1] + near, stop, self.low[1] + far
        return start, self.high[1] - far, stop, self.high[1] - near


class ShellBox(NamedTuple):
    """A part of the building: corners, category word, paint."""

    low: Point
    high: Point
    category: str
    paint: Paint


def plan_of(rng: np.random.Generator) -> tuple[Room, ...]:
    """The rooms of a home: the corridor first, then those south of it, then those north of it."""
    size = int(rng.choice(3, p=(0.3, 0.4, 0.3)))
    south, north = ([(kind, _drawn(rng, WIDTHS_M[kind], size)) for kind in kinds] for kinds in _programme(rng, size))
    gap = 2 * HALF_WALL_M
    lengths = [sum(width for _, width in strip) + gap * (len(strip) - 1) for strip in (south, north)]
    total = round(max(lengths), 2)
    # To the centimetre, as a builder would, so that walls meet.
    depth_south, corridor, depth_north = (round(_drawn(rng, span, size), 2) for span in DEPTHS_M)
    south_of_corridor, north_of_corridor = depth_south + gap, depth_south + corridor + gap
    spots = [("corridor", (0.0, south_of_corridor), (total, north_of_corridor))]
    strips = (
        (south, lengths[0], 0.0, depth_south),
        (north, lengths[1], north_of_corridor + gap, north_of_corridor + gap + depth_north),
    )
    for strip, length, y0, y1 in strips:
        x = 0.0
        # The longer strip fixes the length of the home; the rooms of the other grow to fill it.
        growth = (total - length) / len(strip)
        for n, (kind, width) in enumerate(strip):
            stop = total if n == len(strip) - 1 else round(x + width + growth, 2)
            spots.append((kind, (x, y0), (stop, y1)))
            x = stop + gap
    rooms = _opened(spots, rng)
    return tuple(_transposed(room) for room in rooms) if rng.random() < 0.5 else tuple(rooms)


def _drawn(rng: np.random.Generator, span: tuple[float, float], size: int) -> float:
    """A length from `span`; from its lower part for a small home (0), from its upper for a large one (2)."""
    low, high = ((0.0, 0.4), (0.0, 1.0), (0.4, 1.0))[size]
    return span[0] + (span[1] - span[0]) * float(rng.uniform(low, high))


def _programme(rng: np.random.Generator, size: int) -> tuple[list[str], list[str]]:
    """Kinds of the rooms south and north of the corridor, in order: of a small flat (0), a home, or a large one (2)."""
    south, north = ["living room", "kitchen"], ["bedroom", "bathroom"]
    extra = ["study", "gym"]
    rng.shuffle(extra)
    if size >= 1:
        north.append("bedroom")
        south += extra[: int(rng.integers(2))] if size == 1 else extra[:1]
    if size == 2:
        north += extra[1:] if rng.random() < 0.5 else ["bedroom"]
        if rng.random() < 0.6:
            south.append("bathroom")
    # Living room and kitchen stay neighbours: an arch joins them.
    if rng.random() < 0.5:
        south.reverse()
    rng.shuffle(north)
    return south, north


def shell_of(rooms: tuple[Room, ...], rng: np.random.Generator) -> Iterator[ShellBox]:
    """Yield floors, ceilings and walls."""
    for room in rooms:
        floor, wall = floor_paint(room.kind, rng), wall_paint(room.kind, rng)
        thick = [OUTER_M if side in room.outer else HALF_WALL_M for side in range(4)]
        x0, y0 = room.low[0] - thick[WEST], room.low[1] - thick[SOUTH]
        x1, y1 = room.high[0] + thick[EAST], room.high[1] + thick[NORTH]
        yield ShellBox((x0, y0, -SLAB_M), (x1, y1, 0.0), "floor", floor)
        yield ShellBox((x0, y0, HEIGHT_M), (x1, y1, HEIGHT_M + SLAB_M), "ceiling", CEILING)
        for side in range(4):
            start, stop = room.span(side)
            if side in (SOUTH, NORTH):
                start, stop = x0, x1
            for low, high, z0 in _pieces(room, side, start, stop):
                a, b, c, d = room.along(side, low, high, -thick[side], 0.0)
                yield ShellBox((a, b, z0), (c, d, HEIGHT_M), "wall", wall)


def _pieces(room: Room, side: int, start: float, stop: float) -> Iterator[tuple[float, float, float]]:
    """Start, stop and lower edge of the pieces that a wall falls into."""
    for opening in sorted(o for o in room.openings if o.side == side):
        yield start, opening.start, 0.0
        yield opening.start, opening.stop, opening.top
        start = opening.stop
    yield start, stop, 0.0


def _opened(spots: list[tuple[str, tuple[float, float], tuple[float, float]]], rng: np.random.Generator) -> list[Room]:
    """Rooms with doorways to the corridor, an arch between living room and kitchen, and windows."""
    total, top = max(high[0] for _, _, high in spots), max(high[1] for _, _, high in spots)
    openings: list[list[Opening]] = [[] for _ in spots]
    for n, (kind, low, high) in enumerate(spots[1:], 1):
        south = low[1] == 0.0
        at_left = bool(rng.random() < 0.5)
        # 14 cm from the corner: the leaf stands between the gap and the side wall.
        start = round(low[0] + 0.14, 3) if at_left else round(high[0] - 0.14 - DOOR_M, 3)
        # One can always come into the kitchen through the arch.
        shut = kind == "kitchen" and bool(rng.random() < 0.5)
        hole = start, start + DOOR_M, DOOR_TOP_M
        openings[n].append(Opening(NORTH if south else SOUTH, *hole, kind != "living room", shut))
        openings[0].append(Opening(SOUTH if south else NORTH, *hole, False, shut))
    living, kitchen = (
        next(n for n, spot in enumerate(spots) if spot[0] == kind) for kind in ("living room", "kitchen")
    )
    left, right = sorted((living, kitchen), key=lambda n: spots[n][1])
    width = float(rng.uniform(1.2, 1.6))
    low_y, high_y = spots[living][1][1] + 0.9, spots[living][2][1] - 1.0 - width
    start = round(float(rng.uniform(low_y, max(high_y, low_y + 0.01))), 3)
    openings[left].append(Opening(EAST, start, start + width, 2.2, False))
    openings[right].append(Opening(WEST, start, start + width, 2.2, False))
    rooms = []
    for n, (kind, low, high) in enumerate(spots):
        touching = (low[0] == 0.0, low[1] == 0.0, high[0] == total, high[1] == top)
        outer = tuple(side for side in range(4) if touching[side])
        windows = tuple(_windows(kind, low, high, outer, rng))
        rooms.append(Room(kind, low, high, tuple(openings[n]), windows, outer))
    return rooms


def _windows(
    kind: str, low: tuple[float, float], high: tuple[float, float], outer: tuple[int, ...], rng: np.random.Generator
) -> Iterator[Window]:
    if kind == "corridor":
        return
    for side in outer:
        axis = 1 if side in (WEST, EAST) else 0
        length = high[axis] - low[axis]
        width = 0.7 if kind == "bathroom" else float(rng.uniform(1.1, min(1.9, length - 1.6)))
        # One window in the long outer wall; gable walls sometimes have one more, but cupboards need a kitchen's.
        aside = float(rng.uniform(-0.15, 0.15))
        if axis == 1:
            if kind == "kitchen" or rng.random() > 0.3:
                continue
            # Its curtains hang clear of an open door.
            width, aside = min(width, length - _GABLE_M), 0.0
        middle = (low[axis] + high[axis]) / 2 + aside * (length - width)
        yield Window(side, round(middle - width / 2, 3), round(middle + width / 2, 3))


def _transposed(room: Room) -> Room:
    """The room with x and y exchanged."""
    other = {WEST: SOUTH, SOUTH: WEST, EAST: NORTH, NORTH: EAST}
    return Room(
        room.kind,
        (room.low[1], room.low[0]),
        (room.high[1], room.high[0]),
        tuple(o._replace(side=other[o.side]) for o in room.openings),
        tuple(w._replace(side=other[w.side]) for w in room.windows),
        tuple(sorted(other[side] for side in room.outer)),
    )
