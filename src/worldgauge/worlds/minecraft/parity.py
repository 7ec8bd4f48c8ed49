"""How far the embedded world's physics is from the game's own, over random walks in the same cells."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from worldgauge.errors import UsageError, WorldError
from worldgauge.geometry import FloatArray
from worldgauge.worlds.minecraft.offline import Offline
from worldgauge.worlds.voxel.blocks import GROUND, KINDS, STATES
from worldgauge.worlds.voxel.player import Action, PlayerState, step
from worldgauge.worlds.voxel.world import VoxelWorld

EQUAL_M = 1e-6
"""Metres, or metres a tick, below which two bodies are at the same place and equally fast."""

CAUSES = ("thin wall", "cactus", "cobweb", "current", "other")
"""Where the embedded world differs, and why.

thin wall: fences, walls and panes stop a body like full cells there; in the game they have their drawn width, and
fences a height of 1.5 m. cactus: a full cell there, a sixteenth narrower on all sides in the game. cobweb: slows nobody
there. current: its water stands still; in the game it flows towards water under a ledge. other: nothing known.
"""

_REACH = 24
_HEIGHT_M = 1.8
_HELD_TICKS = 12


@dataclass(frozen=True)
class Deviation:
    """Embedded against the game, tick by tick, each from the game's body of the tick before.

    ticks: how many. worst: largest difference of position (metres) or velocity (metres a tick) in one tick. equal:
    share of ticks below EQUAL_M. causes: of the others, how many are due to each of CAUSES. walked: largest distance of
    the two bodies, metres, over whole walks from one start, of the walks whose every tick is equal.
    """

    ticks: int
    worst: float
    equal: float
    causes: dict[str, int]
    walked: float


def deviation(world: VoxelWorld, offline: Offline, *, seed: int = 0, walks: int = 10, ticks: int = 200) -> Deviation:
    """Compare the two physics over random `walks` of `ticks` each near the centre of `world`.

    offline: opened on the cells of `world`. The same seed gives the same walks. Raises WorldError without open ground.
    """
    if walks < 1 or ticks < 1:
        raise UsageError(f"{walks} walks of {ticks} ticks compare nothing: give 1 or more of each")
    rng = np.random.default_rng(seed)
    gaps: list[float] = []
    causes: Counter[str] = Counter()
    walked = 0.0
    for _ in range(walks):
        start = offline.teleport(_spot(world, rng), float(rng.uniform(-np.pi, np.pi)))
        actions = random_actions(rng, ticks)
        theirs = (start, *offline.step(actions))
        ours = [step(world, body, action) for body, action in zip(theirs, actions, strict=False)]
        gap = [_gap(one, two) for one, two in zip(ours, theirs[1:], strict=True)]
        gaps += gap
        for body, off in zip(theirs[1:], gap, strict=True):
            if off > EQUAL_M:
                causes[_cause(world, body)] += 1
        if max(gap) <= EQUAL_M:
            walked = max(walked, _drift(world, theirs, actions))
    equal = float(np.mean(np.array(gaps) <= EQUAL_M))
    return Deviation(len(gaps), max(gaps), equal, dict(causes.most_common()), walked)


def random_actions(rng: np.random.Generator, ticks: int) -> list[Action]:
    """Keys that are held for a while, mostly forward, and a view that wanders."""
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


def _cause(world: VoxelWorld, body: PlayerState) -> str:
    """The first of CAUSES that is around a body."""
    low = np.floor(np.subtract(body.position, (0.6, 0.6, 1.1))).astype(int)
    high = np.floor(np.add(body.position, (0.6, 0.6, _HEIGHT_M))).astype(int) + 1
    part = world.states[tuple(slice(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True))]
    kinds = {KINDS[STATES[state].kind] for state in np.unique(part).tolist()}
    if any(kind.shape == "pane" for kind in kinds):
        return "thin wall"
    named = next((name for name in CAUSES if name in {kind.name for kind in kinds}), "other")
    return "current" if named == "other" and body.in_water else named


def _spot(world: VoxelWorld, rng: np.random.Generator) -> tuple[float, float, float]:
    for _ in range(1000):
        x, y = np.add(world.centre, rng.integers(-_REACH, _REACH + 1, 2)).tolist()
        if world.inside(x, y):
            top = world.surface(x, y)
            if GROUND[world.states[x, y, top]]:
                return x + 0.5, y + 0.5, top + 1.0
    raise WorldError(f"no open ground within {_REACH} m of the centre {world.centre}")
