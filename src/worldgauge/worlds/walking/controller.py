"""Keys and view turns that move a body along a planned path, one action at a time, as LoopNav records them.

No key is held while the view turns, and jump is only used with forward. The view does not turn in the air.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.player import reached, would_reach
from worldgauge.worlds.voxel.world import VoxelWorld

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
    """The decision of one tick.

    Attributes:
        camera: Turns in radians that are visible at once.
        forward: Key that acts in the next tick.
        jump: Key that acts in the next tick.
    """

    camera: tuple[float, float] = (0.0, 0.0)
    forward: bool = False
    jump: bool = False


IDLE = Control()


def turn_towards(yaw: float, heading: float) -> float:
    """The turn of one tick towards a heading.

    Args:
        yaw: Present heading, radians.
        heading: Wanted heading, radians.

    Returns:
        Radians by the shorter direction, quantised and limited. 0 when the heading is reached.
    """
    error = math.remainder(heading - yaw, math.tau)
    quantised = round(error / TURN_QUANTUM) * TURN_QUANTUM
    return math.copysign(min(abs(quantised), TURN_LIMIT), quantised)


class Follower:
    """Steers a body along a path.

    Args:
        world: The world.
        path: (N, 3) metres, positions of the feet.
    """

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
        """The next action.

        Args:
            body: (10,), as from `player.pack`.

        Returns:
            The action, or None when the last node is reached.
        """
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
        """Whether to walk and to jump now.

        A simulation of the body's own rules decides which of them reaches the target.
        """
        if self._gets_there(body, target, jump_after=_STRAIGHT_TICKS, ticks=_STRAIGHT_TICKS):
            return True, False
        if self._gets_there(body, target, jump_after=0, ticks=_JUMP_TICKS):
            return True, True
        later = range(1, _LATER_JUMPS)
        return any(self._gets_there(body, target, jump_after=n, ticks=_JUMP_TICKS) for n in later), False

    def _gets_there(self, body: FloatArray, target: FloatArray, *, jump_after: int, ticks: int) -> bool:
        return would_reach(self._world, body, target, within=NODE_REACH_M, jump_after=jump_after, ticks=ticks)
