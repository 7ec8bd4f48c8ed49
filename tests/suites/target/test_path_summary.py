"""Averages over scenarios: the released aggregation's vectors, by hand, order, and nothing to average."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.suites.target.metrics import PathScores, failed

KEYS = {
    "ade": "ade",
    "fde": "fde",
    "miss_rate": "miss_rate",
    "soft_endpoint": "se",
    "approach_consistency": "ac",
    "overall": "overall_score",
}
FIELDS = ("mean", "median", "std", "min", "max")
QUANTITIES = ("ade", "fde", "miss_rate", "soft_endpoint", "approach_consistency", "overall")


@dataclass(frozen=True)
class ScoreSpread:
    n: int
    mean: float
    median: float
    std: float
    min: float
    max: float


@dataclass(frozen=True)
class PathSummary:
    n: int
    n_valid: int
    spreads: Mapping[str, ScoreSpread | None]


def summarize_paths(scores: Sequence[PathScores], counting: Literal["scored", "all"] = "scored") -> PathSummary:
    """The released aggregation takes the scored; "all" counts a failure, which has no distance."""
    valid = [score for score in scores if score.valid]
    taken = {name: valid if counting == "scored" or name in ("ade", "fde") else scores for name in QUANTITIES}
    spreads = {name: spread_of([getattr(score, name) for score in taken[name]]) for name in QUANTITIES}
    return PathSummary(len(scores), len(valid), spreads)


def spread_of(values: Sequence[float]) -> ScoreSpread | None:
    if not values:
        return None
    array = np.asarray(values, np.float64)
    return ScoreSpread(
        len(array), float(array.mean()), float(np.median(array)), float(array.std()), array.min(), array.max()
    )


def score(**values: float) -> PathScores:
    return PathScores(**{**dict.fromkeys(QUANTITIES, 0.5), **values})


@pytest.mark.parametrize("case", cases("target_metrics", "aggregation.cases"))
def test_equals_the_released_aggregation(case: dict[str, Any]) -> None:
    scores = [
        PathScores(*(float(row[KEYS[name]]) for name in QUANTITIES), valid=row["valid"], reason="")
        for row in case["rows"]
    ]
    summary = summarize_paths(scores)
    assert (summary.n, summary.n_valid) == (case["expect"]["num_segments"], case["expect"]["num_valid"])
    for name, spread in summary.spreads.items():
        expected = case["expect"][KEYS[name]]
        for field in FIELDS:
            got = None if spread is None else getattr(spread, field)
            assert got == (pytest.approx(expected[field], rel=1e-9, abs=1e-12) if expected[field] is not None else None)


def test_by_hand() -> None:
    scores = [score(ade=1.0, overall=0.2, miss_rate=10.0), score(ade=4.0, overall=0.6, miss_rate=30.0), failed("gone")]
    scored, all_ = summarize_paths(scores), summarize_paths(scores, "all")
    assert (scored.n, scored.n_valid) == (3, 2)
    assert [getattr(scored.spreads["ade"], name) for name in FIELDS] == [2.5, 2.5, 1.5, 1.0, 4.0]
    assert all_.spreads["ade"] == scored.spreads["ade"], "a failure has no distance"
    assert all_.spreads["overall"].mean == pytest.approx(0.8 / 3)
    assert all_.spreads["miss_rate"].mean == pytest.approx(140 / 3)
    assert all_.spreads["soft_endpoint"].n == 3


def test_order_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    scores = [score(**dict(zip(QUANTITIES, row, strict=True))) for row in rng.uniform(size=(7, 6))]
    for one, other in zip(
        summarize_paths(scores).spreads.values(), summarize_paths(scores[::-1]).spreads.values(), strict=True
    ):
        assert [getattr(one, name) for name in FIELDS] == pytest.approx([getattr(other, name) for name in FIELDS])


def test_nothing_to_average() -> None:
    assert all(spread is None for spread in summarize_paths([]).spreads.values())
    only_failed = summarize_paths([failed("gone")], "all")
    assert only_failed.spreads["fde"] is None
    assert only_failed.spreads["overall"].mean == 0
