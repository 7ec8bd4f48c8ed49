"""The game's own physics and planner without a server: a body in given cells, more than 100 times faster than the game.

Positions, headings and goals are in our frame (see `cells`); what the bridge said, to the last bit, is in `Walk.rows`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.minecraft.bridge import Bridge, Closing
from worldgauge.worlds.minecraft.cells import Cells, to_bytes, yaw_bot, yaw_ours
from worldgauge.worlds.voxel.blocks import SHAPE_OF, SHAPES, SOLID
from worldgauge.worlds.voxel.player import HALF_WIDTH_M, Action, PlayerState, step
from worldgauge.worlds.voxel.world import VoxelWorld

VERSION = "1.16.5"
COLUMNS = (
    *("x", "y", "z", "vx", "vy", "vz", "yaw", "pitch", "onGround", "inWater", "jumpTicks"),
    *("forward", "jump", "turn", "leg"),
)
"""Of a row: the body after a tick in the game's frame, what was decided then, and the number of the goal."""

TURN_LIMIT = 0.1
"""Radians of one tick, as in LoopNav; the game's clients turn at most 0.15."""
MOST_TICKS = 6000

_OPEN_S = 60.0
_PLAN_S = 120.0
_TICKS_PER_SECOND = 400
"""A machine that is slower than this has hung."""


class Goal(NamedTuple):
    """A cell to stand in, (x, y, z), or a column to come near to: (x, y) with range_sq in square metres. Our frame."""

    x: int
    y: int
    z: int | None = None
    range_sq: int | None = None


@dataclass(frozen=True)
class Walk:
    """What a walk did, tick by tick.

    Attributes:
        status: "arrived", "no-path", "stuck" or "walking" (ran out of ticks).
        leg: Number of goals that were reached.
        rows: (T, 15) float64, with the columns COLUMNS.
        states: T bodies in our frame.
    """

    status: str
    leg: int
    rows: FloatArray
    states: tuple[PlayerState, ...]


class Offline(Closing):
    """A body in given cells; a context manager, for one thread.

    Args:
        cells: The cells.
        version: Version of the game.
        packages: Folder of the Node packages; the installed ones by default.

    Raises:
        WorldError: Node or packages are missing, or a block is not in that version of the game.
    """

    def __init__(self, cells: Cells, *, version: str = VERSION, packages: Path | None = None) -> None:
        self.cells = cells
        self._bridge = Bridge.start(packages)
        try:
            said = self._ask("open", {"version": version}, to_bytes(cells), _OPEN_S).ok
            if tuple(said["columns"]) != COLUMNS or tuple(said["keys"]) != Action._fields[:-2]:
                raise WorldError(f"the bridge answers with columns {said['columns']}, not with {COLUMNS}")
            x, y, z = cells.size
            self.state = self.teleport((x / 2, z / 2, float(y)), on_ground=False)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the child process."""
        self._bridge.close()

    def teleport(
        self, position: tuple[float, float, float], yaw: float = 0.0, pitch: float = 0.0, *, on_ground: bool = True
    ) -> PlayerState:
        """Put the body at rest at a place.

        Args:
            position: Middle of the feet, metres, in our frame.
            yaw: Radians.
            pitch: Radians.
            on_ground: Whether it counts as standing on the ground.
        """
        if not np.isfinite((*position, yaw, pitch)).all():
            raise WorldError(f"a body cannot be put at {position}, yaw {yaw}, pitch {pitch}: not finite")
        place = [float(v) for v in self.cells.game(position)]
        args = {"position": place, "yaw": yaw_bot(float(yaw)), "pitch": float(pitch), "onGround": on_ground}
        self.state = self._states(_rows(self._ask("place", args).data))[0]
        return self.state

    def step(self, actions: Sequence[Action]) -> tuple[PlayerState, ...]:
        """Move the body by one tick per action: keys move it, then the view turns."""
        if not actions:
            return ()
        rows = np.array(actions, "<f8")
        if not np.isfinite(rows).all():
            raise WorldError("a body cannot turn by an angle that is not finite")
        states = self._states(_rows(self._ask("step", {}, rows.tobytes(), _limit_s(len(actions))).data))
        self.state = states[-1]
        return states

    def walk(self, goals: Sequence[Goal], *, turn: float = TURN_LIMIT, most_ticks: int = MOST_TICKS) -> Walk:
        """Walk to goals one after the other, one action at a time.

        Args:
            goals: The goals, in our frame.
            turn: Largest turn per tick, radians, up to 0.15.
            most_ticks: Largest number of ticks.
        """
        args = {"goals": [self._goal(goal) for goal in goals], "turn": turn, "ticks": most_ticks}
        answer = self._ask("walk", args, deadline_s=_PLAN_S * max(len(goals), 1) + _limit_s(most_ticks))
        rows = _rows(answer.data)
        states = self._states(rows)
        self.state = states[-1] if states else self.state
        return Walk(answer.ok["status"], answer.ok["leg"], rows, states)

    def _ask(self, verb: str, args: dict[str, Any], data: bytes = b"", deadline_s: float = _OPEN_S) -> Any:
        return self._bridge.ask(f"offline.{verb}", args, data=data, deadline_s=deadline_s)

    def _goal(self, goal: Goal) -> dict[str, int]:
        (ox, oy, oz), (_, _, depth) = self.cells.origin, self.cells.size
        x, z = ox + int(goal.x), oz + depth - 1 - int(goal.y)
        if goal.range_sq is not None:
            return {"x": x, "z": z, "rangeSq": int(goal.range_sq)}
        if goal.z is None:
            raise WorldError(f"goal {goal} needs a z or a range_sq")
        return {"x": x, "y": oy + int(goal.z), "z": z}

    def _states(self, rows: FloatArray) -> tuple[PlayerState, ...]:
        return tuple(state_of_row(self.cells, row) for row in rows.tolist())


def state_of_row(cells: Cells, row: Sequence[float]) -> PlayerState:
    """Convert a row of COLUMNS to a body in our frame."""
    x, y, z, vx, vy, vz, yaw, pitch, ground, water, cooldown = row[:11]
    return PlayerState(
        cells.ours((x, y, z)), (vx, -vz, vy), yaw_ours(yaw), pitch, bool(ground), bool(water), int(cooldown)
    )


def _rows(data: bytes) -> FloatArray:
    return np.frombuffer(data, "<f8").reshape(-1, len(COLUMNS)).astype(np.float64)


def _limit_s(ticks: int) -> float:
    return 30.0 + ticks / _TICKS_PER_SECOND


EQUAL_M = 1e-6
"""Metres, or metres a tick, below which two bodies are at the same place and equally fast."""

CAUSES = ("rounding", "other")
"""Where the embedded world differs, and why.

rounding: the game's physics computes a body's box again in every tick. Where a wall ends in the last quarter of a metre
before 2 or 32 m of its coordinates, rounding then puts a body that stands against it 1e-15 m into it; what a body is
in does not stop it: it goes on into the wall. Ours is stopped. other: nothing known.
"""

_REACH = 24
# Where the sides of boxes lie, and how far off is still rounding.
_SIXTEENTHS = 16
_ROUNDED = 1e-9
_HELD_TICKS = 12


@dataclass(frozen=True)
class Deviation:
    """The embedded physics against the game's, tick by tick, each from the game's body of the tick before.

    Attributes:
        ticks: How many.
        worst: Largest difference of position (metres) or velocity (metres per tick) in one tick.
        equal: Share of ticks below EQUAL_M.
        causes: How many of the others are due to each of CAUSES.
        walked: Largest distance of the two bodies in metres over whole walks from one start, of walks whose every tick
            is equal.
    """

    ticks: int
    worst: float
    equal: float
    causes: dict[str, int]
    walked: float


def deviation(world: VoxelWorld, offline: Offline, *, seed: int = 0, walks: int = 10, ticks: int = 200) -> Deviation:
    """Compare the embedded physics with the game's over random walks near the centre of a world."""
    if walks < 1 or ticks < 1:
        raise UsageError(f"{walks} walks of {ticks} ticks compare nothing: give 1 or more of each")
    rng = np.random.default_rng(seed)
    gaps: list[float] = []
    causes: Counter[str] = Counter()
    walked = 0.0
    spots = _spots(world)
    for _ in range(walks):
        x, y, z = rng.choice(spots).tolist()
        offline.teleport((x + 0.5, y + 0.5, float(z)), float(rng.uniform(-np.pi, np.pi)))
        # The game notes a web round a body only at the end of a tick.
        start = offline.step([Action()])[-1]
        actions = random_actions(rng, ticks)
        theirs = (start, *offline.step(actions))
        ours = [step(world, body, action) for body, action in zip(theirs, actions, strict=False)]
        gap = [_gap(one, two) for one, two in zip(ours, theirs[1:], strict=True)]
        gaps += gap
        causes.update(_cause(before) for before, off in zip(theirs, gap, strict=False) if off > EQUAL_M)
        if max(gap) <= EQUAL_M:
            walked = max(walked, _drift(world, theirs, actions))
    equal = float(np.mean(np.array(gaps) <= EQUAL_M))
    return Deviation(len(gaps), max(gaps), equal, dict(causes.most_common()), walked)


def random_actions(rng: np.random.Generator, ticks: int) -> list[Action]:
    """Draw keys that are held for a while, mostly forward, and a wandering view."""
    actions = []
    held: NDArray[np.bool_] = np.zeros(7, np.bool_)
    for tick in range(ticks):
        if tick % _HELD_TICKS == 0:
            held = rng.random(7) < (0.8, 0.1, 0.15, 0.15, 0.3, 0.2, 0.1)
        yaw, pitch = rng.normal(0.0, (0.08, 0.02))
        actions.append(Action(*held.tolist())._replace(yaw=float(yaw), pitch=float(pitch)))
    return actions


def _drift(world: VoxelWorld, theirs: tuple[PlayerState, ...], actions: list[Action]) -> float:
    """Largest distance of the two bodies when ours starts like theirs and goes on by itself."""
    body, worst = theirs[0], 0.0
    for other, action in zip(theirs[1:], actions, strict=True):
        body = step(world, body, action)
        worst = max(worst, float(np.abs(np.subtract(body.position, other.position)).max()))
    return worst


def _gap(one: PlayerState, two: PlayerState) -> float:
    return float(np.abs(_numbers(one) - _numbers(two)).max())


def _numbers(body: PlayerState) -> FloatArray:
    return np.array([*body.position, *body.velocity])


def _cause(before: PlayerState) -> str:
    """Why a tick from here is not ours."""
    middle = np.array(before.position[:2])
    sides = _SIXTEENTHS * np.concatenate([middle - HALF_WIDTH_M, middle + HALF_WIDTH_M])
    off = np.abs(sides - np.round(sides))
    return "rounding" if ((off > 0) & (off < _ROUNDED)).any() else "other"


def _spots(world: VoxelWorld) -> NDArray[np.int64]:
    """Cells (N, 3) near the centre with a full block under them and room for a body, under roofs and water too."""
    x0, y0 = (max(c - _REACH, 0) for c in world.centre)
    part = world.states[x0 : world.centre[0] + _REACH + 1, y0 : world.centre[1] + _REACH + 1]
    full, free = np.isin(SHAPE_OF, SHAPES.index("cube"))[part], ~SOLID[part]
    spots: NDArray[np.int64] = np.argwhere(full[:, :, :-2] & free[:, :, 1:-1] & free[:, :, 2:])
    if len(spots) == 0:
        raise WorldError(f"nowhere to stand within {_REACH} m of the centre {world.centre}")
    spots += (x0, y0, 1)
    return spots
