"""Statistics of values that come in clusters: what is independent is the cluster, not the value."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from worldgauge.core.errors import ShapeError
from worldgauge.core.statistics import (
    FEWEST_RESAMPLED,
    Interval,
    RankRange,
    Sample,
    balanced_interval,
    bootstrap_interval,
    jackknife_interval,
    paired_difference,
    ranks_with_ties,
    smallest_resolvable_difference,
)
from worldgauge.core.statistics.sample import student_quantile

VALUES = [1.0, 3.0, 2.0, 6.0, 4.0, 5.0]
CLUSTERS = ["a", "a", "b", "b", "c", "c"]
"""Cluster means 2, 4, 4.5."""
clustered = st.lists(st.tuples(st.floats(-50, 50), st.integers(0, 5)), min_size=1, max_size=20)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def grouped(clusters: int, each: int, correlation: float, generator: np.random.Generator) -> np.ndarray:
    shared = generator.normal(size=(clusters, 1)) * math.sqrt(correlation)
    return shared + generator.normal(size=(clusters, each)) * math.sqrt(1 - correlation)


class TestStandardError:
    def test_by_hand(self) -> None:
        """Equal clusters: that of the three cluster means, whose deviation is sqrt(1.75)."""
        error = Sample.of([VALUES], [CLUSTERS]).standard_error()
        assert error == (pytest.approx(math.sqrt(1.75 / 3)), pytest.approx(2))

    def test_by_hand_of_unequal_clusters(self) -> None:
        """Mean 3; residual sums -2, 3, -1 of clusters of 1, 3 and 2 of 6 values; h = 1/6, 1/2, 1/3."""
        error = Sample.of([[1.0, 3.0, 4.0, 5.0, 2.0, 3.0]], [["a", "b", "b", "b", "c", "c"]]).standard_error()
        assert error is not None
        squares = 4 / (5 / 6) + 9 / (1 / 2) + 1 / (2 / 3)
        assert error.value == pytest.approx(math.sqrt(squares) / 6)
        assert error.degrees == pytest.approx(36 / 14 - 1)

    @given(clustered)
    @settings(max_examples=40, deadline=None)
    def test_equals_the_matrix_form(self, rows: list[tuple[float, int]]) -> None:
        """CR2 as it is published: residuals of each cluster times the inverse root of I - H, summed and squared."""
        values, names = np.array([v for v, _ in rows]), np.array([c for _, c in rows])
        error = Sample.of([values.tolist()], [names.tolist()]).standard_error()
        if len(set(names)) < 2:
            assert error is None
            return
        n, total = len(values), 0.0
        residuals = values - values.mean()
        for name in set(names):
            own = residuals[names == name]
            hat = np.full((len(own), len(own)), 1 / n)
            eigenvalues, vectors = np.linalg.eigh(np.eye(len(own)) - hat)
            total += (vectors @ np.diag(eigenvalues**-0.5) @ vectors.T @ own).sum() ** 2
        assert error is not None
        assert error.value == pytest.approx(math.sqrt(total) / n, abs=1e-9)

    def test_of_strata_with_clusters_of_their_own_is_welchs(self) -> None:
        a, b = [1.0, 2.0, 4.0, 7.0], [3.0, 3.5, 5.0]
        error = Sample.of([a, b]).standard_error()
        parts = np.array([np.var(a, ddof=1) / 4, np.var(b, ddof=1) / 3])
        assert error is not None
        assert error.value == pytest.approx(math.sqrt(parts.sum()) / 2)
        assert error.degrees == pytest.approx(stats.ttest_ind(a, b, equal_var=False).df)

    def test_a_cluster_in_two_strata_adds_up_before_it_is_squared(self) -> None:
        """The second stratum repeats the first, or takes it away."""
        a, names = [1.0, 2.0, 6.0], ["x", "y", "z"]
        one = Sample.of([a], [names]).standard_error()
        same = Sample.of([a, a], [names, names]).standard_error()
        mirrored = Sample.of([a, [-v for v in a]], [names, names]).standard_error()
        assert one is not None
        assert same is not None
        assert mirrored is not None
        assert (same.value, mirrored.value) == (pytest.approx(one.value), pytest.approx(0, abs=1e-12))

    def test_of_one_cluster_is_unknown(self) -> None:
        assert Sample.of([VALUES], [["a"] * 6]).standard_error() is None
        assert Sample.of([[]]).standard_error() is None
        assert Sample.of([VALUES, [1.0, 2.0]], [CLUSTERS, ["d", "d"]]).standard_error() is None


class TestInterval:
    def test_of_few_clusters_is_students_of_their_means(self) -> None:
        found = bootstrap_interval(VALUES, CLUSTERS, rng=rng())
        assert found == pytest.approx(stats.t.interval(0.95, 2, 3.5, stats.sem([2.0, 4.0, 4.5])))

    def test_equals_resampling_in_plain_loops(self) -> None:
        values = grouped(10, 3, 0.5, rng(1))
        sizes = [1, 3, 2, 3, 3, 2, 3, 3, 2, 3]
        ragged = [row[:size].tolist() for row, size in zip(values, sizes, strict=True)]
        names = [[place] * size for place, size in enumerate(sizes)]
        found = bootstrap_interval(itertools.chain(*ragged), itertools.chain(*names), rng=rng())
        generator, means = rng(2), []
        for _ in range(4000):
            drawn = [ragged[pick] for pick in generator.integers(0, 10, 10)]
            means.append(math.fsum(itertools.chain(*drawn)) / sum(map(len, drawn)))
        count = sum(sizes) ** 2 / sum(size**2 for size in sizes)
        tail = stats.norm.cdf(-math.sqrt(count / (count - 1)) * student_quantile(0.975, count - 1))
        assert found == pytest.approx(np.quantile(means, [tail, 1 - tail]), abs=0.04)

    @given(clustered, st.randoms(use_true_random=False))
    @settings(max_examples=30, deadline=None)
    def test_depends_on_neither_order_nor_names(self, rows: list[tuple[float, int]], random: object) -> None:
        found = bootstrap_interval([v for v, _ in rows], [c for _, c in rows], rng=rng(), n=100)
        random.shuffle(rows)  # type: ignore[attr-defined]
        again = bootstrap_interval([v for v, _ in rows], [f"place {9 - c}" for _, c in rows], rng=rng(), n=100)
        assert again == found

    def test_clusters_of_one_are_independent_values(self) -> None:
        values = rng(3).normal(size=30).tolist()
        assert bootstrap_interval(values, range(30), rng=rng()) == bootstrap_interval(values, rng=rng())

    def test_repeating_every_value_in_its_cluster_changes_nothing(self) -> None:
        """Ten videos of one picture that are all alike say no more than one."""
        values = rng(4).normal(size=12).tolist()
        once = bootstrap_interval(values, rng=rng())
        tenfold = bootstrap_interval([v for v in values for _ in range(10)], np.repeat(range(12), 10), rng=rng())
        assert once is not None
        assert tenfold == pytest.approx(once)

    @pytest.mark.parametrize("clusters", [3, 12])
    def test_clusters_that_are_all_equal_leave_no_spread(self, clusters: int) -> None:
        values, names = [0.2, 0.4] * clusters, np.repeat(range(clusters), 2)
        assert bootstrap_interval(values, names, rng=rng()) == (pytest.approx(0.3), pytest.approx(0.3))

    def test_one_cluster_has_no_interval(self) -> None:
        assert bootstrap_interval([0.1, 0.2, 0.3], ["a"] * 3, rng=rng()) is None

    def test_a_cluster_that_holds_nearly_everything_counts_as_few(self) -> None:
        """Nine clusters, of which one has 90 of 98 values: the effective number is 1.2, so Student's t is taken."""
        values = rng(5).normal(size=98).tolist()
        names = ["big"] * 90 + list("abcdefgh")
        sample = Sample.of([values], [names])
        assert sample.effective_clusters() == pytest.approx(98**2 / (90**2 + 8))
        assert sample.effective_clusters() < FEWEST_RESAMPLED <= len(sample.counts)
        error = sample.standard_error()
        assert error is not None
        assert bootstrap_interval(values, names, rng=rng()) == error.interval(sample.mean, 0.95)

    def test_missing_values_leave_their_cluster(self) -> None:
        with_gaps = bootstrap_interval([*VALUES, None, None], [*CLUSTERS, "c", "d"], rng=rng())
        assert with_gaps == bootstrap_interval(VALUES, CLUSTERS, rng=rng())

    def test_refuses_values_without_a_cluster_and_nan(self) -> None:
        with pytest.raises(ShapeError, match="one cluster for each"):
            bootstrap_interval([1.0, 2.0], ["a"], rng=rng())
        with pytest.raises(ShapeError, match="NaN"):
            bootstrap_interval([1.0, math.nan], ["a", "a"], rng=rng())

    def test_infinite_values_have_no_interval(self) -> None:
        assert bootstrap_interval([math.inf, -math.inf, 1.0], ["a", "a", "b"], rng=rng()) is None

    @pytest.mark.parametrize("shared", [True, False])
    def test_strata_are_resampled_with_what_they_share(self, shared: bool) -> None:
        """Two kinds of task about the same structures: where values agree, the second kind adds nothing."""
        values = rng(6).normal(size=20).tolist()
        names = [f"s{k}" for k in range(20)]
        others = names if shared else [f"t{k}" for k in range(20)]
        both = balanced_interval([values, values], [names, others], rng=rng())
        one = bootstrap_interval(values, rng=rng())
        assert one is not None
        assert both is not None
        ratio = (both.high - both.low) / (one.high - one.low)
        assert ratio == pytest.approx(1 if shared else math.sqrt(0.5), rel=0.05)


class TestPairedDifference:
    def test_flips_whole_clusters_by_hand(self) -> None:
        """Sums 4, 2, 1 of clusters: only +++ and --- reach 7. Six tasks flipped one by one would give less."""
        a = dict(zip("uvwxyz", [1.0, 3.0, 2.0, 0.0, 1.0, 0.0], strict=True))
        found = paired_difference(a, dict.fromkeys(a, 0.0), cluster=dict(zip(a, CLUSTERS, strict=True)), rng=rng())
        assert (found.p, found.n, found.clusters) == (2 / 8, 6, 3)
        assert found.mean == pytest.approx(7 / 6)

    @given(st.lists(st.tuples(st.integers(-6, 6), st.integers(0, 6)), min_size=1, max_size=20))
    @settings(max_examples=40, deadline=None)
    def test_p_equals_counting_all_sign_patterns(self, rows: list[tuple[int, int]]) -> None:
        a = {f"task {k}": float(v) for k, (v, _) in enumerate(rows)}
        cluster = {f"task {k}": f"c{c}" for k, (_, c) in enumerate(rows)}
        names = sorted({c for _, c in rows})
        sums = [sum(v for v, c in rows if c == name) for name in names]
        patterns = list(itertools.product((-1, 1), repeat=len(names)))
        hits = sum(abs(sum(s * t for s, t in zip(signs, sums, strict=True))) >= abs(sum(sums)) for signs in patterns)
        found = paired_difference(a, dict.fromkeys(a, 0.0), cluster=cluster, rng=rng(), n=50)
        assert found.p == pytest.approx(hits / len(patterns))

    def test_takes_common_tasks_and_tells_what_was_left_out(self) -> None:
        """b was asked on other clusters than a: one is shared, of another only a part."""
        a = {"x1": 1.0, "x2": 2.0, "y1": 3.0, "z1": 9.0}
        b = {"x1": 0.0, "x2": 0.0, "y2": 3.0, "w1": 9.0}
        cluster = {task: task[0] for task in a | b}
        found = paired_difference(a, b, cluster=cluster, rng=rng())
        assert (found.mean, found.n, found.excluded, found.clusters) == (1.5, 2, 4, 1)
        assert (found.interval, found.p) == (None, 1.0)

    def test_ties_everywhere_show_nothing(self) -> None:
        a = {f"t{k}": 0.5 for k in range(12)}
        found = paired_difference(a, a, cluster={task: task[:2] for task in a}, rng=rng())
        assert (found.mean, found.interval, found.p) == (0, (0, 0), 1)

    def test_a_task_of_its_own_does_not_meet_a_cluster_of_its_name(self) -> None:
        a = {"x": 1.0, "y": 1.0}
        assert paired_difference(a, dict.fromkeys(a, 0.0), cluster={"y": "x"}, rng=rng()).clusters == 2

    def test_equal_subjects_on_few_pictures_are_not_told_apart(self) -> None:
        """Ten paths of each of four pictures: p of tasks would be tiny, p of pictures cannot go below 1/8."""
        a = {f"{c}/{k}": float(c + 1) for c in range(4) for k in range(10)}
        b = dict.fromkeys(a, 0.0)
        assert paired_difference(a, b, rng=rng()).p == pytest.approx(1 / 10_001)
        assert paired_difference(a, b, cluster={task: task[0] for task in a}, rng=rng()).p == 1 / 8

    def test_ranks_are_of_clusters(self) -> None:
        a = {f"{c}/{k}": float(c + 1) for c in range(4) for k in range(10)}
        scores = {"a": a, "b": dict.fromkeys(a, 0.0)}
        assert ranks_with_ties(scores, rng=rng())["a"] == RankRange(1, 1)
        assert ranks_with_ties(scores, cluster={task: task[0] for task in a}, rng=rng())["a"] == RankRange(1, 2)


class TestSmallestResolvableDifference:
    def test_by_hand(self) -> None:
        expected = (stats.t.ppf(0.975, 2) + stats.t.ppf(0.8, 2)) * math.sqrt(1.75 / 3)
        assert smallest_resolvable_difference(VALUES, CLUSTERS) == pytest.approx(expected)

    def test_repeated_values_resolve_nothing_more(self) -> None:
        values = rng(7).normal(size=12).tolist()
        tenfold = [v for v in values for _ in range(10)]
        once = smallest_resolvable_difference(values)
        assert once is not None
        assert smallest_resolvable_difference(tenfold, np.repeat(range(12), 10)) == pytest.approx(once)
        assert (smallest_resolvable_difference(tenfold) or 0) < once / 2

    def test_of_one_cluster_is_unknown(self) -> None:
        assert smallest_resolvable_difference([1.0, 2.0], ["a", "a"]) is None


def test_a_sample_in_which_clusters_repeat_has_the_mean_of_its_values() -> None:
    sample = Sample.of([[1.0, 3.0, 5.0]], [["a", "a", "b"]])
    assert (sample.mean, sample.n, len(sample.counts)) == (3.0, 3, 2)
    assert balanced_interval([[10.0] * 5, [0.0] * 50], rng=rng()) == Interval(5.0, 5.0)


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
