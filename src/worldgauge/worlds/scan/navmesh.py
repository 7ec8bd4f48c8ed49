"""Published navmeshes (`.navmesh`): where a walker stands, ways as their simulator finds them, steps that slide.

The files hold one tile of Detour's format. Distances are those of the published episodes: not the shortest over the
polygons, but what the simulator's search gives.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.io import read_bytes
from worldgauge.worlds.scan import _detour
from worldgauge.worlds.scan._detour import MOST_CORNERS, Surface

Point = tuple[float, float, float]
Triangle = tuple[tuple[int, int, int], tuple[bool, bool, bool]]
_MOST_BYTES = 512 * 2**20
_LEAST_M2 = 1e-5
_HEAD = struct.Struct("<iiiiiI9i3f3f3ff")
_POLYGON = np.dtype(
    [("link", "<u4"), ("at", "<u2", 6), ("beside", "<u2", 6), ("flags", "<u2"), ("n", "u1"), ("type", "u1")]
)
_DETAIL = np.dtype([("vertex", "<u4"), ("face", "<u4"), ("vertices", "u1"), ("faces", "u1"), ("pad", "<u2")])
_OUTER = 0x8000


class NavMesh:
    """A published floor. Points are in our frame, (3,) metres; `surface` is in the frame of the file."""

    def __init__(self, surface: Surface) -> None:
        self.surface = surface

    @classmethod
    def read(cls, path: Path) -> NavMesh:
        """Read a file."""
        try:
            return cls(_tile(read_bytes(path, _MOST_BYTES)))
        except (struct.error, ValueError, IndexError, OverflowError) as error:
            what = "it is cut off" if isinstance(error, struct.error) else error
            raise DataError(f"{path}: the navmesh is damaged: {what}") from error

    @property
    def area_m2(self) -> float:
        """Area of all polygons, in the plane."""
        return float(_areas(self.surface.corners).sum())

    def stands(self, at: ArrayLike, within_m: float = 0.1) -> bool:
        """Whether a walker can stand at a point: at most `within_m` beside the floor, and 1 m over or under it."""
        point = _point(at)
        number, on = _detour.nearest(self.surface, point)
        if number < 0:
            return False
        return math.hypot(on[0] - point[0], on[2] - point[2]) <= within_m and abs(on[1] - point[1]) <= 1.0

    def nearest(self, at: ArrayLike) -> FloatArray | None:
        """The place on the floor nearest to a point; None where none is within 2 m beside and 4 m over or under."""
        number, on = _detour.nearest(self.surface, _point(at))
        return None if number < 0 else _ours(on)

    def path(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """Corners (n, 3) of the way between two points, both ends included; None where there is no way."""
        start, end = _point(a), _point(b)
        first, last = _detour.nearest(self.surface, start)[0], _detour.nearest(self.surface, end)[0]
        if first < 0 or last < 0 or self.islands[first] != self.islands[last]:
            return None
        x, y, z = _detour.way(self.surface, first, last, start, end).T
        return np.stack([-z, -x, y], -1) if len(x) else None

    def distance(self, a: ArrayLike, b: ArrayLike) -> float:
        """Length in metres of `path`; infinite where there is none."""
        way = self.path(a, b)
        return math.inf if way is None else way_length(way)

    def slide(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """Where (3,) a walker comes that goes straight from a to b, and slides along walls; None off the floor."""
        number, start = _detour.nearest(self.surface, _point(a))
        return None if number < 0 else _ours(_detour.slide(self.surface, number, start, _point(b)))

    def straight(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """Where (3,) a walker comes that goes straight from a to b, and stops before a wall; None off the floor."""
        number, start = _detour.nearest(self.surface, _point(a))
        if number < 0:
            return None
        end = _point(b)
        length = math.hypot(end[0] - start[0], end[2] - start[2])
        return _ours(_detour.straight(self.surface, number, start, end, length))

    def random_point(self, rng: np.random.Generator) -> FloatArray:
        """A random place (3,), uniform over the polygons."""
        share = self._share
        a, b, c = self.surface.triangles[int(np.searchsorted(share, rng.random() * share[-1], "right"))]
        u, v = np.sqrt(rng.random()), rng.random()
        x, y, z = (1 - u) * a + u * (1 - v) * b + u * v * c
        return _ours((float(x), float(y), float(z)))

    @cached_property
    def _share(self) -> FloatArray:
        """(T,) area of the triangles up to each, in the plane."""
        corners = self.surface.triangles
        ab, ac = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        return np.asarray(np.cumsum(np.abs(ab[:, 2] * ac[:, 0] - ab[:, 0] * ac[:, 2]) / 2))

    @cached_property
    def islands(self) -> NDArray[np.int64]:
        """(P,) number of the island of each polygon."""
        beside = self.surface.beside.tolist()
        number = np.full(len(beside), -1, np.int64)
        count = 0
        for first in range(len(beside)):
            if number[first] >= 0:
                continue
            queue = [first]
            number[first] = count
            while queue:
                for other in beside[queue.pop()]:
                    if other >= 0 and number[other] < 0:
                        number[other] = count
                        queue.append(other)
            count += 1
        return number


def way_length(way: FloatArray) -> float:
    """Metres along a way (n, 3)."""
    return float(np.sqrt((np.diff(way, axis=0) ** 2).sum(1)).sum())


def surface_of(
    corners: Sequence[FloatArray],
    beside: Sequence[Sequence[int]],
    more: Sequence[FloatArray],
    triangles: Sequence[Sequence[Triangle]],
    climb_m: float,
) -> Surface:
    """Pack polygons of up to six corners into arrays. `beside`: polygon across each edge; -1 for a wall.
    `more` has further corners (m, 3) of each surface. `triangles`: three corners by number, and for the edge that
    begins at each whether it is on the border."""
    sides = np.array([len(own) for own in corners])
    rows = np.stack([own[np.minimum(np.arange(MOST_CORNERS), len(own) - 1)] for own in corners])
    across = np.array([[*own, *[-1] * (MOST_CORNERS - len(own))] for own in beside])
    first = np.cumsum([0, *map(len, triangles)])
    order = np.array([one for own in triangles for one, _ in own], np.int64).reshape(-1, 3)
    outer = np.array([one for own in triangles for _, one in own], np.bool_).reshape(-1, 3)
    faces, bounds = np.empty((len(order), 3, 3)), np.empty((len(rows), 6))
    for n, (own, others) in enumerate(zip(corners, more, strict=True)):
        points, held = np.concatenate([own, others]), slice(first[n], first[n + 1])
        faces[held] = points[order[held]]
        taken = np.concatenate([own, faces[held].reshape(-1, 3)])
        bounds[n] = *taken.min(0), *taken.max(0)
    return Surface(rows, sides, across, _areas(rows) >= _LEAST_M2, bounds, first, faces, outer, order, climb_m)


def _tile(data: bytes) -> Surface:
    """The floor that a file holds."""
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
    if not polygons:
        raise ValueError("tile 0 has no polygons")
    parts = (12 * vertices, 32 * polygons, 12 * links, 12 * details, 12 * more, 4 * faces)
    if _HEAD.size + sum(parts) > size:
        raise ValueError(f"tile 0 of {size} bytes cannot hold what it claims")
    starts = [at + _HEAD.size + sum(parts[:n]) for n in range(6)]
    with np.errstate(invalid="ignore"):  # numbers of damaged files warn of themselves
        corner = np.frombuffer(data, "<f4", 3 * vertices, starts[0]).reshape(-1, 3).astype(np.float64)
    rows = np.frombuffer(data, _POLYGON, polygons, starts[1])
    details_of = np.frombuffer(data, _DETAIL, details, starts[3])
    with np.errstate(invalid="ignore"):  # numbers of damaged files warn of themselves
        extra = np.frombuffer(data, "<f4", 3 * more, starts[4]).reshape(-1, 3).astype(np.float64)
    face = np.frombuffer(data, "u1", 4 * faces, starts[5]).reshape(-1, 4)
    if not (np.isfinite(corner).all() and np.isfinite(extra).all()):
        raise ValueError("tile 0 has places that are not finite")
    outlines, beside, more_corners, triangles = [], [], [], []
    for n, row in enumerate(rows):
        count = int(row["n"])
        if not 3 <= count <= MOST_CORNERS or int(row["at"][:count].max()) >= len(corner):
            raise ValueError(f"polygon {n} has corners that are not there")
        outlines.append(corner[row["at"][:count]])
        # With the highest bit it is the border of the only tile.
        others = [0 if value & _OUTER else value for value in row["beside"][:count].tolist()]
        if max(others) > polygons:
            raise ValueError(f"polygon {n} lies beside polygon {max(others) - 1} of {polygons}")
        beside.append([value - 1 for value in others])
        further, own = _detail(n, details_of[n], count, extra, face)
        more_corners.append(further)
        triangles.append(own)
    return surface_of(outlines, beside, more_corners, triangles, climb)


def _detail(
    number: int, row: np.void, corners: int, extra: FloatArray, face: NDArray[np.uint8]
) -> tuple[FloatArray, list[Triangle]]:
    """Further corners of the surface of a polygon, and its triangles."""
    first, own = int(row["face"]), int(row["faces"])
    base, more = int(row["vertex"]), int(row["vertices"])
    if first + own > len(face) or base + more > len(extra):
        raise ValueError(f"polygon {number} has a surface that is not there")
    triangles = []
    for a, b, c, flags in face[first : first + own].tolist():
        if max(a, b, c) >= corners + more:
            raise ValueError(f"polygon {number} has a surface with corners that are not there")
        triangles.append(((a, b, c), (bool(flags & 1), bool(flags >> 2 & 1), bool(flags >> 4 & 1))))
    return extra[base : base + more], triangles


def _areas(corners: FloatArray) -> FloatArray:
    """(P,) area of each polygon (P, 6, 3), in the plane."""
    first, one, other = corners[:, :1], corners[:, 1:-1], corners[:, 2:]
    x, z = one[..., 0] - first[..., 0], one[..., 2] - first[..., 2]
    twice = (other[..., 0] - first[..., 0]) * z - x * (other[..., 2] - first[..., 2])
    return np.asarray(np.abs(twice.sum(1)) / 2)


def _ours(point: Point) -> FloatArray:
    return np.array([-point[2], -point[0], point[1]])


def _point(at: ArrayLike) -> Point:
    """A point of ours in the frame of the files."""
    point = np.asarray(at, np.float64)
    if point.shape != (3,):
        raise ShapeError(f"a place on a navmesh needs three finite numbers, got {at!r}")
    x, y, z = point.tolist()
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        raise ShapeError(f"a place on a navmesh needs three finite numbers, got {at!r}")
    return -y, z, -x
