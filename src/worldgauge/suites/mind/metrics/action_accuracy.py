"""Do the pictures move as the keys demand? Three measures of the camera's motion in a generated clip.

Accuracy is the relative pose error by action (MIND, section 3.5). Step cosines compare the directions of single steps,
seen from the camera itself: an error made once does not count again in later frames, and speed does not count; that
holds for turning too. Key latency (ours; the paper does not ask) is how long after a change of keys the imagined camera
changes its motion: the motion around every change is compared with the recording's own, which answers at once, shifted
by a whole number of frames. Only its course counts: gains, and a drift that never ends, are divided or taken away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError
from worldgauge.core.geometry import FloatArray, rotation_angle
from worldgauge.core.umeyama import Shape
from worldgauge.metrics._registry import metric
from worldgauge.metrics.trajectory import aligned, fit_points, relative_errors

MIN_STEPS = 8
"""Fewer that can be judged are no result, as released."""
MAX_ROT_DEG, MAX_TRANS = 179.0, 1e9
"""Steps beyond are dropped, as released: the pose estimator lost its way there."""
_TOO_LARGE = 1e100


@dataclass(frozen=True)
class StepErrorStats:
    """Errors per frame of a group of steps: metres of the truth, and degrees."""

    count: int
    trans_mean: float
    trans_median: float
    rot_deg_mean: float
    rot_deg_median: float


class DroppedFrames(NamedTuple):
    """What was not judged: frames without a pose, steps that lack one, steps beyond `MAX_ROT_DEG` or `MAX_TRANS`."""

    poses: int = 0
    steps: int = 0
    outliers: int = 0


@dataclass(frozen=True)
class StepErrors:
    """The n judged steps; step i leads from frame i to i + 1. Errors are metres of the ground truth, and degrees."""

    index: NDArray[np.int64]
    label: tuple[str, ...]
    trans: FloatArray
    rot_deg: FloatArray
    truth_trans: FloatArray
    truth_rot_deg: FloatArray

    def where(self, chosen: ArrayLike) -> StepErrorStats:
        """Statistics of the chosen steps, (n,) bool, at least one of them True."""
        trans, rot = self.trans[np.asarray(chosen)], self.rot_deg[np.asarray(chosen)]
        return StepErrorStats(
            len(trans), float(trans.mean()), float(np.median(trans)), float(rot.mean()), float(np.median(rot))
        )


@dataclass(frozen=True)
class ActionAccuracy:
    """How well the motion of a clip follows its actions; groups and labels without a step are left out.

    Attributes:
        overall: Errors of all steps; None if not defined, for the `reason`.
        released_groups: Errors by the released groups, which result files hold.
        scale: Scale that the alignment gave the generated motion; 0 if it, or the ground truth, does not move.
        truth_step_m: Mean step of the ground truth.
        frozen_rot_deg: Error in turning of a camera that does not move.
        shape: Shape of the simpler trajectory; source is the generated one, target the ground truth.
        n_expected: Steps that should be judged.
    """

    overall: StepErrorStats | None
    reason: str = ""
    groups: Mapping[str, StepErrorStats] = field(default_factory=dict)
    released_groups: Mapping[str, StepErrorStats] = field(default_factory=dict)
    actions: Mapping[str, StepErrorStats] = field(default_factory=dict)
    scale: float | None = None
    truth_step_m: float | None = None
    frozen_rot_deg: float | None = None
    shape: Shape | None = None
    source_shape: Shape | None = None
    target_shape: Shape | None = None
    n_expected: int = 0
    dropped: DroppedFrames = field(default_factory=DroppedFrames)
    steps: StepErrors | None = None

    @property
    def frozen_trans_m(self) -> float | None:
        """The error of a camera that does not move: the mean true step. Unrelated motion gets about the same."""
        return self.truth_step_m


def action_accuracy(
    truth: ArrayLike,
    generated: ArrayLike,
    labels: Sequence[str],
    *,
    groups: GroupRule = "keys",
    nan: Literal["drop", "raise"] = "drop",
) -> ActionAccuracy:
    """Relative pose error of a camera (k, 4, 4) to the ground truth (n, 4, 4) after Sim(3) alignment (MIND, 3.5).

    Label i belongs to the step from frame i to i + 1. Callers choose its row of the file (B6): mark_time + i as
    released, mark_time + i + 1 by cause; with our Actions, row i. Poses that are not finite, and steps at them, are
    left out; nan="raise" is as released (B15). Degenerate motion never raises, see `ActionAccuracy.shape`.
    """
    q, p = np.asarray(truth, np.float64), np.asarray(generated, np.float64)
    for poses, what in ((q, "true"), (p, "generated")):
        if poses.ndim != 3 or poses.shape[1:] != (4, 4):
            raise ShapeError(f"{what} poses are (n, 4, 4), got {poses.shape}")
    if nan not in ("drop", "raise"):
        raise UsageError(f"nan is '{nan}'; 'drop' or 'raise'")
    m = min(len(labels), len(q) - 1, len(p) - 1)
    expected = max(min(len(labels), len(q) - 1), 0)
    if m <= 0:
        few = f"no step to judge: {len(q)} true and {len(p)} generated poses, {len(labels)} labels"
        return ActionAccuracy(None, few, n_expected=expected)
    q, p = q[: m + 1].copy(), p[: m + 1].copy()
    known = _known(q) & _known(p)
    placed = known
    if nan == "raise":
        placed = _known(q[:, :3, 3]) & _known(p[:, :3, 3])
        if not placed.all():
            raise ShapeError(f"pose {int(placed.argmin())} is not finite")
    both = known[:-1] & known[1:]
    dropped = DroppedFrames(int((~known).sum()), int((~both).sum()))
    if both.sum() < MIN_STEPS:
        return ActionAccuracy(None, _too_few(int(both.sum()), m, dropped), n_expected=expected, dropped=dropped)

    fit = fit_points(p[placed, :3, 3], q[placed, :3, 3])
    q[~known] = p[~known] = np.eye(4)
    trans, rot = relative_errors(q, aligned(p, fit.sim))
    frozen = np.tile(np.eye(4), (m + 1, 1, 1))
    truth_trans, truth_rot = relative_errors(q, frozen)
    kept = both & (rot <= MAX_ROT_DEG) & (trans <= MAX_TRANS)
    dropped = dropped._replace(outliers=int((both & ~kept).sum()))
    index = np.flatnonzero(kept)
    said = tuple(labels[i] for i in index.tolist())
    steps = StepErrors(index, said, trans[kept], rot[kept], truth_trans[kept], truth_rot[kept])
    facts: dict[str, Any] = {
        "scale": fit.sim.scale,
        "shape": fit.shape,
        "source_shape": fit.source,
        "target_shape": fit.target,
        "n_expected": expected,
        "dropped": dropped,
    }
    if len(index) < MIN_STEPS:
        return ActionAccuracy(None, _too_few(len(index), m, dropped), **facts)
    return ActionAccuracy(
        steps.where(np.ones(len(index), bool)),
        groups=_by(steps, [group_of(label, groups) for label in said]),
        released_groups=_by(steps, [group_of(label, "released") for label in said]),
        actions=_by(steps, said),
        truth_step_m=float(steps.truth_trans.mean()),
        frozen_rot_deg=float(steps.truth_rot_deg.mean()),
        steps=steps,
        **facts,
    )


def _by(steps: StepErrors, names: Sequence[str]) -> dict[str, StepErrorStats]:
    every = np.asarray(names)
    return {name: steps.where(every == name) for name in sorted(set(names))}


def _too_few(left: int, m: int, dropped: DroppedFrames) -> str:
    return (
        f"{left} of {m} steps can be judged, needs {MIN_STEPS}: {dropped.poses} poses are not known, "
        f"{dropped.outliers} steps are outliers"
    )


def _known(values: FloatArray) -> NDArray[np.bool_]:
    """Which of n poses or positions are finite."""
    return np.asarray((np.abs(values) < _TOO_LARGE).reshape(len(values), -1).all(1), np.bool_)


GroupRule = Literal["keys", "released"]
"""keys: by what the keys do: translation, rotation, combined (both) or no_op. released: as the released code groups:
translation for one walking key alone, other for all else; its rotation is always empty, since it looks for names such
as yaw_left that no label has (B2)."""

GROUPS: dict[GroupRule, tuple[str, ...]] = {
    "keys": ("translation", "rotation", "combined", "no_op"),
    "released": ("translation", "rotation", "other"),
}
NO_OP = "no_op"

_NAMES = (("forward", "backward"), ("left", "right"), ("look_up", "look_down"), ("look_left", "look_right"))
_WALK = {*_NAMES[0], *_NAMES[1]}
_LOOK = {*_NAMES[2], *_NAMES[3]}


def labels_of(keys: ArrayLike) -> list[str]:
    """The label of each row of key codes (n, 4), such as "forward+look_left" or "no_op"; MIND, section 3.5."""
    codes = np.asarray(keys)
    if codes.ndim != 2 or codes.shape[1] != 4:
        raise ShapeError(f"key codes are (n, 4): ws, ad, ud, lr; got {codes.shape}")
    wrong = np.argwhere(~np.isin(codes, (0, 1, 2)))
    if len(wrong):
        row, column = wrong[0]
        raise ShapeError(f"row {row}: '{('ws', 'ad', 'ud', 'lr')[column]}' is {codes[row, column]}; one of 0, 1, 2")
    return [
        "+".join(names[code - 1] for names, code in zip(_NAMES, row, strict=True) if code) or NO_OP
        for row in codes.astype(int).tolist()
    ]


def group_of(label: str, rule: GroupRule = "keys") -> str:
    """Return the group of an action; see `GroupRule`."""
    if rule not in get_args(GroupRule):
        raise UsageError(f"no rule '{rule}' to group actions by; known: {', '.join(get_args(GroupRule))}")
    parts = set() if label == NO_OP else set(label.split("+"))
    for part in sorted(parts - _WALK - _LOOK):
        raise UnknownNameError("action", part, {*_WALK, *_LOOK, NO_OP})
    if rule == "released":
        return "translation" if label in _WALK else "other"
    if not parts:
        return "no_op"
    return "translation" if parts <= _WALK else "rotation" if parts <= _LOOK else "combined"


LEAST_MOVE_M = 1e-3
"""True steps shorter than this, metres a frame, have no direction."""
LEAST_TURN_RAD = math.radians(0.05)
"""True turns smaller than this, radians a frame, have no direction."""
_STILL = 1e-9
_OF_STEPS = "own: cosine of imagined and true step"


class StepCosines(NamedTuple):
    """Cosines (n - 1,) of imagined and true motion and axes of turning; NaN if the truth rests or one is unknown."""

    move: FloatArray
    turn: FloatArray


def camera_steps(poses: ArrayLike) -> FloatArray:
    """Motion (n - 1, 6) of steps in their first camera's frame: translation, axis times angle; NaN if unknown."""
    own = np.asarray(poses, np.float64)
    if own.ndim != 3 or own.shape[1:] != (4, 4):
        raise ShapeError(f"poses are (n, 4, 4), got {own.shape}")
    back = np.swapaxes(own[:-1, :3, :3], -1, -2)
    move = np.einsum("nij,nj->ni", back, own[1:, :3, 3] - own[:-1, :3, 3])
    steps: FloatArray = np.concatenate([move, _turn_vectors(back @ own[1:, :3, :3])], axis=1)
    steps[~np.isfinite(steps).all(1)] = np.nan
    return steps


def step_cosines(truth: ArrayLike, generated: ArrayLike) -> StepCosines:
    """Compare the direction of every step with the true one; paths (n, 4, 4), NaN where unknown."""
    q, p = camera_steps(truth), camera_steps(generated)
    if q.shape != p.shape:
        raise ShapeError(f"two paths of one length are compared, got {len(q) + 1} and {len(p) + 1} poses")
    return StepCosines(_cosines(q[:, :3], p[:, :3], LEAST_MOVE_M), _cosines(q[:, 3:], p[:, 3:], LEAST_TURN_RAD))


@metric("move_cosine", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source=_OF_STEPS)
def move_cosine(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Mean cosine between imagined and true direction of motion, over steps in which the truth moves.

    Args:
        truth: (n, 4, 4) camera-to-world, metres.
        generated: (n, 4, 4) camera-to-world, in any world frame and unit; NaN where unknown.

    Returns:
        -1 to 1; 0 for a camera that stands still; None where no step can be judged.

    Raises:
        ShapeError: Other shapes, or of different lengths.

    Examples:
        >>> ahead, aside = np.tile(np.eye(4), (2, 3, 1, 1))
        >>> ahead[:, 0, 3] = aside[:, 1, 3] = [0, 1, 2]  # metres
        >>> move_cosine(ahead, ahead), move_cosine(ahead, aside)
        (1.0, 0.0)
    """
    return _mean(step_cosines(truth, generated).move)


@metric("turn_cosine", unit="1", better="higher", bounds=(-1.0, 1.0), version=1, source=_OF_STEPS)
def turn_cosine(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Mean cosine between imagined and true axis of turning, over steps in which the truth turns.

    Args:
        truth: (n, 4, 4) camera-to-world.
        generated: (n, 4, 4) camera-to-world; NaN where unknown.

    Returns:
        -1 to 1; 0 for a camera that does not turn; None where no step can be judged.

    Raises:
        ShapeError: Other shapes, or of different lengths.

    Examples:
        >>> from worldgauge.world import pose_from_yaw_pitch
        >>> left = pose_from_yaw_pitch(np.zeros((3, 3)), np.array([0.0, 0.1, 0.2]))
        >>> round(turn_cosine(left, left), 3), round(turn_cosine(left, left[::-1]), 3)
        (1.0, -1.0)
    """
    return _mean(step_cosines(truth, generated).turn)


def _cosines(true: FloatArray, shown: FloatArray, least: float) -> FloatArray:
    sizes = np.linalg.norm(true, axis=1), np.linalg.norm(shown, axis=1)
    moving = sizes[1] > _STILL
    products = np.einsum("ni,ni->n", true, shown)
    cosines = np.divide(products, sizes[0] * sizes[1], out=np.zeros(len(true)), where=moving & (sizes[0] > _STILL))
    cosines[~(sizes[0] >= least) | np.isnan(sizes[1])] = np.nan
    clipped: FloatArray = np.clip(cosines, -1.0, 1.0)
    return clipped


def _turn_vectors(turns: FloatArray) -> FloatArray:
    """Axis times angle (n, 3) of rotations (n, 3, 3). Half a turn in one frame has no axis here, and gives 0."""
    skew = turns - np.swapaxes(turns, -1, -2)
    twice_sine = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], -1)
    length = np.linalg.norm(twice_sine, axis=1)
    factor = np.divide(rotation_angle(turns), length, out=np.full(len(length), 0.5), where=length > 1e-12)
    vectors: FloatArray = factor[:, None] * twice_sine
    return vectors


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


BEFORE, AFTER = 8, 16
"""Frames of motion that are compared before and after a change. No phase of recorded keys is shorter than 8."""
LATEST = 24
"""Latest answer that is looked for, in frames."""
LEAST_LIKENESS = 0.7
"""Correlation of courses below which a change counts as not answered."""
LEAST_CHANGE = {"walk": 5e-3, "look": math.radians(0.1)}
"""Standard deviation of the true motion around a change, metres or radians a frame, below which there is no change to
be seen, such as before a wall."""

Keys = Literal["walk", "look"]
_COLUMNS: dict[Keys, tuple[slice, slice]] = {"walk": (slice(0, 2), slice(0, 3)), "look": (slice(2, 4), slice(3, 6))}
"""Kind of keys -> columns of their codes, and of the motion that they make."""
_OF_LAG = "own: lag of the imagined motion after a change of keys"


class KeyAnswer(NamedTuple):
    """The response to a change of keys.

    `step` is the first under the new keys, `frames` the delay of the generated motion (None without a response), and
    `likeness` their correlation at that lag, 0 if the camera rests.
    """

    step: int
    keys: Keys
    frames: int | None
    likeness: float


def key_answers(truth: ArrayLike, generated: ArrayLike, keys: ArrayLike) -> list[KeyAnswer]:
    """Find the response to each change of keys (n, 4) that the recorded camera (n, 4, 4) shows; row i leads to frame i.

    Changes near an end or near unknown poses are not judged.
    """
    q, p, codes = camera_steps(truth), camera_steps(generated), np.asarray(keys)
    if p.shape != q.shape or codes.shape != (len(q) + 1, 4):
        raise ShapeError(
            f"two paths of one length and a row of four key codes a frame are compared, got {len(q) + 1} and "
            f"{len(p) + 1} poses and codes {codes.shape}"
        )
    found = []
    # Row i leads to frame i, so what changes from row i to i + 1 is seen in step i at first.
    for step in range(BEFORE, len(q) - AFTER - LATEST + 1):
        for kind, (rows, columns) in _COLUMNS.items():
            if (codes[step + 1, rows] != codes[step, rows]).any():
                answer = _answer(q[:, columns], p[:, columns], step, kind)
                found += [] if answer is None else [answer]
    return found


@metric("key_latency", unit="s", better="lower", bounds=(0.0, math.inf), version=1, source=_OF_LAG)
def key_latency(truth: ArrayLike, generated: ArrayLike, keys: ArrayLike, fps: float) -> float | None:
    """Median time from a change of keys to the change of the imagined motion, over answered changes.

    Args:
        truth: (n, 4, 4) camera-to-world, metres.
        generated: (n, 4, 4) camera-to-world, in any unit; NaN where unknown.
        keys: (n, 4) key codes 0 to 2 in the columns ws, ad, ud, lr; row i leads to frame i.
        fps: Frames per second.

    Returns:
        Seconds, 0 or more; None where no change is answered.

    Raises:
        ShapeError: Other shapes.

    Examples:
        >>> truth, late = np.tile(np.eye(4), (2, 60, 1, 1))
        >>> truth[:, 0, 3] = 0.1 * np.maximum(np.arange(60) - 10, 0)  # rests up to frame 10
        >>> late[:, 0, 3] = 0.1 * np.maximum(np.arange(60) - 16, 0)
        >>> keys = np.zeros((60, 4), int)
        >>> keys[11:, 0] = 1  # "forward" leads to frame 11
        >>> key_latency(truth, late, keys, fps=20)  # 6 frames
        0.3
    """
    return median_s(key_answers(truth, generated, keys), fps)


@metric("keys_answered", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source=_OF_LAG)
def keys_answered(truth: ArrayLike, generated: ArrayLike, keys: ArrayLike) -> float | None:
    """Share of the changes of keys that the imagined camera answers within `LATEST` frames.

    Args:
        truth: (n, 4, 4) camera-to-world, metres.
        generated: (n, 4, 4) camera-to-world, in any unit; NaN where unknown.
        keys: (n, 4) key codes 0 to 2 in the columns ws, ad, ud, lr; row i leads to frame i.

    Returns:
        0 to 1; None without a change that can be judged.

    Raises:
        ShapeError: Other shapes.

    Examples:
        >>> truth, still = np.tile(np.eye(4), (2, 60, 1, 1))
        >>> truth[:, 0, 3] = 0.1 * np.maximum(np.arange(60) - 10, 0)  # rests up to frame 10
        >>> keys = np.zeros((60, 4), int)
        >>> keys[11:, 0] = 1  # "forward" leads to frame 11
        >>> keys_answered(truth, truth, keys), keys_answered(truth, still, keys)
        (1.0, 0.0)
    """
    return answered(key_answers(truth, generated, keys))


def median_s(answers: list[KeyAnswer], fps: float) -> float | None:
    """Median latency of answers in seconds; None without one."""
    frames = [one.frames for one in answers if one.frames is not None]
    return float(np.median(frames)) / fps if frames else None


def answered(answers: list[KeyAnswer]) -> float | None:
    """Share of changes that are answered; None without a change."""
    return sum(one.frames is not None for one in answers) / len(answers) if answers else None


def _answer(true: FloatArray, shown: FloatArray, step: int, kind: Keys) -> KeyAnswer | None:
    """The answer to one change; None where it cannot be judged."""
    window = true[step - BEFORE : step + AFTER]
    later = shown[step - BEFORE : step + AFTER + LATEST]
    course = window - window.mean(0)
    size = float(np.linalg.norm(course))
    if not np.isfinite(later).all() or not size >= LEAST_CHANGE[kind] * math.sqrt(len(window)):
        return None
    likeness = _likeness(course / size, later)
    lag = int(likeness.argmax())
    best = float(likeness[lag])
    return KeyAnswer(step, kind, lag if best >= LEAST_LIKENESS else None, best)


def _likeness(course: FloatArray, shown: FloatArray) -> NDArray[np.float64]:
    """Correlation of a centred course (w, k) of unit size with each stretch of `shown` (w + LATEST, k), by lag."""
    stretches = np.lib.stride_tricks.sliding_window_view(shown, len(course), axis=0)  # (lags, k, w)
    centred = stretches - stretches.mean(-1, keepdims=True)
    sizes = np.sqrt((centred**2).sum((1, 2)))
    products = np.einsum("lkw,wk->l", centred, course)
    found: NDArray[np.float64] = np.divide(products, sizes, out=np.zeros(len(sizes)), where=sizes > 1e-9)
    return found
