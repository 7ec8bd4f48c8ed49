"""A law over the number of clips: value = a + b log10(n), with an interval from resampled tasks and seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.statistics import Interval

Values = Mapping[str, float | None]


class LogLaw(NamedTuple):
    """A fit of value = a + b log10(n).

    Attributes:
        a: Value at one clip.
        b: What ten times the clips add.
        interval: 95 % interval of b. None for a single cluster of tasks.
        counts: Numbers of clips.
        seeds: Trainings at each number.
        tasks: Tasks that all trainings have a value of.
        clusters: Clusters that they are of.
    """

    a: float
    b: float
    interval: Interval | None
    counts: int
    seeds: int
    tasks: int
    clusters: int


def fit_law(
    values: Mapping[int, Sequence[Values]],
    clusters: Mapping[str, str],
    *,
    rng: np.random.Generator,
    n: int = 10_000,
    level: float = 0.95,
) -> LogLaw | None:
    """Fit a line over the logarithm of the number of clips, by least squares over the trainings.

    Tasks that some training lacks are left out everywhere, so all points are means of the same tasks. For the interval
    whole clusters of tasks are drawn again, the same for all trainings, and at each number the trainings. Percentiles
    of so few are too narrow (Hesterberg 2015), so both are spread by sqrt(k / (k - 1)).

    Args:
        values: For each number of clips, 1 or more, value by task of each training (one a seed).
        clusters: Cluster of each task; a task that it lacks stands alone.
        rng: Random generator of the resampling.
        n: Number of resamples.
        level: Confidence level.

    Returns:
        The law. None for fewer than two numbers of clips, or no task that all trainings have.

    Raises:
        ShapeError: A number of clips is below 1, or trainings at two numbers differ in number.
    """
    counts = sorted(values)
    if any(count < 1 for count in counts):
        raise ShapeError("a law over log10(n) needs numbers of clips from 1 on")
    if len({len(values[count]) for count in counts}) > 1:
        raise ShapeError("a law needs as many trainings at each number of clips")
    trainings = [one for count in counts for one in values[count]]
    if len(counts) < 2 or not trainings:
        return None
    shared = [task for task in sorted(trainings[0]) if all(_is_known(one.get(task)) for one in trainings)]
    if not shared:
        return None
    seeds = len(values[counts[0]])
    table = np.array([[[one[task] for task in shared] for one in values[count]] for count in counts], np.float64)
    x = np.log10(np.array(counts, np.float64))
    a, b = _line(x, table.mean((1, 2)))
    names = [clusters.get(task, task) for task in shared]
    clusters_of = [*dict.fromkeys(names)]
    interval = None
    if len(clusters_of) > 1:
        is_in = np.array([[name == one for name in names] for one in clusters_of], np.float64)
        weights = rng.multinomial(len(clusters_of), np.full(len(clusters_of), 1 / len(clusters_of)), n) @ is_in
        middle = table.mean(1, keepdims=True)
        spread = middle + (table - middle) * _spread(seeds)
        means = np.einsum("cst,nt->ncs", spread, weights) / weights.sum(1)[:, None, None]
        drawn = np.take_along_axis(means, rng.integers(0, seeds, means.shape), 2).mean(2)
        slopes = drawn @ (x - x.mean()) / np.square(x - x.mean()).sum()
        ends = b + _spread(len(clusters_of)) * (np.quantile(slopes, [(1 - level) / 2, (1 + level) / 2]) - b)
        interval = Interval(float(ends[0]), float(ends[1]))
    return LogLaw(a, b, interval, len(counts), seeds, len(shared), len(clusters_of))


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    middle = x.mean()
    b = float(((x - middle) * (y - y.mean())).sum() / np.square(x - middle).sum())
    return float(y.mean() - b * middle), b


def _spread(count: int) -> float:
    return math.sqrt(count / (count - 1)) if count > 1 else 1.0


def _is_known(value: float | None) -> bool:
    return value is not None and bool(np.isfinite(value))
