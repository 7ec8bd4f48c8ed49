"""The walker's body: one 50 ms tick of the game's movement rules in a voxel world.

The rules and constants are those of the 1.16 game as players have measured them, and bodies move as in its physics
without a server (worlds.minecraft.offline compares them); the order of a tick is current, jump, push by the keys, move
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
from worldgauge.worlds.voxel import _body
from worldgauge.worlds.voxel._body import DRAG, GRAVITY, HAS_ARMS, IS_ICE, IS_LIQUID, IS_SOLID, IS_WEB, JOINS
from worldgauge.worlds.voxel.blocks import FACINGS, KINDS, LIQUID, SHAPE_OF, SHAPES, SOLID, STATES, Box, block, boxes_of
from worldgauge.worlds.voxel.world import VoxelWorld

# What a body meets in a cell, state by state: boxes that stop it, water, webs, ice.
#
# The boxes are the collision boxes of the blocks of the 1.16.5 game that stand for the states (worlds.minecraft.names).
# Most are those that are drawn; a fence is half again as high, and a cactus pricks a sixteenth inside its cell.


class BodyTables(NamedTuple):
    """What a body needs to know of every state."""

    boxes: FloatArray  # (S, 5, 6), x0 y0 z0 x1 y1 z1 in the cell; of a thin wall its core and the arms towards FACINGS
    counts: NDArray[np.int64]  # (S,), boxes that count
    traits: NDArray[np.uint8]  # (S,), bits of `_body`


Tables = BodyTables  # kernels that an earlier version compiled and cached look it up by its old name

_FENCE_HEIGHT_M = 1.5
# Of thin walls: half the width of the core, half that of the arms, height. Those left out are fences.
_THIN = {
    "cobblestone_wall": (0.25, 0.1875, _FENCE_HEIGHT_M),
    "glass_pane": (0.0625, 0.0625, 1.0),
    "steel_rail": (0.0625, 0.0625, 1.0),
}
_FENCE = (0.125, 0.125, _FENCE_HEIGHT_M)
_CACTUS: Box = (0.0625, 0.0625, 0, 0.9375, 0.9375, 0.9375)


def _boxes_that_stop(state: int) -> list[Box]:
    """Collision boxes of a solid state; of a thin wall its core, then its four arms."""
    kind = KINDS[STATES[state].kind]
    if kind.shape == "pane":
        return _thin(*_THIN.get(kind.name, _FENCE))
    return [_CACTUS] if kind.name == "cactus" else boxes_of(state)


def _thin(core: float, arm: float, height: float) -> list[Box]:
    near, far, low, high = 0.5 - core, 0.5 + core, 0.5 - arm, 0.5 + arm
    east, north = (far, low, 0, 1, high, height), (low, far, 0, high, 1, height)
    west, south = (0, low, 0, near, high, height), (low, 0, 0, high, near, height)
    return [(near, near, 0, far, far, height), east, north, west, south]


def _tables() -> BodyTables:
    boxes = np.zeros((len(STATES), 1 + len(FACINGS), 6))
    counts = np.zeros(len(STATES), np.int64)
    for state in np.flatnonzero(SOLID).tolist():
        own = _boxes_that_stop(state)
        counts[state] = len(own)
        boxes[state, : len(own)] = own
    return BodyTables(boxes, counts, _traits())


def _traits() -> NDArray[np.uint8]:
    shapes = [SHAPES[shape] for shape in SHAPE_OF]
    numbers = np.arange(len(STATES))
    bits = {
        IS_SOLID: SOLID,
        IS_LIQUID: LIQUID,
        IS_ICE: numbers == block("ice"),
        IS_WEB: numbers == block("cobweb"),
        HAS_ARMS: np.isin(shapes, "pane"),
        JOINS: np.isin(shapes, ("cube", "pane")),
    }
    traits = np.zeros(len(STATES), np.uint8)
    for bit, holds in bits.items():
        traits[holds] |= bit
    return traits


TABLES = _tables()

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
    """A body between two ticks, with the middle of its feet in metres."""

    position: tuple[float, float, float]
    velocity: tuple[float, float, float]  # metres per tick
    yaw: float = 0.0  # radians, not wrapped
    pitch: float = 0.0  # radians
    on_ground: bool = True
    in_water: bool = False
    jump_cooldown: int = 0  # ticks until a held jump key jumps again

    @classmethod
    def standing(cls, position: tuple[float, float, float], yaw: float = 0.0, pitch: float = 0.0) -> PlayerState:
        """Make the state of a body at rest on the ground: one tick of gravity has acted and the ground has held."""
        return cls(position, (0.0, 0.0, -GRAVITY * DRAG), yaw, pitch)


def step(world: VoxelWorld, state: PlayerState, action: Action) -> PlayerState:
    """Move a body by one tick along the heading it had, then turn it. Deterministic. The world's edge is a wall."""
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
    """Move a packed body by one tick, in place: `step` without the turn. `body`: packed body (10,)."""
    _body.tick(world.states, TABLES, body, float(ahead), float(aside), jump, sprint, sneak)


def tick_all(
    world: VoxelWorld, bodies: FloatArray, keys: NDArray[np.bool_], turns: FloatArray, pitches: FloatArray
) -> None:
    """Move packed bodies (N, 10) by one tick and turn them, in place: `step` of each. `keys` (N, 7) as in `Action`."""
    if not (np.isfinite(bodies).all() and np.isfinite(turns).all()):
        raise WorldError("bodies cannot move: a position, velocity or turn is not finite")
    held = keys.astype(np.float64)
    _body.tick_all(
        world.states, TABLES, bodies, held[:, 0] - held[:, 1], held[:, 2] - held[:, 3], *keys[:, 4:].T.copy()
    )
    bodies[:, YAW] += turns[:, 0]
    pitches[:] = np.clip(pitches + turns[:, 1], -MAX_PITCH, MAX_PITCH)


def reached(body: FloatArray, target: FloatArray, within: tuple[float, float]) -> bool:
    """Tell whether the feet of a packed body are at a target; `within`: tolerance along x and y, and in height."""
    return bool(_body.reached(body, target, *within))


def would_reach(
    world: VoxelWorld, body: FloatArray, target: ArrayLike, *, within: tuple[float, float], jump_after: int, ticks: int
) -> bool:
    """Tell whether a packed body that walks straight at a target reaches it, with jump from tick `jump_after` on."""
    return bool(
        _body.would_reach(world.states, TABLES, body, np.asarray(target, np.float64), *within, jump_after, ticks)
    )


def pack(state: PlayerState) -> FloatArray:
    """The body as the row of ten numbers that `tick` changes in place."""
    return np.array(
        [*state.position, *state.velocity, state.yaw, state.on_ground, state.in_water, state.jump_cooldown], np.float64
    )


def unpack(body: FloatArray, pitch: float = 0.0) -> PlayerState:
    """Unpack a body into a state; a packed body lacks the pitch of the view."""
    x, y, z, vx, vy, vz, yaw, ground, water, cooldown = body.tolist()
    return PlayerState((x, y, z), (vx, vy, vz), yaw, pitch, bool(ground), bool(water), int(cooldown))
