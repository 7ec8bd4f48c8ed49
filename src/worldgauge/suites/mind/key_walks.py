"""Key-driven walks like those of MIND, and where mirrored paths begin.

A policy holds keys, goes to places, and comes back to what was seen. The ten mirrored paths begin at a place from which
all of them are free, with a view from it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from worldgauge.core.actions import Actions, ActionSpace
from worldgauge.core.errors import ShapeError, UsageError, WorldError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.suites.mind import key_policy
from worldgauge.suites.mind.actions import LEG, MIRROR_PATHS, Keys, Perspective, actions_of, mirror_poses
from worldgauge.worlds.doom.engine import Engine
from worldgauge.worlds.third_person import ARM_M, PIVOT_M
from worldgauge.worlds.third_person import feet_of as feet_of_pose
from worldgauge.worlds.walking.clearance import RADIUS_M
from worldgauge.worlds.walking.floor import FloorPlan, Walkable
from worldgauge.worlds.walking.walkers import WalkFailedError

EYE_M = 1.62
"""A first-policy camera above the feet."""
TRIES = 40
LEAST_SEEN = 0.6
"""Share of the predicted frames whose view was seen before."""
MOST_SAME = 0.6
"""Share of them that may be near the last view before mark_time: where it is more, a frozen picture does."""
LEAST_REACH_M = 10.0
"""What a held key must be able to lead over after mark_time for that to be asked: slow spaces hardly leave a view."""
LEAST_WALKED = 0.4
"""Share of the frames with a walking key."""
LEAST_FRAMES = 96
"""Below so many frames these shares are left to chance."""
START_ROOM_M = 1.0
AROUND_M = 14.0
"""Things nearer than this make a start worth looking at."""
_BLOCK = 2**20
"""Pairs of poses whose distance is taken at once: 50 MB."""
_PRODUCT = 2**24
"""Pairs of poses whose directions are compared at once, 134 MB: all of a walk up to six minutes."""


@dataclass(frozen=True)
class KeyWalk:
    """One walk of T frames; world frame, metres, radians.

    Attributes:
        keys: (T, 4) uint8, columns ws, ad, ud, lr; row t led to frame t, row 0 is zeros.
        yaw: (T,) of the camera, as is `pitch`; `heading` (T,) is the body's.
        seen: Share of the frames from mark_time on whose view was seen before it.
    """

    keys: Keys
    feet: FloatArray
    yaw: FloatArray
    pitch: FloatArray
    heading: FloatArray
    perspective: Perspective
    space: ActionSpace
    mark_time: int
    seen: float
    discards: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.keys)
        shapes = {"keys": (n, 4), "feet": (n, 3), "yaw": (n,), "pitch": (n,), "heading": (n,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ShapeError(f"a walk of {n} frames needs {name} of shape {shape}, got {getattr(self, name).shape}")

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def poses(self) -> FloatArray:
        """Camera-to-world poses (T, 4, 4): the eye over the feet, or the camera on its arm behind the pivot."""
        up = EYE_M if self.perspective == "1st" else PIVOT_M
        poses = pose_from_yaw_pitch(self.feet + np.array([0.0, 0.0, up]), self.yaw, self.pitch)
        if self.perspective == "3rd":
            poses[:, :3, 3] -= ARM_M * poses[:, :3, 2]
        return poses

    @property
    def actions(self) -> Actions:
        """T - 1 rows of `space`; row t drives frame t to frame t + 1."""
        return actions_of(self.keys[1:], self.space)


class KeyWalkFailedError(WorldError):
    """No try led to a walk."""

    def __init__(self, message: str, reasons: Sequence[str]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)


def record_key_walk(
    world: Walkable,
    rng: np.random.Generator,
    *,
    frames: int,
    mark_time: int,
    space: ActionSpace,
    perspective: Perspective,
) -> KeyWalk:
    """Make a walk that follows its keys exactly (`key_motion`): new spots to mark_time, then mostly returns.

    In an engine the view stays level, and the engine walks as the keys say, as well as it can.
    """
    if frames < 1 or not 0 <= mark_time <= frames:
        raise UsageError(f"a walk needs at least 1 frame and a mark_time within, got {frames} and {mark_time}")
    discards: list[str] = []
    for _ in range(TRIES):
        found = _try(world, rng, frames, mark_time, space, perspective)
        if isinstance(found, KeyWalk) and isinstance(world, Engine):
            found = _walked(found, world)
        if isinstance(found, KeyWalk):
            return replace(found, discards=tuple(discards))
        discards.append(found)
    counts = ", ".join(f"{why} ({n})" for why, n in Counter(discards).most_common(3))
    raise KeyWalkFailedError(
        f"no walk of {frames} frames in {TRIES} tries in world '{world.facts.name}' {dict(world.facts.params)}: "
        f"{counts}; "
        "take another seed or a world with more room",
        discards,
    )


def _walked(walk: KeyWalk, engine: Engine) -> KeyWalk | str:
    """The walk that the engine makes of a planned one, or why it makes none."""
    try:
        ticks = engine.follow(walk.feet[:, :2], walk.yaw)
    except WalkFailedError as error:
        return str(error)
    eyes = np.array([(*tick.feet[:2], tick.eye_m) for tick in ticks])
    yaw = np.unwrap([tick.yaw for tick in ticks])
    made = replace(walk, feet=eyes - np.array([0.0, 0.0, EYE_M]), yaw=yaw, heading=yaw)
    return replace(made, seen=share_seen(made.poses, walk.mark_time))


def share_seen(poses: FloatArray, mark_time: int) -> float:
    """Share of later poses (T, 4, 4) that have an earlier one within 2 m and 30 degrees."""
    shown, later = poses[:mark_time], poses[mark_time:]
    if len(shown) == 0 or len(later) == 0:
        return 0.0
    seen = np.zeros(len(later), np.bool_)
    # One product for walks of minutes: its last bits depend on the shapes, and what is kept of a collection on them.
    rows, step = max(1, _BLOCK // len(shown)), max(1, _PRODUCT // len(shown))
    for start in range(0, len(later), step):
        alike = later[start : start + step, :3, 2] @ shown[:, :3, 2].T >= math.cos(key_policy.NEAR_RAD)
        for at in range(0, len(alike), rows):
            block = slice(start + at, start + min(at + rows, len(alike)))
            away = np.linalg.norm(later[block, None, :3, 3] - shown[None, :, :3, 3], axis=-1)
            seen[block] = ((away <= key_policy.NEAR_M) & alike[at : at + rows]).any(1)
    return float(seen.mean())


def _try(
    world: Walkable, rng: np.random.Generator, frames: int, mark_time: int, space: ActionSpace, perspective: Perspective
) -> KeyWalk | str:
    """A walk, or why there is none."""
    third, pitches = perspective == "3rd", not isinstance(world, Engine)
    xy = _start(world, rng)
    if xy is None:
        return "no open place to start from"
    area = key_policy.area_around(world, xy, arm=third)
    level = math.radians(float(rng.uniform(-14, -7) if third else rng.uniform(-6, 2))) * pitches
    state = _facing(area, xy, level, rng)
    if state is None:
        return "no open view from the start"
    policy = key_policy.KeyPolicy(area, space, rng, mark_time, level, key_policy.PolicyWeights(), pitches)
    walked = policy.walk(state, frames)
    if isinstance(walked, str):
        return walked
    keys, states = walked
    yaw, pitch, heading = states[:, key_policy.YAW], states[:, key_policy.PITCH], states[:, key_policy.HEADING]
    walk = KeyWalk(keys, key_policy.feet_of(area, states), yaw, pitch, heading, perspective, space, mark_time, seen=0.0)
    seen = share_seen(walk.poses, mark_time)
    if min(mark_time, frames - mark_time) >= LEAST_FRAMES:
        if seen < LEAST_SEEN:
            return "comes back to too little"
        reach_m = (frames - mark_time) * key_policy.strides_of(space)[0]
        if reach_m >= LEAST_REACH_M and share_seen(walk.poses[mark_time - 1 :], 1) > MOST_SAME:
            return "hardly leaves the last view"
    if frames >= LEAST_FRAMES and float((keys[1:, :2] > 0).any(1).mean()) < LEAST_WALKED:
        return "hardly walks"
    return replace(walk, seen=seen)


def _start(world: Walkable, rng: np.random.Generator) -> FloatArray | None:
    """An open place (2,), rather one with things around it."""
    floor = world.floor
    cells = np.argwhere(floor.clearance_m >= START_ROOM_M)
    if len(cells) == 0:
        cells = np.argwhere(floor.clearance_m >= 2 * RADIUS_M)
    if len(cells) == 0:
        return None
    some = floor.points_of(cells[rng.integers(len(cells), size=32)])
    things = np.array([landmark.centre[:2] for landmark in world.landmarks]).reshape(-1, 2)
    count = (np.linalg.norm(some[:, None] - things, axis=-1) < AROUND_M).sum(1)
    start: FloatArray = some[int(np.argmax(np.minimum(count, 8) + rng.uniform(0, 3, len(some))))]
    return start


def _facing(
    area: key_policy.WalkArea, xy: FloatArray, pitch: float, rng: np.random.Generator
) -> key_policy.States | None:
    """A walker at `xy` that looks where there is room and whose camera has room; None without such a direction."""
    states = [
        key_policy.start_state(xy, yaw, pitch) for yaw in rng.uniform(-math.pi, math.pi) + np.arange(12) * math.pi / 6
    ]
    free = [(key_policy.open_ahead(area.terrain, xy[0], xy[1], each[key_policy.YAW], 10.0), each) for each in states]
    fine = [(ahead, each) for ahead, each in free if ahead >= 4.0 and key_policy.stands_well(area.terrain, each)]
    if not fine:
        return None
    weights = np.array([ahead for ahead, _ in fine])
    return fine[int(rng.choice(len(fine), p=weights / weights.sum()))][1]


PITCH_DEG = {"1st": (-8.0, 2.0), "3rd": (-13.0, -7.0)}
"""Lowest and highest pitch of a view: level or a little down, and about -10 degrees over a shoulder."""
UNEVEN_M = 0.3
"""How far the floor under a path may lie above or below that of its start: the paths stay at one height."""

_DRAWS = 4096
_TRIES = 64


def find_mirror_start(
    world: Walkable, rng: np.random.Generator, *, space: ActionSpace, perspective: Perspective
) -> FloatArray:
    """Find a pose (4, 4) from which all mirrored paths are level and free, in third person also for the camera."""
    floor = world.floor
    cells = np.argwhere(floor.clearance_m >= RADIUS_M)
    if len(cells):
        places = floor.points_of(cells[rng.integers(len(cells), size=_DRAWS)])
        yaws = rng.uniform(-math.pi, math.pi, _DRAWS)
        pitches = np.radians(rng.uniform(*PITCH_DEG[perspective], _DRAWS))
        start = pose_from_yaw_pitch((0.0, 0.0, 0.0), 0.0, 0.0)
        walked = np.concatenate([mirror_poses(name, start, space)[:LEG, :2, 3] for name in MIRROR_PATHS])
        for n in islice((n for n in range(_DRAWS) if _is_free(floor, places[n], yaws[n], walked)), _TRIES):
            place = places[n]
            up = EYE_M if perspective == "1st" else PIVOT_M
            pose = pose_from_yaw_pitch((*place, float(floor.height_at(place)) + up), yaws[n], pitches[n])
            if perspective == "3rd":
                pose[:3, 3] -= ARM_M * pose[:3, 2]
            if perspective == "1st" or _arm_is_free(world, pose, space):
                return pose
    raise WorldError(f"no place in this world from which the ten paths are free ({_DRAWS} drawn)")


def _is_free(floor: FloorPlan, place: FloatArray, yaw: float, walked: FloatArray) -> bool:
    c, s = math.cos(yaw), math.sin(yaw)
    points = place + walked @ np.array([[c, s], [-s, c]])
    if not (floor.clearance_at(points) >= RADIUS_M).all():
        return False
    return bool(np.abs(floor.height_at(points) - floor.height_at(place)).max() <= UNEVEN_M)


def _arm_is_free(world: Walkable, start: FloatArray, space: ActionSpace) -> bool:
    """Whether nothing comes between the figure and the camera along the paths."""
    area = key_policy.area_around(world, feet_of_pose(start)[:2], arm=True)
    for name in MIRROR_PATHS:
        poses = mirror_poses(name, start, space, arm_m=ARM_M)[:LEG]
        pivots = poses[:, :3, 3] + ARM_M * poses[:, :3, 2]
        yaws, pitches = yaw_pitch_from_pose(poses)
        for (x, y, z), yaw, pitch in zip(pivots, yaws, pitches, strict=True):
            if not key_policy.arm_is_free(area.terrain, x, y, z, yaw, pitch):
                return False
    return True
