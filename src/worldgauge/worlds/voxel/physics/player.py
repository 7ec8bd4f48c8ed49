"""The walker's body: one 50 ms tick of the game's movement rules in a voxel world.

The rules and constants are those of the 1.16 game as players have measured them, and bodies move as in its physics
without a server (worlds.minecraft.parity compares them); the order of a tick is current, jump, push by the keys, move
with collision (z, then x and y, then a step up), gravity, drag. Frame: ours, z up, forward = (cos yaw, sin yaw).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.voxel.physics import _body
from worldgauge.worlds.voxel.physics._body import DRAG, GRAVITY
from worldgauge.worlds.voxel.physics._collisions import TABLES
from worldgauge.worlds.voxel.world import VoxelWorld

TICKS_PER_SECOND = 20
HALF_WIDTH_M = _body.HALF_WIDTH_M
STEP_HEIGHT_M = _body.STEP_HEIGHT_M
MAX_PITCH = math.pi / 2
COLUMNS, YAW, ON_GROUND, IN_WATER = 10, 6, 7, 8
"""Number of columns of a packed body, and some of them."""


class Action(NamedTuple):
    """What the walker does in one tick: keys held, then a turn of the view in radians (left, up positive)."""

    forward: bool = False
    back: bool = False
    left: bool = False
    right: bool = False
    jump: bool = False
    sprint: bool = False
    sneak: bool = False
    yaw: float = 0.0
    pitch: float = 0.0


@dataclass(frozen=True)
class PlayerState:
    """A body between two ticks.

    Attributes:
        position: Middle of the feet, metres.
        velocity: Metres per tick.
        yaw: Radians, not wrapped.
        pitch: Radians.
        on_ground: Whether it stands.
        in_water: Whether it touches water.
        jump_cooldown: Ticks until a held jump key jumps again.
    """

    position: tuple[float, float, float]
    velocity: tuple[float, float, float]
    yaw: float = 0.0
    pitch: float = 0.0
    on_ground: bool = True
    in_water: bool = False
    jump_cooldown: int = 0

    @classmethod
    def standing(cls, position: tuple[float, float, float], yaw: float = 0.0, pitch: float = 0.0) -> PlayerState:
        """Make the state of a body at rest on the ground: one tick of gravity has acted and the ground has held.

        Args:
            position: Middle of the feet, metres.
            yaw: Radians.
            pitch: Radians.
        """
        return cls(position, (0.0, 0.0, -GRAVITY * DRAG), yaw, pitch)


def step(world: VoxelWorld, state: PlayerState, action: Action) -> PlayerState:
    """Move a body by one tick along the heading it had, then turn it. Pure and deterministic.

    The edge of the world is a wall.

    Args:
        world: The world.
        state: The body before.
        action: Keys and turn.

    Returns:
        The body after.

    Raises:
        WorldError: A value is not finite.
    """
    body = pack(state)
    if not (np.isfinite(body).all() and math.isfinite(action.yaw) and math.isfinite(action.pitch)):
        raise WorldError(f"a body cannot move from {state.position} at {state.velocity} by {action}: not finite")
    tick(
        world,
        body,
        ahead=float(action.forward) - float(action.back),
        aside=float(action.left) - float(action.right),
        jump=bool(action.jump),
        sprint=bool(action.sprint),
        sneak=bool(action.sneak),
    )
    moved = unpack(body, state.pitch)
    pitch = min(max(state.pitch + action.pitch, -MAX_PITCH), MAX_PITCH)
    return replace(moved, yaw=state.yaw + action.yaw, pitch=pitch)


def tick(
    world: VoxelWorld,
    body: FloatArray,
    *,
    ahead: float = 0.0,
    aside: float = 0.0,
    jump: bool = False,
    sprint: bool = False,
    sneak: bool = False,
) -> None:
    """Move a packed body by one tick, in place: `step` without the turn.

    Args:
        world: The world.
        body: Packed body (10,).
        ahead: -1, 0 or 1 along the heading.
        aside: -1, 0 or 1 to its left.
        jump: Jump key.
        sprint: Sprint key.
        sneak: Sneak key.
    """
    _body.tick(world.states, TABLES, body, float(ahead), float(aside), jump, sprint, sneak)


def tick_all(
    world: VoxelWorld, bodies: FloatArray, keys: NDArray[np.bool_], turns: FloatArray, pitches: FloatArray
) -> None:
    """Move many packed bodies by one tick and turn them, in place: `step` of each.

    Args:
        world: The world.
        bodies: Packed bodies (N, 10), C-contiguous.
        keys: (N, 7) keys held, in the order of `Action`.
        turns: (N, 2) radians to the left and up.
        pitches: (N,) pitch of each view, radians.

    Raises:
        WorldError: A value is not finite.
    """
    if not (np.isfinite(bodies).all() and np.isfinite(turns).all()):
        raise WorldError("bodies cannot move: a position, velocity or turn is not finite")
    held = keys.astype(np.float64)
    _body.tick_all(
        world.states, TABLES, bodies, held[:, 0] - held[:, 1], held[:, 2] - held[:, 3], *keys[:, 4:].T.copy()
    )
    bodies[:, YAW] += turns[:, 0]
    pitches[:] = np.clip(pitches + turns[:, 1], -MAX_PITCH, MAX_PITCH)


def reached(body: FloatArray, target: FloatArray, within: tuple[float, float]) -> bool:
    """Tell whether the feet of a packed body are at a target.

    Args:
        body: Packed body (10,).
        target: (3,) metres.
        within: Tolerance along x and y, and in height, metres.
    """
    return bool(_body.reached(body, target, *within))


def would_reach(
    world: VoxelWorld, body: FloatArray, target: ArrayLike, *, within: tuple[float, float], jump_after: int, ticks: int
) -> bool:
    """Tell whether a packed body that walks straight at a target reaches it, by the same rules.

    Args:
        world: The world.
        body: Packed body (10,).
        target: (3,) metres.
        within: Tolerance along x and y, and in height, metres.
        jump_after: Tick from which jump is held.
        ticks: Number of ticks looked ahead.
    """
    return bool(
        _body.would_reach(world.states, TABLES, body, np.asarray(target, np.float64), *within, jump_after, ticks)
    )


def pack(state: PlayerState) -> FloatArray:
    """The body as the row of ten numbers that `tick` changes in place."""
    return np.array(
        [*state.position, *state.velocity, state.yaw, state.on_ground, state.in_water, state.jump_cooldown], np.float64
    )


def unpack(body: FloatArray, pitch: float = 0.0) -> PlayerState:
    """Unpack a body into a state.

    Args:
        body: Packed body (10,).
        pitch: Pitch of the view in radians, which a packed body lacks.
    """
    x, y, z, vx, vy, vz, yaw, ground, water, cooldown = body.tolist()
    return PlayerState((x, y, z), (vx, vy, vz), yaw, pitch, bool(ground), bool(water), int(cooldown))
