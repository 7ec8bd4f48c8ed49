"""Where loops are walked: in a settlement of the embedded world, or in the real game, in one of three modes.

A worker keeps its last place open, since jobs of one place follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from worldgauge.collect.loops import Start
from worldgauge.collect.walk import Walk
from worldgauge.collect.walkers import EmbeddedWalker, GameWalker, Walker
from worldgauge.engine.collect.driving import demand, distinct, plain, render
from worldgauge.errors import UsageError, WorldError
from worldgauge.geometry import Camera, FloatArray
from worldgauge.worlds.minecraft import Minecraft
from worldgauge.worlds.minecraft.cells import Cells, write
from worldgauge.worlds.minecraft.install import VIEWER, find_node, find_packages
from worldgauge.worlds.minecraft.java import JavaServer, address
from worldgauge.worlds.minecraft.names import cells_of, voxels_of
from worldgauge.worlds.minecraft.offline import VERSION, Offline
from worldgauge.worlds.minecraft.online import Online
from worldgauge.worlds.minecraft.places import SEED, Place, place_of
from worldgauge.worlds.minecraft.server import JsServer
from worldgauge.worlds.minecraft.survey import seed_of, survey
from worldgauge.worlds.minecraft.viewer import Viewer
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.world import VoxelWorld

Mode = Literal["js-server", "offline", "java"]
Pictures = Literal["ours", "viewer", "released"]
MODES: tuple[Mode, ...] = get_args(Mode)
PICTURES: tuple[Pictures, ...] = get_args(Pictures)

GROUND_LEVEL = 64
"""y of the game at which the release begins to look for the ground."""
REACH = 176
"""Blocks read around a place on a server: 80 that are walked, and 96 that the release draws around the walker."""
WORLDS_FOLDER = "worlds"
"""In a collection: the cells of places that no seed of ours gives."""


@dataclass(frozen=True)
class Game:
    """How the real game is used. Raises UsageError for what cannot be meant.

    mode: "js-server", a server of ours with a bot on it, in real time; "offline", the game's physics and planner
    without a server, which gives the same files sooner; "java", the `server` (host:port) that somebody runs, at
    `places` on it: published names, or NAME@X,Y,Z. pictures: "ours", our own camera on the cells of the game;
    "viewer", the renderer of the published frames; "released", that with its defect, invisible stairs.
    """

    mode: Mode = "js-server"
    server: str | None = None
    places: tuple[str, ...] = ()
    pictures: Pictures = "ours"

    def __post_init__(self) -> None:
        demand("mode", self.mode, self.mode in MODES, f"one of {', '.join(MODES)}")
        demand("pictures", self.pictures, self.pictures in PICTURES, f"one of {', '.join(PICTURES)}")
        if len({self.mode == "java", self.server is not None, bool(self.places)}) > 1:
            raise UsageError("mode java, a server and places on it go together: give all three or none")
        if self.server is not None:
            address(self.server)
            named = [place_of(text).name for text in self.places]
            demand("places", list(self.places), distinct(named, named), "every name once")

    def check(self) -> None:
        """Raises WorldError, with what to do, when it cannot be used on this machine."""
        find_node()
        find_packages()
        if self.pictures != "ours":
            find_packages(kind=VIEWER)
        if self.server is not None:
            with JavaServer(*address(self.server)) as server:
                for text in self.places:
                    _seed(server, place_of(text), self.server)


@dataclass(frozen=True)
class Spot:
    """An open place.

    voxels: what is walked through. world: what is seen, in the frame that is recorded, which may be another. facts: of
    the world, plain values, files relative to the collection. seed: of the world, for the records. cells: the game's,
    with the names of its `version`.
    """

    voxels: VoxelWorld
    world: Voxel | Minecraft
    facts: dict[str, Any]
    walker: Walker
    start: Start
    seed: int
    cells: Cells | None = None
    version: str = VERSION
    pictures: Pictures = "ours"
    closing: ExitStack = field(default_factory=ExitStack)

    def recorded(self, walk: Walk) -> Walk:
        """A walk through `voxels` in the frame that is recorded."""
        x, y, z = (int(v) for v in self._origin)
        goals = tuple(
            goal and replace(goal, x=goal.x + x, y=goal.y + y, z=None if goal.z is None else goal.z + z)
            for goal in walk.goals
        )
        return replace(walk, positions=walk.positions + self._origin, goals=goals)

    def frames(
        self, poses: FloatArray, camera: Camera, progress: Callable[[int, int], None]
    ) -> Iterator[NDArray[np.uint8]]:
        """What is seen from poses (T, 4, 4) of a recorded walk, (H, W, 3) uint8 each; progress: done, of all."""
        if self.pictures == "ours" or self.cells is None:
            yield from render(self.world, poses, camera, progress)
            return
        size, released = (camera.width, camera.height), self.pictures == "released"
        with Viewer(self.cells, width=size[0], height=size[1], released=released, version=self.version) as viewer:
            for number, pose in enumerate(poses):
                progress(number, len(poses))
                seen = pose.copy()
                seen[:3, 3] -= self._origin
                yield viewer.frame(seen)

    @property
    def _origin(self) -> FloatArray:
        return np.array(self.world.origin if isinstance(self.world, Minecraft) else (0.0, 0.0, 0.0))


def open_spot(out: Path, location: str, kind: str, seed: int, game: Game | None) -> Spot:
    """The place called `location`: of a settlement its kind and seed, of a server one of the game's places.

    The one that was opened before is closed, unless it is the same. Raises what servers and bridges raise.
    """
    asked = (out, location, kind, seed, game)
    if _last and _last[0][0] == asked:
        return _last[0][1]
    close_spot()
    with ExitStack() as stack:
        if game is None:
            spot = _embedded(kind, seed)
        elif game.mode == "java":
            spot = _on_server(out, location, game, stack)
        else:
            spot = _settlement(kind, seed, game, stack)
        _last.append((asked, replace(spot, closing=stack.pop_all())))
    return _last[0][1]


@lru_cache(maxsize=4)
def kept_facts(out: Path, location: str) -> dict[str, Any]:
    """Facts of a place of a server that was open before, as the collection has its cells; as `Spot.facts`."""
    return _kept_facts(Minecraft(str(_grid(out, location))), out)


def close_spot() -> None:
    """End what was started for the last place."""
    while _last:
        _last.pop()[1].closing.close()


_last: list[tuple[tuple[Any, ...], Spot]] = []


def _embedded(kind: str, seed: int) -> Spot:
    world = Voxel(kind, seed)
    return Spot(world.voxels, world, _facts(world), EmbeddedWalker(world.voxels), Start(), seed)


def _settlement(kind: str, seed: int, game: Game, stack: ExitStack) -> Spot:
    """A settlement of ours put into the game, and looked at as the game then has it."""
    made = Voxel(kind, seed)
    cells = cells_of(made.voxels)
    if game.mode == "offline":
        offline = stack.enter_context(Offline(cells))
        walker = GameWalker(offline)
        return Spot(made.voxels, made, _facts(made), walker, Start(), seed, cells, pictures=game.pictures)
    server = stack.enter_context(JsServer(cells))
    (x, y, z), size = cells.origin, cells.size
    held = server.read((cells.origin, (x + size[0] - 1, y + size[1] - 1, z + size[2] - 1)))
    world = Voxel.from_cells(voxels_of(held, made.voxels))
    if world.facts != made.facts:
        raise WorldError(f"the server holds other cells than the {kind} settlement that was put into it")
    walker = GameWalker(Online(server, held))
    return Spot(world.voxels, world, _facts(world), walker, Start(), seed, held, pictures=game.pictures)


def _on_server(out: Path, location: str, game: Game, stack: ExitStack) -> Spot:
    """A place of a world that somebody runs; its cells are read once, and kept in the collection."""
    assert game.server is not None
    place = next(place for place in map(place_of, game.places) if place.name == location)
    server = stack.enter_context(JavaServer(*address(game.server)))
    seed = _seed(server, place, game.server)
    grid = _grid(out, location)
    if not grid.exists():
        write(grid, survey(server, (place.x, place.y, place.z), REACH, dimension=place.dimension))
    world = Minecraft(str(grid))
    cells = world.cells
    foot = cells.ours((place.x, place.y, place.z))
    start = Start(
        cell=(int(foot[0]), int(foot[1]) - 1, int(foot[2])) if place.loose else None,
        level=GROUND_LEVEL - cells.origin[1],
        loose=place.loose,
    )
    walker = GameWalker(Online(server, cells, dimension=place.dimension))
    facts = _kept_facts(world, out)
    return Spot(world.voxels, world, facts, walker, start, seed, cells, server.version, game.pictures)


def _grid(out: Path, location: str) -> Path:
    return out / WORLDS_FOLDER / f"{location}.grid.gz"


def _kept_facts(world: Minecraft, out: Path) -> dict[str, Any]:
    params = {"grid": Path(world.facts.params["grid"]).relative_to(out).as_posix()}
    return plain(replace(world.facts, params=params))


def _seed(server: JavaServer, place: Place, address: str) -> int:
    """Of the server's world, as far as it tells. Raises WorldError when published places are elsewhere."""
    seed = seed_of(server)
    if place.published and seed not in (None, SEED):
        raise WorldError(
            f"'{place.name}' is a place of the world with seed {SEED}, and the one on {address} has {seed}: set "
            f"level-seed={SEED} there, or name places of your own, NAME@X,Y,Z"
        )
    return seed if seed is not None else SEED if place.published else 0


def _facts(world: Voxel) -> dict[str, Any]:
    return plain(world.facts)
