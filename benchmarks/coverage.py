"""Do intervals hold the mean as often as they say, and do tests find what they promise? By simulation.

`python -m benchmarks.coverage [means|rates|errors|power]` prints tables. Parts of them are in
docs/explanation/statistics.md. Each cell has its own seed, so the tables are the same on any machine with the same
libraries.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import beta, t

from worldgauge.core.intervals import estimates, rate_interval
from worldgauge.core.paired_tests import holm, paired_differences
from worldgauge.engine.suite.scores import detectable_effect

Array = NDArray[np.float64]
CLUSTERS = (4, 6, 8, 12, 16, 30)
EACH = 6
"""Values per cluster where sizes are equal."""
GOAL = 0.93
BATCH = 200
"""Draws that share their cluster sizes."""


class Shape(NamedTuple):
    """A distribution of scores: its quantile function and its mean, and the coverage goal by smallest cluster count."""

    quantile: Callable[[Array], Array]
    mean: float
    goals: tuple[tuple[int, float], ...]


def _zeros(share: float) -> Callable[[Array], Array]:
    return lambda u: np.where(u < share, 0.0, -np.log1p(-np.clip((u - share) / (1 - share), 0, 1 - 1e-12)))


def _log_normal(spread: float) -> Shape:
    goals = ((8, 0.90),) if spread < 1 else ((16, 0.90),)
    return Shape(lambda u: np.exp(spread * ndtri(u)), math.exp(spread**2 / 2), goals)


SHAPES = {
    "normal": Shape(lambda u: ndtri(u), 0.0, ((8, 0.93),)),
    "SGCS-like, beta(4, 1.3)": Shape(lambda u: beta.ppf(u, 4, 1.3), 4 / 5.3, ((8, 0.93),)),
    "bounded, beta(0.5, 0.5)": Shape(lambda u: beta.ppf(u, 0.5, 0.5), 0.5, ((8, 0.93),)),
    "exponential": Shape(lambda u: -np.log1p(-u), 1.0, ((12, 0.93),)),
    "log-normal 0.8": _log_normal(0.8),
    "log-normal 1.2": _log_normal(1.2),
    "70 % zeros": Shape(_zeros(0.7), 0.3, ((8, 0.87), (16, 0.93))),
    "90 % zeros": Shape(_zeros(0.9), 0.1, ()),
}


def sizes_of(kind: str, clusters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Values per cluster: one, six, 1 to 24, or half of all values in the first cluster."""
    if kind == "unequal":
        return rng.integers(1, 25, clusters)
    if kind == "one large":
        return np.array([3 * (clusters - 1), *[3] * (clusters - 1)])
    return np.full(clusters, 1 if kind == "one" else EACH)


def draw(rng: np.random.Generator, quantile: Callable[[Array], Array], sizes: NDArray[np.int64], alike: float) -> Array:
    """Values (BATCH, n): a Gaussian copula whose values of one cluster have the intraclass correlation `alike`."""
    names = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(size=(BATCH, len(sizes)))[:, names]
    own = rng.normal(size=(BATCH, len(names)))
    return quantile(np.clip(ndtr(math.sqrt(alike) * shared + math.sqrt(1 - alike) * own), 1e-12, 1 - 1e-12))


def mean_cell(shape: str, kind: str, alike: float, clusters: int, draws: int) -> str:
    """Coverage over all data sets, over those with an interval, and the share without one."""
    rng = _generator(shape, kind, alike, clusters)
    held = missing = 0
    for _ in range(draws // BATCH):
        sizes = sizes_of(kind, clusters, rng)
        values = draw(rng, SHAPES[shape].quantile, sizes, alike)
        totals = np.add.reduceat(values, np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=1)
        found = estimates(totals[..., None], sizes[:, None].astype(float))
        held += np.count_nonzero((found.low <= SHAPES[shape].mean) & (SHAPES[shape].mean <= found.high))
        missing += np.count_nonzero(np.isnan(found.low))
    among = held / (draws - missing) if missing < draws else math.nan
    missed = any(clusters >= least and among < goal for least, goal in SHAPES[shape].goals[-1:])
    text = f"{among:.3f}" if not missing else f"{among:.3f} ({held / draws:.2f}, none {missing / draws:.2f})"
    return f"**{text}**" if missed else text


def rate_cell(rate: float, kind: str, alike: float, clusters: int, draws: int) -> str:
    """Coverage of the interval of a rate."""
    rng = _generator("rate", rate, kind, alike, clusters)
    held = 0
    for _ in range(draws // BATCH):
        sizes = sizes_of(kind, clusters, rng)
        names = np.repeat(np.arange(clusters), sizes).tolist()
        for row in draw(rng, lambda u: (u < rate).astype(float), sizes, alike).astype(bool).tolist():
            found = rate_interval(row, names)
            held += found is not None and found.low <= rate <= found.high
    return f"{held / draws:.3f}"


def error_cell(one: Any, other: Any, clusters: int, draws: int) -> str:
    """How often models with equal means are found different: normal, log-normal (spread), or beta scores (a, b)."""
    rng = _generator("error", one, other, clusters)
    wrong = 0
    bounds = (0.0, 1.0 if isinstance(one, tuple) else math.inf)
    pairs = [(place, BATCH + place) for place in range(BATCH)]
    for _ in range(draws // BATCH):
        size = (BATCH, clusters)
        if isinstance(one, tuple):
            scores = [np.maximum(rng.beta(*shape, size), 1e-12) for shape in (one, other)]
        elif one:
            place = rng.normal(size=size) * 0.5
            scores = [np.exp(place + s * rng.normal(size=size) - s**2 / 2) for s in (one, other)]
        else:
            scores = [rng.normal(size=size) for _ in range(2)]
        models = [dict(enumerate(row)) for row in np.concatenate(scores).tolist()]
        wrong += np.count_nonzero(paired_differences(models, pairs=pairs, bounds=bounds).p <= 0.05)
    return f"{wrong / draws:.3f}"


def models_of(rng: np.random.Generator, models: int, clusters: int, alike: float, better: float = 0.0) -> list[Any]:
    """Scores of models on four tasks per cluster; the first is better by a fixed amount."""
    difficulty = rng.normal(size=(clusters, 4))
    own = math.sqrt(alike) * rng.normal(size=(models, clusters, 1))
    scores = difficulty + own + math.sqrt(1 - alike) * rng.normal(size=(models, clusters, 4))
    scores[0] += better
    return [{f"{place}": float(value) for place, value in enumerate(row.ravel())} for row in scores]


def power_cell(models: int, alike: float, clusters: int, draws: int) -> str:
    """How often the corrected test finds the reported minimum detectable effect."""
    rng = _generator("power", models, alike, clusters)
    cluster = {f"{place}": f"{place // 4}" for place in range(4 * clusters)}
    told = [
        detectable_effect(dict(enumerate(models_of(rng, models, clusters, alike))), cluster) or math.nan
        for _ in range(100)
    ]
    hits = 0
    for _ in range(draws):
        found = paired_differences(models_of(rng, models, clusters, alike, float(np.mean(told))), cluster=cluster)
        hits += (holm(found.p.tolist())[0] or 0.0) <= 0.05
    return f"{hits / draws:.2f}"


def _generator(*case: Any) -> np.random.Generator:
    return np.random.default_rng(crc32(repr(case).encode()))


class Grid(NamedTuple):
    """A table: what its rows are, function of a cell, cases of the rows, columns (clusters), draws per cell."""

    heading: str
    cell: Callable[..., str]
    rows: dict[str, tuple[Any, ...]]
    columns: Sequence[int]
    draws: int


CORRELATED = (("one", (0,)), ("equal", (0, 0.4, 0.8)), ("unequal", (0, 0.4, 0.8)))
GRIDS = {
    "means": Grid(
        "values, sizes, correlation",
        mean_cell,
        {
            f"{shape}, {kind}, {alike:g}": (shape, kind, alike)
            for shape in SHAPES
            for kind, correlations in (*CORRELATED, ("one large", (0.4,)))
            for alike in correlations
        },
        CLUSTERS,
        20_000,
    ),
    "rates": Grid(
        "rate, sizes, correlation",
        rate_cell,
        {
            f"{rate:g}, {kind}, {alike:g}": (rate, kind, alike)
            for rate in (0.05, 0.2, 0.5, 0.95)
            for kind, correlations in CORRELATED
            for alike in correlations
        },
        CLUSTERS[2:],
        4_000,
    ),
    "errors": Grid(
        "scores of both models",
        error_cell,
        {
            "normal": (0, 0),
            **{
                f"{one} and {other}": (one, other)
                for one, other in ((0.6, 0.6), (0.5, 0.8), (0.6, 1.0), (0.8, 1.2), (0.5, 1.2), (0.3, 1.2))
            },
            **{
                f"up to 1: beta{one} and beta{other}": (one, other)
                for one, other in (((0.5, 0.5), (50, 50)), ((1, 3), (5, 15)), ((0.5, 2), (20, 80)))
            },
        },
        (6, 8, 12, 16, 30, 60),
        20_000,
    ),
    "power": Grid(
        "models, correlation",
        power_cell,
        {f"{models}, {alike:g}": (models, alike) for models in (2, 3, 5, 8, 12, 15) for alike in (0, 0.4)},
        (8, 10, 12, 16, 30),
        1_000,
    ),
}
"""Every table, by a short name."""


def run() -> dict[str, Any]:
    """Lowest coverage of the mean of normal scores from 8 clusters on. Peer: scipy's t interval of the tasks."""
    rng = np.random.default_rng(0)
    values = draw(rng, SHAPES["normal"].quantile, np.full(8, EACH), 0.4)
    reach = t.ppf(0.975, values.shape[1] - 1) * values.std(1, ddof=1) / math.sqrt(values.shape[1])
    grid = GRIDS["means"]
    normal = [case for case in grid.rows.values() if case[0] == "normal"]
    ours = min(
        float(mean_cell(*case, clusters, 4_000).strip("*").split()[0]) for case in normal for clusters in (8, 16)
    )
    return {
        "name": "coverage",
        "unit": "lowest coverage of 95 % intervals from 8 clusters on",
        "ours": ours,
        "reference": float((np.abs(values.mean(1)) <= reach).mean()),
        "reference_name": "Student's interval of all tasks as if independent",
        "ratio": None,
        "goal": GOAL,
        "met": ours >= GOAL,
        "draws": 4_000,
    }


def main(names: Sequence[str]) -> None:
    """Print the named tables, or all."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for name in names or GRIDS:
            grid = GRIDS[name]
            print(_line([grid.heading, *map(str, grid.columns)]))
            print(_line(["---"] * (1 + len(grid.columns))))
            cases = [(*case, clusters, grid.draws) for case in grid.rows.values() for clusters in grid.columns]
            cells = pool.map(_cell, [grid.cell] * len(cases), cases)
            for row in grid.rows:
                print(_line([row, *islice(cells, len(grid.columns))]), flush=True)
            print()


def _cell(function: Callable[..., str], case: tuple[Any, ...]) -> str:
    return function(*case)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main(sys.argv[1:])
