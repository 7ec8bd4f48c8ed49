"""Cells and notes of tables: what they say of scores that come in clusters."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from worldgauge.core.statistics import smallest_resolvable_difference
from worldgauge.engine.suite.contract import Score
from worldgauge.engine.suite.scores import SubjectScores
from worldgauge.engine.suite.tables import (
    FEWEST_CLUSTERS,
    clusters_by_task,
    make_cell,
    resolution_note,
    score_cell,
    smallest_difference,
)

SCORES = [
    Score(f"{place}/{k}", "psnr", 20.0 + place + k / 10, cluster=f"{place}") for place in range(4) for k in range(5)
]
ALONE = [replace(score, cluster="") for score in SCORES]


def test_a_cell_counts_values_and_clusters() -> None:
    cell = score_cell(SCORES, (0, math.inf))
    assert (cell.n, cell.clusters, cell.expected) == (20, 4, 20)
    assert cell.mean == pytest.approx(21.7)
    alone = score_cell(ALONE, (0, math.inf))
    assert (alone.n, alone.clusters) == (20, 20)
    assert alone.mean == pytest.approx(cell.mean)
    assert (cell.high - cell.low) > 2 * (alone.high - alone.low)  # type: ignore[operator]


def test_a_cell_says_how_its_interval_was_made() -> None:
    eight = [replace(score, cluster=score.task[:3]) for score in SCORES[:8]]
    assert score_cell(eight, (0, math.inf)).method == "bootstrap"
    assert score_cell(eight[:7], (0, math.inf)).method == "student"
    assert score_cell(SCORES, (0, math.inf)).method == "student"  # twenty values in four clusters
    assert make_cell([1.0], (0, 2)).method == ""

    class Rates(SubjectScores):
        def is_rate(self, metric: str, task: str | None) -> bool:
            return metric == "psnr"

    ends = [Score(f"t/{k}", "psnr", 100.0 * (k % 2), group={"task": "t"}) for k in range(9)]
    assert Rates("a", "subject", ends, [], headline="psnr").cell("psnr").method == "wilson"
    assert SubjectScores("a", "subject", ends, [], headline="psnr").cell("psnr").method == "bootstrap"


def test_one_value_has_no_spread_and_no_interval() -> None:
    cell = make_cell([0.868], (0, 1))
    assert (cell.mean, cell.std, cell.low, cell.high, cell.n, cell.clusters) == (0.868, None, None, None, 1, 1)


def test_values_of_one_cluster_have_a_spread_and_no_interval() -> None:
    cell = make_cell([0.2, 0.4], (0, 1), clusters=["a", "a"])
    assert cell.std == pytest.approx(0.1)
    assert (cell.low, cell.high, cell.clusters) == (None, None, 1)


def test_missing_and_infinite_values_take_their_cluster_along() -> None:
    cell = make_cell([0.2, None, math.inf], (0, 1), clusters=["a", "b", "c"])
    assert (cell.n, cell.expected, cell.clusters) == (1, 3, 1)


def test_clusters_are_found_by_task() -> None:
    assert clusters_by_task({"a": SCORES[:1], "b": [Score("alone", "psnr", 1.0)]}) == {"0/0": "0", "alone": "alone"}


def test_what_a_set_resolves_is_told_for_its_clusters() -> None:
    scores = [
        Score(f"{c}/{k}", "psnr", float(c % 3 + k), cluster=f"{c}") for c in range(FEWEST_CLUSTERS) for k in (0, 1)
    ]
    values = {"a": {s.task: s.value for s in scores}, "b": {s.task: 0.0 for s in scores}}
    clusters = clusters_by_task({"a": scores})
    expected = smallest_resolvable_difference(values["a"].values(), clusters.values())
    assert smallest_difference(values, clusters) == pytest.approx(expected)
    assert f"about {expected:.3g}, the median" in resolution_note(values, "clips", clusters)


def test_too_few_clusters_resolve_nothing_however_many_tasks() -> None:
    """Five clusters: the sign-flip test cannot go below p = 1/16."""
    tasks = [f"{c}/{k}" for c in range(5) for k in range(9)]
    values = {"a": dict.fromkeys(tasks, 1.0), "b": dict.fromkeys(tasks, 0.0)}
    clusters = {task: task[0] for task in tasks}
    assert smallest_difference(values, clusters) is None
    assert "it takes 8 clips that two subjects share, in as many clusters." in resolution_note(
        values, "clips", clusters
    )
