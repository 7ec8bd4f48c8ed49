"""Loop walks: out from a place and back to it, as LoopNav records them (loopnav 1.4, 1.5, 1.9).

A walker is put down at the settlement's centre, walks to a place A unrecorded, looks all around, walks to
B (and on to C), returns to A and idles. A try that gets stuck or lasts too long is discarded.
Places are in the embedded world, or in the real game in one of its modes. A worker keeps the last one of each mode
open, since jobs of one place follow each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.io import Stamp, stamp_of
from worldgauge.engine.collect import render
from worldgauge.worlds import World
from worldgauge.worlds.doom.engine import DOOM, DoomWalker, Engine
from worldgauge.worlds.minecraft import Minecraft
from worldgauge.worlds.minecraft.building import compare
from worldgauge.worlds.minecraft.cells import Cells, write
from worldgauge.worlds.minecraft.install import VIEWER, find_node, find_packages
from worldgauge.worlds.minecraft.names import cells_of, voxels_of
from worldgauge.worlds.minecraft.offline import Offline
from worldgauge.worlds.minecraft.places import SEED, VERSION, Place, place_of
from worldgauge.worlds.minecraft.regions import box_of
from worldgauge.worlds.minecraft.server import JavaServer, JsServer, Online, address
from worldgauge.worlds.minecraft.survey import seed_of, survey
from worldgauge.worlds.minecraft.viewer import MinecraftViewer
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.player import TICKS_PER_SECOND
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking import planner
from worldgauge.worlds.walking.floor import build_walkable
from worldgauge.worlds.walking.planner import Cell, Rule
from worldgauge.worlds.walking.walk import LoopKind, Walk, WalkGoal, discard_counts
from worldgauge.worlds.walking.walkers import (
    TURN_DONE,
    Control,
    EmbeddedWalker,
    FloorWalker,
    GameWalker,
    Stride,
    Walker,
    WalkFailedError,
    turn_towards,
)

START_RADIUS = 20


class LoopStart(NamedTuple):
    """Start of walkers, by default natural ground near the middle; with `loose`, goals are columns on any ground."""

    cell: Cell | None = None
    ground: planner.GroundColumns | None = None
    loose: bool = False


class VoxelSite:
    """A settlement, embedded or of the game, with the release's rules for places; our own physics is the default."""

    def __init__(self, world: VoxelWorld, walker: Walker | None = None, start: LoopStart | None = None) -> None:
        self.walker: Walker = walker or EmbeddedWalker(world)
        self.seed = world.seed
        self.label = f"world '{world.kind}' (seed {world.seed})"
        self._world = world
        self._start = start or LoopStart()

    def begin(self) -> Cell:
        """Where the walker is put down before it goes to A: the middle of the settlement, or where `start` says."""
        return planner.start_place(self._world, self._start.ground) if self._start.cell is None else self._start.cell

    def first_place(self, begin: Cell | None, rng: np.random.Generator, rule: Rule) -> Cell:
        """Choose the start A, about START_RADIUS from the middle."""
        return self.next_place(begin or self.begin(), START_RADIUS, rng, rule)

    def next_place(self, around: Cell, radius: int, rng: np.random.Generator, rule: Rule) -> Cell:
        """Choose a place at about a given distance; any column where goals are loose."""
        if self._start.loose:
            dx, dy = planner.sample_offset(radius, rng, rule)
            return around[0] + dx, around[1] + dy, around[2]
        try:
            return planner.sample_place(self._world, around, radius, rng, rule=rule, ground=self._start.ground)
        except WorldError:
            raise WalkFailedError("no place to go") from None

    def goal(self, place: Cell) -> WalkGoal:
        """The goal of a walker that goes to `place`: the cell itself, or its column where goals are loose."""
        return WalkGoal(place[0], place[1], range_sq=1) if self._start.loose else WalkGoal(*place)


class FloorSite:
    """The floor of any world that has one, such as a home; A is any reachable place, since rooms are small."""

    def __init__(self, walker: FloorWalker, label: str, seed: int | None) -> None:
        self.walker = walker
        self.label = label
        self.seed = seed

    def begin(self) -> None:
        """None: the walker is put down at A."""

    def first_place(self, begin: Cell | None, rng: np.random.Generator, rule: Rule) -> Cell:
        """Any cell with room, each with equal probability."""
        cells = self.walker.cells
        return cells[int(rng.integers(len(cells)))]

    def next_place(self, around: Cell, radius: int, rng: np.random.Generator, rule: Rule) -> Cell:
        """As for a settlement, among cells with room."""
        for _ in range(planner.MAX_REJECTIONS):
            dx, dy = planner.sample_offset(radius, rng, rule)
            if (cell := self.walker.cell_at(around[0] + dx, around[1] + dy)) is not None:
                return cell
        raise WalkFailedError("no place to go")

    def goal(self, place: Cell) -> WalkGoal:
        """The cell itself."""
        return WalkGoal(*place)


LoopSite = VoxelSite | FloorSite

MAX_FRAMES = 2500
MAX_RETRIES = 6
IDLE_RECORDS = 3
START_UP_TICKS = 20
"""Thrown away before the look-around; the release loses as many frames of it."""
MAX_GAP_M = 2.0
"""Planar distance from the first to the last frame at which a loop still counts as closed."""

LOOK_AROUND = tuple(math.pi / 2 + quarter * math.pi / 2 for quarter in (0, 1, 2, 3, 0))
"""Headings in our frame: the game's 0, pi/2, pi, 3 pi/2 and 0 again."""

# The game's yaw 0 is our pi/2 (it looks to the game's -z, our +y).
_GAME_YAW_ZERO = math.pi / 2


class LoopFailedError(WorldError):
    """No try led to a loop."""

    def __init__(self, message: str, reasons: Sequence[str]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)


def record_loop(
    site: LoopSite,
    *,
    kind: LoopKind,
    radius: int,
    rng: np.random.Generator,
    rule: Rule = "released",
    look_around: bool = True,
    laps: int = 1,
) -> Walk:
    """Walk one closed loop at `site`, once or several times; nothing is rendered."""
    if kind not in ("ABA", "ABCA"):
        raise UsageError(f"no loop kind '{kind}'. Known: ABA, ABCA")
    reasons: list[str] = []
    for _ in range(MAX_RETRIES + 1):
        recording = _Recording(site, MAX_FRAMES * laps)
        try:
            recording.run(kind, radius, rng, rule, look_around, laps)
        except WalkFailedError as discarded:
            reasons.append(str(discarded))
            continue
        rows, controls = np.array(recording.rows), recording.controls
        return Walk(
            positions=rows[:, :3],
            yaw=rows[:, 3],
            pitch=rows[:, 4],
            camera=np.array([control.camera for control in controls]),
            forward=np.array([control.forward for control in controls]),
            jump=np.array([control.jump for control in controls]),
            goals=tuple(recording.goals),
            kind=kind,
            radius=radius,
            seed=site.seed,
            discards=tuple(reasons),
        )
    raise LoopFailedError(
        f"no {kind} loop of radius {radius} in {site.label} in {MAX_RETRIES + 1} tries: {discard_counts(reasons)}",
        reasons,
    )


class _Recording:
    """One try: where the walker begins, and what has been recorded of it."""

    def __init__(self, site: LoopSite, longest: int) -> None:
        self._site, self._longest = site, longest
        self._walker = site.walker
        self._recording = False
        self._yaw = self._whole_turns = 0.0
        self._ticks_silent = 0
        self._idle_records = 0
        self.rows: list[tuple[float, ...]] = []
        self.controls: list[Control] = []
        self.goals: list[WalkGoal | None] = []

    def run(
        self, kind: LoopKind, radius: int, rng: np.random.Generator, rule: Rule, look_around: bool, laps: int
    ) -> None:
        site = self._site
        begin = site.begin()
        if begin is not None:
            self._walker.stand(begin, _GAME_YAW_ZERO)
        place_a = site.first_place(begin, rng, rule)
        if begin is None:
            self._walker.stand(place_a, _GAME_YAW_ZERO)
        self._walk_to(site.goal(place_a))
        for _ in range(START_UP_TICKS):
            self._turn(0.0)
        self._whole_turns = math.floor((self._yaw - _GAME_YAW_ZERO) / math.tau) * math.tau

        self._recording = True
        self._turn(0.0, site.goal(place_a))
        if look_around:
            self._look_around(site.goal(place_a))
        place, stops, home = place_a, [], WalkGoal(place_a[0], place_a[1], range_sq=1)
        for _ in kind[1:-1]:
            place = site.next_place(place, radius, rng, rule)
            stops.append(site.goal(place))
            self._walk_to(stops[-1])
        self._walk_to(home)
        for goal in (laps - 1) * [*stops, home]:
            self._walk_to(goal)
        until = self._idle_records + IDLE_RECORDS
        while self._idle_records < until:
            self._turn(0.0)
        if math.dist(self.rows[0][:2], self.rows[-1][:2]) > MAX_GAP_M:
            raise WalkFailedError("did not close")

    def _walk_to(self, goal: WalkGoal) -> None:
        for stride in self._walker.walk(goal):
            self._record(stride, goal)

    def _look_around(self, goal: WalkGoal) -> None:
        headings = list(LOOK_AROUND)
        while headings:
            turn = turn_towards(self._yaw, headings[0])
            while abs(turn) < TURN_DONE and len(headings) > 1:
                headings.pop(0)
                turn = turn_towards(self._yaw, headings[0])
            if abs(turn) < TURN_DONE:
                headings.pop(0)
            self._turn(turn, goal)

    def _turn(self, angle: float, goal: WalkGoal | None = None) -> None:
        self._record(self._walker.turn(angle), goal)

    def _record(self, stride: Stride, goal: WalkGoal | None) -> None:
        """What can be seen after a tick is recorded, unless nothing happens."""
        self._yaw = stride.yaw
        if not self._recording:
            return
        x, y, z = stride.position
        yaw = stride.yaw - self._whole_turns
        # Rounded as the data set stores it (its yaw is the game's), so that frames can be rendered again exactly.
        row = (round(x, 3), round(y, 3), round(z, 3), round(yaw - _GAME_YAW_ZERO, 3) + _GAME_YAW_ZERO, 0.0)
        self._ticks_silent += 1
        if self.rows and row == self.rows[-1] and not stride.control.forward:
            if self._ticks_silent < TICKS_PER_SECOND:
                return
            self._idle_records += 1
        if len(self.rows) >= self._longest:
            raise WalkFailedError("too long")
        self._ticks_silent = 0
        self.rows.append(row)
        self.controls.append(stride.control)
        self.goals.append(goal)


Mode = Literal["js-server", "offline", "java"]
Pictures = Literal["ours", "viewer", "released"]


@dataclass(frozen=True)
class Game:
    """How the real game is used.

    Attributes:
        mode: "js-server", our server with a bot, in real time; "offline", the same files sooner, without a server;
            "java", an external server.
        places: Places on that server: published names, or NAME@X,Y,Z.
        pictures: "ours", our camera on the game's cells; "viewer", the published renderer; "released", with its defect,
            invisible stairs.
    """

    mode: Mode = "js-server"
    server: str | None = None
    places: tuple[str, ...] = ()
    pictures: Pictures = "ours"

    def __post_init__(self) -> None:
        if self.mode != "java" and (self.server is not None or self.places):
            raise UsageError(f"mode {self.mode} takes no server and no places: leave them out, or take mode java")
        if self.mode == "java" and self.server is None:
            raise UsageError("mode java needs a server: give host:port, such as localhost:25565")
        if self.mode == "java" and not self.places:
            raise UsageError("a server needs places: such as plains_village_20, or NAME@X,Y,Z")
        if self.server is not None:
            address(self.server)
            names = [place_of(text).name for text in self.places]
            if len(set(names)) < len(names):
                raise UsageError(f"places are {' '.join(self.places)}: give every name once")

    def place(self, name: str) -> Place:
        """The one of `places` with that name."""
        return next(place for place in map(place_of, self.places) if place.name == name)

    def check(self) -> None:
        """Check that the game can be used on this machine."""
        find_node()
        find_packages()
        if self.pictures != "ours":
            find_packages(kind=VIEWER)
        if self.server is not None:
            with JavaServer(*address(self.server)) as server:
                self.check_server(server)

    def check_server(self, server: JavaServer) -> int | None:
        """Seed of the server's world; None where the server does not give it."""
        if self.pictures != "ours" and server.version != VERSION:
            versions = f"of {VERSION}, and {self.server} runs {server.version}"
            raise WorldError(f"pictures '{self.pictures}' are drawn {versions}")
        seed = seed_of(server)
        published = next((text for text in self.places if place_of(text).published), None)
        if published is not None and (server.version, seed) not in ((VERSION, SEED), (VERSION, None)):
            raise WorldError(
                f"'{published}' is a place of the world with seed {SEED} of {VERSION}, and {self.server} runs "
                f"{server.version} with seed {seed}: set level-seed={SEED} there, or take places NAME@X,Y,Z"
            )
        return seed


REACH = 176
"""Blocks read around a place on a server: 80 that are walked, and 96 that the release draws around the walker."""
LOOKED_AT = 8
"""Blocks around a place that are read again when its cells are there already."""
WORLDS_FOLDER = "worlds"
"""In a collection: the cells of places that no seed of ours gives."""


@dataclass
class Location:
    """An open place; the recorded frame may differ from that of `site`.

    Files in `facts` are relative to the collection; `cells` are the game's, with names of its `version`.
    """

    site: LoopSite
    world: World | None  # None where an engine draws
    facts: WorldFacts
    seed: int | None
    cells: Cells | None = None
    version: str = VERSION
    pictures: Pictures = "ours"
    closing: ExitStack = field(default_factory=ExitStack)
    _viewer: MinecraftViewer | None = None

    def write_truth(self, video: Path, walk: Walk) -> None:
        """Write what the engine of a game knows of a recorded walk; other places need no such file."""
        walker = self.site.walker
        if isinstance(walker, DoomWalker):
            walker.engine.write_truth(video, walker.ticks_of(walk))

    def recorded(self, walk: Walk) -> Walk:
        """Convert a walk at `site` to the frame that is recorded."""
        x, y, z = (int(v) for v in self._origin)
        goals = tuple(
            goal and replace(goal, x=goal.x + x, y=goal.y + y, z=None if goal.z is None else goal.z + z)
            for goal in walk.goals
        )
        return replace(walk, positions=walk.positions + self._origin, goals=goals)

    def frames(
        self, walk: Walk, camera: Camera, progress: Callable[[int, int], None], device: str | None
    ) -> Iterator[NDArray[np.uint8]]:
        """What is seen on a recorded walk."""
        walker = self.site.walker
        if isinstance(walker, DoomWalker):
            yield from walker.engine.frames(walker.ticks_of(walk))
            return
        if self.world is not None and (self.pictures == "ours" or self.cells is None):
            yield from render(self.world, walk.poses, camera, progress, device)
            return
        assert self.cells is not None
        if self._viewer is None:
            size, released = (camera.width, camera.height), self.pictures == "released"
            viewer = MinecraftViewer(self.cells, width=size[0], height=size[1], released=released, version=self.version)
            self._viewer = self.closing.enter_context(viewer)
        for number, pose in enumerate(walk.poses):
            progress(number, len(walk))
            seen = pose.copy()
            seen[:3, 3] -= self._origin
            yield self._viewer.frame(seen)

    @property
    def _origin(self) -> FloatArray:
        return np.array(self.world.origin if isinstance(self.world, Minecraft) else (0.0, 0.0, 0.0))


def open_location(
    out: Path, location: str, world: str, kind: str, seed: int, game: Game | None, size: tuple[int, int]
) -> Location:
    """Open the place called `location`. The last one of this mode is closed, unless it is the same."""
    mode = None if game is None else game.mode
    asked = (out, location, world, kind, seed, game, size if world == DOOM else None)
    if mode in _open and _open[mode][0] == asked:
        return _open[mode][1]
    if mode in _open:
        _open.pop(mode)[1].closing.close()
    with ExitStack() as stack:
        if world == DOOM:
            opened = _level(kind, size, stack)
        elif game is None:
            opened = _embedded(world, kind, seed)
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


def stored_facts(out: Path, place: Place) -> WorldFacts:
    """Return the facts of a server's place that was opened before, from the cells in the collection."""
    return _facts_at(out, place, stamp_of(_grid(out, place)))


@lru_cache(maxsize=4)
def _facts_at(out: Path, place: Place, stamp: Stamp | None) -> WorldFacts:
    return _relative_facts(_stored_world(out, place), out)


_open: dict[str | None, tuple[tuple[Any, ...], Location]] = {}


def _embedded(name: str, scene: str, seed: int) -> Location:
    if name == "voxel":
        village = Voxel(scene, seed)
        start = LoopStart(ground=planner.indoor_ground(village.voxels)) if scene == "interior" else None
        return Location(VoxelSite(village.voxels, start=start), village, village.facts, seed)
    if name == "scan":
        scan = Scan(scene)
        return Location(FloorSite(FloorWalker(scan.floor), f"scene '{scene}'", seed), scan, scan.facts, None)
    world = build_walkable(name, seed)
    site = FloorSite(FloorWalker(world.floor), f"world '{name}' (seed {seed})", seed)
    return Location(site, world, world.facts, seed)


def _level(level: str, size: tuple[int, int], stack: ExitStack) -> Location:
    """A level of Freedoom in a process of its engine."""
    engine = Engine(level, size)
    stack.callback(engine.close)
    return Location(FloorSite(DoomWalker(engine), f"level '{level}'", None), None, engine.facts, None)


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
        world = _stored_world(out, place)
        _demand_unchanged(server, world.cells, place)
    else:
        write(_grid(out, place), survey(server, (place.x, place.y, place.z), REACH, dimension=place.dimension))
        world = _stored_world(out, place)
    cells = world.cells
    x, y, z = cells.ours((place.x, place.y, place.z))
    start = LoopStart((int(x), int(y) - 1, int(z)), planner.released_ground(cells), place.loose)
    walker = GameWalker(Online(server, cells, dimension=place.dimension))
    facts = _relative_facts(world, out)
    return Location(VoxelSite(world.voxels, walker, start), world, facts, seed, cells, server.version, game.pictures)


def _grid(out: Path, place: Place) -> Path:
    return out / WORLDS_FOLDER / f"{place.name}.grid.gz"


def _stored_world(out: Path, place: Place) -> Minecraft:
    world = Minecraft(str(_grid(out, place)))
    x, z = (world.cells.origin[axis] + REACH for axis in (0, 2))
    if (x, z) != (place.x, place.z):
        raise WorldError(
            f"'{place.name}' at x {place.x}, z {place.z} has lain at x {x}, z {z} in {out}: "
            "give it another name, or collect into another folder"
        )
    return world


def _relative_facts(world: Minecraft, out: Path) -> WorldFacts:
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
