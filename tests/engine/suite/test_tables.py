"""Cells and notes of tables: what they say of scores that come in clusters."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from worldgauge.core.intervals import Sample
from worldgauge.core.paired_tests import FEWEST_CLUSTERS, minimum_detectable_effect
from worldgauge.engine.suite.contract import Score
from worldgauge.engine.suite.scores import (
    ModelScores,
    clusters_by_task,
    detectable_effect,
    detectable_note,
    make_cell,
    pairs_with_models,
    score_cell,
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
    assert score_cell(SCORES, (0, math.inf)).method == "hall"
    assert make_cell([1.0], (0, 2)).method == ""

    class Rates(ModelScores):
        def is_rate(self, metric: str, task: str | None) -> bool:
            return metric == "psnr"

    ends = [Score(f"t/{k}", "psnr", 100.0 * (k % 2), group={"task": "t"}) for k in range(9)]
    assert Rates("a", "model", ends, [], headline="psnr").cell("psnr").method == "wilson"
    assert ModelScores("a", "model", ends, [], headline="psnr").cell("psnr").method == "hall"


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


def rows(clusters: int, models: int = 2) -> tuple[dict[str, dict[str, float | None]], dict[str, str]]:
    rng = np.random.default_rng(clusters)
    tasks = [f"{c}/{k}" for c in range(clusters) for k in (0, 1)]
    return (
        {f"m{m}": dict(zip(tasks, rng.normal(size=len(tasks)).tolist(), strict=True)) for m in range(models)},
        {task: task.split("/")[0] for task in tasks},
    )


def test_the_detectable_effect_is_that_of_the_corrected_test() -> None:
    values, clusters = rows(8, 3)
    effects = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        one, other = values[f"m{a}"], values[f"m{b}"]
        found = Sample.of([[one[t] - other[t] for t in one]], [[clusters[t] for t in one]]).estimate()
        effects.append(*minimum_detectable_effect(np.array([found.error]), np.array([found.degrees]), tests=3))
    assert detectable_effect(values, clusters) == pytest.approx(sorted(effects)[1])
    note = detectable_note(values, {}, "clips", clusters)
    assert f"effect: {sorted(effects)[1]:.3g} (80 % power, 5 % level, corrected for 3 pairs" in note


def test_only_pairs_with_a_model_are_tested() -> None:
    kinds = ["baseline", "model", "baseline", "model"]
    assert pairs_with_models(kinds) == [(0, 1), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert pairs_with_models(["baseline"] * 3) == [(0, 1), (0, 2), (1, 2)]
    values, clusters = rows(8, 4)
    one = {"m0": "model", "m1": "baseline", "m2": "baseline", "m3": "baseline"}
    assert "corrected for 3 pairs" in detectable_note(values, one, "clips", clusters)


@pytest.mark.parametrize("clusters", [FEWEST_CLUSTERS - 1, FEWEST_CLUSTERS])
def test_there_is_none_for_too_few_clusters(clusters: int) -> None:
    values, names = rows(clusters)
    absent = clusters < FEWEST_CLUSTERS
    assert (detectable_effect(values, names) is None) == absent
    assert (
        "Minimum detectable effect: none. A test needs 6 clusters" in detectable_note(values, {}, "x", names)
    ) == absent


def test_there_is_none_for_differences_that_do_not_vary() -> None:
    values, names = rows(8)
    assert detectable_effect({"a": values["m0"], "b": dict(values["m0"])}, names) is None
