"""Walkers of loops: a body in the embedded world, tick by tick, or one that the game moves, leg by leg.

In one tick both do what the published recorder saw: the keys chosen before move the body, then the view turns. The
decision of that moment is recorded with the pose that it leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from worldgauge.core.errors import WorldError
from worldgauge.worlds.minecraft.offline import COLUMNS, Goal, Offline
from worldgauge.worlds.minecraft.servers.bridge import BridgeError
from worldgauge.worlds.voxel.player import Action, PlayerState, pack, tick
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.controller import IDLE, MAX_STUCK, TURN_LIMIT, Control, Follower
from worldgauge.worlds.walking.planner import Planner
from worldgauge.worlds.walking.sampling import Cell
from worldgauge.worlds.walking.walk import WalkGoal

MAX_TICKS = 2500
"""Of one leg; a walk of more frames is thrown away anyhow."""


class Stride(NamedTuple):
    """State of a body after one tick.

    Attributes:
        position: Feet, (x, y, z) metres.
        yaw: Heading in radians, not wrapped.
        control: The decision of this tick.
    """

    position: tuple[float, float, float]
    yaw: float
    control: Control


class WalkFailedError(WorldError):
    """A walk that does not arrive. The message gives the reason in a few words."""


class Walker(Protocol):
    """A body that rests between calls, in the frame of a voxel world."""

    def stand(self, cell: Cell, yaw: float) -> None:
        """Put the body into the middle of a cell.

        Args:
            cell: The cell (x, y, z).
            yaw: Heading in radians.
        """
        ...

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """Walk to a goal, tick by tick. At the end no key is held.

        Args:
            goal: The goal.

        Yields:
            The body after each tick.

        Raises:
            WalkFailedError: When the walk does not arrive.
        """
        ...

    def turn(self, angle: float) -> Stride:
        """One tick without keys, at the end of which the view turns.

        Args:
            angle: Radians to the left.

        Returns:
            The body after the tick.
        """
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
        """Put the feet on the floor of a cell.

        Args:
            cell: The cell.
            yaw: Heading, radians.

        Raises:
            WorldError: No body can stand there.
        """
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
        """Put the body half a block above the floor of a cell, since the ground may reach into it; the body then falls.

        Args:
            cell: The cell.
            yaw: Heading, radians.
        """
        x, y, z = cell
        self._game.teleport((x + 0.5, y + 0.5, z + 0.5), yaw)

    def walk(self, goal: WalkGoal) -> Iterator[Stride]:
        """See `Walker.walk`. The whole leg is walked before its first tick is given."""
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
    """Context in which a body that a server moves elsewhere has failed in its walk."""
    try:
        yield
    except BridgeError as error:
        if error.kind == "moved":
            raise WalkFailedError("moved by the server") from error
        raise


_DECIDED = [COLUMNS.index(name) for name in ("forward", "jump", "turn")]
_REASONS = {"no-path": "no path", "stuck": "stuck", "walking": "too long"}
