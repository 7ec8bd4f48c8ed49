"""The plan of a home: rooms on both sides of a corridor, doorways, windows, and the boxes of the shell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import NamedTuple, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.indoor.boxes import CEILING, Paint, Point, floor_paint, wall_paint
from worldgauge.worlds.indoor.furniture import Furnishing, FurniturePart, HouseholdItem

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

_T = TypeVar("_T", float, FloatArray)


class Opening(NamedTuple):
    """A gap in a wall of a room, from the floor up to `top` metres, and from `start` to `stop` along the wall."""

    side: int
    start: float
    stop: float
    top: float
    leaf: bool  # a door hangs in this room
    shut: bool = False  # the door is closed (in both rooms' openings)


class Window(NamedTuple):
    """A window from `start` to `stop` metres along an outer side of a room."""

    side: int
    start: float
    stop: float


@dataclass(frozen=True)
class PlanRoom:
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

    def along(self, side: int, start: _T, stop: _T, near: _T, far: _T) -> tuple[_T, _T, _T, _T]:
        """Return the rectangle x0, y0, x1, y1 of a strip along a wall, `near` to `far` metres from it into the room."""
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


def plan_of(rng: np.random.Generator) -> tuple[PlanRoom, ...]:
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


def shell_of(rooms: tuple[PlanRoom, ...], rng: np.random.Generator) -> Iterator[ShellBox]:
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


def _pieces(room: PlanRoom, side: int, start: float, stop: float) -> Iterator[tuple[float, float, float]]:
    """Start, stop and lower edge of the pieces that a wall falls into."""
    for opening in sorted(o for o in room.openings if o.side == side):
        yield start, opening.start, 0.0
        yield opening.start, opening.stop, opening.top
        start = opening.stop
    yield start, stop, 0.0


def _opened(
    spots: list[tuple[str, tuple[float, float], tuple[float, float]]], rng: np.random.Generator
) -> list[PlanRoom]:
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
        rooms.append(PlanRoom(kind, low, high, tuple(openings[n]), windows, outer))
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


def _transposed(room: PlanRoom) -> PlanRoom:
    """The room with x and y exchanged."""
    other = {WEST: SOUTH, SOUTH: WEST, EAST: NORTH, NORTH: EAST}
    return PlanRoom(
        room.kind,
        (room.low[1], room.low[0]),
        (room.high[1], room.high[0]),
        tuple(o._replace(side=other[o.side]) for o in room.openings),
        tuple(w._replace(side=other[w.side]) for w in room.windows),
        tuple(sorted(other[side] for side in room.outer)),
    )


# Sets furniture into rooms: nothing intersects, doors and windows stay clear, and every doorway stays reachable.

CELL_M = 0.05
WALKER_M = (0.02, 0.6)
"""A walker's feet pass what is lower, its head what is higher."""

_KEEP_CELLS = 6
"""Half the width that stays free on the ways between doorways, in cells."""

_OPPOSITE = {WEST: EAST, EAST: WEST, SOUTH: NORTH, NORTH: SOUTH}


@dataclass(frozen=True)
class Spot:
    """Where a piece stands: its back to `side` of a room, `start` metres along that side, `off` into the room, at z."""

    room: int
    side: int
    start: float
    off: float = 0.0
    z: float = 0.0


@dataclass(frozen=True)
class Placed:
    """A piece at its spot. `bounds`: (n, 6) bounds of its parts in the world frame, metres."""

    piece: Furnishing
    spot: Spot
    bounds: FloatArray

    def parts(self) -> Iterator[tuple[FloatArray, FurniturePart, HouseholdItem]]:
        """Every part with its place and the object it belongs to."""
        for bounds, part in zip(self.bounds, self.piece.parts, strict=True):
            yield bounds, part, self.piece.things[part.of]


class Floors:
    """The free floor of a home while it is furnished.
    `occupied`: (X, Y) bool, cells of CELL_M from `origin` that hold something at a height within WALKER_M."""

    def __init__(self, bounds: FloatArray) -> None:
        self.origin = bounds[:, :2].min(0)
        self._origin: list[float] = self.origin.tolist()
        size = np.ceil((bounds[:, 3:5].max(0) - self.origin) / CELL_M - 1e-6).astype(int)
        self.occupied = np.zeros(tuple(size), np.bool_)
        self.add(bounds)

    def add(self, bounds: FloatArray) -> None:
        """Mark boxes (n, 6)."""
        for x0, y0, z0, x1, y1, z1 in bounds.tolist():
            if z1 > WALKER_M[0] and z0 < WALKER_M[1]:
                self.occupied[self.cells(x0, y0, x1, y1)] = True

    def cells(self, x0: float, y0: float, x1: float, y1: float) -> tuple[slice, slice]:
        """Return the cells that a rectangle touches, metres."""
        x, y = self._origin
        return (
            slice(max(floor((x0 - x) / CELL_M + 1e-6), 0), max(ceil((x1 - x) / CELL_M - 1e-6), 0)),
            slice(max(floor((y0 - y) / CELL_M + 1e-6), 0), max(ceil((y1 - y) / CELL_M - 1e-6), 0)),
        )

    def joined(self, room: PlanRoom, wanted: Sequence[tuple[float, float, float, float]]) -> bool:
        """Tell whether one walkable area of a room reaches all rectangles x0, y0, x1, y1 of `wanted`, metres."""
        import cv2

        window = self.cells(room.low[0] - 0.5, room.low[1] - 0.5, room.high[0] + 0.5, room.high[1] + 0.5)
        # Whole cells and a whole radius: the same answer on every machine.
        reach = np.arange(-_KEEP_CELLS, _KEEP_CELLS + 1) ** 2
        disc = (reach[:, None] + reach <= _KEEP_CELLS**2).astype(np.uint8)
        blocked = cv2.dilate(self.occupied[window].astype(np.uint8), disc, borderType=cv2.BORDER_REPLICATE)
        _, found = cv2.connectedComponents((blocked == 0).astype(np.uint8), connectivity=4)
        label = np.asarray(found, np.int32)
        rows, columns = self.cells(*room.low, *room.high)
        inside = _cut(label, rows, columns, window)
        largest = int(np.bincount(inside[inside > 0], minlength=1).argmax()) if (inside > 0).any() else 0
        # No corner of the room is cut off, and what is wanted is not in one.
        if largest == 0 or (inside == largest).sum() < 0.94 * (inside > 0).sum():
            return False
        return all((_cut(label, *self.cells(*rectangle), window) == largest).any() for rectangle in wanted)


def _cut(label: NDArray[np.int32], rows: slice, columns: slice, window: tuple[slice, slice]) -> NDArray[np.int32]:
    """The part of `label`, which covers `window` of the grid, in given rows and columns of the grid."""
    first, second = window[0].start, window[1].start
    return label[
        max(rows.start - first, 0) : max(rows.stop - first, 0),
        max(columns.start - second, 0) : max(columns.stop - second, 0),
    ]


class Furnisher:
    """Rooms while furniture is set into them."""

    def __init__(self, rooms: tuple[PlanRoom, ...], shell: FloatArray, rng: np.random.Generator) -> None:
        self.rooms, self.rng = rooms, rng
        self.floors = Floors(shell)
        self.placed: list[Placed] = []
        self._solid = shell[shell[:, 5] > 0]
        self._clear = np.array([zone for room in rooms for zone in _zones(room)]).reshape(-1, 6)
        self._reached: list[list[tuple[float, float, float, float]]] = [_doorways(room) for room in rooms]

    def fix(self, piece: Furnishing, spot: Spot) -> Placed:
        """Put a piece at a given spot, whatever stands there (doors, windows)."""
        bounds = _bounds(piece, self.rooms[spot.room], spot)
        return self._keep(piece, spot, bounds, None)

    def wall(
        self, piece: Furnishing, room: int, sides: Iterable[int] = range(4), near: float | None = None
    ) -> Placed | None:
        """Put a piece against a wall, its middle close to `near` (metres along the wall); None without room."""
        spots = []
        for side in sides:
            start, stop = self.rooms[room].span(side)
            last = stop - piece.size[0] - 0.01
            if last < start + 0.01:
                continue
            places = [start + 0.01, last, *self.rng.uniform(start + 0.01, last, 12).tolist()]
            if near is not None:
                places.append(float(np.clip(near - piece.size[0] / 2, start + 0.01, last)))
            spots += [Spot(room, side, round(place, 3)) for place in places]
        order = self.rng.permutation(len(spots))
        chosen = [spots[n] for n in order]
        if near is not None:
            chosen.sort(key=lambda spot: abs(spot.start + piece.size[0] / 2 - near))
        return self._first(piece, chosen)

    def facing(self, piece: Furnishing, other: Placed) -> Placed | None:
        """Put a piece against the wall opposite another piece, as straight across as possible; None without room."""
        middle = other.spot.start + other.piece.size[0] / 2
        return self.wall(piece, other.spot.room, [_OPPOSITE[other.spot.side]], middle)

    def beside(self, piece: Furnishing, other: Placed) -> Placed | None:
        """Put a piece against the same wall as another, to its right or left; None without room."""
        spot = other.spot
        starts = [spot.start - piece.size[0] - 0.03, spot.start + other.piece.size[0] + 0.03]
        if self.rng.random() < 0.5:
            starts.reverse()
        return self._first(piece, [Spot(spot.room, spot.side, round(start, 3)) for start in starts])

    def before(self, piece: Furnishing, other: Placed, gap: float) -> Placed | None:
        """Put a piece in front of another, centred, `gap` metres apart; None without room."""
        spot, size = other.spot, other.piece.size
        start = spot.start + (size[0] - piece.size[0]) / 2
        return self._first(piece, [Spot(spot.room, spot.side, round(start, 3), round(spot.off + size[1] + gap, 3))])

    def free(self, piece: Furnishing, room: int) -> Placed | None:
        """Put a piece somewhere on the floor, away from the walls if possible; None without room."""
        spots = []
        for side in (SOUTH, WEST):
            start, stop = self.rooms[room].span(side)
            depth = np.subtract(*self.rooms[room].span(_across(side))[::-1])
            if stop - start < piece.size[0] + 0.8 or depth < piece.size[1] + 0.8:
                continue
            along = self.rng.uniform(start + 0.4, stop - piece.size[0] - 0.4, 20)
            off = self.rng.uniform(0.4, depth - piece.size[1] - 0.4, 20)
            spots += [Spot(room, side, round(float(a), 3), round(float(b), 3)) for a, b in zip(along, off, strict=True)]
        return self._first(piece, [spots[n] for n in self.rng.permutation(len(spots))])

    def hang(self, piece: Furnishing, room: int, z: float) -> Placed | None:
        """Hang a piece on a wall with its lower edge at `z` metres; None without room."""
        spots = []
        for side in range(4):
            start, stop = self.rooms[room].span(side)
            if stop - start > piece.size[0] + 0.3:
                starts = self.rng.uniform(start + 0.15, stop - piece.size[0] - 0.15, 10)
                spots += [Spot(room, side, round(float(place), 3), 0.0, z) for place in starts]
        return self._first(piece, [spots[n] for n in self.rng.permutation(len(spots))])

    def mark(self) -> tuple[int, int, int, list[int], NDArray[np.bool_]]:
        """All that `back` needs to undo what is placed from now on."""
        reached = [len(zones) for zones in self._reached]
        return len(self.placed), len(self._solid), len(self._clear), reached, self.floors.occupied.copy()

    def back(self, mark: tuple[int, int, int, list[int], NDArray[np.bool_]]) -> None:
        """Take away what was placed since `mark`."""
        placed, solid, clear, reached, occupied = mark
        del self.placed[placed:]
        self._solid, self._clear = self._solid[:solid], self._clear[:clear]
        for zones, n in zip(self._reached, reached, strict=True):
            del zones[n:]
        self.floors.occupied = occupied.copy()

    def _first(self, piece: Furnishing, spots: Iterable[Spot]) -> Placed | None:
        solids: dict[int, FloatArray] = {}
        for spot in spots:
            room = self.rooms[spot.room]
            if spot.room not in solids:
                inside = (self._solid[:, :2] < np.array(room.high)) & (np.array(room.low) < self._solid[:, 3:5])
                solids[spot.room] = self._solid[inside.all(1)]
            solid = solids[spot.room]
            bounds = _bounds(piece, room, spot)
            x0, y0 = bounds[:, :2].min(0).tolist()
            x1, y1 = bounds[:, 3:5].max(0).tolist()
            if x0 < room.low[0] - 1e-9 or y0 < room.low[1] - 1e-9:
                continue
            if x1 > room.high[0] + 1e-9 or y1 > room.high[1] + 1e-9:
                continue
            access = _access(piece, room, spot)
            if meets(bounds, self._clear) or meets(bounds, solid):
                continue
            if access is not None and meets(access[None], solid):
                continue
            if access is None and not ((bounds[:, 5] > WALKER_M[0]) & (bounds[:, 2] < WALKER_M[1])).any():
                return self._keep(piece, spot, bounds, None)
            before = self.floors.occupied.copy()
            self.floors.add(bounds)
            wanted = [*self._reached[spot.room]]
            if access is not None:
                wanted.append((access[0], access[1], access[3], access[4]))
            if self.floors.joined(room, wanted):
                return self._keep(piece, spot, bounds, access)
            self.floors.occupied = before
        return None

    def _keep(self, piece: Furnishing, spot: Spot, bounds: FloatArray, access: FloatArray | None) -> Placed:
        self.floors.add(bounds)
        self._solid = np.concatenate([self._solid, bounds])
        if access is not None:
            self._clear = np.concatenate([self._clear, access[None]])
            self._reached[spot.room].append((access[0], access[1], access[3], access[4]))
        placed = Placed(piece, spot, bounds)
        self.placed.append(placed)
        return placed


def _across(side: int) -> int:
    return SOUTH if side in (WEST, EAST) else WEST


def _bounds(piece: Furnishing, room: PlanRoom, spot: Spot) -> FloatArray:
    """World boxes (n, 6) of a piece's parts."""
    low, high = piece.corners
    start, stop = spot.start + low[:, 0], spot.start + high[:, 0]
    near, far = spot.off + low[:, 1], spot.off + high[:, 1]
    bounds = np.empty((len(low), 6))
    bounds[:, 0], bounds[:, 1], bounds[:, 3], bounds[:, 4] = room.along(spot.side, start, stop, near, far)
    bounds[:, 2], bounds[:, 5] = low[:, 2] + spot.z, high[:, 2] + spot.z
    return bounds


def _access(piece: Furnishing, room: PlanRoom, spot: Spot) -> FloatArray | None:
    """The floor before a piece that must stay clear, (6,)."""
    if piece.access_m <= 0:
        return None
    near = spot.off + piece.size[1] + 0.005
    x0, y0, x1, y1 = room.along(
        spot.side, spot.start + 0.02, spot.start + piece.size[0] - 0.02, near, near + piece.access_m
    )
    return np.array([x0, y0, 0.02, x1, y1, 1.2])


def _zones(room: PlanRoom) -> Iterator[tuple[float, float, float, float, float, float]]:
    """Volumes that furniture keeps out of: before doorways and windows."""
    for opening in room.openings:
        x0, y0, x1, y1 = room.along(opening.side, opening.start - 0.02, opening.stop + 0.02, 0.0, 0.8)
        yield x0, y0, 0.02, x1, y1, DOOR_TOP_M
    for window in room.windows:
        x0, y0, x1, y1 = room.along(window.side, window.start - 0.30, window.stop + 0.30, 0.0, 0.3)
        yield x0, y0, SILL_M, x1, y1, WINDOW_TOP_M


def _doorways(room: PlanRoom) -> list[tuple[float, float, float, float]]:
    return [room.along(o.side, o.start, o.stop, -0.05, 0.0) for o in room.openings if not o.shut]


@njit(cache=True, nogil=True)
def meets(some, others):  # type: ignore[no-untyped-def]
    """Tell whether any of `some` (n, 6) shares volume with any of `others` (m, 6); touching does not count."""
    for i in range(len(others)):
        for j in range(len(some)):
            apart = False
            for axis in range(3):
                if some[j, axis] >= others[i, axis + 3] - 1e-6 or others[i, axis] >= some[j, axis + 3] - 1e-6:
                    apart = True
                    break
            if not apart:
                return True
    return False
