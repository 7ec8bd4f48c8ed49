"""Published navmeshes (`.navmesh`): where a walker stands, ways as their simulator finds them, steps that slide.

The files hold one tile of Detour's format. Distances are those of the published episodes: not the shortest over the
polygons, but what the simulator's search gives.
"""

from __future__ import annotations

import heapq
import math
import struct
from collections import deque
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.io import read_bytes
from worldgauge.worlds.scan.floors import _detour
from worldgauge.worlds.scan.floors._detour import Point, inside, lerp, square, to_segment
from worldgauge.worlds.scan.mesh import ours

_MOST_BYTES = 512 * 2**20
_NEAR_M = (2.0, 4.0, 2.0)
"""How far a point may lie from its polygon, along x, up, and z."""
_HEURISTIC = 0.999
_MOST_POLYGONS = 256
_MOST_VISITS = 48
_LEAST_M2 = 1e-5
_HEAD = struct.Struct("<iiiiiI9i3f3f3ff")
_POLYGON = np.dtype(
    [("link", "<u4"), ("at", "<u2", 6), ("beside", "<u2", 6), ("flags", "<u2"), ("n", "u1"), ("type", "u1")]
)
_DETAIL = np.dtype([("vertex", "<u4"), ("face", "<u4"), ("vertices", "u1"), ("faces", "u1"), ("pad", "<u2")])
_CORNERS = 6
_OUTER = 0x8000
_INVALID = 0.001
_BEFORE_M = 0.001
"""How far before a wall a walker stops that does not slide."""


class Polygon(NamedTuple):
    """A convex piece of floor.

    Attributes:
        corners: Its corners.
        beside: The polygon across the edge that begins at each corner; -1 for a wall.
        triangles: Its surface in detail: corners of each triangle, and for each edge whether it is on the border.
    """

    corners: tuple[Point, ...]
    beside: tuple[int, ...]
    triangles: tuple[tuple[tuple[Point, Point, Point], tuple[bool, bool, bool], tuple[int, int, int]], ...]


class NavMesh:
    """A published floor. Points are in our frame, (3,) metres.

    Args:
        polygons: Its polygons, in the frame of the file.
        climb_m: Height of a step that its walker climbs.
    """

    def __init__(self, polygons: tuple[Polygon, ...], climb_m: float) -> None:
        self.polygons = polygons
        self.climb_m = climb_m

    @classmethod
    def read(cls, path: Path) -> NavMesh:
        """Read a file.

        Args:
            path: A .navmesh file of version 1 or 2.

        Returns:
            The floor.

        Raises:
            DataError: The file is damaged, holds several tiles, or cannot be read; the message names the part.
        """
        try:
            return cls(*_tile(read_bytes(path, _MOST_BYTES)))
        except (struct.error, ValueError, IndexError, OverflowError) as error:
            raise DataError(f"{path}: the navmesh is damaged: {error}") from error

    @property
    def area_m2(self) -> float:
        """Area of all polygons, in the plane."""
        return sum(_area(one) for one in self.polygons)

    def stands(self, at: ArrayLike, within_m: float = 0.1) -> bool:
        """Whether a walker can stand at a point: at most `within_m` beside the floor, and 1 m over or under it."""
        point = _point(at)
        found = self._nearest(point)
        if found is None:
            return False
        on = found[1]
        return math.hypot(on[0] - point[0], on[2] - point[2]) <= within_m and abs(on[1] - point[1]) <= 1.0

    def nearest(self, at: ArrayLike) -> FloatArray | None:
        """The place on the floor nearest to a point; None where none is within 2 m beside and 4 m over or under."""
        found = self._nearest(_point(at))
        return None if found is None else _ours(found[1])

    def path(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """The way between two points.

        Args:
            a: Start (3,).
            b: End (3,).

        Returns:
            (n, 3) corners, both ends included; None where there is no way.
        """
        start, end = _point(a), _point(b)
        first, last = self._nearest(start), self._nearest(end)
        if first is None or last is None or self.islands[first[0]] != self.islands[last[0]]:
            return None
        line = self._line(first[0], last[0], start, end)
        if line is None:
            return None
        begin = _detour.on_boundary(start, self.polygons[line[0]].corners)
        stop = _detour.on_boundary(end, self.polygons[line[-1]].corners)
        if len(line) == 1:
            way = [begin, stop]
        else:
            portals = [self._portal(one, other) for one, other in pairwise(line)]
            way = _detour.pulled(begin, stop, portals)
        return np.array([_ours(point) for point in way])

    def distance(self, a: ArrayLike, b: ArrayLike) -> float:
        """Length in metres of `path`; infinite where there is none."""
        way = self.path(a, b)
        return math.inf if way is None else float(np.sqrt((np.diff(way, axis=0) ** 2).sum(1)).sum())

    def slide(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """Where a walker comes that wants to go straight from one point to another, and slides along walls.

        Args:
            a: Where it stands (3,).
            b: Where it wants to go (3,).

        Returns:
            Where it ends (3,), on the floor; None where it stands on none.
        """
        found = self._nearest(_point(a))
        if found is None:
            return None
        number, start = found
        end = _point(b)
        middle = lerp(start, end, 0.5)
        reach = (math.sqrt(square(start, end)) / 2 + _INVALID) ** 2
        best, away, own = start, math.inf, number
        seen, queue = {number}, deque([number])
        while queue:
            here = queue.popleft()
            polygon = self.polygons[here]
            if inside(end, polygon.corners):
                best, own = end, here
                break
            count = len(polygon.corners)
            for n in range(count):
                j = (n - 1) % count
                other, one, two = polygon.beside[j], polygon.corners[j], polygon.corners[n]
                if other < 0:
                    far, t = to_segment(end, one, two)
                    if far < away:
                        best, away, own = lerp(one, two, t), far, here
                elif other not in seen and to_segment(middle, one, two)[0] <= reach and len(queue) < _MOST_VISITS:
                    seen.add(other)
                    queue.append(other)
        height = self._height(own, best)
        return _ours((best[0], best[1] if height is None else height, best[2]))

    def straight(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """Where a walker comes that goes straight from one point to another, and stops before a wall.

        Args:
            a: Where it stands (3,).
            b: Where it wants to go (3,).

        Returns:
            Where it ends (3,), on the floor; None where it stands on none.
        """
        found = self._nearest(_point(a))
        if found is None:
            return None
        here, start = found
        end = _point(b)
        for _ in range(_MOST_POLYGONS):
            polygon = self.polygons[here]
            leaves = _detour.leaves(start, end, polygon.corners)
            if leaves is None:
                break
            edge, t = leaves
            if polygon.beside[edge] < 0:
                length = math.hypot(end[0] - start[0], end[2] - start[2])
                end = lerp(start, end, max(t - _BEFORE_M / max(length, _BEFORE_M), 0.0))
                break
            here = polygon.beside[edge]
        height = self._height(here, end)
        return _ours((end[0], end[1] if height is None else height, end[2]))

    def random_point(self, rng: np.random.Generator) -> FloatArray:
        """A random place (3,), uniform over the polygons.

        Args:
            rng: Source of randomness.
        """
        triangles, share = self._triangles
        a, b, c = triangles[int(np.searchsorted(share, rng.random() * share[-1], "right"))]
        u, v = np.sqrt(rng.random()), rng.random()
        x, y, z = (1 - u) * a + u * (1 - v) * b + u * v * c
        return _ours((float(x), float(y), float(z)))

    @cached_property
    def _triangles(self) -> tuple[FloatArray, FloatArray]:
        """(N, 3, 3) corners of the surface, in the frame of the file, and (N,) its area up to each, in the plane."""
        corners = np.array([three for one in self.polygons for three, _, _ in one.triangles])
        ab, ac = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        return corners, np.cumsum(np.abs(ab[:, 2] * ac[:, 0] - ab[:, 0] * ac[:, 2]) / 2)

    @cached_property
    def islands(self) -> NDArray[np.int64]:
        """(P,) number of the island of each polygon."""
        number = np.full(len(self.polygons), -1, np.int64)
        count = 0
        for first in range(len(self.polygons)):
            if number[first] >= 0:
                continue
            queue = [first]
            number[first] = count
            while queue:
                for other in self.polygons[queue.pop()].beside:
                    if other >= 0 and number[other] < 0:
                        number[other] = count
                        queue.append(other)
            count += 1
        return number

    @cached_property
    def _bounds(self) -> FloatArray:
        """(P, 6) lower and upper corners of what each polygon and its surface take."""
        rows = []
        for one in self.polygons:
            points = np.array([*one.corners, *(point for three, _, _ in one.triangles for point in three)])
            rows.append([*points.min(0), *points.max(0)])
        return np.array(rows).reshape(-1, 6)

    def _nearest(self, point: Point) -> tuple[int, Point] | None:
        """Nearest polygon and the place on it."""
        middle, reach = np.array(point), np.array(_NEAR_M)
        bounds = self._bounds
        near = np.flatnonzero(
            ((bounds[:, :3] <= middle + reach) & (bounds[:, 3:] >= middle - reach)).all(1) & self._walked
        )
        best, found = math.inf, None
        for number in near.tolist():
            on, over = self._closest(number, point)
            away = max(abs(point[1] - on[1]) - self.climb_m, 0.0) ** 2 if over else square(point, on)
            if away < best:
                best, found = away, (number, on)
        return found

    @cached_property
    def _walked(self) -> NDArray[np.bool_]:
        """(P,) polygons that are no slivers."""
        return np.array([_area(one) >= _LEAST_M2 for one in self.polygons])

    def _closest(self, number: int, point: Point) -> tuple[Point, bool]:
        """Nearest place on a polygon, and whether the point is over or under it."""
        height = self._height(number, point)
        if height is not None:
            return (point[0], height, point[2]), True
        return self._on_edges(number, point, border=True), False

    def _height(self, number: int, point: Point) -> float | None:
        polygon = self.polygons[number]
        if not inside(point, polygon.corners):
            return None
        for three, _, _ in polygon.triangles:
            height = _detour.height_in(point, *three)
            if height is not None:
                return height
        return self._on_edges(number, point, border=False)[1]

    def _on_edges(self, number: int, point: Point, *, border: bool) -> Point:
        """Nearest place on the edges of the surface of a polygon, or on those of its border."""
        best, found = math.inf, point
        for three, outer, order in self.polygons[number].triangles:
            for k in range(3):
                j = (k - 1) % 3
                if not outer[j] and (border or order[j] < order[k]):
                    continue
                away, t = to_segment(point, three[j], three[k])
                if away < best:
                    best, found = away, lerp(three[j], three[k], t)
        return found

    def _portal(self, one: int, other: int) -> tuple[Point, Point]:
        polygon = self.polygons[one]
        edge = polygon.beside.index(other)
        return polygon.corners[edge], polygon.corners[(edge + 1) % len(polygon.corners)]

    def _line(self, first: int, last: int, start: Point, end: Point) -> list[int] | None:
        """Polygons from one to another, by A* over the midpoints of edges."""
        place = {first: start}
        cost = {first: 0.0}
        total = {first: math.sqrt(square(start, end)) * _HEURISTIC}
        came: dict[int, int] = {}
        queue = [(total[first], first)]
        while queue:
            held, here = heapq.heappop(queue)
            if held > total[here]:
                continue
            if here == last:
                break
            for other in self.polygons[here].beside:
                if other < 0 or other == came.get(here) or not self._walked[other]:
                    continue
                if other not in place:
                    place[other] = lerp(*self._portal(here, other), 0.5)
                spent = cost[here] + math.sqrt(square(place[here], place[other]))
                left = math.sqrt(square(place[other], end))
                whole = spent + left if other == last else spent + left * _HEURISTIC
                if other in total and whole >= total[other]:
                    continue
                came[other], cost[other], total[other] = here, spent, whole
                heapq.heappush(queue, (whole, other))
        if last not in came and first != last:
            return None
        line = [last]
        while line[-1] != first:
            line.append(came[line[-1]])
        return line[::-1] if len(line) <= _MOST_POLYGONS else None


def _tile(data: bytes) -> tuple[tuple[Polygon, ...], float]:
    """Polygons of a file, and the climb of its walker."""
    magic, version, tiles = struct.unpack_from("<4sii", data)
    if magic != b"TESM" or version not in (1, 2):
        raise ValueError(f"it begins with {magic!r}, version {version}, not MSET of version 1 or 2")
    if tiles != 1:
        raise ValueError(f"it has {tiles} tiles; files of one are read")
    at = 12 + 28 + (13 * 4 + 4 if version == 2 else 0)
    _, size = struct.unpack_from("<Ii", data, at)
    at += 8
    if not _HEAD.size <= size <= len(data) - at:
        raise ValueError(f"tile 0 of {size} bytes passes the end of the file")
    head = _HEAD.unpack_from(data, at)
    if head[0] != 0x444E4156 or head[1] != 7:
        raise ValueError(f"tile 0 is of version {head[1]}, not 7 of Detour")
    polygons, vertices, links, details, more, faces = head[6:12]
    climb = float(head[17])
    counts = polygons, vertices, links, details, more, faces
    if min(counts) < 0 or details != polygons or not 0.0 <= climb < 100.0:
        raise ValueError("tile 0 has counts that do not fit together")
    parts = (12 * vertices, 32 * polygons, 12 * links, 12 * details, 12 * more, 4 * faces)
    if _HEAD.size + sum(parts) > size:
        raise ValueError(f"tile 0 of {size} bytes cannot hold what it claims")
    starts = [at + _HEAD.size + sum(parts[:n]) for n in range(6)]
    corner = np.frombuffer(data, "<f4", 3 * vertices, starts[0]).reshape(-1, 3).astype(np.float64)
    kind = np.dtype(
        [("link", "<u4"), ("at", "<u2", 6), ("beside", "<u2", 6), ("flags", "<u2"), ("n", "u1"), ("t", "u1")]
    )
    poly = np.frombuffer(data, kind, polygons, starts[1])
    detail = np.frombuffer(data, _DETAIL, details, starts[3])
    extra = np.frombuffer(data, "<f4", 3 * more, starts[4]).reshape(-1, 3).astype(np.float64)
    face = np.frombuffer(data, "u1", 4 * faces, starts[5]).reshape(-1, 4)
    if not (np.isfinite(corner).all() and np.isfinite(extra).all()):
        raise ValueError("tile 0 has places that are not finite")
    found = [_polygon(n, poly[n], detail[n], corner, extra, face, polygons) for n in range(polygons)]
    if not found:
        raise ValueError("tile 0 has no polygons")
    return tuple(found), climb


def _polygon(
    number: int,
    row: np.void,
    detail: np.void,
    corner: FloatArray,
    extra: FloatArray,
    face: NDArray[np.uint8],
    most: int,
) -> Polygon:
    count, where = int(row["n"]), f"polygon {number}"
    if not 3 <= count <= _CORNERS or int(row["at"][:count].max()) >= len(corner):
        raise ValueError(f"{where} has corners that are not there")
    corners = [_tuple(corner[n]) for n in row["at"][:count]]
    beside = []
    for value in row["beside"][:count].tolist():
        if value & _OUTER:
            value = 0  # the border of the only tile
        if value > most:
            raise ValueError(f"{where} lies beside polygon {value - 1} of {most}")
        beside.append(value - 1)
    first, own = int(detail["face"]), int(detail["faces"])
    base, more = int(detail["vertex"]), int(detail["vertices"])
    if first + own > len(face) or base + more > len(extra):
        raise ValueError(f"{where} has a surface that is not there")
    points = corners + [_tuple(one) for one in extra[base : base + more]]
    triangles = []
    for a, b, c, flags in face[first : first + own].tolist():
        if max(a, b, c) >= len(points):
            raise ValueError(f"{where} has a surface with corners that are not there")
        outer = bool(flags & 1), bool(flags >> 2 & 1), bool(flags >> 4 & 1)
        triangles.append(((points[a], points[b], points[c]), outer, (a, b, c)))
    return Polygon(tuple(corners), tuple(beside), tuple(triangles))


def _area(polygon: Polygon) -> float:
    first = polygon.corners[0]
    pairs = zip(polygon.corners[1:], polygon.corners[2:], strict=False)
    return abs(sum(_detour.area(first, one, other) for one, other in pairs)) / 2


def _tuple(row: FloatArray) -> Point:
    return float(row[0]), float(row[1]), float(row[2])


def _ours(point: Point) -> FloatArray:
    found: FloatArray = ours(np.array([point]), "y")[0]
    return found


def _point(at: ArrayLike) -> Point:
    """A point of ours in the frame of the files."""
    point = np.asarray(at, np.float64)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise ShapeError(f"a place on a navmesh needs three finite numbers, got {at!r}")
    return float(-point[1]), float(point[2]), float(-point[0])
