"""The scripted policy that holds the keys: phases of 8 to 60 frames, each the best of a few dozen simulated ones.

It has a goal, a spot or a view that was seen before, and prefers some keys to others; chance does the rest.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from worldgauge.core import polyline
from worldgauge.core.actions import ActionSpace
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.suites.mind.actions import Keys
from worldgauge.suites.mind.walks.dynamics import (
    HEADING,
    PITCH,
    VX,
    VY,
    YAW,
    States,
    WalkArea,
    X,
    Y,
    hold,
    open_ahead,
    seen_before,
    strides_of,
)
from worldgauge.worlds.third_person import ARM_M
from worldgauge.worlds.walking.clearance import find_way, resampled, straightened, ways_to

SHORTEST = 8
"""Frames of a phase, unless it is cut off by the end."""
SPOT_M = (2.5, 12.0)
"""Way to a spot that is gone to."""
NEAR_M, NEAR_RAD = 2.0, math.radians(30)
"""A view this near to one that was shown counts as seen before."""
_SURE_M, _SURE_RAD = 1.7, math.radians(26)
_ARRIVED_M = 0.7
_FACING_M = 4.0
"""Way left from which on a policy turns to where it will look in the end, and no longer to where it goes."""
_STARES_M = 2.0
"""Views of a wall nearer than this are avoided."""
_SPACING_M = 0.2

_PHASES: tuple[tuple[tuple[int, int, int, int], float, int, int], ...] = (
    # ws, ad, ud, lr; preference; fewest and most frames
    ((1, 0, 0, 0), 36.0, 16, 60),
    ((1, 0, 0, 1), 12.0, 12, 44),
    ((1, 0, 0, 2), 12.0, 12, 44),
    ((0, 0, 0, 1), 0.6, 8, 44),
    ((0, 0, 0, 2), 0.6, 8, 44),
    ((0, 0, 1, 0), 1.5, 8, 18),
    ((0, 0, 2, 0), 1.5, 8, 18),
    ((2, 0, 0, 0), 0.35, 10, 36),
    ((0, 1, 0, 0), 0.9, 8, 30),
    ((0, 2, 0, 0), 0.9, 8, 30),
    ((1, 1, 0, 0), 0.5, 8, 30),
    ((1, 2, 0, 0), 0.5, 8, 30),
    ((2, 0, 0, 1), 0.3, 8, 24),
    ((2, 0, 0, 2), 0.3, 8, 24),
    ((0, 1, 0, 2), 0.3, 8, 24),
    ((0, 2, 0, 1), 0.3, 8, 24),
    ((1, 0, 1, 0), 0.3, 8, 14),
    ((1, 0, 2, 0), 0.3, 8, 14),
    ((1, 1, 0, 2), 0.15, 8, 20),
    ((1, 2, 0, 1), 0.15, 8, 20),
    ((0, 0, 1, 1), 0.2, 8, 16),
    ((0, 0, 2, 2), 0.2, 8, 16),
    ((0, 0, 0, 0), 1.5, 8, 24),
)


class PolicyWeights(NamedTuple):
    """Weights of what counts when a phase is chosen, besides the preference for its keys; tuned by eye.

    Attributes:
        progress: Along the way, as a share of what walking straight makes.
        facing: Per radian away from where the way leads.
        seen: For a phase that shows only what was seen before.
        steep: Per radian of pitch off the level.
        stares: For facing a wall.
        chance: Scale of the noise.
    """

    progress: float = 3.0
    facing: float = 1.6
    seen: float = 2.5
    steep: float = 5.0
    stares: float = 1.5
    chance: float = 0.7


class _Goal(NamedTuple):
    """way: (N, 2) points to go along. yaw: to look along in the end, None for any. linger: phases to spend there."""

    way: FloatArray
    yaw: float | None
    linger: int


class KeyPolicy:
    """A policy for one walk; `walk` gives keys and states frame by frame."""

    def __init__(
        self,
        area: WalkArea,
        space: ActionSpace,
        rng: np.random.Generator,
        mark_time: int,
        level: float,
        weights: PolicyWeights,
    ) -> None:
        """Prepare the policy.

        Args:
            area: The floor around the start.
            space: Action space, which gives step and turn per frame.
            rng: Generator.
            mark_time: Frame at which the memory part begins.
            level: Pitch that the view comes back to, radians.
            weights: Weights of its preferences.
        """
        self._area, self._rng, self._mark, self._level, self._weights = area, rng, mark_time, level, weights
        self._step, self._turn = strides_of(space)
        self._shown: FloatArray = np.empty((0, 3))

    def walk(self, start: States, frames: int) -> tuple[Keys, States] | str:
        """Walk from a state.

        Args:
            start: State (7,).
            frames: Number of frames.

        Returns:
            Key codes (frames, 4), row 0 zeros, and states (frames, 7), row 0 `start`; or why there is no walk.
        """
        keys, states = np.zeros((frames, 4), np.uint8), np.empty((frames, 7))
        states[0] = start
        self._spots = self._spots_around(start)
        if len(self._spots) == 0:
            return "nowhere to go from the start"
        t, goal, last, idle = 1, self._new_goal(states[:1]), -1, 0
        while t < frames:
            if len(self._shown) == 0 and t >= self._mark > 1:
                self._shown = self._views(states[: self._mark])
                goal = self._new_goal(states[:t])
            number, held = self._phase(states[t - 1], goal, last, frames - t)
            if number < 0:
                return "stuck: no key can be held"
            n = len(held)
            keys[t : t + n], states[t : t + n] = _PHASES[number][0], held
            t, last = t + n, number
            idle = idle + 1 if n and np.abs(held[-1, :2] - held[0, :2]).max() < 0.05 else 0
            if idle > 9:
                return "stuck: stands about"
            if self._arrived(states[t - 1], goal):
                goal = goal._replace(linger=goal.linger - 1)
            if goal.linger < 0 or self._rng.random() < 0.04:
                goal = self._new_goal(states[:t])
        return keys, states

    def _phase(self, state: States, goal: _Goal, last: int, room: int) -> tuple[int, States]:
        """Number of the best phase and its states; -1 when none is possible."""
        area = self._area
        scores, tried = [], []
        index = [n for n in range(len(_PHASES)) if n != last]
        for number in index:
            codes, preference, least, most = _PHASES[number]
            frames = min(int(self._rng.integers(least, most + 1)), room)
            held = hold(state, np.array(codes, np.uint8), frames, area.terrain, self._step, self._turn)
            if len(held) < min(SHORTEST, room):
                continue
            scores.append(math.log(preference) + self._score(state, held, goal))
            tried.append((number, held))
        if not tried:
            return -1, state[None][:0]
        noisy = np.array(scores) + self._weights.chance * self._rng.gumbel(size=len(scores))
        return tried[int(np.argmax(noisy))]

    def _score(self, state: States, held: States, goal: _Goal) -> float:
        """How good it is to go from `state` through the states `held` (n, 7)."""
        end, weights = held[-1], self._weights
        value = 0.0
        if goal.linger > 0 or not self._arrived(state, goal):
            before, _ = _left(goal.way, state)
            after, ahead = _left(goal.way, end)
            value += weights.progress * (before - after) / (self._step * max(len(held), 24))
            wanted = ahead if goal.yaw is None or after > _FACING_M else goal.yaw
            value -= weights.facing * (abs(_off(wanted, end[YAW])) - 0.7 * abs(_off(wanted, state[YAW])))
        steeper = abs(end[PITCH] - self._level) - 0.5 * abs(state[PITCH] - self._level)
        room = float(open_ahead(self._area.terrain, end[X], end[Y], end[YAW], _STARES_M))
        value -= weights.steep * max(0.0, steeper) + weights.stares * (1 - room / _STARES_M)
        if len(self._shown):
            some = held[:: max(1, len(held) // 6)]
            loyal = 1.0 if goal.yaw is not None else 0.2
            value += weights.seen * loyal * float(np.mean(self._seen(some)))
        return float(value)

    def _arrived(self, state: States, goal: _Goal) -> bool:
        near = float(np.hypot(*(goal.way[-1] - state[:2]))) < _ARRIVED_M
        return near and (goal.yaw is None or abs(_off(goal.yaw, state[YAW])) < math.radians(18))

    def _new_goal(self, past: States) -> _Goal:
        """A spot not seen yet, or, once there is something to remember, the place and direction of an earlier view."""
        at = past[-1]
        linger = int(self._rng.integers(0, 3))
        for _ in range(8):
            if len(self._shown) and self._rng.random() < self._loyalty(past):
                view = self._old_view(past)
                way = self._way(at, view[:2])
                yaw: float | None = float(view[YAW])
            else:
                way, yaw = self._way(at, self._spot(at)), None
            if way is not None:
                return _Goal(way, yaw, linger)
        return _Goal(at[None, :2].copy(), None, 0)

    def _old_view(self, past: States) -> States:
        """A state (7,) from before the mark; of a few by chance the one that is most unlike what is seen now."""
        some = past[self._rng.integers(self._mark, size=3)]
        away = np.hypot(*(some[:, :2] - past[-1, :2]).T) / NEAR_M
        turned = np.abs(wrap_angle(some[:, YAW] - past[-1, YAW])) / NEAR_RAD
        view: States = some[int(np.argmax(away + turned))]
        return view

    def _loyalty(self, past: States) -> float:
        """Chance of going back to something: there is room for news only while enough was old."""
        later = past[self._mark :]
        if len(later) < 24:
            return 0.9
        return 0.5 if float(np.mean(self._seen(later[::4]))) > 0.85 else 1.0

    def _spots_around(self, start: States) -> FloatArray:
        """Places (N, 2) that can be walked to."""
        floor = self._area.floor
        metres = ways_to(floor, start[:2], reach_m=SPOT_M[1]).metres
        fine = np.isfinite(metres) & (metres >= SPOT_M[0]) & (floor.clearance_m >= 0.5)
        return floor.points_of(np.argwhere(fine))

    def _spot(self, at: States) -> FloatArray:
        """One of the places, rather one ahead."""
        some = self._spots[self._rng.integers(len(self._spots), size=24)]
        gap = some - at[:2]
        off = np.abs(wrap_angle(np.arctan2(gap[:, 1], gap[:, 0]) - at[YAW]))
        chance = np.exp(-off / 0.5) * (np.hypot(*gap.T) > SPOT_M[0]) + 1e-6
        spot: FloatArray = some[self._rng.choice(len(some), p=chance / chance.sum())]
        return spot

    def _way(self, at: States, to: FloatArray) -> FloatArray | None:
        floor = self._area.floor
        way = find_way(floor, at[:2], to)
        if way is None:
            return None
        corners = straightened(floor, way)
        return resampled(corners, max(2, round(polyline.length(corners) / _SPACING_M) + 1))

    def _seen(self, states: States) -> list[bool]:
        return [bool(seen_before(self._shown, x, y, yaw, _SURE_M, _SURE_RAD)) for x, y, yaw in self._views(states)]

    def _views(self, states: States) -> FloatArray:
        """Where the camera is and looks: x, y, yaw (N, 3)."""
        reach = ARM_M * np.cos(states[:, PITCH]) if self._area.terrain.arm else np.zeros(len(states))
        yaw = states[:, YAW]
        return np.column_stack([states[:, X] - reach * np.cos(yaw), states[:, Y] - reach * np.sin(yaw), yaw])


def start_state(xy: FloatArray, yaw: float, pitch: float) -> States:
    """Make the state (7,) of a walker at rest that faces where it looks.

    Args:
        xy: (2,) metres.
        yaw: Radians.
        pitch: Radians.
    """
    state = np.zeros(7)
    state[[X, Y, VX, VY, YAW, PITCH, HEADING]] = *xy, 0.0, 0.0, yaw, pitch, yaw
    return state


def _left(way: FloatArray, state: States) -> tuple[float, float]:
    """Metres from a state to the end of the way, by its nearest point, and the direction of the way from there."""
    gaps = way - state[:2]
    away = np.hypot(gaps[:, 0], gaps[:, 1])
    n = int(away.argmin())
    spacing = float(np.hypot(*(way[1] - way[0]))) if len(way) > 1 else 0.0
    ahead = gaps[min(n + 6, len(way) - 1)]
    return float(away[n]) + spacing * (len(way) - 1 - n), math.atan2(ahead[1], ahead[0])


def _off(wanted: float, yaw: float) -> float:
    return (wanted - yaw + math.pi) % (2 * math.pi) - math.pi
