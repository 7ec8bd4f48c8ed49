"""The embedded physics against the game's, over random walks. Needs Node with the packages of `make minecraft`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.minecraft.offline import Offline
from worldgauge.worlds.voxel.blocks import SHAPE_OF, SHAPES, SOLID
from worldgauge.worlds.voxel.player import HALF_WIDTH_M, Action, PlayerState, step
from worldgauge.worlds.voxel.world import VoxelWorld

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
    """Embedded physics against the game's, tick by tick, each from the game's body of the tick before.

    Attributes:
        worst: Largest difference of position (metres) or velocity (metres per tick) in one tick.
        equal: Share of ticks below EQUAL_M.
        walked: Largest distance in metres over whole walks from one start whose every tick is equal.
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
        gap = [float(np.abs(_numbers(one) - _numbers(two)).max()) for one, two in zip(ours, theirs[1:], strict=True)]
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
        raise WorldError(f"no place to stand within {_REACH} m of the centre {world.centre}")
    spots += (x0, y0, 1)
    return spots
