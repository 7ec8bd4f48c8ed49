"""Statistics of values that come in clusters: what is independent is the cluster, not the value."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from worldgauge.core import paired_tests as paired
from worldgauge.core.errors import ShapeError
from worldgauge.core.intervals import Sample, balanced_interval, estimate_all, jackknife_interval, mean_interval
from worldgauge.core.paired_tests import minimum_detectable_effect, paired_difference, paired_differences

VALUES = [1.0, 3.0, 2.0, 6.0, 4.0, 5.0]
CLUSTERS = ["a", "a", "b", "b", "c", "c"]
"""Cluster means 2, 4, 4.5."""
clustered = st.lists(st.tuples(st.floats(-50, 50), st.integers(0, 5)), min_size=1, max_size=20)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def tasks(numbers: Iterable[float]) -> dict[str, float]:
    return {f"task/{k}": float(value) for k, value in enumerate(numbers)}


def zeros(count: int) -> dict[str, float]:
    return tasks([0.0] * count)


def test_samples_that_are_estimated_together_are_as_each_alone() -> None:
    """To the last bit, so that a cell of a table does not depend on its neighbours."""
    sizes = rng().integers(1, 4, (3, 12))
    samples = [
        Sample.of([rng(seed).lognormal(size=own.sum())], [np.repeat(np.arange(12), own)])
        for seed, own in enumerate([*sizes, *[np.ones(12, int)] * 20])
    ]
    assert estimate_all(samples) == [sample.estimate() for sample in samples]


class TestStandardError:
    def test_by_hand(self) -> None:
        """Equal clusters: that of the three cluster means, whose deviation is sqrt(1.75)."""
        error = Sample.of([VALUES], [CLUSTERS]).estimate()
        assert (error.error, error.degrees) == (pytest.approx(math.sqrt(1.75 / 3)), pytest.approx(2))

    def test_by_hand_of_unequal_clusters(self) -> None:
        """Mean 3; residual sums -2, 3, -1 of clusters of 1, 3 and 2 of 6 values; h = 1/6, 1/2, 1/3."""
        error = Sample.of([[1.0, 3.0, 4.0, 5.0, 2.0, 3.0]], [["a", "b", "b", "b", "c", "c"]]).estimate()
        squares = 4 / (5 / 6) + 9 / (1 / 2) + 1 / (2 / 3)
        assert error.error == pytest.approx(math.sqrt(squares) / 6)
        assert error.degrees == pytest.approx(36 / 14 - 1)

    @given(clustered)
    @settings(max_examples=40, deadline=None)
    def test_equals_the_matrix_form(self, rows: list[tuple[float, int]]) -> None:
        """CR2 as it is published: residuals of each cluster times the inverse root of I - H, summed and squared."""
        values, names = np.array([v for v, _ in rows]), np.array([c for _, c in rows])
        error = Sample.of([values.tolist()], [names.tolist()]).estimate()
        if len(set(names)) < 2:
            assert math.isnan(error.error)
            return
        n, total = len(values), 0.0
        residuals = values - values.mean()
        for name in set(names):
            own = residuals[names == name]
            hat = np.full((len(own), len(own)), 1 / n)
            eigenvalues, vectors = np.linalg.eigh(np.eye(len(own)) - hat)
            total += (vectors @ np.diag(eigenvalues**-0.5) @ vectors.T @ own).sum() ** 2
        assert error.error == pytest.approx(math.sqrt(total) / n, abs=1e-9)

    def test_of_strata_with_clusters_of_their_own_is_welchs(self) -> None:
        a, b = [1.0, 2.0, 4.0, 7.0], [3.0, 3.5, 5.0]
        error = Sample.of([a, b]).estimate()
        parts = np.array([np.var(a, ddof=1) / 4, np.var(b, ddof=1) / 3])
        assert error.error == pytest.approx(math.sqrt(parts.sum()) / 2)
        assert error.degrees == pytest.approx(stats.ttest_ind(a, b, equal_var=False).df)

    def test_a_cluster_in_two_strata_adds_up_before_it_is_squared(self) -> None:
        """The second stratum repeats the first, or takes it away."""
        a, names = [1.0, 2.0, 6.0], ["x", "y", "z"]
        one = Sample.of([a], [names]).estimate()
        same = Sample.of([a, a], [names, names]).estimate()
        mirrored = Sample.of([a, [-v for v in a]], [names, names]).estimate()
        assert (same.error, mirrored.error) == (pytest.approx(one.error), pytest.approx(0, abs=1e-12))

    def test_of_one_cluster_is_unknown(self) -> None:
        for sample in (Sample.of([VALUES], [["a"] * 6]), Sample.of([VALUES, [1.0, 2.0]], [CLUSTERS, ["d", "d"]])):
            assert math.isnan(sample.estimate().error)

    def test_a_cluster_that_holds_nearly_everything_counts_as_few(self) -> None:
        sample = Sample.of([rng(5).normal(size=98).tolist()], [["big"] * 90 + list("abcdefgh")])
        assert sample.effective_clusters() == pytest.approx(98**2 / (90**2 + 8))
        assert sample.estimate().degrees == 1.0


class TestInterval:
    def test_by_hand(self) -> None:
        """Mean 9; residuals -9, -5, -1, 15."""
        low, high = mean_interval([0.0, 4.0, 8.0, 24.0]) or (math.nan, math.nan)
        residuals = np.array([-9.0, -5.0, -1.0, 15.0])
        error = math.sqrt((residuals**2).sum() / 12)
        skew = (residuals**3).sum() / (residuals**2).sum() ** 1.5 * math.sqrt(12) / 2
        reach = stats.t.ppf(0.975, 3)
        a = skew / 3
        hall = [(np.cbrt(1 + 3 * a * (t - a / 2)) - 1) / a for t in (reach, -reach)]
        assert low == pytest.approx(9 - error * max(reach, hall[0]))
        assert high == pytest.approx(9 + error * max(reach, -hall[1]))
        assert hall[0] < reach < -hall[1]

    @pytest.mark.parametrize("skewed", [False, True])
    def test_equals_hall_solved_by_bisection(self, skewed: bool) -> None:
        """The ends are where the skew-corrected t of the cluster means is Student's quantile, or Student's own ends."""
        values = rng(1).exponential(size=14) if skewed else rng(1).normal(size=14)
        low, high = mean_interval(values.tolist()) or (math.nan, math.nan)
        error, n = stats.sem(values), len(values)
        skew = stats.skew(values) / math.sqrt(n) * math.sqrt(n * (n - 1)) / (n - 2)

        def corrected(mean: float) -> float:
            t = (values.mean() - mean) / error
            return t + skew / 3 * t**2 + skew**2 / 27 * t**3 + skew / 6

        student = stats.t.interval(0.95, n - 1, values.mean(), error)
        reach = stats.t.ppf(0.975, n - 1)
        ends = [
            brentq(lambda m, t=t: corrected(m) - t * reach, values.mean() - 99, values.mean() + 99) for t in (1, -1)
        ]
        assert low == pytest.approx(min(student[0], ends[0]))
        assert high == pytest.approx(max(student[1], ends[1]))

    @given(clustered, st.randoms(use_true_random=False))
    @settings(max_examples=30, deadline=None)
    def test_holds_the_mean_and_depends_on_neither_order_nor_names(
        self, rows: list[tuple[float, int]], random: object
    ) -> None:
        found = mean_interval([v for v, _ in rows], [c for _, c in rows])
        mean = sum(v for v, _ in rows) / len(rows)
        assert found is None or (found.low <= mean + 1e-9 and mean - 1e-9 <= found.high)
        random.shuffle(rows)  # type: ignore[attr-defined]
        again = mean_interval([v for v, _ in rows], [f"place {9 - c}" for _, c in rows])
        assert again == (found if found is None else pytest.approx(found, abs=1e-9))

    def test_moves_and_stretches_with_the_values(self) -> None:
        numbers = rng(1).exponential(size=20)
        low, high = mean_interval(numbers) or (math.nan, math.nan)
        assert mean_interval(numbers * 2 + 1) == (pytest.approx(2 * low + 1), pytest.approx(2 * high + 1))
        assert mean_interval(-numbers) == (pytest.approx(-high), pytest.approx(-low))
        wider = mean_interval(numbers, level=0.99)
        assert wider is not None
        assert wider.low < low < high < wider.high

    def test_clusters_of_one_are_independent_values(self) -> None:
        values = rng(3).normal(size=30).tolist()
        assert mean_interval(values, range(30)) == mean_interval(values)

    def test_repeating_every_value_in_its_cluster_changes_nothing(self) -> None:
        """Ten videos of one picture that are all alike say no more than one."""
        values = rng(4).normal(size=12).tolist()
        tenfold = mean_interval([v for v in values for _ in range(10)], np.repeat(range(12), 10))
        assert tenfold == pytest.approx(mean_interval(values))

    @pytest.mark.parametrize(
        "values",
        [
            pytest.param([], id="nothing"),
            pytest.param([0.3, 0.4, 0.5], id="three clusters"),
            pytest.param([0.3] * 12, id="no spread"),
            pytest.param([0.1 + 0.2, 0.3] * 6, id="no spread but rounding"),
            pytest.param([0.0] * 10 + [1.0, 2.0], id="two differ from the most frequent value"),
            pytest.param([math.inf, 1.0, 2.0, 3.0, 4.0], id="infinite"),
        ],
    )
    def test_absent(self, values: list[float]) -> None:
        assert mean_interval(values) is None

    def test_three_that_differ_are_enough(self) -> None:
        assert mean_interval([0.0] * 10 + [1.0, 2.0, 1.0]) is not None
        assert mean_interval([0.3, 0.4, 0.5, 0.6]) is not None

    def test_missing_values_leave_their_cluster(self) -> None:
        values, names = rng(2).normal(size=6).tolist(), list("aabbcd")
        assert mean_interval([*values, None, None], [*names, "c", "e"]) == mean_interval(values, names)

    def test_refuses_values_without_a_cluster_and_nan(self) -> None:
        with pytest.raises(ShapeError, match="one cluster for each"):
            mean_interval([1.0, 2.0], ["a"])
        with pytest.raises(ShapeError, match="NaN"):
            mean_interval([1.0, math.nan], ["a", "a"])

    @pytest.mark.parametrize("shared", [True, False])
    def test_strata_vary_with_what_they_share(self, shared: bool) -> None:
        """Two kinds of task about the same structures: if their values agree, the second kind adds nothing."""
        values = rng(6).normal(size=40).tolist()
        names = [f"s{k}" for k in range(40)]
        others = names if shared else [f"t{k}" for k in range(40)]
        both, one = balanced_interval([values, values], [names, others]), mean_interval(values)
        assert one is not None
        assert both is not None
        ratio = (both.high - both.low) / (one.high - one.low)
        assert ratio == pytest.approx(1 if shared else math.sqrt(0.5), rel=0.05)

    def test_strata_count_alike(self) -> None:
        """Four and forty values: Welch's standard error, and the mean of the two means in the middle."""
        strata = [rng(1).normal(0, 1, 4), rng(2).normal(10, 1, 40)]
        found = Sample.of([part.tolist() for part in strata]).estimate()
        assert found.mean == pytest.approx((strata[0].mean() + strata[1].mean()) / 2)
        assert found.error == pytest.approx(math.hypot(*(stats.sem(part) for part in strata)) / 2)
        assert balanced_interval([[1.0, 2.0], [5.0]]) is None


class TestPairedDifference:
    def test_is_students_paired_test_of_scipy(self) -> None:
        a, b = rng(1).normal(size=(2, 12))
        found = paired_difference(tasks(a), tasks(b))
        assert found.p == pytest.approx(stats.ttest_rel(a, b).pvalue)
        assert (found.n, found.clusters, found.interval) == (12, 12, mean_interval((a - b).tolist()))

    def test_of_clusters_is_that_of_their_means(self) -> None:
        values = rng(2).normal(size=(8, 5))
        names = {f"task/{k}": f"c{k // 5}" for k in range(40)}
        found = paired_difference(tasks(values.ravel()), zeros(40), cluster=names)
        assert found.p == pytest.approx(stats.ttest_1samp(values.mean(1), 0).pvalue)

    def test_takes_common_tasks_and_counts_what_is_left_out(self) -> None:
        a = {"x": 1.0, "y": 2.0, "z": None, "only a": 5.0, "w": math.inf}
        b = {"y": 0.5, "x": 0.0, "z": 1.0, "only b": None, "w": math.inf}
        assert paired_difference(a, b) == (1.25, None, None, 2, 4, 2)
        assert paired_difference({"x": 1.0}, {"y": 2.0}) == (None, None, None, 0, 2, 0)
        assert paired_difference({}, {}) == (None, None, None, 0, 0, 0)

    @pytest.mark.parametrize(("clusters", "p"), [(5, None), (6, 2.0**-5), (12, 2.0**-11)])
    def test_equal_differences_are_as_sure_as_a_sign_test(self, clusters: int, p: float | None) -> None:
        assert paired_difference(tasks([0.1 + 0.2] * clusters), zeros(clusters)).p == p
        assert paired_difference(zeros(clusters), zeros(clusters)).p == (None if p is None else 1.0)

    def test_a_task_of_its_own_does_not_meet_a_cluster_of_its_name(self) -> None:
        assert paired_difference({"x": 1.0, "y": 1.0}, {"x": 0.0, "y": 0.0}, cluster={"y": "x"}).clusters == 2

    @given(st.lists(st.tuples(st.floats(0.1, 9), st.floats(0.1, 9)), min_size=6, max_size=18), st.randoms())
    @settings(max_examples=30, deadline=None)
    def test_is_antisymmetric_and_blind_to_order(self, pairs: list[tuple[float, float]], random: object) -> None:
        a, b = tasks([x for x, _ in pairs]), tasks([y for _, y in pairs])
        found, back = paired_difference(a, b), paired_difference(b, a)
        names = list(a)
        random.shuffle(names)  # type: ignore[attr-defined]
        assert paired_difference({name: a[name] for name in names}, b) == found
        assert found.mean == pytest.approx(-back.mean, abs=1e-12)
        assert found.p == pytest.approx(back.p)
        assert 0 <= found.p <= 1

    def test_varied_positive_scores_are_also_compared_as_log_normal(self) -> None:
        """Equal log-normal means with spreads 0.3 and 1.5: Student's test alone calls the steady model worse."""
        a, b = np.exp(rng(3).normal(size=(2, 10)) * [[0.2], [1.5]] - [[0.02], [1.125]])
        logs = [np.log(a), np.log(b)]
        means = [x.mean() + x.var(ddof=1) / 2 for x in logs]
        parts = [x - x.mean() + ((x - x.mean()) ** 2 * 10 / 9 - x.var(ddof=1)) / 2 for x in logs]
        error = math.sqrt(((parts[0] - parts[1]) ** 2).sum() / 80)
        expected = 2 * stats.t.sf(abs(means[0] - means[1]) / error, 9)
        student = stats.ttest_rel(a, b).pvalue
        assert paired_difference(tasks(a), tasks(b)).p == pytest.approx(max(expected, student))
        assert expected > student

    def test_scores_up_to_1_are_compared_by_cut_means(self) -> None:
        """Means of min(log-normal, 1) by quadrature, and what each cluster adds to them by numeric derivatives."""
        a, b = rng(5).beta([[1], [4]], [[4], [1.3]], (2, 10))

        def cut_mean(centre: float, variance: float) -> float:
            x = np.linspace(-9, 9, 200_001)
            return float(np.trapezoid(np.minimum(np.exp(centre + math.sqrt(variance) * x), 1) * stats.norm.pdf(x), x))

        means, parts = [], []
        for logs in (np.log(a), np.log(b)):
            at, step = np.array([logs.mean(), logs.var(ddof=1)]), 1e-4
            slopes = [(cut_mean(*(at + d)) - cut_mean(*(at - d))) / (2 * step) for d in np.eye(2) * step]
            apart = logs - at[0]
            means.append(cut_mean(*at))
            parts.append(slopes[0] * apart + slopes[1] * (apart**2 * 10 / 9 - at[1]))
        error = math.sqrt(((parts[0] - parts[1]) ** 2).sum() / 80)
        expected = 2 * stats.t.sf(abs(means[0] - means[1]) / error, 9)
        found, plain, unbounded = (
            float(paired_differences([tasks(a), tasks(b)], bounds=bounds).p[0])
            for bounds in ((0.0, 1.0), (-1.0, 1.0), (0.0, math.inf))
        )
        assert plain == pytest.approx(stats.ttest_rel(a, b).pvalue)
        assert found == pytest.approx(max(expected, plain), rel=1e-5)
        assert found < unbounded / 10, "without the bound, log-normal means hide the difference"

    @pytest.mark.parametrize("strata", [{}, {"task/0": "x", "task/1": "x", "task/2": "x"}])
    def test_many_pairs_are_as_they_are_alone(self, strata: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paired, "_BLOCK", 20)
        models = [tasks(row[: 14 - k % 3].tolist()) for k, row in enumerate(rng(4).normal(size=(6, 14)))]
        cluster = {f"task/{k}": f"c{k // 2}" for k in range(14)}
        found = paired_differences(models, strata, cluster)
        for place, (a, b) in enumerate(itertools.combinations(models, 2)):
            alone = paired_difference(a, b, strata, cluster)
            assert (found.n[place], found.clusters[place]) == (alone.n, alone.clusters)
            assert (found.mean[place], found.p[place]) == (pytest.approx(alone.mean), pytest.approx(alone.p))

    def test_only_the_given_pairs(self) -> None:
        models = [tasks(row) for row in rng(5).normal(size=(3, 8))]
        found = paired_differences(models, pairs=[(2, 0)])
        assert found.mean == pytest.approx([paired_difference(models[2], models[0]).mean])


class TestMinimumDetectableEffect:
    @pytest.mark.parametrize(("clusters", "tests"), [(8, 1), (8, 66), (30, 105)])
    def test_is_the_noncentrality_of_scipys_distribution(self, clusters: int, tests: int) -> None:
        (found,) = minimum_detectable_effect(np.array([2.0]), np.array([clusters - 1.0]), tests=tests)
        reach = stats.t.ppf(1 - 0.025 / tests, clusters - 1)
        assert stats.nct.sf(reach, clusters - 1, found / 2) == pytest.approx(0.8, abs=1e-4)

    def test_is_found_by_the_corrected_test_as_often_as_it_says(self) -> None:
        generator, tests, hits = rng(6), 10, 0
        (effect,) = minimum_detectable_effect(np.array([1 / math.sqrt(12)]), np.array([11.0]), tests=tests)
        for _ in range(400):
            hits += (paired_difference(tasks(generator.normal(effect, 1, 12)), zeros(12)).p or 1) <= 0.05 / tests
        assert 0.72 < hits / 400 < 0.88


class TestJackknife:
    VALUES = np.random.default_rng(8).normal(size=12)

    def test_leaves_out_whole_clusters(self) -> None:
        """Of a mean of equal clusters it is Student's of the cluster means."""
        found = jackknife_interval(12, lambda kept: float(self.VALUES[kept].mean()), [k // 3 for k in range(12)])
        means = self.VALUES.reshape(4, 3).mean(1)
        assert found == pytest.approx(stats.t.interval(0.95, 3, means.mean(), stats.sem(means)))

    def test_clusters_of_one_make_no_difference(self) -> None:
        plain = jackknife_interval(12, lambda kept: float(self.VALUES[kept].max()))
        assert jackknife_interval(12, lambda kept: float(self.VALUES[kept].max()), list("abcdefghijkl")) == plain

    def test_takes_three_clusters(self) -> None:
        assert jackknife_interval(12, lambda kept: float(len(kept)), [k % 2 for k in range(12)]) is None
