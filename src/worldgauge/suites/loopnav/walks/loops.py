"""Loop walks: out from a place and back to it, as LoopNav records them (loopnav 1.4, 1.5, 1.9).

A walker is put down at the settlement's centre, walks to a place A unrecorded, looks all around, walks to
B (and on to C), returns to A and idles. A try that gets stuck or lasts too long is discarded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from worldgauge.core.errors import UsageError, WorldError
from worldgauge.suites.loopnav.walks.sites import LoopSite
from worldgauge.worlds.voxel.physics.player import TICKS_PER_SECOND
from worldgauge.worlds.walking.controller import TURN_DONE, Control, turn_towards
from worldgauge.worlds.walking.sampling import Rule
from worldgauge.worlds.walking.walk import LoopKind, Walk, WalkGoal, discard_counts
from worldgauge.worlds.walking.walkers import Stride, WalkFailedError

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
    """No try led to a loop.

    Attributes:
        reasons: One entry per try.
    """

    def __init__(self, message: str, reasons: Sequence[str]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)


def record_loop(
    site: LoopSite,
    *,
    kind: LoopKind,
    radius: int,
    rng: np.random.Generator,
    rule: Rule = "released",
    look_around: bool = True,
    laps: int = 1,
) -> Walk:
    """Walk one closed loop at `site`, once or several times; nothing is rendered.

    Args:
        site: Where to walk.
        kind: Form of the loop.
        radius: Cells from A to B (and from B to C).
        rng: Source of all randomness.
        rule: How goals are drawn.
        look_around: Whether the walker looks to all sides at A, as LoopNav's does. Without it parts of the way back
            were never seen.
        laps: How often the loop is walked, between the same places.

    Raises:
        LoopFailedError: After MAX_RETRIES + 1 tries, with the reasons.
        UsageError: For an unknown form.
    """
    if kind not in ("ABA", "ABCA"):
        raise UsageError(f"no loop kind '{kind}'. Known: ABA, ABCA")
    reasons: list[str] = []
    for _ in range(MAX_RETRIES + 1):
        recording = _Recording(site, MAX_FRAMES * laps)
        try:
            recording.run(kind, radius, rng, rule, look_around, laps)
        except WalkFailedError as discarded:
            reasons.append(str(discarded))
            continue
        return recording.walk(kind, radius, tuple(reasons))
    raise LoopFailedError(
        f"no {kind} loop of radius {radius} in {site.label} in {MAX_RETRIES + 1} tries: {discard_counts(reasons)}",
        reasons,
    )


class _Recording:
    """One try: where the walker begins, and what has been recorded of it."""

    def __init__(self, site: LoopSite, longest: int) -> None:
        self._site, self._longest = site, longest
        self._walker = site.walker
        self._recording = False
        self._yaw = self._whole_turns = 0.0
        self._ticks_silent = 0
        self._idle_records = 0
        self._rows: list[tuple[float, ...]] = []
        self._controls: list[Control] = []
        self._goals: list[WalkGoal | None] = []

    def run(
        self, kind: LoopKind, radius: int, rng: np.random.Generator, rule: Rule, look_around: bool, laps: int
    ) -> None:
        site = self._site
        begin = site.begin()
        if begin is not None:
            self._walker.stand(begin, _GAME_YAW_ZERO)
        place_a = site.first_place(begin, rng, rule)
        if begin is None:
            self._walker.stand(place_a, _GAME_YAW_ZERO)
        self._walk_to(site.goal(place_a))
        for _ in range(START_UP_TICKS):
            self._turn(0.0)
        self._whole_turns = math.floor((self._yaw - _GAME_YAW_ZERO) / math.tau) * math.tau

        self._recording = True
        self._turn(0.0, site.goal(place_a))
        if look_around:
            self._look_around(site.goal(place_a))
        place, stops, home = place_a, [], WalkGoal(place_a[0], place_a[1], range_sq=1)
        for _ in kind[1:-1]:
            place = site.next_place(place, radius, rng, rule)
            stops.append(site.goal(place))
            self._walk_to(stops[-1])
        self._walk_to(home)
        for goal in (laps - 1) * [*stops, home]:
            self._walk_to(goal)
        until = self._idle_records + IDLE_RECORDS
        while self._idle_records < until:
            self._turn(0.0)
        if math.dist(self._rows[0][:2], self._rows[-1][:2]) > MAX_GAP_M:
            raise WalkFailedError("did not close")

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
            seed=self._site.seed,
            discards=discards,
        )

    def _walk_to(self, goal: WalkGoal) -> None:
        for stride in self._walker.walk(goal):
            self._record(stride, goal)

    def _look_around(self, goal: WalkGoal) -> None:
        headings = list(LOOK_AROUND)
        while headings:
            turn = turn_towards(self._yaw, headings[0])
            while abs(turn) < TURN_DONE and len(headings) > 1:
                headings.pop(0)
                turn = turn_towards(self._yaw, headings[0])
            if abs(turn) < TURN_DONE:
                headings.pop(0)
            self._turn(turn, goal)

    def _turn(self, angle: float, goal: WalkGoal | None = None) -> None:
        self._record(self._walker.turn(angle), goal)

    def _record(self, stride: Stride, goal: WalkGoal | None) -> None:
        """What can be seen after a tick is recorded, unless nothing happens."""
        self._yaw = stride.yaw
        if not self._recording:
            return
        x, y, z = stride.position
        yaw = stride.yaw - self._whole_turns
        # Rounded as the data set stores it (its yaw is the game's), so that frames can be rendered again exactly.
        row = (round(x, 3), round(y, 3), round(z, 3), round(yaw - _GAME_YAW_ZERO, 3) + _GAME_YAW_ZERO, 0.0)
        self._ticks_silent += 1
        if self._rows and row == self._rows[-1] and not stride.control.forward:
            if self._ticks_silent < TICKS_PER_SECOND:
                return
            self._idle_records += 1
        if len(self._rows) >= self._longest:
            raise WalkFailedError("too long")
        self._ticks_silent = 0
        self._rows.append(row)
        self._controls.append(stride.control)
        self._goals.append(goal)
