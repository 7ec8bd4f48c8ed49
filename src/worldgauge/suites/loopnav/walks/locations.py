"""Opened places where loops are walked: in the embedded world, or in the real game in one of its modes.

A worker keeps the last one of each mode open, since jobs of one place follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.io import Stamp, stamp_of
from worldgauge.engine.collection.drawing import render
from worldgauge.suites.loopnav.walks.game import Game, Pictures
from worldgauge.suites.loopnav.walks.sites import FloorSite, LoopSite, Start, VoxelSite
from worldgauge.worlds import World
from worldgauge.worlds.minecraft import Minecraft
from worldgauge.worlds.minecraft.cells.building import compare
from worldgauge.worlds.minecraft.cells.cells import Cells, write
from worldgauge.worlds.minecraft.cells.regions import box_of
from worldgauge.worlds.minecraft.cells.survey import survey
from worldgauge.worlds.minecraft.names import cells_of, voxels_of
from worldgauge.worlds.minecraft.offline import VERSION, Offline
from worldgauge.worlds.minecraft.places import Place
from worldgauge.worlds.minecraft.servers.java import JavaServer, address
from worldgauge.worlds.minecraft.servers.server import JsServer, Online
from worldgauge.worlds.minecraft.viewer import Viewer
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.walking.floor import build_walkable
from worldgauge.worlds.walking.sampling import released_ground
from worldgauge.worlds.walking.walk import Walk
from worldgauge.worlds.walking.walkers import GameWalker

REACH = 176
"""Blocks read around a place on a server: 80 that are walked, and 96 that the release draws around the walker."""
LOOKED_AT = 8
"""Blocks around a place that are read again when its cells are there already."""
WORLDS_FOLDER = "worlds"
"""In a collection: the cells of places that no seed of ours gives."""


@dataclass
class Location:
    """An open place.

    Attributes:
        site: Where loops are walked.
        world: What is seen, in the frame that is recorded, which may be another.
        facts: Of the world, files relative to the collection.
        seed: Of the world, for the records; None when unknown.
        cells: The game's, with the names of its `version`.
        pictures: Who draws them.
    """

    site: LoopSite
    world: World
    facts: WorldFacts
    seed: int | None
    cells: Cells | None = None
    version: str = VERSION
    pictures: Pictures = "ours"
    closing: ExitStack = field(default_factory=ExitStack)
    _viewer: Viewer | None = None

    def recorded(self, walk: Walk) -> Walk:
        """Convert a walk at `site` to the frame that is recorded."""
        x, y, z = (int(v) for v in self._origin)
        goals = tuple(
            goal and replace(goal, x=goal.x + x, y=goal.y + y, z=None if goal.z is None else goal.z + z)
            for goal in walk.goals
        )
        return replace(walk, positions=walk.positions + self._origin, goals=goals)

    def frames(
        self, poses: FloatArray, camera: Camera, progress: Callable[[int, int], None], device: str | None
    ) -> Iterator[NDArray[np.uint8]]:
        """What is seen from the poses of a recorded walk.

        Args:
            poses: (T, 4, 4), recorded frame.
            camera: The camera.
            progress: Called with the number done and the number of all.
            device: Where our pictures are drawn, as `engine.collection.drawing.render` takes it.

        Returns:
            Frames (H, W, 3), uint8 RGB.
        """
        if self.pictures == "ours" or self.cells is None:
            yield from render(self.world, poses, camera, progress, device)
            return
        if self._viewer is None:
            size, released = (camera.width, camera.height), self.pictures == "released"
            viewer = Viewer(self.cells, width=size[0], height=size[1], released=released, version=self.version)
            self._viewer = self.closing.enter_context(viewer)
        for number, pose in enumerate(poses):
            progress(number, len(poses))
            seen = pose.copy()
            seen[:3, 3] -= self._origin
            yield self._viewer.frame(seen)

    @property
    def _origin(self) -> FloatArray:
        return np.array(self.world.origin if isinstance(self.world, Minecraft) else (0.0, 0.0, 0.0))


def open_location(out: Path, location: str, world: str, kind: str, seed: int, game: Game | None) -> Location:
    """Open the place called `location`. The last one of this mode is closed, unless it is the same.

    Args:
        out: Folder of the collection.
        location: Its name; with a server one of the game's places.
        world: Registered name of the world.
        kind: Kind of a settlement, or key of a scan.
        seed: Seed of the world.
        game: How the real game is used, if it is.

    Raises:
        WorldgaugeError: What servers and bridges raise.
    """
    mode = None if game is None else game.mode
    asked = (out, location, world, kind, seed, game)
    if mode in _open and _open[mode][0] == asked:
        return _open[mode][1]
    if mode in _open:
        _open.pop(mode)[1].closing.close()
    with ExitStack() as stack:
        if game is None:
            opened = _embedded(kind, seed) if world == "voxel" else _on_floor(world, kind, seed)
        elif game.mode == "java":
            opened = _on_server(out, game.place(location), game, stack)
        else:
            opened = _settlement(kind, seed, game, stack)
        opened.closing = stack.pop_all()
    _open[mode] = (asked, opened)
    return opened


def close_locations() -> None:
    """Stop what was started for the last places."""
    while _open:
        _open.popitem()[1][1].closing.close()


def kept_facts(out: Path, place: Place) -> WorldFacts:
    """Return the facts of a server's place that was opened before, from the cells in the collection.

    Args:
        out: Folder of the collection.
        place: The place.

    Raises:
        WorldError: The cells are gone or belong to another place.
    """
    return _facts_at(out, place, stamp_of(_grid(out, place)))


@lru_cache(maxsize=4)
def _facts_at(out: Path, place: Place, stamp: Stamp | None) -> WorldFacts:
    return _kept_facts(_kept(out, place), out)


_open: dict[str | None, tuple[tuple[Any, ...], Location]] = {}


def _embedded(kind: str, seed: int) -> Location:
    world = Voxel(kind, seed)
    return Location(VoxelSite(world.voxels), world, world.facts, seed)


def _on_floor(name: str, scene: str, seed: int) -> Location:
    if name == "scan":
        scan = Scan(scene)
        return Location(FloorSite(scan.floor, f"scene '{scene}'", seed), scan, scan.facts, None)
    world = build_walkable(name, seed)
    return Location(FloorSite(world.floor, f"world '{name}' (seed {seed})", seed), world, world.facts, seed)


def _settlement(kind: str, seed: int, game: Game, stack: ExitStack) -> Location:
    """A settlement of ours put into the game, and looked at as the game then has it."""
    made = Voxel(kind, seed)
    cells = cells_of(made.voxels)
    if game.mode == "offline":
        walker, world = GameWalker(stack.enter_context(Offline(cells))), made
    else:
        server = stack.enter_context(JsServer(cells))
        held = server.read(box_of(cells))
        walker, world = GameWalker(Online(server, held)), Voxel.from_cells(voxels_of(held, made.voxels))
        if world.facts != made.facts:
            raise WorldError(f"the server holds other cells than the {kind} settlement that was put into it")
    return Location(VoxelSite(world.voxels, walker), world, world.facts, seed, cells, pictures=game.pictures)


def _on_server(out: Path, place: Place, game: Game, stack: ExitStack) -> Location:
    """A place of a world that somebody runs; its cells are read once, and kept in the collection."""
    assert game.server is not None
    server = stack.enter_context(JavaServer(*address(game.server)))
    seed = game.check_server(server)
    if _grid(out, place).exists():
        world = _kept(out, place)
        _demand_unchanged(server, world.cells, place)
    else:
        write(_grid(out, place), survey(server, (place.x, place.y, place.z), REACH, dimension=place.dimension))
        world = _kept(out, place)
    cells = world.cells
    x, y, z = cells.ours((place.x, place.y, place.z))
    start = Start((int(x), int(y) - 1, int(z)), released_ground(cells), place.loose)
    walker = GameWalker(Online(server, cells, dimension=place.dimension))
    facts = _kept_facts(world, out)
    return Location(VoxelSite(world.voxels, walker, start), world, facts, seed, cells, server.version, game.pictures)


def _grid(out: Path, place: Place) -> Path:
    return out / WORLDS_FOLDER / f"{place.name}.grid.gz"


def _kept(out: Path, place: Place) -> Minecraft:
    world = Minecraft(str(_grid(out, place)))
    x, z = (world.cells.origin[axis] + REACH for axis in (0, 2))
    if (x, z) != (place.x, place.z):
        raise WorldError(
            f"'{place.name}' at x {place.x}, z {place.z} has lain at x {x}, z {z} in {out}: "
            "give it another name, or collect into another folder"
        )
    return world


def _kept_facts(world: Minecraft, out: Path) -> WorldFacts:
    params = {"grid": Path(world.facts.params["grid"]).relative_to(out).as_posix()}
    return replace(world.facts, params=params)


def _demand_unchanged(server: JavaServer, cells: Cells, place: Place) -> None:
    """Raises WorldError where the world around a place is no longer the one that was read."""
    server.teleport(place.x + 0.5, place.y, place.z + 0.5, dimension=place.dimension)
    x, z = (middle - LOOKED_AT - low for middle, low in ((place.x, cells.origin[0]), (place.z, cells.origin[2])))
    index = cells.index[x : x + 2 * LOOKED_AT, :, z : z + 2 * LOOKED_AT]
    before = Cells((place.x - LOOKED_AT, cells.origin[1], place.z - LOOKED_AT), cells.palette, index)
    if changed := len(compare(before, server.read(box_of(before))).differences):
        raise WorldError(
            f"{changed} blocks around '{place.name}' are no longer as they were read: collect into another folder"
        )
