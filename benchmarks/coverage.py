"""Do intervals hold the truth as often as they say? Coverage, errors of the paired test, and power, by simulation.

`python -m benchmarks.coverage` prints the tables of docs/statistics.md and takes some minutes. Every case has a seed of
its own, so the tables are the same on any machine.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from worldgauge.core.statistics.student import student_quantile

from worldgauge.core.statistics import (
    FEWEST_RESAMPLED,
    bootstrap_interval,
    paired_difference,
    rate_interval,
    wilson,
)

Array = NDArray[np.float64]
CLUSTERS = (2, 3, 4, 6, 8, 12, 20, 50)
CORRELATIONS = (0.0, 0.2, 0.4, 0.6, 0.8)
EACH = 6
"""Values of a cluster where sizes are equal."""
RESAMPLES = 1000
GOAL = 0.93


class Values(NamedTuple):
    """Simulated values, the name of each one's cluster, and the mean of the population."""

    numbers: Array
    clusters: NDArray[np.int64]
    truth: float = 0.0


def normal(generator: np.random.Generator, shape: Any) -> Array:
    return generator.normal(size=shape)


def uniform(generator: np.random.Generator, shape: Any) -> Array:
    return generator.uniform(-math.sqrt(3), math.sqrt(3), shape)


def skewed(generator: np.random.Generator, shape: Any) -> Array:
    """Exponential: skewness 2."""
    return generator.exponential(size=shape) - 1


def lognormal(generator: np.random.Generator, shape: Any) -> Array:
    """Skewness 6.2."""
    return (generator.lognormal(size=shape) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)


def heavy(generator: np.random.Generator, shape: Any) -> Array:
    """Student's t with 3 degrees of freedom."""
    return generator.standard_t(3, shape) / math.sqrt(3)


def rounded(generator: np.random.Generator, shape: Any) -> Array:
    """Ties everywhere: four values."""
    return np.clip(np.round(generator.normal(size=shape)), -1, 2)


SHAPES: dict[str, Callable[[np.random.Generator, Any], Array]] = {
    "normal": normal,
    "uniform": uniform,
    "exponential": skewed,
    "lognormal": lognormal,
    "t, 3 degrees": heavy,
    "four values": rounded,
}
CENTRES = {"four values": float(np.dot([-1, 0, 1, 2], [0.3085375, 0.3829249, 0.2417303, 0.0668072]))}
"""Means that are not 0."""


def equal_sizes(generator: np.random.Generator, clusters: int) -> NDArray[np.int64]:
    return np.full(clusters, EACH)


def unequal_sizes(generator: np.random.Generator, clusters: int) -> NDArray[np.int64]:
    """1 to 60, half of them up to 5."""
    return np.clip(np.round(generator.lognormal(math.log(5), 0.9, clusters)), 1, 60).astype(np.int64)


def one_large(generator: np.random.Generator, clusters: int) -> NDArray[np.int64]:
    """Half of all values in one cluster."""
    return np.array([3 * (clusters - 1), *[3] * (clusters - 1)])


SIZES: dict[str, Callable[[np.random.Generator, int], NDArray[np.int64]]] = {
    "equal": equal_sizes,
    "unequal": unequal_sizes,
    "one large": one_large,
}


def draw(generator: np.random.Generator, shape: str, sizes: str, clusters: int, correlation: float) -> Values:
    """Values that are the sum of something their cluster shares and something of their own."""
    counts = SIZES[sizes](generator, clusters)
    names = np.repeat(np.arange(clusters), counts)
    shared, own = math.sqrt(correlation), math.sqrt(1 - correlation)
    numbers = shared * SHAPES[shape](generator, clusters)[names] + own * SHAPES[shape](generator, len(names))
    return Values(numbers, names, CENTRES.get(shape, 0.0) * (shared + own))


def draw_rate(generator: np.random.Generator, rate: float, sizes: str, clusters: int, correlation: float) -> Values:
    """Successes whose rate differs between clusters, beta-distributed."""
    counts = SIZES[sizes](generator, clusters)
    names = np.repeat(np.arange(clusters), counts)
    rates = np.full(clusters, rate)
    if correlation:
        strength = (1 - correlation) / correlation
        rates = generator.beta(rate * strength, (1 - rate) * strength, clusters)
    return Values((generator.random(len(names)) < rates[names]).astype(np.float64), names, rate)


def mean_covered(generator: np.random.Generator, *case: Any) -> float:
    """Whether the interval of the mean holds the truth."""
    values = draw(generator, *case)
    found = bootstrap_interval(values.numbers, values.clusters, rng=generator, n=RESAMPLES)
    return float(found is not None and found.low <= values.truth <= found.high)


def naive_covered(generator: np.random.Generator, *case: Any) -> float:
    """The same, where every value is taken for independent."""
    values = draw(generator, *case)
    found = bootstrap_interval(values.numbers, rng=generator, n=RESAMPLES)
    return float(found is not None and found.low <= values.truth <= found.high)


def larger_is_better_covered(generator: np.random.Generator, clusters: int) -> float:
    """Clusters of 10 values are 1 higher than those of 2: the truth is the mean over tasks, 10/12 of the way up."""
    large = generator.random(clusters) < 0.5
    names = np.repeat(np.arange(clusters), np.where(large, 10, 2))
    numbers = generator.normal(size=len(names)) + generator.normal(size=clusters)[names] + large[names]
    found = bootstrap_interval(numbers, names, rng=generator, n=RESAMPLES)
    return float(found is not None and found.low <= 10 / 12 <= found.high)


def rate_covered(generator: np.random.Generator, *case: Any) -> float:
    """Whether the interval of a rate holds it."""
    values = draw_rate(generator, *case)
    found = rate_interval(values.numbers.astype(bool).tolist(), values.clusters)
    return float(found is not None and found.low <= values.truth <= found.high)


def naive_rate_covered(generator: np.random.Generator, *case: Any) -> float:
    """The same by Wilson's interval of all trials."""
    values = draw_rate(generator, *case)
    found = wilson(int(values.numbers.sum()), len(values.numbers))
    return float(found is not None and found.low <= values.truth <= found.high)


def found_different(generator: np.random.Generator, *case: Any) -> float:
    """Whether two subjects that are equally good are told apart."""
    values = draw(generator, *case)
    return float(_p(generator, values.numbers - values.truth, values.clusters) <= 0.05)


def naive_found_different(generator: np.random.Generator, *case: Any) -> float:
    """The same, where every task is taken for independent."""
    values = draw(generator, *case)
    return float(_p(generator, values.numbers - values.truth, np.arange(len(values.numbers))) <= 0.05)


def power_at_told(generator: np.random.Generator, shape: str, sizes: str, clusters: int, correlation: float) -> float:
    """Whether a difference of the size that is told is found: told for the true spread, of clusters of equal size."""
    values = draw(generator, shape, sizes, clusters, correlation)
    spread = math.sqrt((correlation + (1 - correlation) / EACH) / clusters)
    told = spread * (student_quantile(0.975, clusters - 1) + student_quantile(0.8, clusters - 1))
    return float(_p(generator, values.numbers - values.truth + told, values.clusters) <= 0.05)


def _p(generator: np.random.Generator, differences: Array, clusters: NDArray[np.int64]) -> float:
    a = {str(place): float(value) for place, value in enumerate(differences)}
    cluster = {str(place): str(name) for place, name in enumerate(clusters)}
    found = paired_difference(a, dict.fromkeys(a, 0.0), cluster=cluster, rng=generator, n=RESAMPLES)
    return 1.0 if found.p is None else found.p


def share(what: Callable[..., float], draws: int, case: tuple[Any, ...]) -> float:
    """How often something holds among samples of a case."""
    generator = np.random.default_rng(crc32(repr((what.__name__, case)).encode()))
    return sum(what(generator, *case) for _ in range(draws)) / draws


class Grid(NamedTuple):
    """A table: title, what is counted, heading of its rows, rows with their cases, and columns."""

    title: str
    what: Callable[..., float]
    heading: str
    rows: dict[str, Callable[[Any], tuple[Any, ...]]]
    columns: dict[str, Any]
    draws: int = 1000


def _by_correlation(*head: Any) -> dict[str, Callable[[Any], tuple[Any, ...]]]:
    return {f"{clusters}": partial(_case, *head, clusters) for clusters in CLUSTERS}


def _case(*parts: Any) -> tuple[Any, ...]:
    return parts


def _attack(shape: str, sizes: str, correlation: float, clusters: int) -> tuple[Any, ...]:
    return shape, sizes, clusters, correlation


def _rate(rate: float, sizes: str, correlation: float, clusters: int) -> tuple[Any, ...]:
    return rate, sizes, clusters, correlation


CORRELATED = {f"{one:g}": one for one in CORRELATIONS}
FEW_CORRELATIONS = {f"{one:g}": one for one in (0.0, 0.4, 0.8)}
COUNTED = {f"{one}": one for one in (4, 8, 12, 20, 50)}
ATTACKS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    f"{shape}, {sizes}": partial(_attack, shape, sizes, 0.4)
    for shape, sizes in [
        *((shape, "equal") for shape in SHAPES),
        ("normal", "unequal"),
        ("normal", "one large"),
        ("exponential", "unequal"),
        ("t, 3 degrees", "unequal"),
        ("lognormal", "one large"),
    ]
}
GRIDS: dict[str, Grid] = {
    "means": Grid("Coverage of means", mean_covered, "clusters", _by_correlation("normal", "equal"), CORRELATED),
    "naive": Grid(
        "Coverage of means, every task taken for independent",
        naive_covered,
        "clusters",
        {name: row for name, row in _by_correlation("normal", "equal").items() if int(name) >= FEWEST_RESAMPLED},
        FEW_CORRELATIONS,
        500,
    ),
    "attacks": Grid("Coverage of means under attack, correlation 0.4", mean_covered, "values, sizes", ATTACKS, COUNTED),
    "informative": Grid(
        "Coverage where larger clusters score higher",
        larger_is_better_covered,
        "",
        {"sizes 2 and 10": _case},
        COUNTED,
    ),
    "rates": Grid(
        "Coverage of rates",
        rate_covered,
        "rate, sizes, correlation",
        {
            f"{rate:g}, {sizes}, {correlation:g}": partial(_rate, rate, sizes, correlation)
            for rate, sizes in ((0.5, "equal"), (0.9, "equal"), (0.98, "equal"), (0.9, "unequal"))
            for correlation in (0.0, 0.4, 0.8)
        },
        COUNTED,
    ),
    "naive rates": Grid(
        "Coverage of rates, Wilson's interval of all episodes",
        naive_rate_covered,
        "rate, sizes, correlation",
        {f"0.5, equal, {one:g}": partial(_rate, 0.5, "equal", one) for one in (0.0, 0.4, 0.8)},
        COUNTED,
    ),
    "errors": Grid(
        "Equal subjects told apart at p <= 0.05",
        found_different,
        "clusters",
        _by_correlation("normal", "equal"),
        FEW_CORRELATIONS,
    ),
    "naive errors": Grid(
        "Equal subjects told apart, every task taken for independent",
        naive_found_different,
        "clusters",
        {name: row for name, row in _by_correlation("normal", "equal").items() if int(name) >= FEWEST_RESAMPLED},
        FEW_CORRELATIONS,
        500,
    ),
    "errors under attack": Grid(
        "Equal subjects told apart, correlation 0.4", found_different, "differences, sizes", ATTACKS, COUNTED, 500
    ),
    "power": Grid(
        "Differences of the told size that are found",
        power_at_told,
        "clusters",
        {name: row for name, row in _by_correlation("normal", "equal").items() if int(name) >= 6},
        FEW_CORRELATIONS,
        500,
    ),
}
"""Every table of the page, by a short name."""


def run() -> dict[str, Any]:
    """Lowest coverage from 8 clusters on, normal values of equal sizes. Reference: tasks taken for independent."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        ours = [one for row in list(_study(pool, GRIDS["means"]))[-4:] for one in row]
        naive = [one for row in _study(pool, GRIDS["naive"]) for one in row]
    return {
        "name": "coverage",
        "unit": "lowest coverage of 95 % intervals from 8 clusters on",
        "ours": min(ours),
        "reference": min(naive),
        "reference_name": "every task taken for independent",
        "ratio": None,
        "goal": GOAL,
        "met": min(ours) >= GOAL,
        "draws": GRIDS["means"].draws,
    }


def main(names: Sequence[str]) -> None:
    """Print the named tables, or all."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in names or GRIDS:
            grid = GRIDS[name]
            print(f"### {grid.title}\n")
            print(_line([grid.heading, *grid.columns]))
            print(_line(["---"] * (1 + len(grid.columns))))
            for label, row in zip(grid.rows, _study(pool, grid), strict=True):
                print(_line([label, *(f"{one:.3f}" for one in row)]), flush=True)
            print()


def _study(pool: ProcessPoolExecutor, grid: Grid) -> Iterator[list[float]]:
    """Rows of a grid, as they come."""
    cases = [make(column) for make in grid.rows.values() for column in grid.columns.values()]
    found = pool.map(partial(share, grid.what, grid.draws), cases)
    for _ in grid.rows:
        yield list(islice(found, len(grid.columns)))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main(sys.argv[1:])
