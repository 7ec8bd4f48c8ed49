"""Walks to named things, as Target-Bench's quadruped was driven: 2 s of history, then 8 s up to a metre from a target.

The target is in view at the current frame and at the end, it is the most prominent of its kind, and its path is free.
A sentence names the target, or describes it by what it looks like or is good for: then it never contains a word of the
target's name. All sentences are our own.
A path becomes a walk that begins in motion and ends at rest. Speed is reduced where the path bends, so that the heading
never turns faster than the limit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core import geometry
from worldgauge.core.errors import ShapeError, UnknownNameError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch, wrap_angle
from worldgauge.worlds import View
from worldgauge.worlds.walking.clearance import RADIUS_M, find_way, least_clearance, resampled, straightened, ways_to
from worldgauge.worlds.walking.floor import FloorPlan, Landmark, Walkable, distance_from_box

EXPLICIT_SHARE = 73 / 125
"""Share of scenarios that name their target: that of the published benchmark (derived from Tables 1 and 2)."""

IMPLICIT: dict[str, str] = json.loads((files(__package__) / "wordings.json").read_text("utf-8"))
"""Category of a landmark -> the sentence that describes it without its name."""

VAGUE = frozenset({"appliances", "clothes", "furniture", "seating"})
"""Categories whose name does not say which thing is meant: they are never a target."""

Label = Literal["explicit", "implicit"]


def wording_of(category: str) -> tuple[str, str]:
    """The explicit and the implicit sentence for a category of landmarks."""
    if category not in IMPLICIT:
        raise UnknownNameError("wording for the category", category, IMPLICIT)
    return f"Walk to the {category}.", IMPLICIT[category]


def draw_label(rng: np.random.Generator) -> Label:
    """Draw "explicit" or "implicit", by EXPLICIT_SHARE."""
    return "explicit" if rng.random() < EXPLICIT_SHARE else "implicit"


def targets_among(categories: Iterable[str]) -> list[str]:
    """Those that can be a target, sorted: they have a wording, and are not vague."""
    return sorted((set(categories) & IMPLICIT.keys()) - VAGUE)


SPACING_M = 0.02
WIDTHS_M = (0.6, 0.4, 0.25, 0.15, 0.08)
"""Standard deviations of the smoothing along the way, tried in this order."""
HEADING_WIDTH_M = 0.2
HEIGHT_WIDTH_M = 0.3


class Gait(NamedTuple):
    """Limits of a walker in metres, seconds and radians; one that would be slower on average stands at the end."""

    fastest: float = 0.8
    slowest: float = 0.3
    acceleration: float = 0.5
    yaw_rate: float = 0.8


class Strides(NamedTuple):
    """A walk in the plane, one row per moment: (T, 2) metres and (T,) radians, not wrapped."""

    xy: FloatArray
    yaw: FloatArray
    arrived_s: float


def smooth_way(floor: FloorPlan, *legs: ArrayLike, radius_m: float = RADIUS_M) -> FloatArray:
    """A smooth path (M, 2), a point every SPACING_M, near `legs` (N, 2) that join, at least `radius_m` clear.

    It is the widest smoothing of WIDTHS_M that fits, else the straightened legs, else the legs themselves.
    """
    ways = [np.asarray(leg, np.float64) for leg in legs]
    corners = np.concatenate([straightened(floor, way) for way in ways])
    for candidate in (*(_blurred(corners, width) for width in WIDTHS_M), _dense(corners), _dense(np.concatenate(ways))):
        if least_clearance(floor, candidate) >= radius_m:
            return candidate
    raise ShapeError(f"the way comes nearer than {radius_m} m to what is in its way; plan it with this radius")


def stride(way: ArrayLike, *, rows: int, dt: float, gait: Gait = Gait()) -> Strides | None:  # noqa: B008
    """A walker's places over time, at rest at the last; a short path is walked slowest. None if it is too long."""
    points = _dense(np.asarray(way, np.float64))
    length = geometry.length(points)
    if length < 2 * SPACING_M:
        raise ShapeError(f"a way of {length:.3f} m is none")
    s = np.linspace(0.0, length, len(points))
    step = np.gradient(points, axis=0)
    yaw = _kernel_mean(np.unwrap(np.arctan2(step[:, 1], step[:, 0]))[:, None], HEADING_WIDTH_M)[:, 0]
    bend = np.abs(np.gradient(yaw, s))
    top = _top_speeds(s, bend, gait)
    least, most = gait.slowest, gait.fastest
    duration = (rows - 1) * dt
    if _times(s, np.minimum(most, top))[-1] > duration:
        return None
    if _times(s, np.minimum(least, top))[-1] < duration:
        most = least
    for _ in range(40):
        middle = (least + most) / 2
        slow = _times(s, np.minimum(middle, top))[-1] > duration
        least, most = (middle, most) if slow else (least, middle)
    v = np.minimum(most, top)
    t = _times(s, v)
    moments = np.minimum(np.arange(rows) * dt, t[-1])
    # Within a segment the acceleration is constant.
    k = np.clip(np.searchsorted(t, moments, side="right") - 1, 0, len(t) - 2)
    tau, push = moments - t[k], (v[k + 1] - v[k]) / (t[k + 1] - t[k])
    at = np.clip(s[k] + tau * (v[k] + push * tau / 2), 0.0, length)
    xy = np.stack([np.interp(at, s, points[:, axis]) for axis in range(2)], -1)
    return Strides(xy, np.interp(at, s, yaw), float(t[-1]))


def floor_heights(floor: FloorPlan, xy: ArrayLike) -> FloatArray:
    """Heights (T,) of the floor under a walk (T, 2), with steps smoothed over HEIGHT_WIDTH_M of the path."""
    points = np.asarray(xy, np.float64)
    way = _dense(points)
    smooth = _kernel_mean(floor.height_at(way)[:, None], HEIGHT_WIDTH_M)[:, 0]
    along = np.linspace(0.0, geometry.length(points), len(way))
    heights: FloatArray = np.interp(geometry.along(points), along, smooth)
    return heights


def _dense(way: FloatArray) -> FloatArray:
    """Points about SPACING_M apart."""
    return resampled(way, max(3, math.ceil(geometry.length(way) / SPACING_M) + 1))


def _blurred(way: FloatArray, width_m: float) -> FloatArray:
    """The way under a Gaussian along its length; mirrored through its ends, which therefore stay."""
    return _dense(_kernel_mean(_dense(way), width_m, through_ends=True))


def _kernel_mean(values: FloatArray, width_m: float, *, through_ends: bool = False) -> FloatArray:
    """Gaussian mean of values (N, D) SPACING_M apart, continued by the end values or mirrored through the ends."""
    reach = min(round(3 * width_m / SPACING_M), len(values) - 1)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) * SPACING_M / width_m) ** 2)
    weights /= weights.sum()
    if through_ends:
        before = 2 * values[:1] - values[1 : reach + 1][::-1]
        after = 2 * values[-1:] - values[-1 - reach : -1][::-1]
        padded = np.concatenate([before, values, after])
    else:
        padded = np.pad(values, ((reach, reach), (0, 0)), mode="edge")
    return np.stack([np.convolve(column, weights, mode="valid") for column in padded.T], -1)


def _top_speeds(s: FloatArray, bend: FloatArray, gait: Gait) -> FloatArray:
    """Highest speed (N,) per point: slow in bends, at rest at the end, within acceleration; no cruising limit."""
    # Lists: a loop over numbers of an array takes five times as long.
    v = (gait.yaw_rate / np.maximum(bend, 1e-9)).tolist()
    v[-1] = 0.0
    rise = (2 * gait.acceleration * np.diff(s)).tolist()
    for k in range(len(v) - 2, -1, -1):
        v[k] = min(v[k], math.sqrt(v[k + 1] ** 2 + rise[k]))
    for k in range(1, len(v)):
        v[k] = min(v[k], math.sqrt(v[k - 1] ** 2 + rise[k - 1]))
    return np.array(v)


def _times(s: FloatArray, v: FloatArray) -> FloatArray:
    """Seconds (N,) at which the points are passed."""
    return np.concatenate([[0.0], np.cumsum(2 * np.diff(s) / (v[1:] + v[:-1]))])


Surroundings = Literal["outdoors", "indoors"]

FPS = 25
HISTORY_S, FUTURE_S = 2, 8
"""Before the current frame, and from it on (the last row is one row short of it, as in the published data)."""
CAMERA_HEIGHTS_M: dict[Surroundings, float] = {"outdoors": 1.2, "indoors": 0.6}
"""Above the floor. The published robot's 0.45 m lies inside tall grass, and below what stands on tables."""

END_M = (0.8, 1.2)
"""Distance in the plane from the target's box at which a walk ends."""
AWAY_M = 2.0
"""Least distance from the box at the current frame."""
WALK_M = (4.5, 6.3)
"""Length of a whole walk: of the published one about 5.4 m, 4.3 of them in the last 8 s."""
SHORTEST_M = 3.8
"""What a whole walk may be in the second half of a category's tries: small rooms have no longer ones."""
LEAST_SEEN = 0.01
MOST_SEEN = 0.6
"""Shares of the pixels that a target in view covers at the current frame: a wall before the lens tells nothing."""
FACING = math.radians(10)
"""Largest angle by which the heading may miss the target at the end."""
NARROWEST = math.radians(15)
"""Half the angle that a target is taken to fill at least: no walker faces a thin post to the degree."""
MOST_RIVAL = 0.6
"""Share of the target's pixels that another thing of its category may cover."""
BEND = 0.35
"""Farthest that a way is bent to a side, as a share of its length."""
TRIES_PER_CATEGORY = 60

_LOOK = Camera.from_vertical_fov(160, 90, 50.0)
_NEAREST_M = 0.25


@dataclass(frozen=True)
class TargetWalk:
    """One walk, T camera-to-world poses `dt` seconds apart; `label` says which sentence the scenario uses."""

    poses: FloatArray
    history_rows: int
    dt: float
    target: Landmark
    explicit: str
    implicit: str
    label: Label
    category: str
    place: Surroundings
    camera_height_m: float
    discards: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.poses)


class TargetWalkFailedError(WorldError):
    """No try led to a walk."""

    def __init__(self, message: str, reasons: Sequence[str]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)


def record_target_walk(
    world: Walkable,
    rng: np.random.Generator,
    *,
    place: Surroundings,
    categories: Sequence[str] | None = None,
    camera: Camera = _LOOK,
    fps: int = FPS,
) -> TargetWalk:
    """Make a walk to a thing of one of `categories`. The same world and state of `rng` give the same walk."""
    height = CAMERA_HEIGHTS_M[place]
    there: dict[str, list[Landmark]] = {}
    for landmark in world.landmarks:
        there.setdefault(landmark.category, []).append(landmark)
    known = targets_among(there)
    order = [known[n] for n in rng.permutation(len(known))] if categories is None else list(categories)
    if not order:
        raise TargetWalkFailedError(
            f"nothing in it can be a target; its categories: {', '.join(sorted(there)) or 'none'}", ()
        )
    trial = _Trial(world, camera.resized(_LOOK.width, _LOOK.height), height, fps, rng)
    discards: list[str] = []
    for category in order:
        words = wording_of(category)
        for number in range(TRIES_PER_CATEGORY if category in there else 0):
            target = there[category][int(rng.integers(len(there[category])))]
            least = WALK_M[0] if number < TRIES_PER_CATEGORY / 2 else SHORTEST_M
            found = trial.walk_to(target, there[category], least)
            if not isinstance(found, str):
                label = draw_label(rng)
                return TargetWalk(
                    found, HISTORY_S * fps, 1 / fps, target, *words, label, category, place, height, tuple(discards)
                )
            discards.append(found)
    raise TargetWalkFailedError(
        f"no walk of {SHORTEST_M} to {WALK_M[1]} m to a target in view in {len(discards)} tries "
        f"({len(order)} categories); take another seed or a larger world",
        discards,
    )


@dataclass
class _Trial:
    """One try after another in one world."""

    world: Walkable
    camera: Camera
    height_m: float
    fps: int
    rng: np.random.Generator

    def walk_to(self, target: Landmark, kin: Sequence[Landmark], least_m: float) -> FloatArray | str:
        """Poses of a walk of at least `least_m`, or why there is none. kin: all of the target's category."""
        end = self._end(target)
        if isinstance(end, str):
            return end
        start = self._start(target, end, least_m)
        if isinstance(start, str):
            return start
        way = self._way(start, end, least_m)
        if isinstance(way, str):
            return way
        strides = stride(way, rows=(HISTORY_S + FUTURE_S) * self.fps, dt=1 / self.fps)
        if strides is None:
            return "too long for the limits of speed and turning"
        if distance_from_box(target, strides.xy[HISTORY_S * self.fps]) < AWAY_M:
            return "beside the target already at the current frame"
        if _off_target(target, strides.xy[-1], strides.yaw[-1]) > FACING:
            return "does not end facing the target"
        heights = floor_heights(self.world.floor, strides.xy) + self.height_m
        poses = pose_from_yaw_pitch(np.column_stack([strides.xy, heights]), strides.yaw)
        return self._seen(poses, target, kin) or poses

    def _end(self, target: Landmark) -> FloatArray | str:
        """A place in front of the target with room for the walker."""
        floor = self.world.floor
        # Cells (N, 2) of the plan within a rectangle around the target's box.
        corners = floor.cells_of(np.array([target.low[:2], target.high[:2]]) + END_M[1] * np.array([[-1], [1]]))
        first, last = np.maximum(corners[0], 0), np.minimum(corners[1], np.array(floor.free.shape) - 1)
        grid = np.meshgrid(np.arange(first[0], last[0] + 1), np.arange(first[1], last[1] + 1), indexing="ij")
        cells = np.stack(grid, -1).reshape(-1, 2)
        points = floor.points_of(cells)
        away = distance_from_box(target, points)
        room = floor.clearance_m[cells[:, 0], cells[:, 1]]
        fine = (away >= END_M[0]) & (away <= END_M[1]) & (room >= RADIUS_M)
        # What lies a storey above or below is not in front of it.
        level = floor.height_m[cells[:, 0], cells[:, 1]]
        fine &= (level > target.low[2] - 1.5) & (level < target.high[2] + 0.5)
        if not fine.any():
            return "no room in front of the target"
        return self._one_of(points[fine])

    def _start(self, target: Landmark, end: FloatArray, least_m: float) -> FloatArray | str:
        """A place from which the walk to `end` takes 10 s and comes towards the target."""
        floor = self.world.floor
        ways = ways_to(floor, end, reach_m=WALK_M[1])
        fine = (ways.metres >= least_m) & np.isfinite(ways.metres)
        if not fine.any():
            return "no start at the right distance"
        fine[fine] = _off_target(target, end, ways.heading[fine]) < FACING
        # A walker does not stand in a corner.
        fine &= floor.clearance_m >= RADIUS_M + floor.cell_m
        if not fine.any():
            return "no start from which the walker arrives facing the target"
        points = floor.points_of(np.argwhere(fine))
        points = points[distance_from_box(target, points) >= AWAY_M]
        return self._one_of(points) if len(points) else "no start away from the target"

    def _one_of(self, centres: FloatArray) -> FloatArray:
        """A place in one of the cells with these centres (N, 2)."""
        half = 0.49 * self.world.floor.cell_m
        point: FloatArray = centres[int(self.rng.integers(len(centres)))] + self.rng.uniform(-half, half, 2)
        return point

    def _way(self, start: FloatArray, end: FloatArray, least_m: float) -> FloatArray | str:
        """A smooth way, bent to a side by chance where there is room."""
        floor = self.world.floor
        chord = end - start
        part, bend = self.rng.uniform(0.35, 0.65), self.rng.uniform(-BEND, BEND)
        candidates: list[list[FloatArray | None]] = []
        for aside in (bend, bend / 2):
            via = start + part * chord + aside * np.array([-chord[1], chord[0]])
            if float(floor.clearance_at(via)) >= RADIUS_M:
                legs = (start, via), (via, end)
                candidates.append([find_way(floor, *leg) for leg in legs])
        candidates.append([find_way(floor, start, end)])
        for candidate in candidates:
            ways = [leg for leg in candidate if leg is not None]
            if len(ways) < len(candidate):
                continue
            way = smooth_way(floor, *ways)
            if least_m <= geometry.length(way) <= WALK_M[1]:
                return way
        return "length out of range"

    def _seen(self, poses: FloatArray, target: Landmark, kin: Sequence[Landmark]) -> str | None:
        """Why the frames do not show what they should; None when they do."""
        look: Callable[[int], View] = lambda row: self.world.view(poses[row], self.camera)  # noqa: E731
        now = look(HISTORY_S * self.fps)
        pixels = np.bincount(now.instance.ravel())
        share = _share(pixels, target.instance)
        if share < LEAST_SEEN:
            return "target not in view at the current frame"
        if share > MOST_SEEN:
            return "target fills the current frame"
        if max((_share(pixels, one.instance) for one in kin if one != target), default=0) > MOST_RIVAL * share:
            return "another of its kind is as prominent"
        if _share(np.bincount(look(len(poses) - 1).instance.ravel()), target.instance) < LEAST_SEEN:
            return "target not in view at the end"
        for row in range(0, len(poses), self.fps):
            depth = look(row).depth
            if float(depth.min()) < _NEAREST_M or float(np.median(depth)) < 3 * _NEAREST_M:
                return "something covers the lens"
        return None


def _off_target(target: Landmark, xy: FloatArray, yaw: FloatArray | float) -> FloatArray:
    """Angle (...) in radians by which headings (...) at a place (2,) outside the target's box miss the box."""
    corners = np.array([(x, y) for x in (target.low[0], target.high[0]) for y in (target.low[1], target.high[1])]) - xy
    middle = math.atan2(*(corners.mean(0)[::-1]))
    seen = wrap_angle(np.arctan2(corners[:, 1], corners[:, 0]) - middle)
    ahead = wrap_angle(np.asarray(yaw) - middle)
    right, left = min(seen.min(), -NARROWEST), max(seen.max(), NARROWEST)
    off: FloatArray = np.maximum(np.maximum(right - ahead, ahead - left), 0.0)
    return off


def _share(pixels: NDArray[np.int64], instance: int) -> float:
    return float(pixels[instance] / pixels.sum()) if instance < len(pixels) else 0.0
