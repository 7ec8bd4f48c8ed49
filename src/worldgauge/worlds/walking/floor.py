"""Floor plans of worlds, and the named things in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds import World, worlds


@dataclass(frozen=True)
class Landmark:
    """A thing that can be named as a target.

    Attributes:
        category: One or two plain words, such as "chair" or "street lamp".
        instance: Its number in `View.instance`.
        low: Lower corner (x, y, z) of its axis-aligned box in the world frame, metres.
        high: Upper corner of the box.

    Examples:
        >>> Landmark("chair", 7, low=(1.0, 2.0, 0.0), high=(2.0, 3.0, 1.0)).centre.tolist()
        [1.5, 2.5, 0.5]
    """

    category: str
    instance: int
    low: tuple[float, float, float]
    high: tuple[float, float, float]

    @property
    def name(self) -> str:
        """What it is called: its category."""
        return self.category

    @property
    def centre(self) -> FloatArray:
        """Centre of the box, (3,) metres."""
        middle: FloatArray = (np.array(self.low) + np.array(self.high)) / 2
        return middle


@dataclass(frozen=True)
class FloorPlan:
    """A grid over the plane that says where a walker's feet can be.

    Attributes:
        free: (X, Y) bool, cells with a floor and without obstacles.
        height_m: (X, Y) float32, z of the floor. Undefined where a cell is not free.
        origin: (x, y) in metres of the lower corner of cell [0, 0].
        cell_m: Side of a cell in metres.

    Examples:
        >>> free = np.array([[True, True], [True, False]])
        >>> floor = FloorPlan(free, np.zeros((2, 2), np.float32), origin=(0.0, 0.0), cell_m=0.5)
        >>> floor.cells_of([0.6, 0.1]).tolist(), round(float(floor.clearance_at([0.6, 0.1])), 3)
        ([1, 0], 0.5)
    """

    free: NDArray[np.bool_]
    height_m: NDArray[np.float32]
    origin: tuple[float, float]
    cell_m: float

    @cached_property
    def clearance_m(self) -> NDArray[np.float32]:
        """(X, Y) float32 metres from the centre of a cell to the nearest cell that is not free.

        Cells outside are not free.
        """
        import cv2

        padded = np.pad(self.free, 1).astype(np.uint8)
        distance = cv2.distanceTransform(padded, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)[1:-1, 1:-1]
        return np.asarray(distance * self.cell_m, np.float32)

    def cells_of(self, xy: ArrayLike) -> NDArray[np.int64]:
        """Cells (..., 2) that contain points (..., 2) in metres. They may be outside the grid.

        Raises:
            ShapeError: For points of another shape.
        """
        xy = np.asarray(xy, np.float64)
        if xy.shape[-1:] != (2,):
            raise ShapeError(f"points of a floor plan need shape (..., 2), got {xy.shape}")
        cells: NDArray[np.int64] = np.floor((xy - np.array(self.origin)) / self.cell_m).astype(np.int64)
        return cells

    def points_of(self, cells: ArrayLike) -> FloatArray:
        """Centres (..., 2) in metres of cells (..., 2)."""
        points: FloatArray = (np.asarray(cells, np.float64) + 0.5) * self.cell_m + np.array(self.origin)
        return points

    def clearance_at(self, xy: ArrayLike) -> FloatArray:
        """Clearance (...) in metres of the cells that contain points (..., 2); 0 outside the grid."""
        return self._at(self.clearance_m, xy, 0.0)

    def height_at(self, xy: ArrayLike) -> FloatArray:
        """Height (...) in metres of the floor at points (..., 2); NaN outside the grid."""
        return self._at(self.height_m, xy, np.nan)

    def _at(self, values: NDArray[np.float32], xy: ArrayLike, outside: float) -> FloatArray:
        cells = self.cells_of(xy)
        inside = np.asarray(((cells >= 0) & (cells < self.free.shape)).all(-1))
        held = np.where(inside[..., None], cells, 0)
        found: FloatArray = np.where(inside, values[held[..., 0], held[..., 1]].astype(np.float64), outside)
        return found


def place_of(xy: ArrayLike) -> FloatArray:
    """A place (2,) on a floor, metres."""
    point = np.asarray(xy, np.float64)
    if point.shape != (2,) or not np.isfinite(point).all():
        raise ShapeError(f"a place on a floor needs two finite numbers, got {xy!r}")
    return point


class Walkable(World, Protocol):
    """A world with floors to walk on and things to walk to.

    Examples:
        >>> world: Walkable = worlds.get("scan")("example/room")
        >>> world.floor.cell_m, world.landmarks[0].name
        (0.05, 'bed')
    """

    @property
    def floor(self) -> FloorPlan:
        """Floor plan for a walker of the world's own height."""
        ...

    @property
    def landmarks(self) -> tuple[Landmark, ...]:
        """Named things, in a fixed order."""
        ...


def walkable_worlds() -> tuple[str, ...]:
    """Names of the registered worlds that declare a floor, sorted. Worlds that cannot be imported are left out."""
    return tuple(name for name in worlds.names() if _declares_floor(name))


def check_walkable(name: str) -> None:
    """Check that a world is registered and declares a floor. A world of another package is imported for that."""
    if name not in worlds:
        raise UnknownNameError("walkable world", name, walkable_worlds())
    worlds.get(name)
    if not worlds.entry(name).facts.get("walkable"):
        known = ", ".join(walkable_worlds())
        raise UsageError(f"world '{name}' is not one that can be walked in; these can: {known}")


def build_walkable(name: str, seed: int) -> Walkable:
    """Build a walkable world with the arguments of its example."""
    check_walkable(name)
    built = worlds.get(name)(**{**worlds.entry(name).facts["example"], "seed": seed})
    return cast(Walkable, built)


def _declares_floor(name: str) -> bool:
    """Whether a world declares a floor. What a world of another package declares is known once it is imported."""
    try:
        worlds.get(name)
    except Exception:  # any package may be broken, and is not what was asked for
        return False
    return bool(worlds.entry(name).facts.get("walkable"))


def distance_from_box(landmark: Landmark, xy: FloatArray) -> FloatArray:
    """Distance in the plane to the box of a landmark. `xy`: (..., 2) metres. Returns (...) metres, 0 inside."""
    low, high = np.array(landmark.low[:2]), np.array(landmark.high[:2])
    away: FloatArray = np.linalg.norm(np.maximum(np.maximum(low - xy, xy - high), 0), axis=-1)
    return away
