"""Walks to named things, as Target-Bench's quadruped was driven: 2 s of history, then 8 s up to a metre from a target.

The target is in view at the current frame and at the end, it is the most prominent of its kind, and its path is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import polyline
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import Camera, FloatArray, pose_from_yaw_pitch, wrap_angle
from worldgauge.suites.target.walks.smoothing import Gait, floor_heights, smooth_way, stride
from worldgauge.suites.target.walks.wording import Label, draw_label, targets_among, wording_of
from worldgauge.worlds import View
from worldgauge.worlds.walking.clearance import RADIUS_M, find_way, ways_to
from worldgauge.worlds.walking.floor import FloorPlan, Landmark, Walkable, distance_from_box

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
    """One walk, T rows `dt` seconds apart.

    Attributes:
        poses: (T, 4, 4) camera-to-world.
        history_rows: Rows before the current one.
        dt: Seconds per row.
        target: Where it leads.
        explicit: Sentence that names the target.
        implicit: Sentence that describes it.
        label: Which of the two the scenario uses.
        category: Category of the target.
        place: Kind of place.
        camera_height_m: Above the floor.
        discards: Why earlier tries were discarded.
    """

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
    """No try led to a walk.

    Attributes:
        reasons: Why each try was discarded.
    """

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
    camera_height_m: float | None = None,
    radius_m: float = RADIUS_M,
    gait: Gait = Gait(),  # noqa: B008
    fps: int = FPS,
) -> TargetWalk:
    """Make a walk to a thing of one of `categories`. The same world and state of `rng` give the same walk.

    Args:
        world: Where to walk.
        rng: Source of all randomness.
        place: Kind of place.
        categories: Tried in this order; by default all that can be targets, shuffled.
        camera: Field of view in which the target must be; judged on a small grid.
        camera_height_m: Above the floor.
        radius_m: Radius of the walker, metres.
        gait: Limits of the walker.
        fps: Rows a second.

    Raises:
        TargetWalkFailedError: After TRIES_PER_CATEGORY tries for every category.
        UnknownNameError: For a category without words.
    """
    height = CAMERA_HEIGHTS_M[place] if camera_height_m is None else camera_height_m
    there: dict[str, list[Landmark]] = {}
    for landmark in world.landmarks:
        there.setdefault(landmark.category, []).append(landmark)
    known = targets_among(there)
    order = [known[n] for n in rng.permutation(len(known))] if categories is None else list(categories)
    if not order:
        raise TargetWalkFailedError(
            f"nothing in it can be a target; its categories: {', '.join(sorted(there)) or 'none'}", ()
        )
    trial = _Trial(world, camera.resized(_LOOK.width, _LOOK.height), height, radius_m, gait, fps, rng)
    discards: list[str] = []
    for category in order:
        wording = wording_of(category)
        for number in range(TRIES_PER_CATEGORY if category in there else 0):
            target = there[category][int(rng.integers(len(there[category])))]
            least = WALK_M[0] if number < TRIES_PER_CATEGORY / 2 else SHORTEST_M
            found = trial.walk_to(target, there[category], least)
            if not isinstance(found, str):
                label = draw_label(rng)
                return TargetWalk(
                    found, HISTORY_S * fps, 1 / fps, target, *wording, label, category, place, height, tuple(discards)
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
    radius_m: float
    gait: Gait
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
        strides = stride(way, rows=(HISTORY_S + FUTURE_S) * self.fps, dt=1 / self.fps, gait=self.gait)
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
        cells = _cells_around(floor, target, END_M[1])
        points = floor.points_of(cells)
        away = distance_from_box(target, points)
        room = floor.clearance_m[cells[:, 0], cells[:, 1]]
        fine = (away >= END_M[0]) & (away <= END_M[1]) & (room >= self.radius_m)
        # What lies a storey above or below is not in front of it.
        level = floor.height_m[cells[:, 0], cells[:, 1]]
        fine &= (level > target.low[2] - 1.5) & (level < target.high[2] + 0.5)
        if not fine.any():
            return "no room in front of the target"
        return self._one_of(points[fine])

    def _start(self, target: Landmark, end: FloatArray, least_m: float) -> FloatArray | str:
        """A place from which the walk to `end` takes 10 s and comes towards the target."""
        floor = self.world.floor
        ways = ways_to(floor, end, reach_m=WALK_M[1], radius_m=self.radius_m)
        fine = (ways.metres >= least_m) & np.isfinite(ways.metres)
        if not fine.any():
            return "no start at the right distance"
        fine[fine] = _off_target(target, end, ways.heading[fine]) < FACING
        # A walker does not stand in a corner.
        fine &= floor.clearance_m >= self.radius_m + floor.cell_m
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
        floor, radius = self.world.floor, self.radius_m
        chord = end - start
        part, bend = self.rng.uniform(0.35, 0.65), self.rng.uniform(-BEND, BEND)
        candidates: list[list[FloatArray | None]] = []
        for aside in (bend, bend / 2):
            via = start + part * chord + aside * np.array([-chord[1], chord[0]])
            if float(floor.clearance_at(via)) >= radius:
                legs = (start, via), (via, end)
                candidates.append([find_way(floor, *leg, radius_m=radius) for leg in legs])
        candidates.append([find_way(floor, start, end, radius_m=radius)])
        for candidate in candidates:
            ways = [leg for leg in candidate if leg is not None]
            if len(ways) < len(candidate):
                continue
            way = smooth_way(floor, *ways, radius_m=radius)
            if least_m <= polyline.length(way) <= WALK_M[1]:
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


def _cells_around(floor: FloorPlan, target: Landmark, reach_m: float) -> NDArray[np.int64]:
    """Cells (N, 2) of the plan within a rectangle `reach_m` around the target's box."""
    corners = floor.cells_of(np.array([target.low[:2], target.high[:2]]) + reach_m * np.array([[-1], [1]]))
    first, last = np.maximum(corners[0], 0), np.minimum(corners[1], np.array(floor.free.shape) - 1)
    grid = np.meshgrid(np.arange(first[0], last[0] + 1), np.arange(first[1], last[1] + 1), indexing="ij")
    return np.stack(grid, -1).reshape(-1, 2)
