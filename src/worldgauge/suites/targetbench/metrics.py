"""How near a decoded path comes to the path that was walked (Target-Bench, section 3.2.2).

Example:
    evaluate(path, truth, PROFILES["aligned"], history_rows=50).overall

Paths are (n, 2) metres in the frame of the current pose: origin there, +y ahead, +x to the right. Constants belong to
a named `Profile`, since the paper prints others than those its tables were made with: no score without its profile.
Rows are matched by index, never by time, as released. What is matched otherwise is opt-in and never part of the overall
score; it takes the walked path from the current frame on: cut its history first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core import geometry
from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError
from worldgauge.core.geometry import FloatArray, wrap_angle
from worldgauge.metrics._registry import metric


class Weights(NamedTuple):
    """Weights of the overall score's terms; endpoint and approach weigh one product, so only their sum counts."""

    ade: float
    fde: float
    miss_rate: float
    endpoint: float
    approach: float


_YAML_WEIGHTS = Weights(0.05, 0.10, 0.10, 0.45, 0.20)


@dataclass(frozen=True)
class Profile:
    """Constants of the metrics.

    Attributes:
        miss_m: Metres beyond which a row is missed.
        sigma_m: Width of the soft endpoint.
        radius_min_m: Radius of the corridor at its ends; `radius_max_m` in its middle.
        references: Rows of the ground truth that the corridor is built on.
        beta: Width of the corridor in progress.
        gamma: Penalty for leaving the corridor.
        tau_ade_m: Metres in which the ADE term falls by e; likewise `tau_fde_m`.
        cut_history: Drop the rows before the current frame, where a decoded path cannot be.
    """

    name: str
    miss_m: float = 1.0
    sigma_m: float = 0.5
    radius_min_m: float = 0.5
    radius_max_m: float = 1.5
    references: int = 20
    beta: float = 0.25
    gamma: float = 5.0
    tau_ade_m: float = 1.0
    tau_fde_m: float = 1.0
    weights: Weights = _YAML_WEIGHTS
    cut_history: bool = False


RELEASED = Profile("released")
"""Constants of `vggt_config.yaml`, which fit the published tables, with the history they were scored with."""

ALIGNED = replace(
    RELEASED, name="aligned", cut_history=True, weights=Weights(*(one / sum(_YAML_WEIGHTS) for one in _YAML_WEIGHTS))
)
"""The same constants on the rows that a decoded path can match, weights divided by their sum: the truth scores 1."""

PAPER_TEXT = Profile(
    "paper_text",
    miss_m=2.0,
    sigma_m=0.6,
    radius_min_m=0.15,
    radius_max_m=0.5,
    weights=Weights(0.05, 0.10, 0.10, 0.35, 0.30),
)
"""Constants as printed; no published table fits them."""

VIPE_CONFIG = Profile(
    "vipe_config", miss_m=2.0, sigma_m=1.0, tau_ade_m=5.0, tau_fde_m=8.0, weights=Weights(0.25, 0.25, 0.20, 0.15, 0.15)
)
"""Constants of `vipe_config.yaml`, which no released script loads by default."""

PROFILES: Mapping[str, Profile] = MappingProxyType({p.name: p for p in (RELEASED, ALIGNED, PAPER_TEXT, VIPE_CONFIG)})


def profile_of(name: str) -> Profile:
    """The profile called `name`."""
    if name not in PROFILES:
        raise UnknownNameError("profile", name, PROFILES)
    return PROFILES[name]


_SOURCE = "Target-Bench (arXiv 2511.17792), section 3.2.2; constants of the profile"


@metric("path/overall", unit="1", better="higher", bounds=(0.0, 1.0), version=2, source=_SOURCE)
def overall(
    ade: float,
    fde: float,
    miss_rate: float,
    soft_endpoint: float,
    approach_consistency: float,
    *,
    profile: Profile = RELEASED,
) -> float:
    """Weighted sum of the five. The weights of the profiles released and paper_text add up to 0.90, as in the release.

    Args:
        ade: Metres.
        fde: Metres.
        miss_rate: Percent.
        soft_endpoint: 0 to 1.
        approach_consistency: 0 to 1.
        profile: Weights and constants.

    Examples:
        >>> round(path_overall(ade=0, fde=0, miss_rate=0, soft_endpoint=1, approach_consistency=1), 2)
        0.9
    """
    weights = profile.weights
    return (
        weights.ade * math.exp(-ade / profile.tau_ade_m)
        + weights.fde * math.exp(-fde / profile.tau_fde_m)
        + weights.miss_rate * (1 - miss_rate / 100)
        + (weights.endpoint + weights.approach) * soft_endpoint * approach_consistency
    )


Mode = Literal["gt", "pred", "max", "min"]
"""Which lengths are compared: the path stretched to the truth's rows, the truth to the path's, both to the longer, or
both cut to the shorter."""

Parity = Literal["released"] | None
"""released: what the released functions do at the edges (ValueError, NaN, three columns). None: ours."""


class PathScores(NamedTuple):
    """All numbers of one path under one profile: metres, percent for the miss rate, else 0 to 1; worst if invalid."""

    ade: float
    fde: float
    miss_rate: float
    soft_endpoint: float
    approach_consistency: float
    overall: float
    valid: bool = True
    reason: str = ""


def evaluate(
    path: ArrayLike,
    truth: ArrayLike,
    profile: Profile = RELEASED,
    mode: Mode = "gt",
    *,
    history_rows: int = 0,
    parity: Parity = None,
) -> PathScores:
    """All scores of a path (n, 2) against the ground truth (T, 2), metres; empty or non-finite paths are invalid."""
    if parity is None:
        _check_mode(mode, parity)
    truth = np.asarray(truth, np.float64)
    if profile.cut_history:
        truth = truth[history_rows:]
    reason = _unusable(path) if parity is None else ""
    path, truth = _checked([] if reason else path, truth, parity)
    if len(path) == 0 or len(truth) == 0:
        return failed(reason or f"the {'truth' if len(path) else 'path'} is empty")
    distance = _distances(path, truth, mode, parity)
    last = float(np.linalg.norm(path[-1] - truth[-1]))
    scores = PathScores(
        ade=float(distance.mean()),
        fde=last,
        miss_rate=_missed(distance, profile.miss_m),
        soft_endpoint=math.exp(-(last**2) / (2 * profile.sigma_m**2)),
        approach_consistency=_consistency(path, truth, profile),
        overall=0.0,
    )
    return scores._replace(overall=overall(*scores[:5], profile=profile))


def failed(reason: str) -> PathScores:
    """Scores of a missing path: the worst possible, and not valid."""
    return PathScores(math.inf, math.inf, 100.0, 0.0, 0.0, 0.0, valid=False, reason=reason)


@metric("path/ade", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source=_SOURCE)
def ade(path: ArrayLike, truth: ArrayLike, mode: Mode = "gt", *, parity: Parity = None) -> float:
    """Compute the mean distance of a path from the truth, row by row.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.
        mode: Which of the two is resampled to the other's number of rows.
        parity: "released" for the released code's behaviour.

    Returns:
        Metres; inf for an empty path.

    Raises:
        ShapeError: Other shapes, values that are not finite, or a truth of fewer than 2 rows.

    Examples:
        >>> path_ade([(1, 0), (1, 1), (1, 2)], truth=[(0, 0), (0, 1), (0, 2)])
        1.0
    """
    path, truth = _checked(path, truth, parity)
    return float(_distances(path, truth, mode, parity).mean()) if len(path) and len(truth) else math.inf


@metric("path/fde", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source=_SOURCE)
def fde(path: ArrayLike, truth: ArrayLike, *, parity: Parity = None) -> float:
    """Compute the distance of the last point of a path from the last of the truth.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.
        parity: "released" for the released code's behaviour.

    Returns:
        Metres; inf for an empty path.

    Raises:
        ShapeError: As `ade`.

    Examples:
        >>> path_fde([(0, 0), (3, 0)], truth=[(0, 0), (0, 4)])
        5.0
    """
    path, truth = _checked(path, truth, parity)
    return float(np.linalg.norm(path[-1] - truth[-1])) if len(path) and len(truth) else math.inf


@metric("path/miss_rate", unit="%", better="lower", bounds=(0.0, 100.0), version=1, source=_SOURCE)
def miss_rate(
    path: ArrayLike, truth: ArrayLike, mode: Mode = "gt", *, miss_m: float = RELEASED.miss_m, parity: Parity = None
) -> float:
    """Percent of the rows that are more than `miss_m` metres from the truth; 100 when the path is empty.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.
        mode: Which lengths of the paths are compared.
        miss_m: Metres beyond which a row is missed.
        parity: "released" keeps the release's handling of edge cases.

    Raises:
        ShapeError: As `ade`.

    Examples:
        >>> path_miss_rate([(0, 0), (1, 1), (2, 2), (3, 3)], truth=[(0, 0), (0, 1), (0, 2), (0, 3)])  # 0, 1, 2 and 3 m
        50.0
    """
    path, truth = _checked(path, truth, parity)
    return _missed(_distances(path, truth, mode, parity), miss_m) if len(path) and len(truth) else 100.0


@metric("path/soft_endpoint", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source=_SOURCE)
def soft_endpoint(
    path: ArrayLike, truth: ArrayLike, *, sigma_m: float = RELEASED.sigma_m, parity: Parity = None
) -> float:
    """Compute exp(-FDE^2 / (2 sigma^2)).

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.
        sigma_m: Sigma, metres.
        parity: "released" for the released code's behaviour.

    Returns:
        0 to 1; 1 where both end in one place, 0 for an empty path.

    Raises:
        ShapeError: As `ade`.

    Examples:
        >>> round(path_soft_endpoint([(0, 0), (0, 1.5)], truth=[(0, 0), (0, 2)]), 2)  # exp(-1 / 2)
        0.61
    """
    return math.exp(-(fde(path, truth, parity=parity) ** 2) / (2 * sigma_m**2))


@metric("path/approach_consistency", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source=_SOURCE)
def approach_consistency(
    path: ArrayLike, truth: ArrayLike, *, profile: Profile = RELEASED, parity: Parity = None
) -> float:
    """Compute how much of a path lies in a corridor around the truth: exp(-gamma x share outside).

    The corridor is a disc around each of some rows of the truth, wide in the middle. Points count as they were decoded
    and in any order, so a path that never moves is inside.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.
        profile: Constants of the corridor.
        parity: "released" for the released code's behaviour.

    Returns:
        0 to 1; 0 for an empty path.

    Raises:
        ShapeError: As `ade`.

    Examples:
        >>> round(path_approach_consistency([(0, 0), (9, 9)], truth=[(0, 0), (0, 1), (0, 2)]), 2)  # exp(-5 / 2)
        0.08
    """
    path, truth = _checked(path, truth, parity)
    return _consistency(path, truth, profile) if len(path) and len(truth) else 0.0


def resample(path: ArrayLike, rows: int, *, parity: Parity = None) -> FloatArray:
    """Resample a path (n, d) linearly in the index to (rows, d); first and last point stay."""
    points = np.asarray(path, np.float64)
    if points.ndim != 2 or len(points) == 0 or rows < 1:
        raise ShapeError(f"resampling needs a path (n, d) with n >= 1 and at least 1 row, got {points.shape}, {rows}")
    if len(points) == rows:
        return points
    if len(points) == 1:
        if parity == "released" and rows > 1:
            raise _ReleasedError("one point cannot be resampled (released behaviour)")
        return np.repeat(points, rows, axis=0)
    have, want = np.linspace(0, 1, len(points)), np.linspace(0, 1, rows)
    return np.stack([np.interp(want, have, column) for column in points.T], axis=-1)


def corridor(truth: ArrayLike, profile: Profile = RELEASED) -> FloatArray:
    """The discs (m, 3) of `approach_consistency` along a truth (T, 2): x, y and radius in metres."""
    truth = np.asarray(truth, np.float64)
    last = len(truth) - 1
    if len(truth) < profile.references:
        rows = np.arange(len(truth))
    else:
        rows = np.linspace(0, last, profile.references).astype(np.int64)
    off_middle = rows / max(last, 1) - 0.5
    widening = np.exp(-(off_middle**2) / (2 * profile.beta**2))
    radius = profile.radius_min_m + (profile.radius_max_m - profile.radius_min_m) * widening
    return np.concatenate([truth[rows], radius[:, None]], axis=1)


class _ReleasedError(ShapeError, ValueError):
    """What the released functions raise as ValueError, for parity."""


def _distances(path: FloatArray, truth: FloatArray, mode: Mode, parity: Parity) -> FloatArray:
    """Distance of every compared pair of rows."""
    _check_mode(mode, parity)
    rows = {"gt": len(truth), "pred": len(path), "max": max(len(path), len(truth)), "min": min(len(path), len(truth))}[
        mode
    ]
    if mode == "min":
        path, truth = path[:rows], truth[:rows]
    apart = resample(path, rows, parity=parity) - resample(truth, rows, parity=parity)
    distance: FloatArray = np.sqrt((apart**2).sum(axis=1))
    return distance


def _missed(distance: FloatArray, miss_m: float) -> float:
    return 100 * int((distance > miss_m).sum()) / len(distance)


def _consistency(path: FloatArray, truth: FloatArray, profile: Profile) -> float:
    discs = corridor(truth, profile)
    apart = path[:, None] - discs[:, :-1]
    covered = (np.sqrt((apart**2).sum(axis=-1)) <= discs[:, -1]).any(axis=1)
    return math.exp(-profile.gamma * (1 - covered.mean())) if not covered.all() else 1.0


def _unusable(path: ArrayLike) -> str:
    """Why a path counts as failed; empty when it can be scored."""
    points = np.asarray(path, np.float64)
    if points.size == 0:
        return "the path is empty"
    if not np.isfinite(points).all():
        return "the path has values that are not finite"
    return ""


def _checked(path: ArrayLike, truth: ArrayLike, parity: Parity) -> tuple[FloatArray, FloatArray]:
    """Both as float64 (n, 2); released takes any number of columns that both have, and whatever they hold."""
    points, rows = np.asarray(path, np.float64), np.asarray(truth, np.float64)
    if parity == "released":
        if points.size and rows.size and (points.ndim != 2 or rows.ndim != 2 or points.shape[1] != rows.shape[1]):
            raise _ReleasedError(f"shapes {points.shape} and {rows.shape} do not match (released behaviour)")
        return points, rows
    if points.size == 0:
        points = np.zeros((0, 2))
    for name, array in (("path", points), ("truth", rows)):
        if array.ndim != 2 or array.shape[1] != 2:
            raise ShapeError(f"a {name} needs shape (n, 2), metres in the plane, got {array.shape}")
        if not np.isfinite(array).all():
            raise ShapeError(f"the {name} has values that are not finite; drop or repair them first")
    if len(rows) < 2:
        raise ShapeError(f"a truth of {len(rows)} rows is no path; leave this scenario out")
    return points, rows


def _check_mode(mode: str, parity: Parity) -> None:
    if mode not in get_args(Mode):
        error = UsageError if parity is None else _ReleasedError
        raise error(f"unknown mode '{mode}'; choose one of {', '.join(get_args(Mode))}")


HEADING_M = 0.5
"""A heading is that of the last half metre: one step of a walk, well above what a decoder is off."""

_OURS = "worldgauge"


@metric("path/time_aligned_ade", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source=_OURS)
def time_aligned_ade(path: ArrayLike, times_s: ArrayLike, truth: ArrayLike, dt_s: float) -> float:
    """Mean distance in metres of path and truth at the same moments, as long as both last.

    Args:
        path: (n, 2) metres.
        times_s: (n,) seconds of the points since the current frame, rising.
        truth: (T, 2) metres; its first row is the current frame.
        dt_s: Seconds per row of the truth.

    Raises:
        ShapeError: On other shapes and where the two have no moment in common.

    Examples:
        >>> path_time_aligned_ade([(0, 0), (0, 1)], [0.0, 1.0], truth=[(0, 0), (0, 1), (0, 2)], dt_s=0.5)
        0.5
    """
    points, rows = _points_of(path), _points_of(truth)
    times = np.asarray(times_s, np.float64)
    if times.shape != (len(points),) or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ShapeError(f"{len(points)} points need as many rising times in seconds, got shape {times.shape}")
    moments = np.arange(len(rows)) * dt_s
    # Half a row of slack: frame rates such as 24 and 25 do not meet exactly at the end.
    common = (moments >= times[0] - dt_s / 2) & (moments <= times[-1] + dt_s / 2)
    if not common.any():
        raise ShapeError(f"path ({times[0]:g} to {times[-1]:g} s) and truth (to {moments[-1]:g} s) never coincide")
    there = np.stack([np.interp(moments[common], times, column) for column in points.T], axis=-1)
    return float(np.linalg.norm(there - rows[common], axis=1).mean())


@metric("path/arc_aligned_ade", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source=_OURS)
def arc_aligned_ade(path: ArrayLike, truth: ArrayLike) -> float:
    """Compute the mean distance of two paths at equal shares of their own lengths: shape, not pace.

    They are compared at as many places as the longer list has points.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.

    Returns:
        Metres.

    Raises:
        ShapeError: Other shapes.

    Examples:
        >>> path_arc_aligned_ade([(0, 0), (0, 0.5), (0, 2)], truth=[(0, 0), (0, 1), (0, 2)])
        0.0
    """
    points, rows = _points_of(path), _points_of(truth)
    shares = np.linspace(0, 1, max(len(points), len(rows)))
    return float(np.linalg.norm(_at_shares(points, shares) - _at_shares(rows, shares), axis=1).mean())


@metric("path/scale_free_ade", unit="1", better="lower", bounds=(0.0, 2.0), version=1, source=_OURS)
def scale_free_ade(path: ArrayLike, truth: ArrayLike) -> float | None:
    """Compute `arc_aligned_ade` of two paths of length 1 that begin at one place: shape and heading, not speed.

    It is for models that divide speed away, and for paths of no known scale. A path without length stays at the start.

    Args:
        path: (n, 2), any unit.
        truth: (T, 2) metres.

    Returns:
        Share of a path's length; None where the truth has no length.

    Raises:
        ShapeError: Other shapes.

    Examples:
        >>> path_scale_free_ade([(0, 0), (0, 5)], truth=[(0, 0), (0, 2)])
        0.0
    """
    points, rows = _points_of(path), _points_of(truth)
    walked, asked = geometry.length(points), geometry.length(rows)
    if asked == 0:
        return None
    return float(arc_aligned_ade((points - points[0]) / (walked or 1.0), (rows - rows[0]) / asked))


@metric("path/end_heading_error", unit="rad", better="lower", bounds=(0.0, math.pi), version=1, source=_OURS)
def end_heading(path: ArrayLike, truth: ArrayLike, *, over_m: float = HEADING_M) -> float | None:
    """Compute the angle between the final directions of two paths.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.
        over_m: Length at the end that gives the direction, metres.

    Returns:
        Radians; None where a path is shorter.

    Raises:
        ShapeError: Other shapes.

    Examples:
        >>> round(path_end_heading_error([(0, 0), (0, 1)], truth=[(0, 0), (1, 0)]), 2)
        1.57
    """
    ways = [_last_way(_points_of(points), over_m) for points in (path, truth)]
    if ways[0] is None or ways[1] is None:
        return None
    return min(abs(float(wrap_angle(ways[0] - ways[1]))), math.pi)


@metric("path/length_ratio", unit="1", better="neither", bounds=(0.0, math.inf), version=1, source=_OURS)
def length_ratio(path: ArrayLike, truth: ArrayLike) -> float | None:
    """Compute the length of a path over that of the truth.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.

    Returns:
        The ratio; None where nothing was walked.

    Raises:
        ShapeError: As `ade`.

    Examples:
        >>> path_length_ratio([(0, 0), (0, 1)], truth=[(0, 0), (0, 2)])
        0.5
    """
    walked = geometry.length(_points_of(truth))
    return None if walked == 0 else geometry.length(_points_of(path)) / walked


@metric("path/reach_half_metre", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source=_OURS)
def reach_half_metre(path: ArrayLike, truth: ArrayLike) -> float:
    """Tell whether a path ends less than 0.5 m from the end of the truth.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.

    Returns:
        1 or 0.

    Raises:
        ShapeError: As `fde`.

    Examples:
        >>> path_reach_half_metre([(0, 0), (0, 1.25)], truth=[(0, 0), (0, 2)])
        0.0
    """
    return float(fde(path, truth) < 0.5)


@metric("path/reach_metre", unit="1", better="higher", bounds=(0.0, 1.0), version=1, source=_OURS)
def reach_metre(path: ArrayLike, truth: ArrayLike) -> float:
    """Tell whether a path ends less than 1 m from the end of the truth.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres.

    Returns:
        1 or 0.

    Raises:
        ShapeError: As `fde`.

    Examples:
        >>> path_reach_metre([(0, 0), (0, 1.25)], truth=[(0, 0), (0, 2)])
        1.0
    """
    return float(fde(path, truth) < 1.0)


def _at_shares(points: FloatArray, shares: FloatArray) -> FloatArray:
    """Points (m, 2) after `shares` (m,) of the length of a path; its first point where it has no length."""
    return geometry.at(points, shares * geometry.along(points)[-1])


def _last_way(points: FloatArray, over_m: float) -> float | None:
    """Direction in radians from `over_m` before the end of a path to its end."""
    whole = geometry.length(points)
    if whole < over_m:
        return None
    start = _at_shares(points, np.array([1 - over_m / whole]))[0]
    dx, dy = points[-1] - start
    return None if dx == dy == 0 else math.atan2(dy, dx)


def _points_of(points: ArrayLike) -> FloatArray:
    array = np.asarray(points, np.float64)
    if array.ndim != 2 or array.shape[1:] != (2,) or len(array) == 0:
        raise ShapeError(f"a path needs shape (n, 2) with n >= 1, metres in the plane, got {array.shape}")
    if not np.isfinite(array).all():
        raise ShapeError("the path has values that are not finite; drop or repair them first")
    return array
