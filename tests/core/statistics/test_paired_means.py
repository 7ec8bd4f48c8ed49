"""Differences of all pairs at once: each is that of a sample of its own, with gaps, clusters and strata."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge.core.statistics import (
    Sample,
    interval_of_sample,
    means,
    paired_means,
    resolvable_differences,
    smallest_resolvable_difference,
)

TASKS = [f"t{k}" for k in range(12)]


def alone(
    a: dict[str, float], b: dict[str, float], stratum: dict[str, str], cluster: dict[str, str]
) -> tuple[Sample, int]:
    """The sample of one pair's differences, made in the plain way, and the number of shared tasks."""
    shared = [task for task in TASKS if task in a and task in b]
    kinds = sorted({stratum.get(task, "") for task in shared})
    own = [[task for task in shared if stratum.get(task, "") == kind] for kind in kinds]
    names = [[(task in cluster, cluster.get(task, task)) for task in tasks] for tasks in own]
    return Sample.of([[a[task] - b[task] for task in tasks] for tasks in own], names), len(shared)


names = st.dictionaries(st.sampled_from(TASKS), st.sampled_from(["t1", "x", "y", "z"]))
numbers = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


@given(st.lists(st.dictionaries(st.sampled_from(TASKS), numbers), max_size=6), names, names)
@settings(max_examples=200)
def test_each_pair_is_a_sample_of_its_own(
    values: list[dict[str, float]], stratum: dict[str, str], cluster: dict[str, str]
) -> None:
    found = paired_means(values, stratum, cluster)
    pairs = list(combinations(values, 2))
    assert {len(column) for column in found} == {len(pairs)}
    for place, (a, b) in enumerate(pairs):
        sample, n = alone(a, b, stratum, cluster)
        error = sample.standard_error()
        assert (found.n[place], found.clusters[place]) == (n, len(sample.counts))
        if n:
            assert found.mean[place] == pytest.approx(sample.mean, rel=1e-12, abs=1e-9)
        else:
            assert np.isnan(found.mean[place])
        if error is None:
            assert np.isnan(found.error[place])
            assert np.isnan(found.degrees[place])
        else:
            assert found.error[place] == pytest.approx(error.value, rel=1e-9, abs=1e-9)
            if error.value > 1e-6:
                assert found.degrees[place] == pytest.approx(error.degrees, rel=1e-6)


def test_many_pairs_in_blocks_are_as_they_are_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    values = [{task: float(rng.random()) for task in TASKS if rng.random() < 0.8} for _ in range(40)]
    cluster = {task: str(place % 5) for place, task in enumerate(TASKS)}
    whole = paired_means(values, cluster=cluster)
    monkeypatch.setattr("worldgauge.core.statistics.paired._BLOCK", 50)
    for one, other in zip(whole, paired_means(values, cluster=cluster), strict=True):
        np.testing.assert_array_equal(one, other)
    for place, (a, b) in enumerate(combinations(values, 2)):
        sample, _ = alone(a, b, {}, cluster)
        error = sample.standard_error()
        wanted = (np.nan, np.nan) if error is None else (error.value, error.degrees)
        assert (whole.error[place], whole.degrees[place]) == pytest.approx(wanted, rel=1e-9, nan_ok=True)


def test_one_pair_by_hand() -> None:
    """Differences 1, 2, 3 have the mean 2 and the standard error sqrt(1 / 3) with 2 degrees of freedom."""
    found = paired_means([{"t0": 1.0, "t1": 2.0, "t2": 3.0}, dict.fromkeys(("t0", "t1", "t2"), 0.0)])
    assert [column[0] for column in found] == pytest.approx([2, (1 / 3) ** 0.5, 2, 3, 3])
    same = paired_means([{"t0": 1.5, "t1": 2.5}, {"t0": 1.0, "t1": 2.0}])
    assert (same.mean[0], same.error[0]) == (0.5, 0)
    assert [len(column) for column in paired_means([])] == [0] * 5
    assert np.isnan(paired_means([{}, {}]).mean).all()


def test_what_can_be_resolved_is_that_of_one_pair() -> None:
    rng = np.random.default_rng(2)
    values = [{task: float(rng.random()) for task in TASKS} for _ in range(5)]
    cluster = {task: str(place % 9) for place, task in enumerate(TASKS)}
    found = paired_means(values, cluster=cluster)
    wanted = [
        smallest_resolvable_difference([a[task] - b[task] for task in TASKS], [cluster[task] for task in TASKS])
        for a, b in combinations(values, 2)
    ]
    assert resolvable_differences(found.error, found.degrees).tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("chunk", [1 << 20, 1000])
@pytest.mark.parametrize("strata", [1, 2])
def test_draws_that_are_kept_are_those_of_a_new_generator(
    monkeypatch: pytest.MonkeyPatch, chunk: int, strata: int
) -> None:
    """Also of more clusters than are kept."""
    monkeypatch.setattr(means, "_CHUNK", chunk)
    rng = np.random.default_rng(7)
    for clusters in (9, 20, 9):
        parts = rng.random((strata, 3 * clusters)).tolist()
        sample = Sample.of(parts, [[k % clusters for k in range(3 * clusters)]] * strata)
        wanted = interval_of_sample(sample, rng=np.random.default_rng(11), n=500)
        assert wanted is not None
        assert interval_of_sample(sample, rng=11, n=500) == wanted
        assert interval_of_sample(sample, rng=12, n=500) != wanted
