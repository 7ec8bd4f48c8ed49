"""What an agent has seen of a floor: a map built from depth alone, and its frontiers.

    explored = ExploredFloor()
    explored.take(observation.pose, observation.panorama_depth)
    for frontier in explored.frontiers(observation.pose): frontier.size_m, frontier.walk_m, frontier.towards

Frontiers are where seen floor borders on unknown space.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray, Panorama
from worldgauge.suites.closedloop.policies.contract import Depth

CELL_M = 0.1
SIDE_CELLS = 400
"""Side of the map, 40 m, centred on the first pose; what lies beyond is not kept."""
SIGHT_M = 8.0
"""Range within which free space counts as seen."""
OBSTACLE_M = (0.1, 1.6)
"""Heights above the floor at which something is an obstacle."""
BODY_CELLS = 1
"""Clearance of a path from obstacles, in cells."""
SMALLEST_CELLS = 4
"""Smallest frontier; fewer cells are the shadow of a chair's leg."""
_COLUMNS, _ROWS = 512, 128


class Frontier(NamedTuple):
    """A boundary between seen floor and unknown space.

    Attributes:
        xy: (2,) middle, metres.
        size_m: Length.
        walk_m: Known walking distance to it.
        towards: (2,) the farthest point of the path there that can be reached in a straight line, metres.
    """

    xy: FloatArray
    size_m: float
    walk_m: float
    towards: FloatArray


class ExploredFloor:
    """An occupancy grid of one episode, cells of CELL_M.

    Args:
        eye_m: Height of the camera above the floor, metres.
    """

    def __init__(self, eye_m: float = 1.0) -> None:
        self._eye_m = eye_m
        self._origin: FloatArray | None = None
        self._seen = np.zeros((SIDE_CELLS, SIDE_CELLS), np.bool_)
        self._occupied = np.zeros((SIDE_CELLS, SIDE_CELLS), np.bool_)

    def take(self, pose: FloatArray, depth: Depth) -> None:
        """Add a panorama of depth.

        Args:
            pose: Camera-to-world (4, 4) of a level camera.
            depth: (H, W) metres along the rays.
        """
        if self._origin is None:
            self._origin = pose[:2, 3] - SIDE_CELLS * CELL_M / 2
        rays, ranges = _thinned_rays(depth)
        points = (rays * ranges[..., None]) @ pose[:3, :3].T + pose[:3, 3]
        height = points[..., 2] - (pose[2, 3] - self._eye_m)
        standing = np.isfinite(ranges) & (height > OBSTACLE_M[0]) & (height < OBSTACLE_M[1])
        self._mark(self._occupied, points[standing][:, :2])
        level = rays.shape[0] // 2
        ahead = rays[level] @ pose[:3, :3].T
        metres = np.arange(0.0, SIGHT_M, CELL_M / 2)
        reached = metres[None] < np.minimum(ranges[level], SIGHT_M)[:, None]
        along = pose[:2, 3] + metres[None, :, None] * ahead[:, None, :2]
        self._mark(self._seen, along[reached])

    def block(self, xy: FloatArray) -> None:
        """Mark an obstacle at `xy` (2,), metres, that depth did not show: a step ended there."""
        if self._origin is not None:
            self._mark(self._occupied, xy[None])

    def frontiers(self, pose: FloatArray) -> list[Frontier]:
        """Return the frontiers that can be reached from `pose` (4, 4) over known floor, nearest first."""
        import cv2

        if self._origin is None:
            return []
        free = self._walkable(pose[:2, 3])
        ways = _spread(free, self._cell(pose[:2, 3]))
        open_end = self._seen & ~self._occupied
        beside = cv2.dilate((~self._seen & ~self._occupied).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
        edge = open_end & beside & np.isfinite(ways)
        count, groups = cv2.connectedComponents(edge.astype(np.uint8), connectivity=8)
        found = []
        for group in range(1, count):
            cells = np.argwhere(groups == group)
            if len(cells) < SMALLEST_CELLS:
                continue
            # The cell nearest the mean: the mean itself may lie outside the group.
            middle = cells[int(np.argmin(((cells - cells.mean(0)) ** 2).sum(1)))]
            towards = self._straight(free, ways, (int(middle[0]), int(middle[1])), pose)
            walk_m = float(ways[tuple(middle)]) * CELL_M
            found.append(Frontier(self._point(middle), len(cells) * CELL_M, walk_m, towards))
        return sorted(found, key=lambda one: (one.walk_m, *one.xy))

    def way_to(self, pose: FloatArray, xy: FloatArray) -> FloatArray | None:
        """Find where to walk in a straight line on the known path to a place.

        Args:
            pose: Camera-to-world (4, 4).
            xy: (2,) the place, metres; the reachable cell nearest to it is the goal.

        Returns:
            (2,) the farthest point of the path in line of sight, metres; None before anything was seen.
        """
        if self._origin is None:
            return None
        free = self._walkable(pose[:2, 3])
        ways = _spread(free, self._cell(pose[:2, 3]))
        cells = np.argwhere(np.isfinite(ways))
        gaps = ((cells - np.array(self._cell(xy))) ** 2).sum(1)
        nearest = cells[int(np.argmin(gaps))]
        return self._straight(free, ways, (int(nearest[0]), int(nearest[1])), pose)

    def _walkable(self, here: FloatArray) -> NDArray[np.bool_]:
        import cv2

        size = 2 * BODY_CELLS + 1
        near = cv2.dilate(self._occupied.astype(np.uint8), np.ones((size, size), np.uint8)) > 0
        free = self._seen & ~near
        # The walker's own cell is free, and it may step away from obstacles that seem too close.
        x, y = self._cell(here)
        free[x - 1 : x + 2, y - 1 : y + 2] |= ~self._occupied[x - 1 : x + 2, y - 1 : y + 2]
        free[x, y] = True
        return free

    def _straight(
        self, free: NDArray[np.bool_], ways: NDArray[np.float32], last: tuple[int, int], pose: FloatArray
    ) -> FloatArray:
        """Walk back along the path from `last` to the first cell with a free line to the walker."""
        here = np.array(self._cell(pose[:2, 3]))
        cell = last
        while ways[cell] > 1.5:
            n = int(np.abs(np.array(cell) - here).max()) * 2 + 1
            line = np.rint(here + (np.array(cell) - here) * np.linspace(0, 1, n)[:, None]).astype(np.int64)
            if free[line[:, 0], line[:, 1]].all():
                break
            cell = _lower(ways, cell)
        return self._point(np.array(cell))

    def _cell(self, xy: FloatArray) -> tuple[int, int]:
        assert self._origin is not None
        x, y = np.clip(np.floor((xy - self._origin) / CELL_M).astype(np.int64), 1, SIDE_CELLS - 2)
        return int(x), int(y)

    def _point(self, cell: NDArray[np.int64]) -> FloatArray:
        assert self._origin is not None
        point: FloatArray = (cell + 0.5) * CELL_M + self._origin
        return point

    def _mark(self, grid: NDArray[np.bool_], xy: FloatArray) -> None:
        assert self._origin is not None
        cells = np.floor((xy - self._origin) / CELL_M).astype(np.int64)
        cells = cells[((cells >= 0) & (cells < SIDE_CELLS)).all(1)]
        grid[cells[:, 0], cells[:, 1]] = True


def _thinned_rays(depth: Depth) -> tuple[FloatArray, FloatArray]:
    """Return some rays (r, c, 3) of a panorama, camera frame, and ranges (r, c) in metres; the middle row is level."""
    height, width = depth.shape
    rows, columns = _picked(height, width)
    rays = _rays(width, height)
    return rays[np.ix_(rows, columns)], depth[np.ix_(rows, columns)].astype(np.float64)


@lru_cache(maxsize=4)
def _picked(height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    across = np.arange(0, width, max(width // _COLUMNS, 1))
    half = np.arange(height // 2, height, max(height // _ROWS, 1))
    return np.concatenate([(height - 1 - half)[::-1], half]), across


@lru_cache(maxsize=4)
def _rays(width: int, height: int) -> FloatArray:
    return Panorama(width, height).rays()


def _spread(free: NDArray[np.bool_], start: tuple[int, int]) -> NDArray[np.float32]:
    """Count steps from `start` to each free cell in four directions; infinite where no path leads."""
    import cv2

    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], np.uint8)
    steps = np.full(free.shape, np.inf, np.float32)
    front = np.zeros(free.shape, np.uint8)
    front[start] = 1
    left = free.astype(np.uint8)
    step = 0
    while front.any():
        reached = front > 0
        steps[reached] = step
        left[reached] = 0
        front = np.asarray(cv2.dilate(front, cross), np.uint8) & left
        step += 1
    return steps


def _lower(steps: NDArray[np.float32], cell: tuple[int, int]) -> tuple[int, int]:
    x, y = cell
    near = [(x - 1, y), (x, y - 1), (x + 1, y), (x, y + 1)]
    return min(near, key=lambda one: float(steps[one]))
