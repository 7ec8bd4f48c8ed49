"""Who walks a loop: a body in the embedded world, tick by tick, or one that the game moves, leg by leg.

Both do in a tick what the published recorder saw: the keys chosen before move the body, then the view turns; what is
decided then is recorded with the pose it leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft.offline import COLUMNS, Goal, Offline
from worldgauge.worlds.minecraft.servers.bridge import BridgeError
from worldgauge.worlds.voxel.physics.player import Action, PlayerState, pack, tick
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.controller import IDLE, MAX_STUCK, TURN_LIMIT, Control, Follower
from worldgauge.worlds.walking.planner import Planner
from worldgauge.worlds.walking.sampling import Cell
from worldgauge.worlds.walking.walk import WalkGoal

MAX_TICKS = 2500
"""Of one leg; a walk of more frames is thrown away anyhow."""


class Stride(NamedTuple):
    """The body after a tick: feet (metres), heading (radians, not wrapped), and what was decided then."""

    position: tuple[float, float, float]
    yaw: float
    control: Control


class WalkFailedError(WorldError):
    """A walk that does not arrive; the message is the reason, in a few words."""


class Walker(Protocol):
    """A body at rest between the calls, in the frame of a voxel world."""

    def stand(self, cell: Cell, yaw: float) -> None:
        """Put it into the middle of a cell, looking along `yaw`."""
        ...

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """Go to `goal`, tick by tick; ends when it is there, with no key held. Raises WalkFailedError."""
        ...

    def turn(self, angle: float) -> Stride:
        """One tick without keys, at the end of which the view turns by `angle` radians to the left."""
        ...


class EmbeddedWalker:
    """A body that our own physics moves and our own planner leads; made once a world, asked often."""

    def __init__(self, world: VoxelWorld) -> None:
        self._world = world
        self._planner = Planner(world)
        self._body = pack(PlayerState.standing((0.0, 0.0, 0.0), yaw=0.0))
        self._control = IDLE
        self._stuck = 0

    def stand(self, cell: Cell, yaw: float) -> None:
        """Feet on what lies in the cell. Raises WorldError where nobody can stand."""
        self._body = pack(PlayerState.standing(self._planner.feet(*cell), yaw=yaw))
        self._control = IDLE
        self._stuck = 0

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """With MAX_STUCK new plans at most since it was put somewhere; see `Walker.walk`."""
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
        """The keys of the last tick move the body along the heading it had."""
        tick(self._world, self._body, ahead=float(self._control.forward), jump=self._control.jump)

    def _turned(self, control: Control) -> Stride:
        self._control = control
        self._body[6] += control.camera[0]
        x, y, z, yaw = (float(v) for v in self._body[[0, 1, 2, 6]])
        return Stride((x, y, z), yaw, control)


class GameWalker:
    """A body that the game moves and its own planner leads, without a server (`Offline`) or on one (`Online`)."""

    def __init__(self, game: Offline) -> None:
        self._game = game

    def stand(self, cell: Cell, yaw: float) -> None:
        """Half a block up: what lies on the ground may reach into the cell, and the body falls to where it stands."""
        x, y, z = cell
        self._game.teleport((x + 0.5, y + 0.5, z + 0.5), yaw)

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """The whole leg is walked before its first tick is handed over; see `Walker.walk`."""
        goals = [Goal(goal.x, goal.y, goal.z, goal.range_sq)]
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
    """A body that a server puts elsewhere has failed in its walk."""
    try:
        yield
    except BridgeError as error:
        if error.kind == "moved":
            raise WalkFailedError("moved by the server") from error
        raise


_DECIDED = [COLUMNS.index(name) for name in ("forward", "jump", "turn")]
_REASONS = {"no-path": "no path", "stuck": "stuck", "walking": "too long"}
