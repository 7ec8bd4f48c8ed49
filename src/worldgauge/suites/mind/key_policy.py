"""How a walker moves while keys are held, and the scripted policy that holds them.

One rule leads from state and keys to the next state, to make walks and to replay. Walking keys are relative to the
camera's yaw, also where the camera is on an arm. A step goes along the mean of the yaw before and after it. Two walking
keys together are no faster than one. The policy holds phases of 8 to 60 frames, each the best of a few dozen simulated
ones: it has a goal, a spot or a view that was seen before, and prefers some keys to others; chance does the rest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from worldgauge.core import geometry
from worldgauge.core.actions import ActionSpace
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.suites.mind.actions import Keys
from worldgauge.worlds.third_person import ARM_M, PIVOT_M
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import SHAPE_OF, SHAPES
from worldgauge.worlds.walking.clearance import RADIUS_M, find_way, resampled, straightened, ways_to
from worldgauge.worlds.walking.floor import FloorPlan, Walkable

REACH_M = 12.0
"""Half the side of the square round its start that a walk stays in."""
FIRST, RISE, BRAKE = 0.444, 0.24, 0.444
"""Speed after the first frame of a key, gain a frame after it, loss a frame after its release, in parts of full speed.

Published steps at 200 cm/s: 3.7, 5.6, 7.7, 8.2 cm; these give 3.7, 5.7, 7.7, 8.3.
"""
STEEPEST = math.radians(40)
"""Farthest that the camera looks up or down."""
BODY_TURN = math.radians(15)
"""Fastest turn a frame of a third-person body into its direction of walking."""
LENS_M = 0.25
"""Room around the camera and its arm."""
SMOOTH_M = 1.25
"""Side of the square over which the floor is averaged under the feet."""

X, Y, VX, VY, YAW, PITCH, HEADING = range(7)
"""Columns of a state: metres, velocity in parts of full speed along x and y of the world, radians."""
States = FloatArray

_STOP = 4
"""Frames after which a walker without keys stands for certain."""


class WalkTerrain(NamedTuple):
    """What the rule reads of the world: clearance and smoothed height (X, Y) of the floor's cells, in metres.

    In `cells` (X, Y, Z), 2 must not be along the camera's arm, and 1 only not in the metre before the camera.
    """

    clearance: NDArray[np.float32]
    ground: NDArray[np.float32]
    origin: FloatArray
    cell_m: float
    arm: bool
    cells: NDArray[np.uint8]
    cells_at: NDArray[np.int64]


class WalkArea(NamedTuple):
    """A part of a world's floor, and the same in the form that the rule takes."""

    floor: FloorPlan
    terrain: WalkTerrain


def area_around(world: Walkable, xy: ArrayLike, *, arm: bool) -> WalkArea:
    """Cut out the world's floor within REACH_M of a place; outside it nothing is free."""
    whole = world.floor
    middle, reach = whole.cells_of(xy), round(REACH_M / whole.cell_m)
    low = np.maximum(middle - reach, 0)
    part = tuple(slice(int(a), int(b)) for a, b in zip(low, middle + reach + 1, strict=True))
    origin = np.array(whole.origin) + low * whole.cell_m
    floor = FloorPlan(whole.free[part], whole.height_m[part], (float(origin[0]), float(origin[1])), whole.cell_m)
    cells, corner = np.zeros((1, 1, 1), np.uint8), np.zeros(3, np.int64)
    if arm:
        if not isinstance(world, Voxel):
            raise WorldError(f"a third-person walk needs a world of cells, not '{world.facts.name}'")
        states = world.voxels.states
        first = np.maximum(np.floor(origin).astype(np.int64) - 4, 0)
        last = np.minimum(first + 2 * int(REACH_M) + 10, states.shape[:2])
        cells = _ROOM[states[first[0] : last[0], first[1] : last[1]]]
        corner[:2] = first
    return WalkArea(floor, WalkTerrain(floor.clearance_m, _smoothed(floor), origin, floor.cell_m, arm, cells, corner))


def replayed(area: WalkArea, start: ArrayLike, keys: Keys, space: ActionSpace) -> States:
    """States (T, 7) that key codes (T, 4) lead to from `start`, which is row 0; codes of row 0 lead nowhere."""
    states = np.empty((len(keys), 7))
    states[0] = start
    step, turn = strides_of(space)
    for t in range(1, len(keys)):
        states[t] = states[t - 1]
        advance(states[t], keys[t], area.terrain, step, turn)
    return states


def feet_of(area: WalkArea, states: States) -> FloatArray:
    """Return feet (T, 3) in metres of states (T, 7)."""
    heights = [_ground_at(area.terrain, x, y) for x, y in states[:, :2]]
    return np.column_stack([states[:, :2], heights])


def strides_of(space: ActionSpace) -> tuple[float, float]:
    """Metres and radians a frame of a `walk_look` space."""
    forward, look = space.axes[space.column("forward")], space.axes[space.column("look_left")]
    return forward.motion.forward, look.motion.yaw


def _room() -> NDArray[np.uint8]:
    """What a state (256,) means to the arm: plants are looked over, but not from within."""
    shapes = np.array([SHAPES[shape] for shape in SHAPE_OF])
    room = np.full(256, 2, np.uint8)
    room[: len(shapes)] = np.where(shapes == "empty", 0, np.where(shapes == "cross", 1, 2))
    return room


_ROOM = _room()


def _smoothed(floor: FloorPlan) -> NDArray[np.float32]:
    """Mean height of the free cells in the square round each cell; their own height where there are none."""
    import cv2

    # Twice a square of half the side: a weight that falls off smoothly leaves no kinks.
    half = round(SMOOTH_M / floor.cell_m / 2) | 1

    def mean(values: NDArray[Any]) -> NDArray[Any]:
        once = cv2.blur(values, (half, half), borderType=cv2.BORDER_CONSTANT)
        return np.asarray(cv2.blur(once, (half, half), borderType=cv2.BORDER_CONSTANT))

    free = floor.free.astype(np.float32)
    share, total = mean(free), mean(floor.height_m * free)
    return np.where(share > 0, total / np.maximum(share, 1e-6), floor.height_m).astype(np.float32)


@njit(cache=True, nogil=True)
def _ground_at(terrain, x, y):  # type: ignore[no-untyped-def]
    """Height under a point, bilinear between the centres of cells."""
    ground, origin, cell_m = terrain.ground, terrain.origin, terrain.cell_m
    a, b = (x - origin[0]) / cell_m - 0.5, (y - origin[1]) / cell_m - 0.5
    i = min(max(math.floor(a), 0), ground.shape[0] - 2)
    j = min(max(math.floor(b), 0), ground.shape[1] - 2)
    a, b = min(max(a - i, 0.0), 1.0), min(max(b - j, 0.0), 1.0)
    near = ground[i, j] * (1 - b) + ground[i, j + 1] * b
    far = ground[i + 1, j] * (1 - b) + ground[i + 1, j + 1] * b
    return near * (1 - a) + far * a


@njit(cache=True, nogil=True)
def _room_at(terrain, x, y):  # type: ignore[no-untyped-def]
    """Clearance at a point, 0 outside."""
    i, j = math.floor((x - terrain.origin[0]) / terrain.cell_m), math.floor((y - terrain.origin[1]) / terrain.cell_m)
    if i < 0 or j < 0 or i >= terrain.clearance.shape[0] or j >= terrain.clearance.shape[1]:
        return 0.0
    return float(terrain.clearance[i, j])


@njit(cache=True, nogil=True)
def _signed(code):  # type: ignore[no-untyped-def]
    return 1.0 if code == 1 else -1.0 if code == 2 else 0.0


@njit(cache=True, nogil=True)
def advance(state, keys, terrain, step, turn):  # type: ignore[no-untyped-def]
    """Move a state by one frame, in place: `step` metres, `turn` radians. At a wall the walker slides or stops."""
    before = state[YAW]
    state[YAW] += turn * _signed(keys[3])
    state[PITCH] += turn * _signed(keys[2])
    state[PITCH] = min(max(state[PITCH], -STEEPEST), STEEPEST)
    along = 0.5 * (before + state[YAW])
    ahead, left = _signed(keys[0]), _signed(keys[1])
    size = max(math.hypot(ahead, left), 1.0)
    c, s = math.cos(along) / size, math.sin(along) / size
    gain_x, gain_y = ahead * c - left * s - state[VX], ahead * s + left * c - state[VY]
    stood, let_go = state[VX] == 0.0 and state[VY] == 0.0, ahead == 0.0 and left == 0.0
    most = BRAKE if let_go else FIRST if stood else RISE
    gain = math.hypot(gain_x, gain_y)
    part = most / gain if gain > most else 1.0
    state[VX] += part * gain_x
    state[VY] += part * gain_y
    dx, dy = state[VX] * step, state[VY] * step
    held = _room_at(terrain, state[X] + dx, state[Y] + dy) < RADIUS_M
    if held:
        if _room_at(terrain, state[X] + dx, state[Y]) >= RADIUS_M:
            dy = state[VY] = 0.0
        elif _room_at(terrain, state[X], state[Y] + dy) >= RADIUS_M:
            dx = state[VX] = 0.0
        else:
            dx = dy = state[VX] = state[VY] = 0.0
    state[X] += dx
    state[Y] += dy
    if not terrain.arm:
        state[HEADING] = state[YAW]
    elif state[VX] != 0.0 or state[VY] != 0.0:
        off = (math.atan2(state[VY], state[VX]) - state[HEADING] + math.pi) % (2 * math.pi) - math.pi
        state[HEADING] += min(max(off, -BODY_TURN), BODY_TURN)
    return held


@njit(cache=True, nogil=True)
def arm_is_free(terrain, x, y, z, yaw, pitch):  # type: ignore[no-untyped-def]
    """Whether nothing is within LENS_M of the arm behind a pivot, nor of its camera."""
    cells, corner = terrain.cells, terrain.cells_at
    fx, fy, fz = math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), math.sin(pitch)
    count = 25
    for k in range(count + 1):
        away = ARM_M * k / count
        px, py, pz = x - away * fx, y - away * fy, z - away * fz
        # Plants a metre or more before the camera hide little.
        allowed = 1 if away < ARM_M - 1.0 else 0
        for a in (-LENS_M, LENS_M):
            for b in (-LENS_M, LENS_M):
                for c in (-LENS_M, LENS_M):
                    i = math.floor(px + a) - corner[0]
                    j = math.floor(py + b) - corner[1]
                    h = math.floor(pz + c) - corner[2]
                    if i < 0 or j < 0 or h < 0 or i >= cells.shape[0] or j >= cells.shape[1]:
                        return False
                    if h < cells.shape[2] and cells[i, j, h] > allowed:
                        return False
    return True


@njit(cache=True, nogil=True)
def stands_well(terrain, state):  # type: ignore[no-untyped-def]
    """Whether the camera of a walker has room; one without an arm always has."""
    if not terrain.arm:
        return True
    z = _ground_at(terrain, state[X], state[Y]) + PIVOT_M
    return arm_is_free(terrain, state[X], state[Y], z, state[YAW], state[PITCH])


@njit(cache=True, nogil=True)
def hold(start, keys, frames, terrain, step, turn):  # type: ignore[no-untyped-def]
    """States (n, 7) of held keys, n <= frames; ends in time to release them before a contact or a too steep view."""
    out = np.empty((frames, 7))
    state = start.copy()
    none = np.zeros(4, np.uint8)
    n = 0
    while n < frames:
        held = advance(state, keys, terrain, step, turn)
        steep = keys[2] > 0 and abs(state[PITCH]) >= STEEPEST - 1e-9
        if held or steep or not stands_well(terrain, state):
            break
        for part in range(7):
            out[n, part] = state[part]
        n += 1
    while n > 0:
        for part in range(7):
            state[part] = out[n - 1, part]
        fine = True
        for _ in range(_STOP):
            held = advance(state, none, terrain, step, turn)
            fine = fine and not held and stands_well(terrain, state)
        if fine:
            break
        n -= 1
    return out[:n]


@njit(cache=True, nogil=True)
def open_ahead(terrain, x, y, yaw, most):  # type: ignore[no-untyped-def]
    """The distance from a point along `yaw` to where no foot can stand, at most `most`."""
    away = 0.0
    while away < most and _room_at(terrain, x + away * math.cos(yaw), y + away * math.sin(yaw)) > 0.0:
        away += 0.5 * terrain.cell_m
    return min(away, most)


@njit(cache=True, nogil=True)
def seen_before(shown, x, y, yaw, near_m, near_rad):  # type: ignore[no-untyped-def]
    """Whether a view is close to one of those shown, (N, 3): x, y and yaw."""
    for n in range(len(shown)):
        off = abs((shown[n, 2] - yaw + math.pi) % (2 * math.pi) - math.pi)
        if off <= near_rad and math.hypot(shown[n, 0] - x, shown[n, 1] - y) <= near_m:
            return True
    return False


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
    """Weights for the choice of a phase, besides the preference for its keys; tuned by eye.

    Attributes:
        progress: Along the way, as a share of what walking straight makes.
        facing: Per radian away from where the way leads.
        seen: For a phase that shows only what was seen before.
        steep: Per radian of pitch off the level.
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
        pitches: bool = True,
    ) -> None:
        """Prepare the policy; `level` is the pitch in radians that the view comes back to, or always has."""
        self._area, self._rng, self._mark, self._level, self._weights = area, rng, mark_time, level, weights
        self._phases = [number for number, (codes, *_) in enumerate(_PHASES) if pitches or not codes[2]]
        self._step, self._turn = strides_of(space)
        self._shown: FloatArray = np.empty((0, 3))

    def walk(self, start: States, frames: int) -> tuple[Keys, States] | str:
        """Key codes (frames, 4), row 0 zeros, and states (frames, 7), row 0 `start`; or why there is no walk."""
        keys, states = np.zeros((frames, 4), np.uint8), np.empty((frames, 7))
        states[0] = start
        # Places (N, 2) that can be walked to.
        floor = self._area.floor
        metres = ways_to(floor, start[:2], reach_m=SPOT_M[1]).metres
        fine = np.isfinite(metres) & (metres >= SPOT_M[0]) & (floor.clearance_m >= 0.5)
        self._spots = floor.points_of(np.argwhere(fine))
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
        index = [n for n in self._phases if n != last]
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
                # A state (7,) from before the mark; of a few by chance the one that is most unlike what is seen now.
                some = past[self._rng.integers(self._mark, size=3)]
                away = np.hypot(*(some[:, :2] - past[-1, :2]).T) / NEAR_M
                turned = np.abs(wrap_angle(some[:, YAW] - past[-1, YAW])) / NEAR_RAD
                view: States = some[int(np.argmax(away + turned))]
                way = self._way(at, view[:2])
                yaw: float | None = float(view[YAW])
            else:
                way, yaw = self._way(at, self._spot(at)), None
            if way is not None:
                return _Goal(way, yaw, linger)
        return _Goal(at[None, :2].copy(), None, 0)

    def _loyalty(self, past: States) -> float:
        """Chance of going back to something: there is room for news only while enough was old."""
        later = past[self._mark :]
        if len(later) < 24:
            return 0.9
        return 0.5 if float(np.mean(self._seen(later[::4]))) > 0.85 else 1.0

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
        return resampled(corners, max(2, round(geometry.length(corners) / _SPACING_M) + 1))

    def _seen(self, states: States) -> list[bool]:
        return [bool(seen_before(self._shown, x, y, yaw, _SURE_M, _SURE_RAD)) for x, y, yaw in self._views(states)]

    def _views(self, states: States) -> FloatArray:
        """Where the camera is and looks: x, y, yaw (N, 3)."""
        reach = ARM_M * np.cos(states[:, PITCH]) if self._area.terrain.arm else np.zeros(len(states))
        yaw = states[:, YAW]
        return np.column_stack([states[:, X] - reach * np.cos(yaw), states[:, Y] - reach * np.sin(yaw), yaw])


def start_state(xy: FloatArray, yaw: float, pitch: float) -> States:
    """State (7,) of a walker at rest that faces where it looks."""
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
