"""Walkers of loops: a body in the embedded world, tick by tick, or one that the game moves, leg by leg.

In one tick both do what the published recorder saw: the keys chosen before move the body, then the view turns. The
decision of that moment is recorded with the pose that it leads to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np

from worldgauge.core.actions import WALK_STEP_M
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.minecraft.bridge import BridgeError
from worldgauge.worlds.minecraft.offline import COLUMNS, BotGoal, Offline
from worldgauge.worlds.voxel.player import Action, PlayerState, pack, reached, tick, would_reach
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.clearance import RADIUS_M, find_way, straightened
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.geodesic import Geodesic
from worldgauge.worlds.walking.planner import Cell, Planner
from worldgauge.worlds.walking.walk import WalkGoal

# Keys and view turns that move a body along a planned path, one action at a time, as LoopNav records them.
#
# No key is held while the view turns, and jump is only used with forward. The view does not turn in the air.

TURN_LIMIT = 0.1
"""Radians of one tick (paper)."""
TURN_DONE = 0.01
TURN_QUANTUM = math.radians(0.15)
"""Turns are whole multiples of the game's mouse step."""
NODE_REACH_M = (0.25, 1.0)
"""Along x and along y; in height."""
STUCK_TICKS = 70
MAX_STUCK = 5

_STRAIGHT_TICKS = 200
_JUMP_TICKS = 20
_LATER_JUMPS = 8


class Control(NamedTuple):
    """The decision of one tick: turns in radians that are visible at once, and keys that act in the next tick."""

    camera: tuple[float, float] = (0.0, 0.0)
    forward: bool = False
    jump: bool = False


IDLE = Control()


def turn_towards(yaw: float, heading: float) -> float:
    """The turn of one tick towards a heading: radians by the shorter direction, quantised and limited."""
    error = math.remainder(heading - yaw, math.tau)
    quantised = round(error / TURN_QUANTUM) * TURN_QUANTUM
    return math.copysign(min(abs(quantised), TURN_LIMIT), quantised)


class Follower:
    """Steers a body along a path (N, 3), metres, of positions of the feet."""

    def __init__(self, world: VoxelWorld, path: FloatArray) -> None:
        self._world = world
        self._path = path
        self._next = 0
        self._turning = False
        self._ticks_on_node = 0

    @property
    def stuck(self) -> bool:
        """Whether the next node has not been reached for STUCK_TICKS."""
        return self._ticks_on_node > STUCK_TICKS

    def control(self, body: FloatArray) -> Control | None:
        """The next action for a packed body (10,), or None when the last node is reached."""
        self._ticks_on_node += 1
        while self._next < len(self._path) and reached(body, self._path[self._next], NODE_REACH_M):
            self._next += 1
            self._ticks_on_node = 0
        if self._next == len(self._path):
            return None
        target = self._path[self._next]
        heading = math.atan2(target[1] - body[1], target[0] - body[0])
        on_ground, in_water = body[7] > 0, body[8] > 0
        if not (on_ground or in_water):
            ahead = abs(math.remainder(heading - body[6], math.tau)) < math.pi / 2
            return Control(forward=ahead)
        turn = turn_towards(float(body[6]), heading)
        if abs(turn) >= TURN_DONE:
            self._turning = True
            return Control((turn, 0.0))
        # The rest of a turn, too small to count as one, comes with the first step.
        rest = turn if self._turning else 0.0
        self._turning = False
        if in_water:
            return Control((rest, 0.0), forward=True, jump=True)
        forward, jump = self._gait(body, target)
        return Control((rest, 0.0), forward, jump)

    def _gait(self, body: FloatArray, target: FloatArray) -> tuple[bool, bool]:
        """Whether to walk and to jump now, by a simulation of the body's own rules."""
        if self._gets_there(body, target, jump_after=_STRAIGHT_TICKS, ticks=_STRAIGHT_TICKS):
            return True, False
        if self._gets_there(body, target, jump_after=0, ticks=_JUMP_TICKS):
            return True, True
        later = range(1, _LATER_JUMPS)
        return any(self._gets_there(body, target, jump_after=n, ticks=_JUMP_TICKS) for n in later), False

    def _gets_there(self, body: FloatArray, target: FloatArray, *, jump_after: int, ticks: int) -> bool:
        return would_reach(self._world, body, target, within=NODE_REACH_M, jump_after=jump_after, ticks=ticks)


MAX_TICKS = 2500
"""Of one leg; a walk of more frames is thrown away anyhow."""


class Stride(NamedTuple):
    """State of a body after one tick."""

    position: tuple[float, float, float]  # feet, metres
    yaw: float  # radians, not wrapped
    control: Control  # decision of this tick


class WalkFailedError(WorldError):
    """A walk that does not arrive. The message gives the reason in a few words."""


class Walker(Protocol):
    """A body that rests between calls, in the frame of a voxel world."""

    def stand(self, cell: Cell, yaw: float) -> None:
        """Put the body into the middle of a cell. `cell`: the cell (x, y, z). `yaw`: heading in radians."""
        ...

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """Walk to a goal, tick by tick. At the end no key is held. Yields the body after each tick."""
        ...

    def turn(self, angle: float) -> Stride:
        """One tick without keys, after which the view turns by `angle` radians to the left."""
        ...


class EmbeddedWalker:
    """A body that our own physics moves along paths of our own planner. Make one per world and reuse it."""

    def __init__(self, world: VoxelWorld) -> None:
        self._world = world
        self._planner = Planner(world)
        self._body = pack(PlayerState.standing((0.0, 0.0, 0.0), yaw=0.0))
        self._control = IDLE
        self._stuck = 0

    def stand(self, cell: Cell, yaw: float) -> None:
        """Put the feet on the floor of a cell. `yaw`: heading, radians."""
        self._body = pack(PlayerState.standing(self._planner.feet(*cell), yaw=yaw))
        self._control = IDLE
        self._stuck = 0

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """See `Walker.walk`. It plans again at most MAX_STUCK times after each `stand`."""
        follower = self._plan(goal)
        control: Control | None = IDLE
        while control is not None:
            self._move()
            control = follower.control(self._body)
            yield self._turned(control or IDLE)
            if follower.stuck:
                self._stuck += 1
                if self._stuck > MAX_STUCK:
                    raise WalkFailedError("stuck")
                follower = self._plan(goal)

    def turn(self, angle: float) -> Stride:
        """See `Walker.turn`."""
        self._move()
        return self._turned(Control((angle, 0.0)))

    def _plan(self, goal: WalkGoal) -> Follower:
        cell = self._planner.cell_of(tuple(self._body[:3].tolist()))
        path = None if cell is None else self._planner.plan(cell, goal)
        if path is None:
            raise WalkFailedError("no path")
        return Follower(self._world, path)

    def _move(self) -> None:
        """Apply the keys of the last tick: move along the heading of that tick."""
        tick(self._world, self._body, ahead=float(self._control.forward), jump=self._control.jump)

    def _turned(self, control: Control) -> Stride:
        self._control = control
        self._body[6] += control.camera[0]
        x, y, z, yaw = (float(v) for v in self._body[[0, 1, 2, 6]])
        return Stride((x, y, z), yaw, control)


class GameWalker:
    """A body that the game moves along paths of its own planner, without a server (`Offline`) or on one (`Online`)."""

    def __init__(self, game: Offline) -> None:
        self._game = game

    def stand(self, cell: Cell, yaw: float) -> None:
        """Put the body half a block above the floor of a cell, since the ground may reach into it; it then falls."""
        x, y, z = cell
        self._game.teleport((x + 0.5, y + 0.5, z + 0.5), yaw)

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """See `Walker.walk`. The whole leg is walked before its first tick is given."""
        goals = [BotGoal(goal.x, goal.y, goal.z, goal.range_sq)]
        with _undisturbed():
            walked = self._game.walk(goals, turn=TURN_LIMIT, most_ticks=MAX_TICKS)
        for state, (forward, jump, turn) in zip(walked.states, walked.rows[:, _DECIDED].tolist(), strict=True):
            yield Stride(state.position, state.yaw, Control((turn, 0.0), bool(forward), bool(jump)))
        if walked.status != "arrived":
            raise WalkFailedError(_REASONS[walked.status])

    def turn(self, angle: float) -> Stride:
        """See `Walker.turn`."""
        with _undisturbed():
            state = self._game.step([Action(yaw=angle)])[-1]
        return Stride(state.position, state.yaw, Control((angle, 0.0)))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Context in which a body that a server moves elsewhere has failed in its walk."""
    try:
        yield
    except BridgeError as error:
        if error.kind == "moved":
            raise WalkFailedError("moved by the server") from error
        raise


_DECIDED = [COLUMNS.index(name) for name in ("forward", "jump", "turn")]
_REASONS = {"no-path": "no path", "stuck": "stuck", "walking": "too long"}

# A walker on any floor plan: LoopNav's keys at its speed, on paths with room on both sides.
#
# Places are cells of one metre, as in a voxel world. The walker stands in a cell at the free place nearest to its
# centre.

REACH_M = WALK_STEP_M / 2 + 0.02
"""A corner nearer than this is reached: all steps are of one length, so one may end half a step past it."""


class FloorWalker:
    """A `Walker` without momentum: a held key moves it by WALK_STEP_M per tick. It is deterministic."""

    def __init__(self, floor: FloorPlan, radius_m: float = RADIUS_M) -> None:
        self._floor = floor
        self._radius_m = radius_m
        self._geodesic = Geodesic(floor, radius_m)
        self._points = _points_of_cells(self._geodesic)
        self._xy: FloatArray = np.zeros(2)
        self._yaw = 0.0
        self._control = IDLE

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells in which it can stand, each reachable from every other, in a fixed order."""
        return tuple((x, y, self._level(point)) for (x, y), point in self._points.items())

    def cell_at(self, x: int, y: int) -> Cell | None:
        """Return the cell of column (x, y), or None where the walker cannot stand."""
        point = self._points.get((x, y))
        return None if point is None else (x, y, self._level(point))

    def stand(self, cell: Cell, yaw: float) -> None:
        """Put the walker into a cell; see `Walker.stand`. `yaw`: heading, radians."""
        if cell[:2] not in self._points:
            raise WorldError(f"no room to stand in cell ({cell[0]}, {cell[1]})")
        self._xy, self._yaw, self._control = self._points[cell[:2]].copy(), yaw, IDLE

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """See `Walker.walk`."""
        # Remaining corners, the next one first.
        end = self._points.get((goal.x, goal.y))
        start = self._geodesic.nearest(self._xy)
        way = None if end is None else find_way(self._floor, start, end, radius_m=self._radius_m)
        if way is None:
            raise WalkFailedError("no path")
        corners = list(straightened(self._floor, way)[1:])
        for _ in range(MAX_TICKS):
            self._move()
            control = None if self._is_near(goal) else self._towards(corners)
            yield self._turned(control or IDLE)
            if control is None:
                return
        raise WalkFailedError("too long")

    def turn(self, angle: float) -> Stride:
        """See `Walker.turn`."""
        self._move()
        return self._turned(Control((angle, 0.0)))

    def _is_near(self, goal: WalkGoal) -> bool:
        x, y = (math.floor(v) for v in self._xy)
        return goal.range_sq is not None and (x - goal.x) ** 2 + (y - goal.y) ** 2 <= goal.range_sq

    def _towards(self, corners: list[FloatArray]) -> Control | None:
        """The next action. None when the last corner is reached."""
        while corners and math.dist(self._xy, corners[0]) <= REACH_M:
            corners.pop(0)
        if not corners:
            return None
        dx, dy = corners[0] - self._xy
        turn = turn_towards(self._yaw, math.atan2(dy, dx))
        return Control((turn, 0.0)) if abs(turn) >= TURN_DONE else Control((turn, 0.0), forward=True)

    def _move(self) -> None:
        """Apply the key of the last tick: move along the heading of that tick."""
        if self._control.forward:
            self._xy = self._xy + WALK_STEP_M * np.array([math.cos(self._yaw), math.sin(self._yaw)])

    def _turned(self, control: Control) -> Stride:
        self._control = control
        self._yaw += control.camera[0]
        x, y = (float(v) for v in self._xy)
        return Stride((x, y, float(self._floor.height_at(self._xy))), self._yaw, control)

    def _level(self, point: FloatArray) -> int:
        return math.floor(float(self._floor.height_at(point)) + 1e-6)


def _points_of_cells(geodesic: Geodesic) -> dict[tuple[int, int], FloatArray]:
    """Place in each cell of a metre, (2,) metres: the reachable place nearest to the centre of the cell."""
    points = geodesic.floor.points_of(np.argwhere(geodesic.main))
    if not len(points):
        raise WorldError(f"a walker of {geodesic.radius_m} m radius can stand nowhere on this floor")
    cells = np.floor(points).astype(int)
    off = ((points - cells - 0.5) ** 2).sum(1)
    found: dict[tuple[int, int], FloatArray] = {}
    for index in np.lexsort((np.arange(len(off)), off)):
        found.setdefault((int(cells[index, 0]), int(cells[index, 1])), points[index])
    return dict(sorted(found.items()))
