"""Whose path a camera- or action-driven model is asked to follow.

A text-driven model plans by itself; one that is told where to look cannot: it is lent a plan, and its row says whose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from worldgauge.core.actions import Actions, ActionSpace, Axis, Motion
from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.suites.target.format.coordinates import heading_at
from worldgauge.suites.target.format.scenario import Scenario
from worldgauge.suites.target.replan.walker import can_walk, walk_to_target
from worldgauge.suites.target.walks.smoothing import Gait

BEND_RAD = 0.35
"""Standard deviation of the heading error that the noisy planner has gathered at the end of its path."""
STRETCH = 0.15
"""And of the error of its length, as a share."""
AHEAD_RAD = np.pi / 2
"""Heading of the current frame where there is no world: +y."""


@dataclass(frozen=True)
class Plan:
    """poses: (n, 4, 4) camera-to-world, frame k at (k + 1) / fps seconds after the current frame. planner: its name."""

    poses: FloatArray
    planner: str


def plan_for(scenario: Scenario, name: str | None, n: int, fps: float, seed: int) -> Plan:
    """The path of `n` frames that the planner called `name` would go; None takes the default of the data.

    In the world frame where the world is known, else in the frame of the current pose with z = 0.
    Raises NotApplicableError for a planner that needs a world with a floor, where there is none.
    """
    name = default_planner(scenario) if name is None else name
    times = np.arange(1, n + 1) / fps
    return Plan(PLANNERS[name](scenario, times, np.random.default_rng(seed)), name)


def default_planner(scenario: Scenario) -> str:
    """walker where it can walk, the recorded path in worlds without a floor plan, straight where there is no world."""
    if scenario.world is None:
        return "straight"
    return "walker" if can_walk(scenario) else "recorded"


def walked(scenario: Scenario) -> FloatArray:
    """Poses (T, 4, 4) of every row of the path: as recorded, or on the plane and looking along it."""
    if scenario.poses is not None:
        return scenario.poses
    xy = scenario.path_xy
    known = [heading_at(xy, row) for row in range(len(xy))]
    yaw = np.array([AHEAD_RAD if one is None else one for one in known])
    yaw[scenario.history_rows] = AHEAD_RAD
    return pose_from_yaw_pitch(np.column_stack([xy, np.zeros(len(xy))]), yaw)


def poses_at(scenario: Scenario, times: FloatArray) -> FloatArray:
    """Poses (n, 4, 4) of the real walk at `times` (n,), seconds after the current frame; its ends are held."""
    poses = walked(scenario)
    rows = np.clip(scenario.history_rows + times / scenario.dt, 0, len(poses) - 1)
    before = np.floor(rows + 1e-6).astype(np.int64)
    share = np.clip(rows - before, 0, 1)
    # Rows as they are, rendered from the very same pose; between them, straight.
    between = _between(poses[before], poses[np.minimum(before + 1, len(poses) - 1)], share)
    exact = (share < 1e-6)[:, None, None]
    return np.where(exact, poses[before], between)


def steps_of(poses: FloatArray, start: FloatArray, fps: float) -> Actions:
    """The path (n, 4, 4) from pose `start` (4, 4) as moves of `ROBOT_WALK`, n rows: row 0 leads to the first pose."""
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
    """(4, 4) of the current frame."""
    pose: FloatArray = walked(scenario)[scenario.history_rows]
    return pose


def speed_of(scenario: Scenario) -> float:
    """Metres a second of the history, by its two ends; 0 without a history."""
    if not scenario.history_s > 0 or not np.isfinite(scenario.anchor_distance_m):
        return 0.0
    return scenario.anchor_distance_m / scenario.history_s


def _between(a: FloatArray, b: FloatArray, share: FloatArray) -> FloatArray:
    """Poses between rows of `a` and `b` (n, 4, 4), without roll."""
    yaw, pitch = yaw_pitch_from_pose(a)
    yaw_b, pitch_b = yaw_pitch_from_pose(b)
    position = a[:, :3, 3] + share[:, None] * (b - a)[:, :3, 3]
    return pose_from_yaw_pitch(position, yaw + share * wrap_angle(yaw_b - yaw), pitch + share * (pitch_b - pitch))
