"""How near a decoded path comes to the path that was walked (Target-Bench, section 4; specification target, section 5).

Example:
    evaluate(path, truth, PROFILES["aligned"], history_rows=50).overall

Paths are (n, 2) metres in the frame of the current pose: origin there, +y ahead, +x to the right. Constants belong to
a named `Profile`, since the paper prints others than those its tables were made with: no score without its profile.
Rows are matched by index, never by time, as released; `extra_waypoints` has what is matched otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.metrics._registry import metric
from worldgauge.suites.target.metrics.overall import overall
from worldgauge.suites.target.metrics.profiles import RELEASED, Profile

Mode = Literal["gt", "pred", "max", "min"]
"""Which lengths are compared: the path stretched to the truth's rows, the truth to the path's, both to the longer, or
both cut to the shorter."""

Parity = Literal["released"] | None
"""released: what the released functions do at the edges (ValueError, NaN, three columns). None: ours."""

_SOURCE = "Target-Bench (arXiv 2511.17792), section 4; constants of the profile"


class PathScores(NamedTuple):
    """All numbers of one path under one profile.

    Attributes:
        ade: Metres.
        fde: Metres.
        miss_rate: Percent.
        soft_endpoint: 0 to 1.
        approach_consistency: 0 to 1.
        overall: 0 to 1.
        valid: False for a path that cannot be scored; the numbers are then the worst possible.
        reason: Why it is not valid.
    """

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
    """All scores of a decoded path against the walked truth.

    An empty path, or one with values that are not finite, is not valid; one point stands still.

    Args:
        path: (n, 2) metres.
        truth: (T, 2) metres, T >= 2.
        profile: Constants.
        mode: Which lengths of the paths are compared.
        history_rows: Rows of `truth` before the current frame, left out where the profile cuts the history.
        parity: "released" keeps the release's handling of edge cases.

    Raises:
        ShapeError: On other shapes and for a truth that cannot be scored against.
        UsageError: On unknown modes.
    """
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
    """
    path, truth = _checked(path, truth, parity)
    return _consistency(path, truth, profile) if len(path) and len(truth) else 0.0


def resample(path: ArrayLike, rows: int, *, parity: Parity = None) -> FloatArray:
    """Resample a path linearly in the index; first and last point stay.

    Args:
        path: (n, d).
        rows: Number of rows wanted. With as many as it has, the path stays as it is.
        parity: "released" refuses a single point, which is repeated otherwise.

    Returns:
        (rows, d) float64.

    Raises:
        ShapeError: Other shapes or an empty path.
        ValueError: A single point with parity="released".
    """
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
    """Return the discs of `approach_consistency`.

    Args:
        truth: (T, 2) metres.
        profile: Constants of the corridor.

    Returns:
        (m, 3), x, y and radius in metres.
    """
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
    rows = {
        "gt": len(truth),
        "pred": len(path),
        "max": max(len(path), len(truth)),
        "min": min(len(path), len(truth)),
    }[mode]
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


Counting = Literal["scored", "all"]
"""scored: valid scores only, as released. all: a failure counts 0 for soft endpoint, approach consistency and overall
and 100 for the miss rate; distances, which a failure has none of, stay those of the scored."""

QUANTITIES = ("ade", "fde", "miss_rate", "soft_endpoint", "approach_consistency", "overall")
DISTANCES = ("ade", "fde")


@dataclass(frozen=True)
class ScoreSpread:
    """Mean, median, population standard deviation, least and most of n values."""

    n: int
    mean: float
    median: float
    std: float
    min: float
    max: float


@dataclass(frozen=True)
class PathSummary:
    """Scores over several scenarios.

    Attributes:
        n: Number of scenarios.
        n_valid: Those with a path.
        spreads: One per name in QUANTITIES; None where nothing is averaged.
    """

    n: int
    n_valid: int
    spreads: Mapping[str, ScoreSpread | None]


def summarize_paths(scores: Sequence[PathScores], counting: Counting = "scored") -> PathSummary:
    """Summarise the six numbers over scenarios; those that are not valid are failures.

    Args:
        scores: Scores by scenario.
        counting: Which scenarios count.

    Raises:
        UsageError: There is no such way of counting.
    """
    if counting not in get_args(Counting):
        raise UsageError(f"unknown counting '{counting}'; choose one of {', '.join(get_args(Counting))}")
    valid = [score for score in scores if score.valid]
    spreads = {}
    for name in QUANTITIES:
        counted = valid if counting == "scored" or name in DISTANCES else scores
        spreads[name] = spread_of([getattr(score, name) for score in counted])
    return PathSummary(len(scores), len(valid), spreads)


def spread_of(values: Sequence[float]) -> ScoreSpread | None:
    """Spread of values; None without any."""
    if not values:
        return None
    array = np.asarray(values, np.float64)
    return ScoreSpread(
        n=len(array),
        mean=float(array.mean()),
        median=float(np.median(array)),
        std=float(array.std()),
        min=float(array.min()),
        max=float(array.max()),
    )
