"""A floor found in the mesh itself, where no navmesh is published: what can be stood on, island by island.

The rules are those of Recast (Mononen): slopes up to 45 degrees, steps up to 20 cm, head room. Ways over it are not the
published ones to the centimetre, so results are not comparable with those of a published navmesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import WorldError
from worldgauge.worlds.scan.floors import _spans
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
    """Connected floor.

    Attributes:
        area_m2: Its area.
        height_m: Its median height.
        is_indoor: Whether a ceiling is above at least half of it.
    """

    area_m2: float
    height_m: float
    is_indoor: bool


@dataclass(frozen=True)
class Heightfield:
    """Places to stand, on all storeys.

    Attributes:
        origin: x and y in metres of the lower corner of the cells.
        shape: Cells along x and y.
        cell: (N,) int64, the cell of each place, i * shape[1] + j, rising.
        height_m: (N,) float32, its z.
        ceiling_m: (N,) float32, z of what is above it; infinite where nothing is.
        island: (N,) int64, index into `islands`; -1 on those below LEAST_M2.
        islands: Islands, the largest first.
        storeys: Heights of the storeys in metres, rising.
    """

    origin: tuple[float, float]
    shape: tuple[int, int]
    cell: NDArray[np.int64]
    height_m: NDArray[np.float32]
    ceiling_m: NDArray[np.float32]
    island: NDArray[np.int64]
    islands: tuple[Island, ...]
    storeys: tuple[float, ...]

    @property
    def area_m2(self) -> float:
        """Area of all indoor islands."""
        return float(sum(island.area_m2 for island in self.islands if island.is_indoor))

    @property
    def main_storey(self) -> int:
        """Index of the storey with most indoor floor.

        Raises:
            WorldError: There is no indoor floor.
        """
        if not self.storeys:
            raise WorldError(f"the scan has no indoor floor of {LEAST_M2:g} m² or more; see: worldgauge world check")
        inside = self.height_m[self.indoor]
        areas = [int((np.abs(inside - storey) <= _WITHIN_M).sum()) for storey in self.storeys]
        return int(np.argmax(areas))

    def floor(self, storey: int | None = None) -> FloorPlan:
        """Floor plan of one storey: the places within 35 cm of its height.

        Args:
            storey: Index into `storeys`; by default that with most floor.

        Returns:
            The plan. Cells at the foot of a step that is too high are not free.

        Raises:
            WorldError: There is no such storey.
        """
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
    """Find the floors of a mesh.

    Args:
        corners: (T, 9) metres, z up: x y z of three corners, counter-clockwise seen from the front.
        head_m: Head room that a walker needs.

    Returns:
        The floors.

    Raises:
        WorldError: The mesh is too wide for cells of 5 cm.
    """
    corners = np.ascontiguousarray(corners, np.float64).reshape(-1, 9)
    # Axis by axis: a reduction over rows of three is many times slower.
    axes = [corners[:, axis::3] for axis in range(3)]
    low, high = (np.array([side(one) for one in axes]) for side in (np.min, np.max))
    origin = np.floor(low[:2] / CELL_M - 1) * CELL_M
    wide, deep = (int(n) for n in np.ceil((high[:2] - origin) / CELL_M) + 1)
    shape = wide, deep
    if shape[0] * shape[1] > _MOST_CELLS:
        raise WorldError(f"the scan is {high[0] - low[0]:.0f} x {high[1] - low[1]:.0f} m wide: check its unit")
    column, bottom, top, flat = _spans.pieces(corners, _STEEP, origin, CELL_M, shape)
    count, order = len(column), np.argsort(column << 32 | _rank(bottom))
    first = np.searchsorted(column[order], np.arange(shape[0] * shape[1] + 1)).astype(np.int64)
    floor, ceiling = np.empty(count, np.float32), np.empty(count, np.float32)
    begin = np.empty(len(first), np.int64)
    climb = CLIMB_M + _ROUNDING_M
    kept = _spans.merge(
        first, bottom[order], top[order], flat[order], _JOINT_M, head_m - _ROUNDING_M, climb, floor, ceiling, begin
    )
    floor, ceiling = floor[:kept], ceiling[:kept]
    parent = np.empty(kept, np.int64)
    _spans.join(begin, floor, shape, climb, head_m - _ROUNDING_M, ceiling, parent)
    cell = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    island, islands = _islands(parent, floor, ceiling)
    inside = np.array([one.is_indoor for one in islands] + [False])[island]
    place = float(origin[0]), float(origin[1])
    return Heightfield(place, shape, cell, floor, ceiling, island, islands, _storeys(floor[inside]))


def _rank(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Numbers from 0 to 2**32 - 1 in the order of some values."""
    bits = values.view(np.int32).astype(np.int64)
    return np.asarray(np.where(bits < 0, ~bits & 0x7FFFFFFF, bits + 2**31))


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
