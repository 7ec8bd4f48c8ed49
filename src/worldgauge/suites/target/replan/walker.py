"""The walker: plans a way to the target on the floor of an embedded world, keeping its distance, and walks it."""

from __future__ import annotations

import numpy as np

from worldgauge.core import polyline
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.suites.target.format.scenario import Scenario
from worldgauge.suites.target.walks.smoothing import Strides, floor_heights, smooth_way, stride
from worldgauge.suites.target.walks.walks import END_M
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.clearance import RADIUS_M, find_way, resampled, ways_to
from worldgauge.worlds.walking.floor import FloorPlan, Landmark, distance_from_box

REACH_M = 30.0
"""Farthest that a way is looked for."""
ARRIVED_M = 0.1
"""A shorter way is not worth a step."""
SMOOTHED = 1.04
"""A way from cell to cell is up to 8 % longer than when it is smoothed."""
ASIDE = 0.5
"""Weight of a metre beside the heading against one of length: of 30 walks outdoors 0.35 m (median) off their ends, with
1 for both 0.49, with the length alone 0.64, with the heading alone 1.61."""
TURN_IN_S = 1.0
"""Seconds in which the heading of the current frame becomes that of the way."""


def can_walk(scenario: Scenario) -> bool:
    """Whether the scenario's world has a floor plan, and the target a place in it."""
    if scenario.world is None or scenario.target is None:
        return False
    return hasattr(type(open_world(scenario.world)), "floor")


def walk_to_target(scenario: Scenario, start: FloatArray, times: FloatArray, length_m: float) -> FloatArray:
    """Poses (n, 4, 4) at `times` (n,), evenly spaced seconds after pose `start` (4, 4), on the way to the target.

    length_m: of a way at the pace so far, slowing at its end; it decides between places in front of a large target.
    The walk comes to rest before the target at the last moment; where that is too far, as far on the way as it can.
    Raises DataError where no way leads there: the scenario was to be answered, so it fails.
    """
    assert scenario.world is not None
    assert scenario.target is not None
    floor: FloorPlan = open_world(scenario.world).floor  # type: ignore[attr-defined]
    here = start[:2, 3]
    radius = min(RADIUS_M, float(floor.clearance_at(here)))
    # With no clearance at all every wall would be walked through.
    goal = place_before(floor, scenario.target, start, radius, length_m) if radius > 0 else None
    way = None if goal is None else find_way(floor, here, goal, radius_m=radius)
    if way is None:
        raise DataError(f"no way leads the walker to the target of '{scenario.id}'; take planner=recorded")
    if polyline.length(way) < ARRIVED_M:
        return np.repeat(start[None], len(times), axis=0)
    dt = float(times[-1] / len(times))
    walk = _within_time(smooth_way(floor, way, radius_m=radius), len(times) + 1, dt)
    height = floor_heights(floor, walk.xy)
    yaw, pitch = yaw_pitch_from_pose(start)
    turned = walk.yaw + wrap_angle(yaw - walk.yaw[0]) * np.clip(1 - np.arange(len(walk.yaw)) * dt / TURN_IN_S, 0, 1)
    positions = np.column_stack([walk.xy, start[2, 3] + height - height[0]])
    return pose_from_yaw_pitch(positions, turned, pitch)[1:]


def place_before(
    floor: FloorPlan, target: Landmark, start: FloatArray, radius_m: float, length_m: float
) -> FloatArray | None:
    """The place (2,) in front of the target's box that pose `start` (4, 4) leads to.

    In front is END_M away from the box, as walks to targets end, and on its storey. Of all such places that one whose
    way is nearest to `length_m` and to the heading. Where none can be reached, the reachable place nearest to the box;
    None when nothing can be reached.
    """
    here = start[:2, 3]
    metres = ways_to(floor, here, reach_m=REACH_M, radius_m=radius_m).metres
    cells = np.argwhere(np.isfinite(metres))
    if not len(cells):
        return None
    places = floor.points_of(cells)
    away = distance_from_box(target, places)
    level = floor.height_m[tuple(cells.T)]
    near = (away >= END_M[0]) & (away <= END_M[1]) & (level > target.low[2] - 1.5) & (level < target.high[2] + 0.5)
    if not near.any():
        near = away <= away.min() + 1e-9
    off = places[near] - here
    yaw, _ = yaw_pitch_from_pose(start)
    aside = np.abs(wrap_angle(np.arctan2(off[:, 1], off[:, 0]) - yaw)) * np.hypot(*off.T)
    too_long = np.abs(metres[tuple(cells[near].T)] / SMOOTHED - length_m)
    best: FloatArray = places[near][int(np.argmin(too_long + ASIDE * aside))]
    return best


def _within_time(way: FloatArray, rows: int, dt: float) -> Strides:
    """The way walked in the time there is, or the longest part of it."""
    dense, share = resampled(way, 400), 1.0
    while True:
        walk = stride(dense[: max(3, round(share * len(dense)))], rows=rows, dt=dt)
        if walk is not None:
            return walk
        share *= 0.9
