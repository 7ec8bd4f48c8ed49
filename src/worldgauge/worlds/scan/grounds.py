"""Grounds of scans (`walking.ground.Ground`): a published navmesh, and the floors that are found in a mesh."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError, WorldError
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.worlds.scan.heightfield import CELL_M, CLIMB_M, HEAD_M, Heightfield
from worldgauge.worlds.scan.navmesh import NavMesh, way_length
from worldgauge.worlds.walking._geodesic import pop, push
from worldgauge.worlds.walking.geodesic import approach
from worldgauge.worlds.walking.ground import ReachablePlaces, in_disc
from worldgauge.worlds.walking.primitives import STEP_M, TURN_DEG, Primitive, Stance, Steps

_SHORT_M = 1e-5
"""A step that is shorter by this has met something, as in the published simulator."""
_PLACE_M = (0.05, 0.05, 0.2)
"""Stances that are nearer than this are taken to be at one place."""
_TRIES = 2000
_BEND_M = 0.02
_PROBE_M = 0.01
_ABOVE_M = 1.0
"""How far a walker's place may lie over or under the floor."""
_FIELDS = 16
_ROUNDING_M = 1e-4
_IN_CELL = np.array([(0.5, 0.5), (1e-4, 1e-4), (1e-4, 1 - 1e-4), (1 - 1e-4, 1e-4), (1 - 1e-4, 1 - 1e-4)])


class SurfaceGround(ABC):
    """A ground with storeys: a walker's height is that of the surface under it. `sliding`: they slide along walls."""

    kind: str

    def __init__(self, *, sliding: bool) -> None:
        self.sliding = sliding

    @abstractmethod
    def stands(self, at: ArrayLike) -> bool:
        """See `Ground.stands`."""

    @abstractmethod
    def path(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """See `Ground.path`."""

    @abstractmethod
    def random_point(self, rng: np.random.Generator) -> FloatArray:
        """See `Ground.random_point`."""

    @abstractmethod
    def found(self, at: ArrayLike) -> FloatArray | None:
        """The place (3,) to stand nearest to a point (3,); None where none is near."""

    @abstractmethod
    def moved(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Where (3,) a walker comes that wants to go straight from one point to another."""

    def nearest(self, at: ArrayLike) -> FloatArray:
        """See `Ground.nearest`."""
        found = self.found(at)
        if found is None:
            x, y, z = point_of(at)
            raise WorldError(f"no floor lies near ({x:.2f}, {y:.2f}, {z:.2f})")
        return found

    def step(self, stance: Stance, primitive: Primitive) -> tuple[Stance, bool]:
        """See `Ground.step`."""
        if primitive is Primitive.TURN_LEFT:
            return stance.turned(math.radians(TURN_DEG)), False
        if primitive is Primitive.TURN_RIGHT:
            return stance.turned(-math.radians(TURN_DEG)), False
        if primitive is Primitive.STOP:
            return stance, False
        here = np.array(stance.at)
        ahead = np.array([math.cos(stance.yaw), math.sin(stance.yaw), 0.0])
        there = self.moved(here, here + STEP_M * ahead)
        met = bool(np.linalg.norm(there - here) + _SHORT_M < STEP_M)
        return stance._replace(x=float(there[0]), y=float(there[1]), z=float(there[2])), met

    def distance(self, a: ArrayLike, b: ArrayLike) -> float:
        """See `Ground.distance`."""
        way = self.path(a, b)
        return math.inf if way is None else way_length(way)

    def steps_to(self, stance: Stance, goal: ArrayLike, radius_m: float) -> Steps | None:
        """See `Ground.steps_to`."""
        end = point_of(goal)
        return approach(
            stance,
            arrived=lambda here: math.dist(here.at, end) <= radius_m and self.distance(here.at, end) <= radius_m,
            left=lambda here: self._left(here, end, radius_m),
            moved=lambda here, primitive: self.step(here, primitive)[0],
            place=lambda here: tuple(round(one / side) for one, side in zip(here.at, _PLACE_M, strict=True)),
        )

    def steps_left(self, stance: Stance, goal: ArrayLike, radius_m: float) -> float:
        """See `Ground.steps_left`."""
        return 0.0 if self.distance(stance.at, goal) <= radius_m else self._left(stance, point_of(goal), radius_m)

    def places_near(
        self, stance: Stance, centre: ArrayLike, radius_m: float, n: int, rng: np.random.Generator
    ) -> ReachablePlaces:
        """See `Ground.places_near`."""
        middle = point_of(centre)
        points = in_disc(middle[:2], radius_m, rng)
        at, metres = [], []
        for x, y in points[rng.permutation(len(points))].tolist():
            place = self.found((x, y, middle[2]))
            if place is None or math.hypot(place[0] - x, place[1] - y) > 2 * CELL_M:
                continue
            if (away := self.distance(stance.at, place)) < math.inf:
                at.append(place)
                metres.append(away)
            if len(at) == n:
                break
        return ReachablePlaces(np.array(at).reshape(-1, 3), np.array(metres))

    def _left(self, stance: Stance, goal: FloatArray, radius_m: float) -> float:
        """About how many primitives are left: turns towards the way, and its length in steps."""
        way = self.path(stance.at, goal)
        if way is None:
            return math.inf
        ahead = next((one for one in way[1:] if np.hypot(*(one[:2] - stance[:2])) > _BEND_M), goal)
        off = float(wrap_angle(math.atan2(ahead[1] - stance.y, ahead[0] - stance.x) - stance.yaw))
        return max(way_length(way) - radius_m, 0.0) / STEP_M + abs(off) / math.radians(TURN_DEG)


class NavMeshGround(SurfaceGround):
    """A published navmesh. `is_indoor` judges a place (3,): the roof of a house is often its largest floor."""

    kind = "navmesh"

    def __init__(self, mesh: NavMesh, is_indoor: Callable[[FloatArray], bool], *, sliding: bool) -> None:
        super().__init__(sliding=sliding)
        self.mesh = mesh
        self._is_indoor = is_indoor

    def stands(self, at: ArrayLike) -> bool:
        """See `NavMesh.stands`."""
        return self.mesh.stands(at)

    def path(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """See `NavMesh.path`."""
        return self.mesh.path(a, b)

    def found(self, at: ArrayLike) -> FloatArray | None:
        """See `NavMesh.nearest`."""
        return self.mesh.nearest(at)

    def random_point(self, rng: np.random.Generator) -> FloatArray:
        """See `Ground.random_point`."""
        for _ in range(_TRIES):
            point = self.mesh.random_point(rng)
            if self._is_indoor(point):
                return point
        raise WorldError("no place of the navmesh is indoors; see: worldgauge world check")

    def moved(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """See `NavMesh.slide` and `NavMesh.straight`."""
        there = self.mesh.slide(a, b) if self.sliding else self.mesh.straight(a, b)
        return a if there is None else there


class HeightfieldGround(SurfaceGround):
    """The floors found in a mesh, all storeys. A walker has at least 10 cm of room around it.
    Paths differ from those of a published navmesh by a few centimetres, so results are not comparable with published
    ones."""

    kind = "heightfield"

    def __init__(self, field: Heightfield, *, sliding: bool) -> None:
        super().__init__(sliding=sliding)
        self.field = field
        self._height = field.height_m.astype(np.float64)
        columns = field.shape[0] * field.shape[1]
        self._begin = np.searchsorted(field.cell, np.arange(columns + 1)).astype(np.int64)
        link = np.empty((len(field.cell), 4), np.int32)
        climb, head = CLIMB_M + _ROUNDING_M, HEAD_M - _ROUNDING_M
        neighbours(self._begin, field.height_m, field.ceiling_m, field.shape, climb, head, link)
        kept = np.empty(len(link), np.bool_)
        roomy(link, kept)
        self._kept: NDArray[np.bool_] = kept & (field.island >= 0)
        self._near_walls = link.copy()
        cut(link, self._kept)
        self._link = link
        self._fields: OrderedDict[int, tuple[FloatArray, NDArray[np.int32]]] = OrderedDict()

    def stands(self, at: ArrayLike) -> bool:
        """See `Ground.stands`."""
        return self._place(point_of(at)) >= 0

    def path(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """See `Ground.path`; heights are those of the floor."""
        ends = point_of(a), point_of(b)
        first, last = self._place(ends[0]), self._place(ends[1])
        if first < 0 or last < 0:
            return None
        start, end = (self._cells(one) for one in ends)
        if follow(self._link, first, *start, *end) == last:
            rows, places = np.array([start, end]), np.array([first, last])
        else:
            far, towards = self._spread(last)
            if not np.isfinite(far[first]):
                return None
            bends = [first]
            while towards[bends[-1]] != bends[-1]:
                bends.append(int(towards[bends[-1]]))
            corners = np.stack(np.divmod(self.field.cell[bends], self.field.shape[1]), -1)[:, None] + _IN_CELL
            rows = np.concatenate([[start], corners.reshape(-1, 2), [end]])
            places = np.concatenate([[first], np.repeat(bends, len(_IN_CELL)), [last]])
            points = np.column_stack([rows, self._height[places] / CELL_M])
            kept = shortest(self._link, points, places)
            rows, places = rows[kept], places[kept]
        way = np.column_stack([rows * CELL_M + np.array(self.field.origin), self._height[places]])
        way[0, :2], way[-1, :2] = ends[0][:2], ends[1][:2]
        return way

    def found(self, at: ArrayLike) -> FloatArray | None:
        """See `SurfaceGround.found`; within 2 m beside, and 4 m over or under."""
        point = point_of(at)
        place = self._place(point)
        if place >= 0:
            return np.array([*point[:2], self._height[place]])
        cells = np.stack(np.divmod(self.field.cell, self.field.shape[1]), -1)
        middles = np.column_stack([(cells + 0.5) * CELL_M + np.array(self.field.origin), self._height])
        near = np.flatnonzero((np.abs(middles - point) <= (2.0, 2.0, 4.0)).all(1) & self._kept)
        if not len(near):
            return None
        chosen: FloatArray = middles[near[int(np.argmin(((middles[near] - point) ** 2).sum(1)))]]
        return chosen

    def random_point(self, rng: np.random.Generator) -> FloatArray:
        """See `Ground.random_point`."""
        places = np.flatnonzero(self._kept & self.field.indoor)
        if not len(places):
            raise WorldError("the scan has no indoor floor with room to stand; see: worldgauge world check")
        place = int(places[int(rng.integers(len(places)))])
        # Off the cell's border by a hair, so that rounding does not put it into the next.
        inside = np.array(divmod(int(self.field.cell[place]), self.field.shape[1])) + 1e-6 + (1 - 2e-6) * rng.random(2)
        return np.append(inside * CELL_M + np.array(self.field.origin), self._height[place])

    def moved(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Straight on until there is no room; sliding, then on along x or y, whichever leads farther."""
        link = self._link
        place = self._place(a)
        if place < 0:
            # Nearer to a wall than there is room: it may go wherever there is floor.
            link, place = self._near_walls, self._place(a, kept=False)
            if place < 0:
                return a
        there, place, left = self._walked(link, place, a[:2], b[:2])
        if self.sliding and left > _SHORT_M:
            ways = [self._walked(link, place, there, there + rest) for rest in np.diag(b[:2] - there)]
            there, place, _ = max(ways, key=lambda one: float(np.abs(one[0] - there).sum()))
        return np.append(there, self._height[place])

    def _walked(
        self, link: NDArray[np.int32], place: int, a: FloatArray, b: FloatArray
    ) -> tuple[FloatArray, int, float]:
        """Where (2,) a straight line is interrupted, the place there, and how much of it is left in metres."""
        length = float(np.linalg.norm(b - a))
        count = max(1, round(length / _PROBE_M))
        here, before = a, self._cells(a)
        for n in range(1, count + 1):
            there = a + (b - a) * (n / count)
            cells = self._cells(there)
            nearer = int(follow(link, place, *before, *cells))
            if nearer < 0:
                return here, place, length * (1 - (n - 1) / count)
            here, before, place = there, cells, nearer
        return here, place, 0.0

    def _spread(self, goal: int) -> tuple[FloatArray, NDArray[np.int32]]:
        if goal not in self._fields:
            heights = self._height / CELL_M
            self._fields[goal] = spread(self._link, self.field.cell, heights, self.field.shape[1], goal)
            if len(self._fields) > _FIELDS:
                self._fields.popitem(last=False)
        self._fields.move_to_end(goal)
        return self._fields[goal]

    def _cells(self, point: FloatArray) -> tuple[float, float]:
        x, y = (point[:2] - np.array(self.field.origin)) / CELL_M
        return float(x), float(y)

    def _place(self, point: FloatArray, *, kept: bool = True) -> int:
        """The place under a point; -1 where there is none with room."""
        i, j = (math.floor(one) for one in self._cells(point))
        if not (0 <= i < self.field.shape[0] and 0 <= j < self.field.shape[1]):
            return -1
        column = i * self.field.shape[1] + j
        places = range(self._begin[column], self._begin[column + 1])
        off, place = min(((abs(self._height[n] - point[2]), n) for n in places), default=(math.inf, -1))
        return place if off <= _ABOVE_M and (self._kept[place] or not kept) else -1


def point_of(at: ArrayLike) -> FloatArray:
    """A place as an array."""
    point = np.asarray(at, np.float64)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise ShapeError(f"a place on a ground needs three finite numbers, got {at!r}")
    return point


@njit(cache=True, nogil=True, error_model="numpy")
def neighbours(begin, floor, ceiling, shape, climb, head, link):  # type: ignore[no-untyped-def]
    """The nearest in height of the places that can be stepped to in each direction, into `link` (N, 4).
    `begin` (K + 1,) is where the places of each column begin; `ceiling` is the height of what is above."""
    nx, ny = shape
    for i in range(nx):
        for j in range(ny):
            c = i * ny + j
            for way in range(4):
                u, v = i + (1, -1, 0, 0)[way], j + (0, 0, 1, -1)[way]
                for p in range(begin[c], begin[c + 1]):
                    link[p, way] = -1
                    if u < 0 or v < 0 or u >= nx or v >= ny:
                        continue
                    best, o = np.inf, u * ny + v
                    for q in range(begin[o], begin[o + 1]):
                        off = abs(floor[p] - floor[q])
                        room = min(ceiling[p], ceiling[q]) - max(floor[p], floor[q])
                        if off <= climb and room >= head and off < best:
                            best, link[p, way] = off, q


@njit(cache=True, nogil=True, error_model="numpy")
def beside(link, p, way, across):  # type: ignore[no-untyped-def]
    """The place in the diagonal direction of two sides, where both sides are there and lead to it; else -1."""
    one, other = link[p, way], link[p, across]
    if one < 0 or other < 0:
        return -1
    found = link[one, across]
    return found if found >= 0 and found == link[other, way] else -1


@njit(cache=True, nogil=True, error_model="numpy")
def roomy(link, kept):  # type: ignore[no-untyped-def]
    """Whether all eight neighbours of each place are there: 10 cm of clearance with cells of 5 cm."""
    for p in range(len(link)):
        kept[p] = True
        for way in range(2):
            for across in range(2, 4):
                kept[p] &= beside(link, p, way, across) >= 0


@njit(cache=True, nogil=True, error_model="numpy")
def cut(link, kept):  # type: ignore[no-untyped-def]
    """Take neighbours away that are not kept."""
    for p in range(len(link)):
        for way in range(4):
            if link[p, way] >= 0 and not (kept[p] and kept[link[p, way]]):
                link[p, way] = -1


@njit(cache=True, nogil=True, error_model="numpy")
def follow(link, place, ax, ay, bx, by):  # type: ignore[no-untyped-def]
    """The place at the end of a line, in cells, from neighbour to neighbour by `link` (N, 4); -1 if interrupted."""
    x, y = int(np.floor(ax)), int(np.floor(ay))
    last_x, last_y = int(np.floor(bx)), int(np.floor(by))
    dx, dy = bx - ax, by - ay
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    way_x, way_y = (0 if dx > 0 else 1), (2 if dy > 0 else 3)
    wide_x, wide_y = (abs(1 / dx) if dx != 0 else np.inf), (abs(1 / dy) if dy != 0 else np.inf)
    tx = ((x + 1 - ax) if dx > 0 else (ax - x)) * wide_x if dx != 0 else np.inf
    ty = ((y + 1 - ay) if dy > 0 else (ay - y)) * wide_y if dy != 0 else np.inf
    for _ in range(abs(last_x - x) + abs(last_y - y) + 2):
        if x == last_x and y == last_y:
            break
        if abs(tx - ty) < 1e-9:
            place = beside(link, place, way_x, way_y)
            x, y = x + step_x, y + step_y
            tx += wide_x
            ty += wide_y
        elif tx < ty:
            place = link[place, way_x]
            x += step_x
            tx += wide_x
        else:
            place = link[place, way_y]
            y += step_y
            ty += wide_y
        if place < 0:
            return -1
    return place if x == last_x and y == last_y else -1


@njit(cache=True, nogil=True, error_model="numpy")
def spread(link, cell, height, ny, goal):  # type: ignore[no-untyped-def]
    """Shortest ways from every place to one, of lines between centres that see each other (Theta*; Nash et al., 2007).
    `link`: (N, 4). `cell`: (N,) x * ny + y. Returns lengths (N,) in cells, infinite for no way, and the place (N,) in
    which the first line of each ends."""
    n = len(link)
    towards = np.full(n, -1, np.int32)
    far = np.full(n, np.inf)
    keys = np.empty(8 * n + 1, np.float64)
    held = np.empty(8 * n + 1, np.int32)
    keys[0], held[0] = 0.0, goal
    far[goal], towards[goal] = 0.0, goal
    size = 1
    while size > 0:
        price, p = keys[0], held[0]
        size = pop(keys, held, size)
        if price > far[p]:
            continue
        for k in range(8):
            q = link[p, k] if k < 4 else beside(link, p, (k - 4) // 2, 2 + (k - 4) % 2)
            if q < 0:
                continue
            # Past this place, straight to where its own way leads, wherever that can be seen from the neighbour.
            past = towards[p]
            reach, through = _apart(cell, height, ny, q, past) + far[past], past
            if reach >= far[q]:
                continue
            x, y = cell[q] // ny + 0.5, cell[q] % ny + 0.5
            if follow(link, q, x, y, cell[past] // ny + 0.5, cell[past] % ny + 0.5) != past:
                reach, through = price + _apart(cell, height, ny, p, q), p
            if reach >= far[q]:
                continue
            far[q], towards[q] = reach, through
            size = push(keys, held, size, reach, q)
    return far, towards


@njit(cache=True, nogil=True, error_model="numpy")
def shortest(link, points, places):  # type: ignore[no-untyped-def]
    """The shortest polyline from the first to the last of `points` (n, 3), in cells, whose lines are not interrupted.
    A way over the points in their order must exist."""
    n = len(points)
    price = np.full(n, np.inf)
    before = np.full(n, -1, np.int64)
    price[0] = 0.0
    for j in range(1, n):
        for i in range(j - 1, -1, -1):
            off = points[j] - points[i]
            length = price[i] + np.sqrt((off * off).sum())
            if length >= price[j] - 1e-9:
                continue
            if follow(link, places[i], points[i, 0], points[i, 1], points[j, 0], points[j, 1]) == places[j]:
                price[j], before[j] = length, i
    rows = np.empty(n, np.int64)
    k, at = 0, n - 1
    while at >= 0:
        rows[k] = at
        k += 1
        at = before[at]
    return rows[:k][::-1].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def _apart(cell, height, ny, p, q):  # type: ignore[no-untyped-def]
    dx, dy = cell[p] // ny - cell[q] // ny, cell[p] % ny - cell[q] % ny
    dz = height[p] - height[q]
    return np.sqrt(dx * dx + dy * dy + dz * dz)
