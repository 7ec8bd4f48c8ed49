"""Averages of path scores over scenarios (specification target, sections 5.11 and 5.12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.suites.target.metrics.waypoints import PathScores

Counting = Literal["scored", "all"]
"""scored: valid scores only, as released. all: a failure counts 0 for soft endpoint, approach consistency and overall
and 100 for the miss rate; distances, which a failure has none of, stay those of the scored."""

QUANTITIES = ("ade", "fde", "miss_rate", "soft_endpoint", "approach_consistency", "overall")
DISTANCES = ("ade", "fde")


@dataclass(frozen=True)
class Spread:
    """Mean, median, population standard deviation, least and most of n values."""

    n: int
    mean: float
    median: float
    std: float
    min: float
    max: float


@dataclass(frozen=True)
class Summary:
    """Over n scenarios, n_valid of them with a path. spreads: of each of QUANTITIES, None where nothing is averaged."""

    n: int
    n_valid: int
    spreads: Mapping[str, Spread | None]


def summarise(scores: Sequence[PathScores], counting: Counting = "scored") -> Summary:
    """Spread of the six numbers over scenarios; failures are those that are not valid.

    Raises UsageError for another way of counting.
    """
    if counting not in get_args(Counting):
        raise UsageError(f"unknown counting '{counting}'; choose one of {', '.join(get_args(Counting))}")
    valid = [score for score in scores if score.valid]
    spreads = {}
    for name in QUANTITIES:
        counted = valid if counting == "scored" or name in DISTANCES else scores
        spreads[name] = spread_of([getattr(score, name) for score in counted])
    return Summary(len(scores), len(valid), spreads)


def spread_of(values: Sequence[float]) -> Spread | None:
    """Spread of values; None for none."""
    if not values:
        return None
    array = np.asarray(values, np.float64)
    return Spread(
        n=len(array),
        mean=float(array.mean()),
        median=float(np.median(array)),
        std=float(array.std()),
        min=float(array.min()),
        max=float(array.max()),
    )
