"""Ranks of long boards: Student's paired test by hand and by scipy, clusters, strata, ties and missing tasks."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from worldgauge.core.statistics import Sample
from worldgauge.engine.suite.contract import Score
from worldgauge.report.compare import Comparison, compare
from worldgauge.report.evidence import ComparedRun, Evidence
from worldgauge.tools.board.many import compare_many

BOTH = {"higher": True, "bounds": (-np.inf, np.inf), "flags": {}}


def evidence_of(values: dict[str, dict[str, float]], rooms: int = 0) -> Evidence:
    """rooms: number of clusters, each of neighbouring tasks; 0 where tasks stand alone."""

    def score(task: str, value: float) -> Score:
        place = int(task[1:])
        cluster = str(place % rooms) if rooms else ""
        return Score(task, "m", value, group={"kind": place % 3 == 0}, cluster=cluster)

    runs = [
        ComparedRun(
            name,
            name,
            name,
            "subject",
            (),
            None,
            {"subject": {}},
            Path(),
            tuple(score(*one) for one in theirs.items()),
            (),
            {},
        )
        for name, theirs in values.items()
    ]
    return Evidence("toy", {}, tuple(runs))


@pytest.fixture(scope="module")
def values() -> dict[str, dict[str, float]]:
    rng = np.random.default_rng(3)
    hard = rng.standard_normal(24)
    return {
        name: {f"t{k}": float(hard[k] + lead + 0.3 * rng.standard_normal()) for k in range(24)}
        for name, lead in (("best", 2.0), ("good", 1.0), ("also good", 1.0), ("poor", 0.0))
    }


def pair(found: Comparison, a: str, b: str) -> tuple[float, float | None]:
    one = found.signed[a, b]
    return one.mean, one.p


def test_p_is_that_of_scipy(values: dict[str, dict[str, float]]) -> None:
    found = compare_many(evidence_of(values), "m", **BOTH)
    for a, b in (("best", "poor"), ("good", "also good")):
        wanted = stats.ttest_rel(list(values[a].values()), list(values[b].values()))
        assert pair(found, a, b)[1] == pytest.approx(wanted.pvalue, rel=1e-9)
    wanted = stats.ttest_rel(list(values["good"].values()), list(values["also good"].values())).confidence_interval()
    one = found.signed["good", "also good"]
    assert (one.low, one.high) == pytest.approx((wanted.low, wanted.high))


def test_ranks_by_hand(values: dict[str, dict[str, float]]) -> None:
    found = compare_many(evidence_of(values), "m", **BOTH)
    assert {name: one.rank for name, one in found.by_label.items()} == {
        "best": "1",
        "good": "2–3",
        "also good": "2–3",
        "poor": "4",
    }
    turned = compare_many(evidence_of(values), "m", **{**BOTH, "higher": False})
    assert turned.by_label["poor"].rank == "1"
    flagged = compare_many(evidence_of(values), "m", **{**BOTH, "flags": {"best": "still"}})
    assert (flagged.by_label["best"].rank, flagged.by_label["poor"].rank) == ("–", "3")


def test_means_and_intervals_are_those_of_a_report(values: dict[str, dict[str, float]]) -> None:
    evidence = evidence_of(values, rooms=8)
    many, few = compare_many(evidence, "m", **BOTH), compare(evidence, "m")
    for name in values:
        a, b = many.by_label[name], few.by_label[name]
        assert (a.mean, a.low, a.high, a.n) == (b.mean, b.low, b.high, b.n)
    assert {one.clusters for one in many.pairs} == {8}


@pytest.mark.parametrize("balanced", ["", "kind"])
def test_clusters_and_strata_are_those_of_a_sample(values: dict[str, dict[str, float]], balanced: str) -> None:
    found = compare_many(evidence_of(values, rooms=8), "m", **BOTH, balanced=balanced)
    kinds = (True, False) if balanced else (None,)
    chosen = [[k for k in range(24) if kind in (None, k % 3 == 0)] for kind in kinds]
    apart = [[values["best"][f"t{k}"] - values["poor"][f"t{k}"] for k in own] for own in chosen]
    sample = Sample.of(apart, [[k % 8 for k in own] for own in chosen])
    error = sample.standard_error()
    assert error is not None
    mean, p = pair(found, "best", "poor")
    assert mean == pytest.approx(sample.mean)
    assert p == pytest.approx(2 * stats.t.sf(sample.mean / error.value, error.degrees))


def test_degenerate(values: dict[str, dict[str, float]]) -> None:
    same = dict(values["best"])
    few = {"t0": 1.0, "t1": np.inf}
    more = {name: value + 1 for name, value in same.items()}
    found = compare_many(evidence_of({"a": same, "b": same, "few": few, "more": more, "none": {}}), "m", **BOTH)
    assert pair(found, "a", "b") == (0, 1)
    assert pair(found, "more", "a")[1] == pytest.approx(0, abs=1e-12)
    assert pair(found, "few", "a")[1] is None
    assert found.endless == {"few": 1}
    assert "none" not in found.by_label
    assert not compare_many(evidence_of({}), "m", **BOTH).standings
