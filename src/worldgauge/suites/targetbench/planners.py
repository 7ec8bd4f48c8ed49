"""Planners: whose path a camera- or action-driven model is asked to follow.

A text-driven model plans by itself. A model that is given a camera path cannot: it follows the path of a planner, and
its row in the tables names that planner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.suites.targetbench.format.scenario import Scenario, heading_at
from worldgauge.suites.targetbench.walks import END_M, Gait, Strides, floor_heights, smooth_way, stride
from worldgauge.worlds import open_world
from worldgauge.worlds.walking.clearance import RADIUS_M, find_way, resampled, ways_to
from worldgauge.worlds.walking.floor import FloorPlan, Landmark, distance_from_box

BEND_RAD = 0.35
"""Standard deviation of the heading error that the noisy planner has gathered at the end of its path."""
STRETCH = 0.15
"""And of the error of its length, as a share."""
AHEAD_RAD = np.pi / 2
"""Heading of the current frame where there is no world: +y."""


def plan_for(scenario: Scenario, name: str, n: int, fps: float, seed: int) -> FloatArray:
    """A planner's path (n, 4, 4), frame k at (k + 1) / fps s, in the world frame, else the current pose's (z = 0)."""
    return PLANNERS[name](scenario, np.arange(1, n + 1) / fps, np.random.default_rng(seed))


def default_planner(scenario: Scenario) -> str:
    """The planner by default."""
    if scenario.world is None:
        return "straight"
    return "walker" if can_walk(scenario) else "recorded"


def path_poses(scenario: Scenario) -> FloatArray:
    """Poses (T, 4, 4) of every row of the path: as recorded, or on the plane and looking along it."""
    if scenario.poses is not None:
        return scenario.poses
    xy = scenario.path_xy
    known = [heading_at(xy, row) for row in range(len(xy))]
    yaw = np.array([AHEAD_RAD if one is None else one for one in known])
    yaw[scenario.history_rows] = AHEAD_RAD
    return pose_from_yaw_pitch(np.column_stack([xy, np.zeros(len(xy))]), yaw)


def poses_at(scenario: Scenario, times: FloatArray) -> FloatArray:
    """Poses (n, 4, 4) of the real walk at seconds (n,) after the current frame; its first and last poses are held."""
    poses = path_poses(scenario)
    rows = np.clip(scenario.history_rows + times / scenario.dt, 0, len(poses) - 1)
    before = np.floor(rows + 1e-6).astype(np.int64)
    share = np.clip(rows - before, 0, 1)
    # Rows as they are, rendered from the very same pose; between them, straight.
    between = _between(poses[before], poses[np.minimum(before + 1, len(poses) - 1)], share)
    exact = (share < 1e-6)[:, None, None]
    return np.where(exact, poses[before], between)


def steps_of(poses: FloatArray, start: FloatArray, fps: float) -> Actions:
    """A path (n, 4, 4) from the pose `start` as moves of `ROBOT_WALK`."""
    whole = np.concatenate([start[None], poses])
    yaw, _ = yaw_pitch_from_pose(whole)
    moved = np.diff(whole[:, :2, 3], axis=0)
    c, s = np.cos(yaw[:-1]), np.sin(yaw[:-1])
    forward, left = moved[:, 0] * c + moved[:, 1] * s, moved[:, 1] * c - moved[:, 0] * s
    values = np.stack([forward, left, wrap_angle(np.diff(yaw))], axis=1)
    return Actions(ActionSpace(ROBOT_WALK.name, ROBOT_WALK.axes, fps), values.astype(np.float32))


ROBOT_WALK = ActionSpace(
    "robot-walk",
    (
        Axis("forward", "length", Motion(forward=1.0)),
        Axis("left", "length", Motion(left=1.0)),
        Axis("yaw", "angle", Motion(yaw=1.0)),
    ),
    fps=25.0,
)
"""A ground robot's moves: metres ahead and to the left in the heading before the turn, radians of turn to the left."""


def _recorded(scenario: Scenario, times: FloatArray, rng: np.random.Generator) -> FloatArray:
    return poses_at(scenario, times)


def _walker(scenario: Scenario, times: FloatArray, rng: np.random.Generator) -> FloatArray:
    if not can_walk(scenario):
        raise NotApplicableError(
            f"the walker has no floor to plan on in '{scenario.id}'; take planner=recorded, straight or still"
        )
    speed = speed_of(scenario)
    slowing = speed**2 / (2 * Gait().acceleration)
    return walk_to_target(scenario, current_pose(scenario), times, speed * scenario.horizon_s - slowing)


def _noisy(scenario: Scenario, times: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The path of the walker, or the recorded one where it cannot walk, bent and stretched more and more."""
    poses = (_walker if can_walk(scenario) else _recorded)(scenario, times, rng)
    bend, stretch = rng.normal(0, BEND_RAD), rng.normal(0, STRETCH)
    start = current_pose(scenario)[:2, 3]
    grown = np.arange(1, len(poses) + 1) / len(poses)
    turn = bend * grown
    off = (poses[:, :2, 3] - start) * (1 + stretch * grown)[:, None]
    xy = start + np.stack(
        [off[:, 0] * np.cos(turn) - off[:, 1] * np.sin(turn), off[:, 0] * np.sin(turn) + off[:, 1] * np.cos(turn)], 1
    )
    yaw, pitch = yaw_pitch_from_pose(poses)
    return pose_from_yaw_pitch(np.column_stack([xy, poses[:, 2, 3]]), yaw + turn, pitch)


def _straight(scenario: Scenario, times: FloatArray, rng: np.random.Generator) -> FloatArray:
    current = current_pose(scenario)
    yaw, pitch = yaw_pitch_from_pose(current)
    step = np.array([np.cos(yaw), np.sin(yaw), 0.0])
    return pose_from_yaw_pitch(current[:3, 3] + speed_of(scenario) * times[:, None] * step, yaw, pitch)


def _still(scenario: Scenario, times: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.repeat(current_pose(scenario)[None], len(times), axis=0)


Planner = Callable[[Scenario, FloatArray, np.random.Generator], FloatArray]

PLANNERS: Mapping[str, Planner] = MappingProxyType(
    {"recorded": _recorded, "walker": _walker, "noisy": _noisy, "straight": _straight, "still": _still}
)
"""recorded: the true path. walker: plans on the world's floor. noisy: the walker's with a growing error. straight: on
at the history's speed. still: stays. The first three know what a tested model does not."""

INFORMED = frozenset({"recorded", "walker", "noisy"})
"""Planners that see the world or the true path: a row that used one tests whether the model follows, not its plan."""


def current_pose(scenario: Scenario) -> FloatArray:
    """Pose (4, 4) of the current frame."""
    pose: FloatArray = path_poses(scenario)[scenario.history_rows]
    return pose


def speed_of(scenario: Scenario) -> float:
    """Speed of the history in metres a second, by its two ends; 0 without a history."""
    if not scenario.history_s > 0 or not np.isfinite(scenario.anchor_distance_m):
        return 0.0
    return scenario.anchor_distance_m / scenario.history_s


def _between(a: FloatArray, b: FloatArray, share: FloatArray) -> FloatArray:
    """Poses between rows of `a` and `b` (n, 4, 4), without roll."""
    yaw, pitch = yaw_pitch_from_pose(a)
    yaw_b, pitch_b = yaw_pitch_from_pose(b)
    position = a[:, :3, 3] + share[:, None] * (b - a)[:, :3, 3]
    return pose_from_yaw_pitch(position, yaw + share * wrap_angle(yaw_b - yaw), pitch + share * (pitch_b - pitch))


REACH_M = 30.0
"""Farthest that a way is looked for."""
ARRIVED_M = 0.1
"""A shorter way is not worth a step."""
SMOOTHED = 1.04
"""A way from cell to cell is up to 8 % longer than when it is smoothed."""
ASIDE = 0.5
"""Weight of a metre off the heading against one of length: of 30 walks outdoors 0.35 m (median) off their ends, with
1 for both 0.49, with the length alone 0.64, with the heading alone 1.61."""
TURN_IN_S = 1.0
"""Seconds in which the heading of the current frame becomes that of the way."""


def can_walk(scenario: Scenario) -> bool:
    """Whether the scenario's world has a floor plan, and the target a place in it."""
    if scenario.world is None or scenario.target is None:
        return False
    return hasattr(type(open_world(scenario.world)), "floor")


def walk_to_target(scenario: Scenario, start: FloatArray, times: FloatArray, length_m: float) -> FloatArray:
    """Poses (n, 4, 4) of a walk at evenly spaced seconds (n,) that ends before the target, or goes as far as it can."""
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
    if geometry.length(way) < ARRIVED_M:
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
    """The place (2,) in front of the target's box, END_M away on its storey, that fits `length_m` and the heading best.

    It is the nearest reachable place if none fits; None when nothing can be reached.
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
