"""Loop walks: out from a place and back to it, as LoopNav records them (loopnav 1.4, 1.5, 1.9).

A walker is put down at the settlement's centre, walks to a place A unrecorded, looks all around, walks to
B (and on to C), returns to A and idles. A try that gets stuck or lasts too long is thrown away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from worldgauge.collect.controller import IDLE, MAX_STUCK, TURN_DONE, Control, Follower, turn_towards
from worldgauge.collect.planner import Planner
from worldgauge.collect.sampling import Cell, Rule, sample_place, start_place
from worldgauge.collect.walk import LoopKind, Walk, WalkGoal, discard_counts
from worldgauge.errors import UsageError, WorldError
from worldgauge.worlds.voxel.player import TICKS_PER_SECOND, PlayerState, pack, tick
from worldgauge.worlds.voxel.world import VoxelWorld

START_RADIUS = 20
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
    """No try led to a loop; `reasons` has one entry a try."""

    def __init__(self, message: str, reasons: Sequence[str]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)


def record_loop(
    world: VoxelWorld,
    *,
    kind: LoopKind,
    radius: int,
    rng: np.random.Generator,
    planner: Planner | None = None,
    rule: Rule = "released",
) -> Walk:
    """One closed loop through `world`; nothing is rendered.

    radius: cells from A to B (and from B to C). planner: of the same world, to share between loops.
    Raises LoopFailedError after MAX_RETRIES + 1 tries, with the reasons.
    """
    if kind not in ("ABA", "ABCA"):
        raise UsageError(f"no loop kind '{kind}'. Known: ABA, ABCA")
    planner = planner or Planner(world)
    reasons: list[str] = []
    for _ in range(MAX_RETRIES + 1):
        recording = _Recording(world, planner)
        try:
            recording.run(kind, radius, rng, rule)
        except _DiscardedError as discarded:
            reasons.append(str(discarded))
            continue
        return recording.walk(kind, radius, tuple(reasons))
    raise LoopFailedError(
        f"no {kind} loop of radius {radius} in world '{world.kind}' (seed {world.seed}) "
        f"in {MAX_RETRIES + 1} tries: {discard_counts(reasons)}",
        reasons,
    )


class _DiscardedError(Exception):
    """Why a try is thrown away."""


class _Recording:
    """One try: a body, the control chosen in the last tick, and what has been recorded of them."""

    def __init__(self, world: VoxelWorld, planner: Planner) -> None:
        self._world = world
        self._planner = planner
        self._start = start_place(world)
        self._body = pack(PlayerState.standing(planner.feet(*self._start), yaw=_GAME_YAW_ZERO))
        self._control = IDLE
        self._recording = False
        self._ticks_silent = 0
        self._idle_records = 0
        self._stuck = 0
        self._rows: list[tuple[float, ...]] = []
        self._controls: list[Control] = []
        self._goals: list[WalkGoal | None] = []

    def run(self, kind: LoopKind, radius: int, rng: np.random.Generator, rule: Rule) -> None:
        place_a = self._sample(self._start, START_RADIUS, rng, rule)
        self._walk_to(WalkGoal(*place_a))
        for _ in range(START_UP_TICKS):
            self._idle()
        self._body[6] = _GAME_YAW_ZERO + (self._body[6] - _GAME_YAW_ZERO) % math.tau

        self._recording = True
        self._idle(WalkGoal(*place_a))
        self._look_around(WalkGoal(*place_a))
        place = place_a
        for _ in kind[1:-1]:
            place = self._sample(place, radius, rng, rule)
            self._walk_to(WalkGoal(*place))
        self._walk_to(WalkGoal(place_a[0], place_a[1], range_sq=1))
        until = self._idle_records + IDLE_RECORDS
        while self._idle_records < until:
            self._idle()
        if math.dist(self._rows[0][:2], self._rows[-1][:2]) > MAX_GAP_M:
            raise _DiscardedError("did not close")

    def walk(self, kind: LoopKind, radius: int, discards: tuple[str, ...]) -> Walk:
        rows = np.array(self._rows)
        return Walk(
            positions=rows[:, :3],
            yaw=rows[:, 3],
            pitch=rows[:, 4],
            camera=np.array([control.camera for control in self._controls]),
            forward=np.array([control.forward for control in self._controls]),
            jump=np.array([control.jump for control in self._controls]),
            goals=tuple(self._goals),
            kind=kind,
            radius=radius,
            seed=self._world.seed,
            discards=discards,
        )

    def _sample(self, around: Cell, radius: int, rng: np.random.Generator, rule: Rule) -> Cell:
        try:
            return sample_place(self._world, around, radius, rng, rule=rule)
        except WorldError:
            raise _DiscardedError("no place to go") from None

    def _walk_to(self, goal: WalkGoal) -> None:
        follower = self._plan(goal)
        control: Control | None = IDLE
        while control is not None:
            self._move()
            control = follower.control(self._body)
            self._show(control or IDLE, goal)
            if follower.stuck:
                self._stuck += 1
                if self._stuck > MAX_STUCK:
                    raise _DiscardedError("stuck")
                follower = self._plan(goal)

    def _look_around(self, goal: WalkGoal) -> None:
        headings = list(LOOK_AROUND)
        while headings:
            self._move()
            turn = turn_towards(float(self._body[6]), headings[0])
            while abs(turn) < TURN_DONE and len(headings) > 1:
                headings.pop(0)
                turn = turn_towards(float(self._body[6]), headings[0])
            if abs(turn) < TURN_DONE:
                headings.pop(0)
            self._show(Control((turn, 0.0)), goal)

    def _idle(self, goal: WalkGoal | None = None) -> None:
        self._move()
        self._show(IDLE, goal)

    def _plan(self, goal: WalkGoal) -> Follower:
        cell = self._planner.cell_of(tuple(self._body[:3].tolist()))
        path = None if cell is None else self._planner.plan(cell, goal)
        if path is None:
            raise _DiscardedError("no path")
        return Follower(self._world, path)

    def _move(self) -> None:
        """First half of a tick: the keys of the last tick move the body along the heading it had."""
        keys = self._control
        tick(self._world, self._body, ahead=float(keys.forward), jump=keys.jump)

    def _show(self, control: Control, goal: WalkGoal | None) -> None:
        """Second half: the view turns, and what can be seen now is recorded, unless nothing happens."""
        self._control = control
        self._body[6] += control.camera[0]
        if not self._recording:
            return
        x, y, z, yaw = (float(v) for v in self._body[[0, 1, 2, 6]])
        # Rounded as the data set stores it (its yaw is the game's), so that frames can be rendered again exactly.
        row = (round(x, 3), round(y, 3), round(z, 3), round(yaw - _GAME_YAW_ZERO, 3) + _GAME_YAW_ZERO, 0.0)
        self._ticks_silent += 1
        if self._rows and row == self._rows[-1] and not control.forward:
            if self._ticks_silent < TICKS_PER_SECOND:
                return
            self._idle_records += 1
        if len(self._rows) >= MAX_FRAMES:
            raise _DiscardedError("too long")
        self._ticks_silent = 0
        self._rows.append(row)
        self._controls.append(control)
        self._goals.append(goal)
