"""What a walker stands on: distances, ways, steps, and places to stand; level floors, and those of scans.

Places are (3,) metres in the world frame.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.walking.floor import FloorPlan, Walkable
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.primitives import RADIUS_M, Primitive, Stance, Steps, stands, walked

SAMPLES = 500
"""Places that `places_near` tries."""


class ReachablePlaces(NamedTuple):
    """Places `at`, (n, 3) metres, and the length of the way to each."""

    at: FloatArray
    metres: FloatArray


class Ground(Protocol):
    """What a walker stands on. Do not share an instance between threads."""

    def stands(self, at: ArrayLike) -> bool:
        """Whether a walker can stand at a place (3,)."""
        ...

    def step(self, stance: Stance, primitive: Primitive) -> tuple[Stance, bool]:
        """Move a walker by one primitive."""
        ...

    def path(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """The way between two places: (n, 3) corners, both ends included; None where there is none."""
        ...

    def distance(self, a: ArrayLike, b: ArrayLike) -> float:
        """Length of `path` in metres; infinite where there is none."""
        ...

    def nearest(self, at: ArrayLike) -> FloatArray:
        """The place (3,) to stand that is nearest to a point (3,)."""
        ...

    def random_point(self, rng: np.random.Generator) -> FloatArray:
        """A random place (3,) to stand, indoors and uniform over the floor."""
        ...

    def steps_to(self, stance: Stance, goal: ArrayLike, radius_m: float) -> Steps | None:
        """Primitives to within `radius_m` of a goal (3,), metres; empty if already there, None if not reached."""
        ...

    def steps_left(self, stance: Stance, goal: ArrayLike, radius_m: float) -> float:
        """About how many primitives `steps_to` gives; 0 when already there, infinite where there is no way."""
        ...

    def places_near(
        self, stance: Stance, centre: ArrayLike, radius_m: float, n: int, rng: np.random.Generator
    ) -> ReachablePlaces:
        """Places around a point that can be reached. `centre`: (3,) metres."""
        ...


@runtime_checkable
class HasGround(Protocol):
    """A world whose ground is not a level floor."""

    def ground(self, sliding: bool | None = None) -> Ground:
        """Its ground. `sliding`: whether walkers slide along walls; None for the world's own rule."""
        ...


class Level:
    """A ground without storeys: that of a floor plan. The height of a walker stays what it is."""

    def __init__(self, floor: FloorPlan, radius_m: float = RADIUS_M) -> None:
        self.floor = floor
        self.geodesic = Geodesic(floor, radius_m)
        # The plans of a decision begin alike, and each is walked more than once: by the planner, the model, the tracer.
        self._walked = lru_cache(maxsize=4096)(partial(walked, floor, radius_m=radius_m))

    def stands(self, at: ArrayLike) -> bool:
        """See `Ground.stands`."""
        return bool(stands(self.floor.clearance_at(_plane(at)), self.geodesic.radius_m))

    def step(self, stance: Stance, primitive: Primitive) -> tuple[Stance, bool]:
        """See `stance.walked`; it does not slide."""
        return self._walked(stance, primitive)

    def path(self, a: ArrayLike, b: ArrayLike) -> FloatArray | None:
        """See `Geodesic.path`; all at the height of the start."""
        way = self.geodesic.path(_plane(a), _plane(b))
        return None if way is None else np.column_stack([way, np.full(len(way), _height(a))])

    def distance(self, a: ArrayLike, b: ArrayLike) -> float:
        """See `Geodesic.distance`."""
        return self.geodesic.distance(_plane(a), _plane(b))

    def nearest(self, at: ArrayLike) -> FloatArray:
        """See `Geodesic.nearest`."""
        return np.append(self.geodesic.nearest(_plane(at)), _height(at))

    def random_point(self, rng: np.random.Generator) -> FloatArray:
        """See `Geodesic.random_point`; at height 0."""
        return np.append(self.geodesic.random_point(rng), 0.0)

    def steps_to(self, stance: Stance, goal: ArrayLike, radius_m: float) -> Steps | None:
        """See `Geodesic.steps_to`."""
        return self.geodesic.steps_to(stance, _plane(goal), radius_m)

    def steps_left(self, stance: Stance, goal: ArrayLike, radius_m: float) -> float:
        """See `Geodesic.steps_left`."""
        return self.geodesic.steps_left(stance, _plane(goal), radius_m)

    def places_near(
        self, stance: Stance, centre: ArrayLike, radius_m: float, n: int, rng: np.random.Generator
    ) -> ReachablePlaces:
        """Centres of cells, see `Ground.places_near`; lengths are those of steps between cells."""
        cells = np.unique(self.floor.cells_of(in_disc(_plane(centre), radius_m, rng)), axis=0)
        cells = cells[((cells >= 0) & (cells < self.floor.free.shape)).all(1)]
        # One distance field, from here: distances are symmetric.
        away = self.geodesic.field(stance[:2])[cells[:, 0], cells[:, 1]]
        reachable = np.flatnonzero(np.isfinite(away))
        reachable = np.sort(rng.permutation(reachable)[:n])
        at = self.floor.points_of(cells[reachable])
        return ReachablePlaces(np.column_stack([at, np.full(len(at), stance.z)]), away[reachable])


def ground_of(world: Walkable, sliding: bool | None = None) -> Ground:
    """The ground of a world. The last one is cached, as episodes of one scene follow each other.
    `sliding`: whether walkers slide along walls, if the ground supports that; None for the world's own rule."""
    return _ground_of(_Same(world), sliding)


def in_disc(centre: FloatArray, radius_m: float, rng: np.random.Generator) -> FloatArray:
    """`SAMPLES` points (n, 2), uniform over a disc around (2,)."""
    angle = rng.uniform(-np.pi, np.pi, SAMPLES)
    reach = radius_m * np.sqrt(rng.uniform(0, 1, SAMPLES))
    points: FloatArray = centre + reach[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    return points


class _Same:
    """A world as a key of a cache: equal to itself only."""

    def __init__(self, world: Walkable) -> None:
        self.world = world

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.world is self.world

    def __hash__(self) -> int:
        return id(self.world)


@lru_cache(maxsize=1)
def _ground_of(held: _Same, sliding: bool | None) -> Ground:
    world = held.world
    return world.ground(sliding) if isinstance(world, HasGround) else Level(world.floor)


def _plane(at: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(at, np.float64)[:2]


def _height(at: ArrayLike) -> float:
    point = np.asarray(at, np.float64)
    return float(point[2]) if len(point) > 2 and math.isfinite(point[2]) else 0.0
