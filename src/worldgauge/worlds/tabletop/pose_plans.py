"""Plans of a robot's hand: bins and poses, sub-goals and lengths; and which frames of a clip stand for which steps.

A pose is 8 numbers: x, y, z in metres, the quaternion qx, qy, qz, qw, and the gripper, 0 closed to 1 open. Quaternions
that are returned have length 1 and qw >= 0. Source: World-in-World, sections 3.4, 3.5 and 5.4.

For manipulation, and for adapters of models that the release controls in this way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.actions import HAND_POSES, Actions
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import FloatArray, rotation_of_quaternion

POSITION_BINS = 100
BIN_M = 0.01
ROTATION_BINS = 120
BIN_DEG = 3.0
WORKSPACE_LOW_M = (-0.3, -0.5, 0.6)
"""Lower corner of the bins."""
WORKSPACE_HIGH_M = tuple(low + POSITION_BINS * BIN_M for low in WORKSPACE_LOW_M)
"""Upper corner, a metre further along each axis."""

_EDGE = 1e-9
"""Of a bin: points written in decimals on a bin's lower edge belong to it."""


Indices = NDArray[np.int64]


class HandPose(NamedTuple):
    """Where a robot's hand is to be: the point between its finger tips in metres, its rotation and its gripper.
    The hand's z axis points out between the fingers, y across them. A hand that points straight down is (qx, qy, qz,
    qw) = (1, 0, 0, 0)."""

    x: float
    y: float
    z: float
    qx: float
    qy: float
    qz: float
    qw: float
    gripper: float


Poses = tuple[HandPose, ...]


def reaching_down(x: float, y: float, z: float, gripper: float, *, yaw_rad: float = 0.0) -> HandPose:
    """Make the pose of a hand that points straight down at a place in metres."""
    half = math.remainder(yaw_rad, 2 * math.pi) / 2
    return HandPose(float(x), float(y), float(z), math.cos(half), math.sin(half), 0.0, 0.0, float(gripper))


def inside_workspace(points: ArrayLike) -> FloatArray:
    """Points (..., 3) in metres; those outside the workspace moved to its edge."""
    return np.clip(np.asarray(points, np.float64), WORKSPACE_LOW_M, WORKSPACE_HIGH_M)


class SubGoals(NamedTuple):
    """Poses (frames, 8) that lead through sub-goals."""

    poses: FloatArray
    per_segment: tuple[int, ...]
    anchors: tuple[int, ...]


class ClipPlan(NamedTuple):
    """A plan of poses spread over the frames of a clip."""

    poses: FloatArray  # (frames, 8); row 0 is the present pose
    step: Indices  # (frames,) pose of the plan that is under way or reached, from 1; 0 for frame 0
    share: FloatArray  # (frames,) of the way from the pose before it; 1 if reached
    anchors: tuple[int, ...]  # frame in which each pose is reached; of a longer plan, the last one not beyond it


def poses_from_bins(actions: ArrayLike) -> FloatArray:
    """Convert discrete actions (n, 7), bins of x, y, z, roll, pitch, yaw and the gripper, to poses (n, 8).
    A position is the centre of its bin; an angle is 3 degrees times its bin less 180, about fixed axes x, y, z in
    order."""
    given = np.asarray(actions)
    if given.ndim != 2 or given.shape[1] != 7:
        raise ShapeError(f"discrete actions have shape (n, 7), got {given.shape}")
    with np.errstate(invalid="ignore"):
        bins = given.astype(np.int64)
    limits = np.array([POSITION_BINS] * 3 + [ROTATION_BINS] * 3 + [2])
    bad = (bins != given) | (bins < 0) | (bins >= limits)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        name = ("x", "y", "z", "roll", "pitch", "yaw", "gripper")[column]
        raise UsageError(f"action {row}: {name} is {given[row, column]}, its bins are 0 to {limits[column] - 1}")
    places = np.array(WORKSPACE_LOW_M) + BIN_M * (bins[:, :3] + 0.5)
    angles_deg = bins[:, 3:6].astype(np.float64) * BIN_DEG - 180
    return np.column_stack([places, _from_angles(angles_deg), bins[:, 6].astype(np.float64)])


def random_pose(rng: np.random.Generator) -> HandPose:
    """A pose drawn evenly from all bins, its gripper open: what the release falls back on for want of a plan."""
    bins = rng.integers(0, [POSITION_BINS] * 3 + [ROTATION_BINS] * 3)
    return HandPose(*poses_from_bins([[*bins.tolist(), 1]])[0].tolist())


def bins_from_points(points: ArrayLike) -> Indices:
    """Convert points (n, 3) in metres to bins (n, 3)."""
    places = np.asarray(points, np.float64)
    if places.ndim != 2 or places.shape[1] != 3:
        raise ShapeError(f"points have shape (n, 3), got {places.shape}")
    scaled = (places - WORKSPACE_LOW_M) / BIN_M
    inside = (scaled >= -_EDGE) & (scaled < POSITION_BINS - _EDGE)
    if not inside.all():
        row = int(np.argwhere(~inside.all(1))[0, 0])
        high = tuple(round(value, 9) for value in WORKSPACE_HIGH_M)
        raise UsageError(f"point {row}, {places[row].tolist()}, is not between {WORKSPACE_LOW_M} and {high} metres")
    found: Indices = np.floor(scaled + _EDGE).astype(np.int64)
    return found


def bins_from_poses(poses: ArrayLike) -> Indices:
    """Discrete actions (n, 7) nearest to poses (n, 8); one of the two that mean the same rotation."""
    known = _poses(poses)
    turns = np.rint((_to_angles(known[:, 3:7]) + 180) / BIN_DEG).astype(np.int64) % ROTATION_BINS
    return np.column_stack([bins_from_points(known[:, :3]), turns, (known[:, 7] >= 0.5).astype(np.int64)])


def through_sub_goals(current: ArrayLike, goals: ArrayLike, frames: int) -> SubGoals:
    """Interpolate a pose (8,) through sub-goals (n, 8) in `frames` frames; frame 0 is the pose itself.
    Each sub-goal gets frames // n of them, and the last ones share the remainder. Positions are interpolated linearly
    and rotations by slerp; the gripper holds until the sub-goal is reached."""
    stops = np.concatenate([_poses(np.asarray(current)[None]), _poses(goals)])
    n = len(stops) - 1
    if not 1 <= n < frames:
        raise UsageError(f"{frames} frames lead through 1 to {frames - 1} sub-goals, got {n}")
    counts = [frames // n + (segment >= n - frames % n) for segment in range(n)]
    made = []
    for segment, count in enumerate(counts):
        is_last = segment == n - 1
        shares = np.arange(count) / (count - 1 if is_last else count)
        part = _between(stops[[segment] * count], stops[[segment + 1] * count], shares)
        if is_last:
            part[-1, 7] = stops[-1, 7]
        made.append(part)
    ends = np.cumsum(counts)
    ends[-1] -= 1
    return SubGoals(np.concatenate(made), tuple(counts), tuple(int(end) for end in ends))


def match_length(poses: ArrayLike, frames: int) -> FloatArray:
    """Resample a plan (n, 8) to (frames, 8): a longer one is thinned out (see `grid`), a shorter one interpolated."""
    known = _poses(poses)
    if len(known) > frames:
        return known[grid(len(known), frames)]
    before = grid(len(known), frames)
    after = np.minimum(before + 1, len(known) - 1)
    steps = max(frames - 1, 1)
    shares = np.arange(frames) * (len(known) - 1) % steps / steps
    return _between(known[before], known[after], shares)


def grid(n: int, count: int) -> Indices:
    """Spread `count` indices over 0 to n - 1, both ends included: j (n - 1) // (count - 1).
    In whole numbers, since floats give a wrong index for some pairs, such as 31 and 23."""
    if n < 1 or count < 1:
        raise UsageError(f"a grid of {count} indices over {n} has nothing in it")
    spread: Indices = np.arange(count, dtype=np.int64) * (n - 1) // max(count - 1, 1)
    return spread


def clip_indices(n: int, frames: int) -> Indices:
    """Choose which of the n frames of a generated clip stand for `frames` steps.

    Frames of a longer clip that ran freely belong to no single action: mark such a rollout as not aligned.

    Args:
        n: Length of the clip.
        frames: Number of steps.

    Returns:
        (frames,) int64: a `grid`, or all frames and the last one repeated.

    Examples:
        >>> clip_indices(5, 3).tolist(), clip_indices(2, 4).tolist()
        ([0, 2, 4], [0, 1, 1, 1])
    """
    spread = grid(n, min(n, frames))
    return np.concatenate([spread, np.full(frames - len(spread), n - 1)])


def clip_plan(current: ArrayLike, poses: ArrayLike, frames: int) -> ClipPlan:
    """Fit a plan (n, 8) of a hand at `current` (8,) to the frames of a clip; frame 0 is now.
    Up to frames - 1 poses become sub-goals (`through_sub_goals`); a longer plan is thinned out (`match_length`)."""
    if len(np.asarray(poses)) == 0:
        raise UsageError("a plan without poses leads nowhere")
    known = _poses(poses)
    n = len(known)
    if n >= frames:
        step = grid(n + 1, frames)
        ends = tuple(int(np.searchsorted(step, k, side="right")) - 1 for k in range(1, n + 1))
        return ClipPlan(match_length(np.vstack([current, known]), frames), step, np.minimum(step, 1.0), ends)
    sub_goals = through_sub_goals(current, known, frames)
    steps: list[int] = []
    shares: list[float] = []
    for segment, count in enumerate(sub_goals.per_segment):
        whole = count - 1 if segment == n - 1 else count
        for k in range(count):
            # The first frame of a segment is the last one of the way before it.
            steps.append(segment + 1 if k else segment)
            shares.append(k / whole if k else float(segment > 0))
    return ClipPlan(sub_goals.poses, np.array(steps, np.int64), np.array(shares), sub_goals.anchors)


def as_actions(poses: ArrayLike) -> Actions:
    """Poses (n, 8) as rows of `actions.HAND_POSES`."""
    known = _poses(poses)
    turns = np.radians(_to_angles(known[:, 3:7]))
    return Actions(HAND_POSES, np.column_stack([known[:, :3], turns, known[:, 7]]).astype(np.float32))


def from_actions(actions: Actions) -> FloatArray:
    """Convert rows of `actions.HAND_POSES` to poses (n, 8)."""
    if actions.space != HAND_POSES:
        raise ShapeError(f"these are actions of '{actions.space.name}', not of '{HAND_POSES.name}'")
    values = actions.values.astype(np.float64)
    return np.column_stack([values[:, :3], _from_angles(np.degrees(values[:, 3:6])), values[:, 6]])


def slerp(one: ArrayLike, other: ArrayLike, share: ArrayLike) -> FloatArray:
    """Unit quaternions (n, 4) on the shortest way between others, qx, qy, qz, qw, at shares (n,) of it from 0 to 1."""
    a, b, t = _unit(np.asarray(one)), _unit(np.asarray(other)), np.asarray(share, np.float64)[:, None]
    cosine = np.sum(a * b, -1, keepdims=True)
    b, cosine = np.where(cosine < 0, -b, b), np.abs(cosine)
    # The half angle from both chords: exact where the two are nearly the same and arccos is not.
    angle = 2 * np.arctan2(np.linalg.norm(b - a, axis=-1, keepdims=True), np.linalg.norm(b + a, axis=-1, keepdims=True))
    sine = np.sin(angle)
    near = sine < 1e-12
    safe = np.where(near, 1.0, sine)
    first = np.where(near, 1 - t, np.sin((1 - t) * angle) / safe)
    second = np.where(near, t, np.sin(t * angle) / safe)
    return _unit(first * a + second * b)


def _between(one: FloatArray, other: FloatArray, share: FloatArray) -> FloatArray:
    """Poses (n, 8) at `share` (n,) of the way; the gripper's is that of `one`."""
    places = one[:, :3] + share[:, None] * (other[:, :3] - one[:, :3])
    return np.column_stack([places, slerp(one[:, 3:7], other[:, 3:7], share), one[:, 7]])


def _poses(poses: ArrayLike) -> FloatArray:
    """Checked, (n, 8) with unit quaternions."""
    known = np.array(poses, np.float64)
    if known.ndim != 2 or known.shape[1] != 8:
        raise ShapeError(f"poses have shape (n, 8): x, y, z, qx, qy, qz, qw, gripper; got {known.shape}")
    if not np.isfinite(known).all():
        raise ShapeError("poses hold values that are not finite")
    known[:, 3:7] = _unit(known[:, 3:7])
    return known


def _unit(quaternions: NDArray[np.float64]) -> FloatArray:
    """Length 1, and of the two that mean the same rotation the one with the positive qw."""
    length = np.linalg.norm(quaternions, axis=-1, keepdims=True)
    if not (length > 1e-6).all():
        raise ShapeError("a quaternion of length 0 is no rotation")
    unit = np.asarray(quaternions, np.float64) / length
    # w decides; where it is 0, the first of x, y, z that is not.
    order = unit[..., [3, 0, 1, 2]]
    leading = np.take_along_axis(order, np.argmax(np.abs(order) > 1e-12, axis=-1)[..., None], -1)
    signed: FloatArray = np.where(leading < 0, -unit, unit)
    return signed


def _from_angles(degrees: FloatArray) -> FloatArray:
    """Unit quaternions (n, 4) of turns (n, 3) about the fixed axes x, then y, then z."""
    half = np.radians(degrees) / 2
    (cx, cy, cz), (sx, sy, sz) = np.cos(half).T, np.sin(half).T
    x, y = sx * cy * cz - cx * sy * sz, cx * sy * cz + sx * cy * sz
    z, w = cx * cy * sz - sx * sy * cz, cx * cy * cz + sx * sy * sz
    return _unit(np.column_stack([x, y, z, w]))


def _to_angles(quaternions: FloatArray) -> FloatArray:
    """The turns (n, 3) of `_from_angles` in degrees, the second within 90; looking straight up, the first is 0."""
    m = rotation_of_quaternion(quaternions)
    flat = np.hypot(m[:, 0, 0], m[:, 1, 0])
    steep = flat < 1e-9
    roll = np.where(steep, 0.0, np.arctan2(m[:, 2, 1], m[:, 2, 2]))
    yaw = np.where(steep, np.arctan2(-m[:, 0, 1], m[:, 1, 1]), np.arctan2(m[:, 1, 0], m[:, 0, 0]))
    angles: FloatArray = np.degrees(np.column_stack([roll, np.arctan2(-m[:, 2, 0], flat), yaw]))
    return angles
