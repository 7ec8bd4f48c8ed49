"""From paths to gains: how much of what was asked was shown, how late, and what else moved.

One value is one start image: its controls share a picture, so they are averaged first, and intervals are over starts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from worldgauge.core.actions import LOOP_WALK, Actions, ActionSpace, Axis, Motion, camera_path, motions
from worldgauge.core.errors import ShapeError, UnknownNameError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.core.intervals import mean_std, student_interval
from worldgauge.core.model import ModelSpec
from worldgauge.models.calibration import DIRECTIONS, TURNS, Speed, Status
from worldgauge.suites.mind.actions import walk_look
from worldgauge.worlds.walking.primitives import NAV_STEPS

MOVING, RESTING = 8, 8
"""Frames with the control, and frames without it, in which a late model comes to rest."""
HORIZON = MOVING + RESTING
STEP_M, TURN_RAD = 0.05, float(np.radians(1.0))
"""Motion a frame at speed 1. The fastest move is 0.8 m and the widest turn 16 degrees, so most of a start image stays
in view for a model that goes twice as far."""
SPEEDS = (0.5, 1.0, 2.0)
STILL = "still"
DIAGONALS: Mapping[str, tuple[str, str]] = {
    f"{one}+{other}": (one, other)
    for one, other in (("forward", "left"), ("back", "right"), ("forward", "yaw_left"), ("yaw_right", "pitch_down"))
}

SPACES: Mapping[str, ActionSpace] = {"walk-look": walk_look(), "loop-walk": LOOP_WALK, "nav-steps": NAV_STEPS}
"""Action spaces by the name of their family."""
DEFAULT_SPACE = "walk-look"


@dataclass(frozen=True)
class ControlInput:
    """One control (of `DIRECTIONS`, `DIAGONALS` or `STILL`) at one speed (0 for `STILL`), in HORIZON rows."""

    control: str
    speed: float
    actions: Actions

    @property
    def motions(self) -> FloatArray:
        """(HORIZON, 5) metres and radians a frame that are asked for."""
        return motions(self.actions)

    @property
    def name(self) -> str:
        """Its name in files."""
        return self.control if self.control == STILL else f"{self.control}-{self.speed:g}"

    def poses(self, start: FloatArray) -> FloatArray:
        """(HORIZON, 4, 4) poses that are asked for, from a start (4, 4)."""
        return camera_path(self.actions, start)


def space_for(spec: ModelSpec, name: str) -> ActionSpace:
    """The space of the controls of a model."""
    if name not in SPACES:
        raise UnknownNameError("action space", name, SPACES)
    return SPACES[name] if spec.fps is None else replace(SPACES[name], fps=float(spec.fps))


def controls_of(space: ActionSpace, *, diagonals: bool = True) -> list[ControlInput]:
    """Everything that is asked from one start image in a space."""
    names = [name for name in DIRECTIONS if _column(space, name) is not None]
    names += [name for name, parts in DIAGONALS.items() if diagonals and set(parts) <= set(names)]
    asked = [ControlInput(STILL, 0.0, _actions(space, (), 1.0))]
    asked += [
        ControlInput(name, speed, _actions(space, DIAGONALS.get(name, (name,)), speed))
        for name in names
        for speed in SPEEDS
    ]
    return asked


def keys_of(space: ActionSpace) -> frozenset[str]:
    """Controls that are keys in a space, not amounts."""
    columns = {name: _column(space, name) for name in DIRECTIONS}
    return frozenset(name for name, at in columns.items() if at is not None and space.axes[at].kind == "button")


def _actions(space: ActionSpace, directions: Sequence[str], speed: float) -> Actions:
    axes = tuple(_at_speed(axis, speed) for axis in space.axes)
    values = np.zeros((HORIZON, len(space)), np.float32)
    for name in directions:
        column = _column(space, name)
        assert column is not None
        k, sign = DIRECTIONS[name]
        axis = axes[column]
        values[:MOVING, column] = 1.0 if axis.kind == "button" else sign * speed * _unit(k) / axis.motion[k]
    return Actions(replace(space, axes=axes), values)


def _at_speed(axis: Axis, speed: float) -> Axis:
    """A key whose motion is that of the speed; its space says what it does."""
    if axis.kind != "button":
        return axis
    return replace(axis, motion=Motion(*(float(np.sign(m)) * speed * _unit(k) for k, m in enumerate(axis.motion))))


def _column(space: ActionSpace, direction: str) -> int | None:
    """Column that moves in a direction and nowhere else; None where there is none."""
    k, sign = DIRECTIONS[direction]
    for column, axis in enumerate(space.axes):
        alone = [at for at, amount in enumerate(axis.motion) if amount] == [k]
        if alone and (axis.kind != "button" or axis.motion[k] * sign > 0):
            return column
    return None


def _unit(k: int) -> float:
    return TURN_RAD if k >= 3 else STEP_M


SHOWN = ("forward", "left", "up", "yaw", "pitch", "roll")
"""Components of what is seen: metres along the first three, radians about the others."""
UNITS = (STEP_M, STEP_M, STEP_M, TURN_RAD, TURN_RAD, TURN_RAD)
"""What counts as equally much of each component: a frame at speed 1."""
MAX_DELAY = RESTING - 1
"""Latest effect that can be told from a weaker one."""
SMALLEST = 0.02
"""Share of what was asked below which a control counts as without effect: a frame's motion is known to about 0.01."""
LEAST_FIT = 0.5
"""Share of the motion that must follow the time course of what was asked."""
LEAST_DECODED = 0.5
"""Of the frames of an answer, and of the answers to a control, that must show where the camera is."""
NEAR = 0.2
"""How far the exponent of the speed may be from 1 (as asked) or 0 (its own)."""


@dataclass(frozen=True)
class Response:
    """What a model showed for one control.

    Attributes:
        asked: (n, 5) requested metres and radians per frame.
        shown: (n, 6) cumulative motion up to each frame (`SHOWN`); NaN if the camera was not found.
        reason: Why the camera was not found; empty if it was.
    """

    start: str
    control: str
    speed: float
    asked: FloatArray
    shown: FloatArray
    reason: str = ""

    @property
    def decoded(self) -> bool:
        """Whether enough frames show where the camera is."""
        return float(np.isfinite(self.shown[:, 0]).mean()) >= LEAST_DECODED


@dataclass(frozen=True)
class StartImageMean:
    """A mean over start images with its 95 % interval; None for the ends of a single value."""

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class ControlResult:
    """What one control does.

    Attributes:
        status: See `models.calibration.file.Status`.
        decoded: Number of rollouts with a decoded path.
        reason: Why it does not follow, or is unknown; empty if it follows.
        gain: Shown per requested motion. None unless it follows.
        a_frame: Motion per frame at speed 1, metres or radians. None unless it follows.
        fit: Median share of the motion that follows the requested time course. None without motion.
        by_speed: Gain at each speed.
        beside: Cross-talk per component of `SHOWN`, in `UNITS` per requested unit; None for its own component.
        course: Mean share of the request that is shown after each frame, and its interval.
    """

    control: str
    status: Status
    asked: int
    decoded: int
    reason: str = ""
    gain: StartImageMean | None = None
    a_frame: float | None = None
    fit: float | None = None
    by_speed: Mapping[float, StartImageMean] = field(default_factory=dict)
    beside: Mapping[str, StartImageMean] = field(default_factory=dict)
    course: tuple[StartImageMean | None, ...] = ()


@dataclass(frozen=True)
class SpeedResult:
    """Whose speed a model moves at: its motion grows with the power `exponent` of the requested speed, if it moves."""

    whose: Speed
    exponent: StartImageMean | None = None


@dataclass(frozen=True)
class ControlEstimates:
    """All estimates of a calibration.

    Attributes:
        delay: Frames from a control to its effect. None if nothing moves, or later than `MAX_DELAY`.
        frames: The delay as a whole number.
        late: Why there is no delay; empty if there is one.
        controls: Every control except diagonals.
        together: Share of each component's single gain that is left on a diagonal, by diagonal and control.
        drift: Metres and radians per frame without a request, by component.
    """

    delay: StartImageMean | None
    frames: int | None
    late: str
    controls: tuple[ControlResult, ...]
    together: Mapping[str, Mapping[str, StartImageMean]]
    drift: Mapping[str, StartImageMean]
    moving: SpeedResult
    turning: SpeedResult


def displacement(poses: FloatArray) -> FloatArray:
    """Cumulative steps (n, 6) of a camera in its own level frame, along mean headings: metres ahead, left and up,
    radians of yaw, pitch, roll. `poses` are camera-to-world, the first camera level and looking along z; NaN if
    unknown."""
    poses = np.asarray(poses, np.float64)
    if poses.ndim != 3 or poses.shape[1:] != (4, 4):
        raise ShapeError(f"poses are (n, 4, 4), got {poses.shape}")
    found = np.full((len(poses), 6), np.nan)
    level = pose_from_yaw_pitch((0.0, 0.0, 0.0), 0.0)
    total, before = np.zeros(6), level
    for t in np.flatnonzero(np.isfinite(poses).all((1, 2))):
        pose = level @ poses[t]
        (yaw_0, yaw), (pitch_0, pitch) = yaw_pitch_from_pose(np.stack([before, pose]))
        turn = (yaw - yaw_0 + math.pi) % (2 * math.pi) - math.pi
        c, s = math.cos(yaw_0 + turn / 2), math.sin(yaw_0 + turn / 2)
        x, y, z = pose[:3, 3] - before[:3, 3]
        step = [x * c + y * s, y * c - x * s, z, turn, pitch - pitch_0, _roll(pose) - _roll(before)]
        total = total + np.array(step)
        found[t], before = total, pose
    return found


def estimate(responses: Sequence[Response]) -> ControlEstimates:
    """Estimate everything from the answers of one model."""
    settled = _without_drift(responses)
    single = [one for one in settled if one.control in DIRECTIONS and one.decoded]
    starts = list(dict.fromkeys(one.start for one in responses))
    whole, each, late = _delays(single, starts)
    delay = whole or 0
    controls = tuple(
        _control(name, [one for one in settled if one.control == name], starts, delay)
        for name in DIRECTIONS
        if any(one.control == name for one in responses)
    )
    follows = {one.control for one in controls if one.status == "follows"}
    speeds = [_speed([one for one in single if one.control in names & follows], starts, delay) for names in _GROUPS]
    return ControlEstimates(
        estimate_of(each) if whole is not None else None,
        whole,
        late,
        controls,
        _together(settled, controls, starts, delay),
        _drift(responses, starts),
        *speeds,
    )


def estimate_of(values: Iterable[float | None]) -> StartImageMean | None:
    """Mean and interval of one value for each start image; None without values."""
    known = [value for value in values if value is not None]
    mean = mean_std(known).mean
    if mean is None:
        return None
    interval = student_interval(known)
    low, high = (None, None) if interval is None else interval
    return StartImageMean(mean, low, high, len(known))


_GROUPS = (frozenset(DIRECTIONS) - TURNS, TURNS)


def expected(asked: FloatArray, delay: int) -> FloatArray:
    """Sums (n,) of what is shown by a model that does what is asked (n,), `delay` frames late."""
    late = np.concatenate([np.zeros(delay), asked])[: len(asked)]
    total: FloatArray = np.cumsum(late)
    return total


def slope(course: FloatArray, shown: FloatArray) -> float | None:
    """Least-squares factor from `course` (n,) to `shown` (n,), through the origin, over known values."""
    known = np.isfinite(shown)
    power = float((course[known] ** 2).sum())
    return float((course[known] * shown[known]).sum()) / power if power > 0 else None


def _without_drift(responses: Sequence[Response]) -> list[Response]:
    """The responses less what their start does while nothing is asked."""
    still = {one.start: one.shown for one in responses if one.control == STILL and one.decoded}
    settled = []
    for one in responses:
        drift = np.nan_to_num(_filled(still[one.start])) if one.start in still else 0.0
        settled.append(Response(one.start, one.control, one.speed, one.asked, one.shown - drift, one.reason))
    return settled


def _filled(shown: FloatArray) -> FloatArray:
    """Sums with gaps filled in between, and held after the last."""
    known = np.flatnonzero(np.isfinite(shown[:, 0]))
    at = np.arange(len(shown))
    return np.stack([np.interp(at, known, column[known]) for column in shown.T], 1)


def _delays(single: Sequence[Response], starts: Sequence[str]) -> tuple[int | None, list[float | None], str]:
    """The delay of all answers as a whole number, of each start, and why there is none."""
    moved = [one for one in single if _moves(one)]
    if not moved:
        return None, [], "nothing moves"
    whole = _delay(moved)
    if whole > MAX_DELAY:
        return None, [], f"later than {MAX_DELAY} frames, the longest that is looked for"
    each = [[one for one in moved if one.start == start] for start in starts]
    return whole, [float(_delay(own)) if own else None for own in each], ""


def _delay(moved: Sequence[Response]) -> int:
    """The delay that leaves the least unexplained, each answer in shares of its own motion."""
    left = [sum(1 - _fit(one, delay) for one in moved) for delay in range(MAX_DELAY + 2)]
    return int(np.argmin(left))


def _fit(one: Response, delay: int) -> float:
    """Share of the own motion of an answer that follows the time course of what was asked."""
    k = DIRECTIONS[one.control][0]
    course, shown = expected(one.asked[:, k], delay), one.shown[:, k]
    known = np.isfinite(shown)
    power = float((shown[known] ** 2).sum())
    factor = slope(course, shown)
    if factor is None or power == 0:
        return 0.0
    return 1 - float(((shown[known] - factor * course[known]) ** 2).sum()) / power


def _moves(one: Response) -> bool:
    """Whether more is shown along the own component than the error of a path."""
    k = DIRECTIONS[one.control][0]
    largest = float(np.nanmax(np.abs(one.shown[:, k])))
    return largest > SMALLEST * abs(float(one.asked[:, k].sum()))


def _control(name: str, answers: Sequence[Response], starts: Sequence[str], delay: int) -> ControlResult:
    k = DIRECTIONS[name][0]
    decoded = [one for one in answers if one.decoded]
    result = ControlResult(name, "unknown", len(answers), len(decoded))
    if not decoded or len(decoded) < LEAST_DECODED * len(answers):
        why = next((one.reason for one in answers if one.reason), "the camera's path is not found")
        return replace(result, reason=f"{len(decoded)} of {len(answers)} have a path: {why}")
    each = _by_start(decoded, starts, lambda own: _pooled(own, k, k, delay))
    gain = estimate_of(each)
    fits = [_fit(one, delay) for one in decoded if _moves(one)]
    fit = float(np.median(fits)) if fits else None
    beside = {
        component: _scaled(found, UNITS[k] / UNITS[j])
        for j, component in enumerate(SHOWN)
        if j != k and (found := _slopes(decoded, starts, k, j, delay)) is not None
    }
    result = replace(result, beside=beside, course=_course(decoded, starts, k))
    why = _no_effect(gain, fit, len(fits), len(decoded))
    if why or gain is None:
        return replace(result, status="does not follow", reason=why)
    if gain.low is not None and gain.high is not None and gain.low <= 0 <= gain.high:
        told = f"{gain.mean:.2g} [{gain.low:.2g}, {gain.high:.2g}] of the commanded motion, over {gain.n} start images"
        if len({value > 0 for value in each if value}) > 1:
            return replace(result, status="does not follow", reason=f"its motion goes either way: {told}")
        return replace(result, reason=f"its motion is not told from none: {told}; ask from more")
    by_speed = {
        speed: found
        for speed in sorted({one.speed for one in decoded})
        if (found := _slopes([one for one in decoded if one.speed == speed], starts, k, k, delay)) is not None
    }
    a_frame = abs(by_speed.get(1.0, gain).mean) * UNITS[k]
    return replace(result, status="follows", gain=gain, a_frame=a_frame, fit=fit, by_speed=by_speed)


def _no_effect(gain: StartImageMean | None, fit: float | None, moving: int, decoded: int) -> str:
    """Why a control counts as without effect; empty where it has one."""
    if gain is None or moving < LEAST_DECODED * decoded:
        return f"the camera moves in {moving} of {decoded} answers"
    if abs(gain.mean) < SMALLEST:
        return f"it shows {100 * gain.mean:.1f} % of what is asked, less than can be told from nothing"
    if fit is None or fit < LEAST_FIT:
        return f"its motion does not begin and end with the control (fit {0.0 if fit is None else fit:.2f})"
    return ""


def _by_start(
    answers: Sequence[Response], starts: Sequence[str], value: Callable[[Sequence[Response]], float | None]
) -> list[float | None]:
    own = [[one for one in answers if one.start == start] for start in starts]
    return [value(some) if some else None for some in own]


def _slopes(answers: Sequence[Response], starts: Sequence[str], k: int, j: int, delay: int) -> StartImageMean | None:
    """Motion along component j for motion asked along k, over starts."""
    return estimate_of(_by_start(answers, starts, lambda own: _pooled(own, k, j, delay)))


def _pooled(answers: Sequence[Response], k: int, j: int, delay: int) -> float | None:
    """Motion along component j for motion asked along k, of the answers of one start together."""
    courses = np.concatenate([expected(one.asked[:, k], delay) for one in answers])
    return slope(courses, np.concatenate([one.shown[:, j] for one in answers]))


def _course(answers: Sequence[Response], starts: Sequence[str], k: int) -> tuple[StartImageMean | None, ...]:
    shares = [(one.start, one.shown[:, k] / one.asked[:, k].sum()) for one in answers]
    found = []
    for t in range(len(answers[0].asked)):
        values = [[float(share[t]) for name, share in shares if name == start] for start in starts]
        known = [[value for value in own if math.isfinite(value)] for own in values]
        found.append(estimate_of([float(np.mean(own)) if own else None for own in known]))
    return tuple(found)


def _speed(answers: Sequence[Response], starts: Sequence[str], delay: int) -> SpeedResult:
    exponent = estimate_of(_by_start(answers, starts, lambda own: _exponent(own, delay)))
    if exponent is None:
        return SpeedResult("unknown")
    if abs(exponent.mean - 1) < NEAR:
        return SpeedResult("asked", exponent)
    return SpeedResult("own" if abs(exponent.mean) < NEAR else "between", exponent)


def _exponent(answers: Sequence[Response], delay: int) -> float | None:
    """Mean over controls of the slope of log motion over log speed."""
    slopes = []
    for name in dict.fromkeys(one.control for one in answers):
        k = DIRECTIONS[name][0]
        own = [(one.speed, _pooled([one], k, k, delay)) for one in answers if one.control == name]
        known = [(math.log(speed), math.log(abs(gain) * speed)) for speed, gain in own if gain]
        if len({speed for speed, _ in known}) >= 2:
            x, y = np.array(known).T
            slopes.append(float(np.polyfit(x, y, 1)[0]))
    return float(np.mean(slopes)) if slopes else None


def _together(
    answers: Sequence[Response], controls: Sequence[ControlResult], starts: Sequence[str], delay: int
) -> dict[str, dict[str, StartImageMean]]:
    """What is left of single gains on diagonals."""
    gains = {one.control: one.gain.mean for one in controls if one.gain is not None}
    found: dict[str, dict[str, StartImageMean]] = {}
    for name, parts in DIAGONALS.items():
        own = [one for one in answers if one.control == name and one.decoded]
        for part in parts:
            k = DIRECTIONS[part][0]
            whole = _slopes(own, starts, k, k, delay)
            if whole is not None and part in gains:
                found.setdefault(name, {})[part] = _scaled(whole, 1 / gains[part])
    return found


def _drift(responses: Sequence[Response], starts: Sequence[str]) -> dict[str, StartImageMean]:
    still = [one for one in responses if one.control == STILL and one.decoded]
    whole = {
        component: estimate_of(
            float(_filled(one.shown)[-1, j]) / len(one.shown) for start in starts for one in still if one.start == start
        )
        for j, component in enumerate(SHOWN)
    }
    return {component: found for component, found in whole.items() if found is not None}


def _scaled(one: StartImageMean, factor: float) -> StartImageMean:
    ends = [None if end is None else end * factor for end in (one.low, one.high)]
    low, high = ends if factor >= 0 else ends[::-1]
    return StartImageMean(one.mean * factor, low, high, one.n)


def _roll(pose: FloatArray) -> float:
    """How far the camera is tipped to its right, radians."""
    return math.atan2(-float(pose[2, 0]), -float(pose[2, 1]))
