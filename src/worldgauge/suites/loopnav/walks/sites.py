"""Where a loop is walked: where it may begin, where its goals may lie, and who walks."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from worldgauge.core.errors import WorldError
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.floor_walker import FloorWalker
from worldgauge.worlds.walking.sampling import (
    MAX_REJECTIONS,
    Cell,
    Ground,
    Rule,
    sample_offset,
    sample_place,
    start_place,
)
from worldgauge.worlds.walking.walk import WalkGoal
from worldgauge.worlds.walking.walkers import EmbeddedWalker, Walker, WalkFailedError

START_RADIUS = 20


class LoopSite(Protocol):
    """A place to walk loops at. Its cells are one metre wide."""

    @property
    def walker(self) -> Walker:
        """The walker."""
        ...

    @property
    def seed(self) -> int | None:
        """Seed of the world; None when unknown."""
        ...

    @property
    def label(self) -> str:
        """Name of the place in messages."""
        ...

    def begin(self) -> Cell | None:
        """Where the walker is put down before it goes to A; None where it is put down at A itself."""
        ...

    def first_place(self, begin: Cell | None, rng: np.random.Generator, rule: Rule) -> Cell:
        """Choose the start A.

        Args:
            begin: Cell to search around; the site's own by default.
            rng: Generator.
            rule: How offsets are drawn.

        Raises:
            WalkFailedError: None is found.
        """
        ...

    def next_place(self, around: Cell, radius: int, rng: np.random.Generator, rule: Rule) -> Cell:
        """Choose a place at about a given distance.

        Args:
            around: Cell to search around.
            radius: Distance in cells.
            rng: Generator.
            rule: How offsets are drawn.

        Raises:
            WalkFailedError: None is found.
        """
        ...

    def goal(self, place: Cell) -> WalkGoal:
        """The goal of a walker that goes to `place`."""
        ...


class Start(NamedTuple):
    """Where walkers are put down and on what ground they go; by default natural ground near the middle of ours.

    Attributes:
        cell: The exact cell to start at.
        ground: Ground that goals lie on.
        loose: Goals are columns to come near to, whatever the ground there, as underground in the release.
    """

    cell: Cell | None = None
    ground: Ground | None = None
    loose: bool = False


class VoxelSite:
    """A settlement, embedded or of the game, with the release's rules for places.

    The walker is moved by our own physics by default.
    """

    def __init__(self, world: VoxelWorld, walker: Walker | None = None, start: Start | None = None) -> None:
        self.walker: Walker = walker or EmbeddedWalker(world)
        self._world = world
        self._start = start or Start()

    @property
    def seed(self) -> int:
        """See `LoopSite.seed`."""
        return self._world.seed

    @property
    def label(self) -> str:
        """Kind and seed."""
        return f"world '{self._world.kind}' (seed {self._world.seed})"

    def begin(self) -> Cell:
        """The middle of the settlement, or where `start` says."""
        return start_place(self._world, self._start.ground) if self._start.cell is None else self._start.cell

    def first_place(self, begin: Cell | None, rng: np.random.Generator, rule: Rule) -> Cell:
        """As `LoopSite.first_place`, about START_RADIUS from the middle."""
        return self.next_place(begin or self.begin(), START_RADIUS, rng, rule)

    def next_place(self, around: Cell, radius: int, rng: np.random.Generator, rule: Rule) -> Cell:
        """As `LoopSite.next_place`, by `sampling.sample_place`; any column where goals are loose."""
        if self._start.loose:
            dx, dy = sample_offset(radius, rng, rule)
            return around[0] + dx, around[1] + dy, around[2]
        try:
            return sample_place(self._world, around, radius, rng, rule=rule, ground=self._start.ground)
        except WorldError:
            raise WalkFailedError("no place to go") from None

    def goal(self, place: Cell) -> WalkGoal:
        """As `LoopSite.goal`: the cell itself, or its column where goals are loose."""
        return WalkGoal(place[0], place[1], range_sq=1) if self._start.loose else WalkGoal(*place)


class FloorSite:
    """The floor of any world that has one, such as a home.

    Rooms are small, so A is any place that can be reached, and the walker is put down there. Goals are drawn by the
    same rules, and rejected where the walker cannot stand.
    """

    def __init__(self, floor: FloorPlan, label: str, seed: int | None) -> None:
        self.walker = FloorWalker(floor)
        self.label = label
        self.seed = seed

    def begin(self) -> None:
        """None: the walker is put down at A."""

    def first_place(self, begin: Cell | None, rng: np.random.Generator, rule: Rule) -> Cell:
        """As `LoopSite.first_place`: any cell with room, each with equal probability."""
        cells = self.walker.cells
        return cells[int(rng.integers(len(cells)))]

    def next_place(self, around: Cell, radius: int, rng: np.random.Generator, rule: Rule) -> Cell:
        """As `LoopSite.next_place`, among cells with room."""
        for _ in range(MAX_REJECTIONS):
            dx, dy = sample_offset(radius, rng, rule)
            if (cell := self.walker.cell_at(around[0] + dx, around[1] + dy)) is not None:
                return cell
        raise WalkFailedError("no place to go")

    def goal(self, place: Cell) -> WalkGoal:
        """The cell itself."""
        return WalkGoal(*place)
