"""Where the ten mirrored paths can begin: a place from which all of them are free, and a view from it."""

from __future__ import annotations

import math
from itertools import islice

import numpy as np

from worldgauge.core.actions import ActionSpace
from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.suites.mind.walks.dynamics import area_around, arm_is_free
from worldgauge.suites.mind.walks.key_walks import EYE_M
from worldgauge.suites.mind.walks.mirror import LEG, MIRROR_PATHS, Perspective, mirror_poses
from worldgauge.worlds.third_person import ARM_M, PIVOT_M, feet_of
from worldgauge.worlds.walking.clearance import RADIUS_M
from worldgauge.worlds.walking.floor import FloorPlan, Walkable

PITCH_DEG = {"1st": (-8.0, 2.0), "3rd": (-13.0, -7.0)}
"""Lowest and highest pitch of a view: level or a little down, and about -10 degrees over a shoulder."""
UNEVEN_M = 0.3
"""How far the floor under a path may lie above or below that of its start: the paths stay at one height."""

_DRAWS = 4096
_TRIES = 64


def find_mirror_start(
    world: Walkable, rng: np.random.Generator, *, space: ActionSpace, perspective: Perspective
) -> FloatArray:
    """Find a pose from which all mirrored paths are free of obstacles.

    The floor under every path is level, a walker fits there, and in third person nothing comes between the camera and
    the figure.

    Args:
        world: The world.
        rng: Generator.
        space: The action space.
        perspective: First or third person.

    Returns:
        Camera-to-world (4, 4).

    Raises:
        WorldError: None is found.
    """
    floor = world.floor
    cells = np.argwhere(floor.clearance_m >= RADIUS_M)
    if len(cells):
        places = floor.points_of(cells[rng.integers(len(cells), size=_DRAWS)])
        yaws = rng.uniform(-math.pi, math.pi, _DRAWS)
        pitches = np.radians(rng.uniform(*PITCH_DEG[perspective], _DRAWS))
        walked = _walked(space)
        for n in islice((n for n in range(_DRAWS) if _is_free(floor, places[n], yaws[n], walked)), _TRIES):
            pose = _view(floor, places[n], yaws[n], pitches[n], perspective)
            if perspective == "1st" or _arm_is_free(world, pose, space):
                return pose
    raise WorldError(f"no place in this world from which the ten paths are free ({_DRAWS} drawn)")


def _walked(space: ActionSpace) -> FloatArray:
    """Places (n, 2) that the paths lead over when they begin at the origin with yaw 0, metres."""
    start = pose_from_yaw_pitch((0.0, 0.0, 0.0), 0.0, 0.0)
    return np.concatenate([mirror_poses(name, start, space)[:LEG, :2, 3] for name in MIRROR_PATHS])


def _is_free(floor: FloorPlan, place: FloatArray, yaw: float, walked: FloatArray) -> bool:
    c, s = math.cos(yaw), math.sin(yaw)
    points = place + walked @ np.array([[c, s], [-s, c]])
    if not (floor.clearance_at(points) >= RADIUS_M).all():
        return False
    return bool(np.abs(floor.height_at(points) - floor.height_at(place)).max() <= UNEVEN_M)


def _view(floor: FloorPlan, place: FloatArray, yaw: float, pitch: float, perspective: Perspective) -> FloatArray:
    up = EYE_M if perspective == "1st" else PIVOT_M
    pose = pose_from_yaw_pitch((*place, float(floor.height_at(place)) + up), yaw, pitch)
    if perspective == "3rd":
        pose[:3, 3] -= ARM_M * pose[:3, 2]
    return pose


def _arm_is_free(world: Walkable, start: FloatArray, space: ActionSpace) -> bool:
    """Whether nothing comes between the figure and the camera along the paths."""
    area = area_around(world, feet_of(start)[:2], arm=True)
    for name in MIRROR_PATHS:
        poses = mirror_poses(name, start, space, arm_m=ARM_M)[:LEG]
        pivots = poses[:, :3, 3] + ARM_M * poses[:, :3, 2]
        yaws, pitches = yaw_pitch_from_pose(poses)
        for (x, y, z), yaw, pitch in zip(pivots, yaws, pitches, strict=True):
            if not arm_is_free(area.terrain, x, y, z, yaw, pitch):
                return False
    return True
