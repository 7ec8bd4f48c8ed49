"""A floor found in the mesh itself, where no navmesh is published: what can be stood on, island by island.

The rules are those of Recast (Mononen): slopes up to 45 degrees, steps up to 20 cm, head room. Ways over it are not the
published ones to the centimetre, so results are not comparable with those of a published navmesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import WorldError
from worldgauge.worlds.walking.floor import FloorPlan

CELL_M = 0.05
HEAD_M = 1.5
"""Head room of a walker."""
CLIMB_M = 0.2
"""Height of a step that a walker climbs."""
LEAST_M2 = 4.0
"""Area of an island that counts as a floor."""
_STEEP = float(np.cos(np.radians(45.0))) - 1e-6
_JOINT_M = 0.02
_ROUNDING_M = 1e-4
"""Heights are float32: a step of 20 cm may be a hair higher."""
_CEILING_M = 6.0
"""How far above an indoor floor its ceiling is at most."""
_STOREY_M = 1.5
"""Storeys are at least this far apart."""
_WITHIN_M = 0.35
"""Heights that belong to a storey, from its own."""
_MOST_CELLS = 40_000_000


@dataclass(frozen=True)
class Island:
    """Connected floor."""

    area_m2: float
    height_m: float
    is_indoor: bool  # a ceiling is above at least half of it


@dataclass(frozen=True)
class Heightfield:
    """Places to stand, on all storeys."""

    origin: tuple[float, float]  # x and y in metres of the lower corner of the cells
    shape: tuple[int, int]
    cell: NDArray[np.int64]  # (N,), i * shape[1] + j of each place, rising
    height_m: NDArray[np.float32]  # (N,), z of the place
    ceiling_m: NDArray[np.float32]  # (N,), z of what is above it, or infinite
    island: NDArray[np.int64]  # (N,), index into `islands`; -1 for floor below LEAST_M2
    islands: tuple[Island, ...]  # the largest first
    storeys: tuple[float, ...]  # heights in metres, rising

    @property
    def area_m2(self) -> float:
        """Area of all indoor islands."""
        return float(sum(island.area_m2 for island in self.islands if island.is_indoor))

    @property
    def main_storey(self) -> int:
        """Index of the storey with most indoor floor."""
        if not self.storeys:
            raise WorldError(f"the scan has no indoor floor of {LEAST_M2:g} m² or more; see: worldgauge world check")
        inside = self.height_m[self.indoor]
        areas = [int((np.abs(inside - storey) <= _WITHIN_M).sum()) for storey in self.storeys]
        return int(np.argmax(areas))

    def floor(self, storey: int | None = None) -> FloorPlan:
        """Floor plan of one storey, by default that with most floor: the places within 35 cm of its height."""
        index = self.main_storey if storey is None else storey
        if not 0 <= index < len(self.storeys):
            raise WorldError(f"the scan has {len(self.storeys)} storeys; there is none of number {index}")
        off = np.abs(self.height_m - np.float32(self.storeys[index]))
        chosen = np.flatnonzero(self.indoor & (off <= _WITHIN_M))
        chosen = chosen[np.lexsort((off[chosen], self.cell[chosen]))]
        cells, at = np.unique(self.cell[chosen], return_index=True)
        free = np.zeros(self.shape[0] * self.shape[1], np.bool_)
        height = np.zeros(len(free), np.float32)
        free[cells], height[cells] = True, self.height_m[chosen[at]]
        plan, level = free.reshape(self.shape), height.reshape(self.shape)
        return FloorPlan(plan & ~_below_steps(plan, level), level, self.origin, CELL_M)

    def is_indoor(self, at: ArrayLike) -> bool:
        """Whether the floor nearest to a point (3,), at most a storey over or under it, is indoors."""
        x, y, z = np.asarray(at, np.float64).tolist()
        i, j = int((x - self.origin[0]) // CELL_M), int((y - self.origin[1]) // CELL_M)
        if not (0 <= i < self.shape[0] and 0 <= j < self.shape[1]):
            return False
        first, last = np.searchsorted(self.cell, [i * self.shape[1] + j, i * self.shape[1] + j + 1])
        if first == last:
            return False
        nearest = first + int(np.argmin(np.abs(self.height_m[first:last] - z)))
        return bool(self.indoor[nearest] and abs(float(self.height_m[nearest]) - z) <= _STOREY_M)

    @cached_property
    def indoor(self) -> NDArray[np.bool_]:
        """(N,) whether each place is on an indoor island."""
        inside = np.array([island.is_indoor for island in self.islands] + [False])
        return np.asarray(inside[self.island])


def heightfield_of(corners: NDArray[np.floating[Any]], *, head_m: float = HEAD_M) -> Heightfield:
    """Find the floors of a mesh: `corners` (T, 9) are metres, z up, counter-clockwise seen from the front."""
    corners = np.ascontiguousarray(corners, np.float64).reshape(-1, 9)
    # Axis by axis: a reduction over rows of three is many times slower.
    axes = [corners[:, axis::3] for axis in range(3)]
    low, high = (np.array([side(one) for one in axes]) for side in (np.min, np.max))
    origin = np.floor(low[:2] / CELL_M - 1) * CELL_M
    wide, deep = (int(n) for n in np.ceil((high[:2] - origin) / CELL_M) + 1)
    shape = wide, deep
    if shape[0] * shape[1] > _MOST_CELLS:
        raise WorldError(f"the scan is {high[0] - low[0]:.0f} x {high[1] - low[1]:.0f} m wide: check its unit")
    column, bottom, top, flat = pieces(corners, _STEEP, origin, CELL_M, shape)
    bits = bottom.view(np.int32).astype(np.int64)
    rank = np.where(bits < 0, ~bits & 0x7FFFFFFF, bits + 2**31)  # from 0 to 2**32 - 1 in the order of the floats
    count, order = len(column), np.argsort(column << 32 | rank)
    first = np.searchsorted(column[order], np.arange(shape[0] * shape[1] + 1)).astype(np.int64)
    floor, ceiling = np.empty(count, np.float32), np.empty(count, np.float32)
    begin = np.empty(len(first), np.int64)
    climb = CLIMB_M + _ROUNDING_M
    kept = merge(
        first, bottom[order], top[order], flat[order], _JOINT_M, head_m - _ROUNDING_M, climb, floor, ceiling, begin
    )
    floor, ceiling = floor[:kept], ceiling[:kept]
    parent = np.empty(kept, np.int64)
    join(begin, floor, shape, climb, head_m - _ROUNDING_M, ceiling, parent)
    cell = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    island, islands = _islands(parent, floor, ceiling)
    inside = np.array([one.is_indoor for one in islands] + [False])[island]
    place = float(origin[0]), float(origin[1])
    return Heightfield(place, shape, cell, floor, ceiling, island, islands, _storeys(floor[inside]))


def _islands(
    parent: NDArray[np.int64], floor: NDArray[np.float32], ceiling: NDArray[np.float32]
) -> tuple[NDArray[np.int64], tuple[Island, ...]]:
    roots, own, count = np.unique(parent, return_inverse=True, return_counts=True)
    order = [int(n) for n in np.argsort(-count, kind="stable") if count[n] * CELL_M**2 >= LEAST_M2]
    number = np.full(len(roots), -1, np.int64)
    number[order] = np.arange(len(order))
    island = number[own] if len(roots) else np.zeros(0, np.int64)
    found = []
    for n in range(len(order)):
        rows = island == n
        covered = float((ceiling[rows] - floor[rows] <= _CEILING_M).mean())
        found.append(Island(float(rows.sum()) * CELL_M**2, float(np.median(floor[rows])), covered > 0.5))
    return island, tuple(found)


def _storeys(heights: NDArray[np.float32]) -> tuple[float, ...]:
    """Heights at which much floor lies, the fullest first found, each with all that is near it."""
    found: list[float] = []
    rest = heights.astype(np.float64)
    while len(rest) * CELL_M**2 >= LEAST_M2:
        bins = np.floor(rest / 0.1).astype(np.int64)
        counts = np.bincount(bins - bins.min())
        near = np.convolve(counts, np.ones(5), "same")
        middle = (int(np.argmax(near)) + bins.min() + 0.5) * 0.1
        level = float(np.median(rest[np.abs(rest - middle) <= 0.25]))
        own = np.abs(rest - level) <= _WITHIN_M
        if own.sum() * CELL_M**2 < LEAST_M2:
            break
        if all(abs(level - other) >= _STOREY_M for other in found):
            found.append(level)
        rest = rest[np.abs(rest - level) > _STOREY_M]
    return tuple(sorted(found))


def _below_steps(free: NDArray[np.bool_], level: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Cells next to a free one that lies higher by more than a step."""
    below = np.zeros_like(free)
    for axis in (0, 1):
        for way in (1, -1):
            other_free, other = np.roll(free, way, axis), np.roll(level, way, axis)
            # What comes round from the far border is no neighbour.
            border = [slice(None), slice(None)]
            border[axis] = slice(0, 1) if way == 1 else slice(-1, None)
            other_free[tuple(border)] = False
            below |= free & other_free & (other - level > CLIMB_M + _ROUNDING_M)
    return below


@njit(cache=True, nogil=True, error_model="numpy")
def pieces(triangles, steep, origin, cell, shape):  # type: ignore[no-untyped-def]
    """Cut triangles (T, 9) into pieces per cell: cell (N,), lowest and highest z (N,), whether it can be walked on
    (N,). `steep` is the least z of the normal of a walkable triangle."""
    nx, ny = shape
    count = 0
    column, flats = np.empty(2 * len(triangles), np.int64), np.empty(2 * len(triangles), np.uint8)
    low, high = np.empty(2 * len(triangles), np.float32), np.empty(2 * len(triangles), np.float32)
    strip, part = np.empty((8, 3)), np.empty((8, 3))
    rest, cut = np.empty((8, 3)), np.empty((8, 3))
    for t in range(len(triangles)):
        for n in range(3):
            for axis in range(3):
                strip[n, axis] = triangles[t, 3 * n + axis]
        ux, uy, uz = strip[1, 0] - strip[0, 0], strip[1, 1] - strip[0, 1], strip[1, 2] - strip[0, 2]
        vx, vy, vz = strip[2, 0] - strip[0, 0], strip[2, 1] - strip[0, 1], strip[2, 2] - strip[0, 2]
        cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        flat = np.uint8(cz >= steep * np.sqrt(cx * cx + cy * cy + cz * cz))
        y0 = min(min(strip[0, 1], strip[1, 1]), strip[2, 1])
        y1 = max(max(strip[0, 1], strip[1, 1]), strip[2, 1])
        j0 = max(int(np.floor((y0 - origin[1]) / cell)), 0)
        j1 = min(int(np.floor((y1 - origin[1]) / cell)), ny - 1)
        left = 3
        for j in range(j0, j1 + 1):
            # What lies below the upper border of this row, and the rest.
            kept = left
            if j < j1:
                kept, left = _split(strip, left, 1, origin[1] + (j + 1) * cell, part, rest)
                strip, rest = rest, strip
            else:
                part, strip = strip, part
            if kept < 3:
                continue
            x0, x1 = part[0, 0], part[0, 0]
            for n in range(1, kept):
                x0, x1 = min(x0, part[n, 0]), max(x1, part[n, 0])
            i0 = max(int(np.floor((x0 - origin[0]) / cell)), 0)
            i1 = min(int(np.floor((x1 - origin[0]) / cell)), nx - 1)
            for i in range(i0, i1 + 1):
                held = kept
                if i < i1:
                    held, kept = _split(part, kept, 0, origin[0] + (i + 1) * cell, cut, rest)
                    part, rest = rest, part
                else:
                    cut, part = part, cut
                if held < 3:
                    continue
                bottom, top = cut[0, 2], cut[0, 2]
                for n in range(1, held):
                    bottom, top = min(bottom, cut[n, 2]), max(top, cut[n, 2])
                if count == len(column):
                    column, flats = np.append(column, column), np.append(flats, flats)
                    low, high = np.append(low, low), np.append(high, high)
                column[count], low[count], high[count], flats[count] = i * ny + j, bottom, top, flat
                count += 1
    return column[:count], low[:count], high[:count], flats[:count]


@njit(cache=True, nogil=True, error_model="numpy")
def _split(points, count, axis, value, below, above):  # type: ignore[no-untyped-def]
    """Cut a convex polygon at a plane; returns how many corners either side has."""
    low, high = 0, 0
    for n in range(count):
        m = n + 1 if n + 1 < count else 0
        a, b = points[n, axis] - value, points[m, axis] - value
        if a <= 0.0:
            below[low] = points[n]
            low += 1
        if a >= 0.0:
            above[high] = points[n]
            high += 1
        if (a < 0.0 and b > 0.0) or (a > 0.0 and b < 0.0):
            s = a / (a - b)
            for k in range(3):
                cross = points[n, k] + s * (points[m, k] - points[n, k])
                below[low, k] = cross
                above[high, k] = cross
            low += 1
            high += 1
    return low, high


@njit(cache=True, nogil=True, error_model="numpy")
def merge(first, low, high, walkable, joint, head, climb, floor, ceiling, begin):  # type: ignore[no-untyped-def]
    """Merge the pieces of each column, sorted by lower end, and keep the tops on which a walker has head room.
    Pieces are one up to a gap of `joint`; a thing lower than `climb` on a floor is a part of it. `first` and `begin` (K
    + 1,) are where each column begins, in pieces and in tops. Fills `floor`, `ceiling` (infinite for nothing),
    `begin`."""
    count = 0
    for c in range(len(first) - 1):
        begin[c] = count
        n, end = first[c], first[c + 1]
        under = -np.inf
        while n < end:
            top, flat, walk_top = high[n], walkable[n], high[n] if walkable[n] else -np.inf
            n += 1
            while n < end and low[n] <= top + joint:
                if walkable[n]:
                    walk_top = max(walk_top, high[n])
                top = max(top, high[n])
                n += 1
            # The top is walked on if what can be walked on reaches it, or lies a climb below it.
            flat = walk_top >= top - 0.02
            if not flat and walk_top > -np.inf and top - walk_top <= climb:
                flat = True
            if not flat and top - under <= climb:
                flat = True
            roof = low[n] if n < end else np.inf
            if flat and roof - top >= head:
                floor[count], ceiling[count] = top, roof
                count += 1
            if flat:
                under = top
    begin[len(first) - 1] = count
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def join(begin, floor, shape, climb, head, ceiling, parent):  # type: ignore[no-untyped-def]
    """Join tops of neighbouring columns that a walker can step between: the island of each into `parent` (N,)."""
    nx, ny = shape
    for n in range(len(parent)):
        parent[n] = n
    for i in range(nx):
        for j in range(ny):
            c = i * ny + j
            for way in range(2):
                if (way == 0 and i + 1 >= nx) or (way == 1 and j + 1 >= ny):
                    continue
                o = c + ny if way == 0 else c + 1
                for p in range(begin[c], begin[c + 1]):
                    for q in range(begin[o], begin[o + 1]):
                        if abs(floor[p] - floor[q]) > climb:
                            continue
                        if min(ceiling[p], ceiling[q]) - max(floor[p], floor[q]) < head:
                            continue
                        _unite(parent, p, q)
    for n in range(len(parent)):
        parent[n] = _root(parent, n)


@njit(cache=True, nogil=True, error_model="numpy")
def _root(parent, n):  # type: ignore[no-untyped-def]
    while parent[n] != n:
        parent[n] = parent[parent[n]]
        n = parent[n]
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _unite(parent, p, q):  # type: ignore[no-untyped-def]
    p, q = _root(parent, p), _root(parent, q)
    if p < q:
        parent[q] = p
    else:
        parent[p] = q
