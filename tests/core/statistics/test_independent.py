import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from worldgauge.core import statistics
from worldgauge.core.errors import ShapeError
from worldgauge.core.statistics import (
    Interval,
    MeanStd,
    RankRange,
    balanced_interval,
    bootstrap_interval,
    correlation,
    holm,
    jackknife_interval,
    mean_std,
    means,
    paired,
    paired_difference,
    ranks,
    ranks_with_ties,
    smallest_resolvable_difference,
    wilson,
)
from worldgauge.core.statistics.sample import student_quantile

values = st.lists(st.none() | st.floats(-100, 100), max_size=12)


def rng(seed=0):
    return np.random.default_rng(seed)


def tasks(numbers):
    return {f"task/{i}": v for i, v in enumerate(numbers)}


def zeros(n):
    return tasks([0.0] * n)


# Mean and interval -----------------------------------------------------------------------------------------


def test_mean_std_by_hand():
    assert mean_std([1.0, None, 3.0, 5.0]) == MeanStd(3.0, pytest.approx(math.sqrt(8 / 3)), 3)
    assert mean_std([]) == mean_std([None, None]) == MeanStd(None, None, 0)
    assert mean_std([4.0]) == MeanStd(4.0, None, 1)


def test_infinite_values_have_a_mean_but_no_spread():
    assert mean_std([math.inf, 3.0]) == MeanStd(math.inf, None, 2)
    assert mean_std([math.inf, -math.inf]) == MeanStd(None, None, 2)
    assert bootstrap_interval([math.inf, 3.0], rng=rng()) is None
    assert smallest_resolvable_difference([math.inf, 3.0]) is None


@pytest.mark.parametrize(
    "function",
    [
        mean_std,
        ranks,
        holm,
        smallest_resolvable_difference,
        lambda v: bootstrap_interval(v, rng=rng()),
        lambda v: paired_difference(tasks(v), zeros(len(v)), rng=rng()),
        lambda v: paired_difference(zeros(len(v)), tasks(v), rng=rng()),
        lambda v: ranks_with_ties({"a": tasks(v), "b": zeros(len(v))}, rng=rng()),
    ],
)
def test_nan_is_refused(function):
    with pytest.raises(ShapeError, match="NaN"):
        function([0.1, math.nan, 0.3])


@settings(deadline=None, max_examples=30)
@given(values, st.randoms(use_true_random=False))
def test_interval_holds_the_mean_and_is_blind_to_order(numbers, random):
    known = [v for v in numbers if v is not None]
    interval = bootstrap_interval(numbers, rng=rng(), n=200)
    if len(known) < 2:
        assert interval is None
        return
    slack = 1e-9
    assert interval.low <= np.mean(known) + slack
    assert interval.high >= np.mean(known) - slack
    if len(known) >= statistics.FEWEST_RESAMPLED:
        assert min(known) - slack <= interval.low <= interval.high <= max(known) + slack
    shuffled = list(numbers)
    random.shuffle(shuffled)
    assert bootstrap_interval(shuffled, rng=rng(), n=200) == interval
    assert mean_std(shuffled) == mean_std(numbers)


def test_interval_of_equal_values_is_a_point():
    assert bootstrap_interval([0.25] * 5, rng=rng()) == (0.25, 0.25)
    assert bootstrap_interval([0.25] * 9, rng=rng()) == (0.25, 0.25)


def test_interval_moves_and_stretches_with_the_values():
    numbers = rng(1).normal(size=20)
    low, high = bootstrap_interval(numbers, rng=rng())
    assert bootstrap_interval(numbers * 2 + 1, rng=rng()) == (pytest.approx(2 * low + 1), pytest.approx(2 * high + 1))
    wider = bootstrap_interval(numbers, rng=rng(), level=0.99)
    assert wider.low < low < high < wider.high


@pytest.mark.parametrize("n", [8, 18, 60])
def test_interval_of_normal_values_is_about_students(n):
    numbers = stats.norm.ppf((np.arange(n) + 0.5) / n)
    expected = stats.t.interval(0.95, n - 1, numbers.mean(), stats.sem(numbers))
    assert bootstrap_interval(numbers, rng=rng()) == pytest.approx(expected, rel=0.1)


def test_more_values_than_a_chunk_holds_make_no_difference(monkeypatch):
    numbers = list(rng(3).normal(size=30))
    whole = bootstrap_interval(numbers, rng=rng(), n=500)
    p = paired_difference(tasks(numbers), zeros(30), rng=rng(), n=500).p
    monkeypatch.setattr(means, "_CHUNK", 64)
    monkeypatch.setattr(paired, "_CHUNK", 64)
    assert bootstrap_interval(numbers, rng=rng(), n=500) == pytest.approx(whole, rel=0.2)
    assert paired_difference(tasks(numbers), zeros(30), rng=rng(), n=500).p == pytest.approx(p, abs=0.1)


@pytest.mark.parametrize("degrees", [0.5, 1, 1.2, 1.5, 2, 2.5, 3, 3.9, 7.3, 20.5, 999])
@pytest.mark.parametrize("p", [0.2, 0.5, 0.8, 0.975])
def test_student_quantiles_are_those_of_the_integrated_density(p, degrees):
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    t = student_quantile(p, degrees)
    area, _ = quad(lambda x: scale * (1 + x * x / degrees) ** (-(degrees + 1) / 2), 0, t, limit=500)
    assert area == pytest.approx(p - 0.5, abs=1e-8)


def test_student_quantiles_of_endless_degrees_are_the_normal_ones():
    for p in (0.2, 0.8, 0.975):
        assert student_quantile(p, math.inf) == pytest.approx(NormalDist().inv_cdf(p))
        assert student_quantile(p, 1e12) == pytest.approx(NormalDist().inv_cdf(p))


@pytest.mark.parametrize("degrees", [0.0, -1.0, math.nan])
def test_student_has_no_quantiles_without_degrees_of_freedom(degrees):
    with pytest.raises(ShapeError, match="degrees of freedom"):
        student_quantile(0.975, degrees)


# Paired difference -----------------------------------------------------------------------------------------


def test_pairs_by_task_and_counts_what_is_left_out():
    a = {"x": 1.0, "y": 2.0, "z": None, "only a": 5.0, "w": math.inf}
    b = {"y": 0.5, "x": 0.0, "z": 1.0, "only b": None, "w": math.inf}
    result = paired_difference(a, b, rng=rng())
    assert (result.mean, result.n, result.excluded) == (1.25, 2, 4)
    # Of the sign patterns ++, +-, -+, -- two reach the sum observed.
    assert result.p == 0.5


def test_nothing_shared_and_a_single_pair():
    assert paired_difference({"x": 1.0}, {"y": 2.0}, rng=rng()) == (None, None, None, 0, 2, 0)
    assert paired_difference({}, {}, rng=rng()) == (None, None, None, 0, 0, 0)
    assert paired_difference({"x": 1.0}, {"x": 0.25}, rng=rng()) == (0.75, None, 1.0, 1, 0, 1)


def test_no_difference_at_all():
    result = paired_difference(zeros(20), zeros(20), rng=rng())
    assert (result.mean, result.interval, result.p) == (0, (0, 0), 1)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(-6, 6), min_size=1, max_size=9))
def test_p_equals_counting_all_sign_patterns(differences):
    """Sevenths, so that equal sums differ in their last bits and must still count as equal."""
    observed = abs(sum(differences))
    patterns = np.array(list(itertools.product((-1, 1), repeat=len(differences))))
    share = np.mean(np.abs(patterns @ differences) >= observed)
    p = paired_difference(tasks([d / 7 for d in differences]), zeros(len(differences)), rng=rng(), n=10).p
    assert p == pytest.approx(share)


@pytest.mark.parametrize("shift", [0.0, 0.4, 1.0])
def test_random_sign_patterns_approach_all_of_them(monkeypatch, shift):
    a = tasks(rng(5).normal(shift, 1, 12))
    exact = paired_difference(a, zeros(12), rng=rng()).p
    monkeypatch.setattr(paired, "_EXACT_UP_TO", 0)
    drawn = paired_difference(a, zeros(12), rng=rng(), n=40_000).p
    assert drawn == pytest.approx(exact, abs=5 * math.sqrt(exact * (1 - exact) / 40_000) + 1e-4)


def test_p_is_about_students_for_many_pairs_and_never_zero():
    a = tasks(rng(6).normal(0.15, 1, 150))
    expected = stats.ttest_1samp(list(a.values()), 0).pvalue
    assert paired_difference(a, zeros(150), rng=rng()).p == pytest.approx(expected, abs=0.02)
    assert paired_difference(tasks([1.0] * 200), zeros(200), rng=rng(), n=999).p == pytest.approx(1 / 1000)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.none() | st.floats(-10, 10), st.floats(-10, 10)), max_size=18), st.randoms())
def test_difference_is_antisymmetric_and_blind_to_order(pairs, random):
    a, b = tasks([x for x, _ in pairs]), tasks([y for _, y in pairs])
    result = paired_difference(a, b, rng=rng(), n=300)
    names = list(a)
    random.shuffle(names)
    assert paired_difference({k: a[k] for k in names}, b, rng=rng(), n=300) == result
    back = paired_difference(b, a, rng=rng(), n=300)
    assert (back.n, back.excluded) == (result.n, result.excluded)
    if result.mean is not None:
        assert back.mean == pytest.approx(-result.mean)
        assert 0 < result.p <= 1
    if 0 < result.n <= 14:
        assert back.p == pytest.approx(result.p)


# Ranks -----------------------------------------------------------------------------------------------------


def test_ranks_by_hand():
    assert ranks([0.1, None, 0.5, 0.5, 0.2]) == [4, None, 1, 1, 3]
    assert ranks([0.1, None, 0.5, 0.5, 0.2], higher=False) == [1, None, 3, 3, 2]
    assert ranks([]) == []
    assert ranks([math.inf, 3.0]) == [1, 2]


@settings(deadline=None)
@given(values)
def test_ranks_equal_scipy(numbers):
    known = [v for v in numbers if v is not None]
    assert [r for r in ranks(numbers, higher=False) if r] == list(stats.rankdata(known, "min"))
    assert [r for r in ranks(numbers) if r] == list(stats.rankdata([-v for v in known], "min"))


def test_subjects_that_the_data_cannot_tell_apart_share_a_place():
    base = rng(9).normal(0.5, 0.2, 18)
    # Noise of mean zero: b and c differ on every task, and not at all in the mean.
    noise = rng(8).normal(0, 0.02, (4, 18))
    noise -= noise.mean(1, keepdims=True)
    levels = {"a": 0.3, "b": 0.0, "c": 0.0, "d": -0.3}
    scores = {name: tasks(base + level + n) for (name, level), n in zip(levels.items(), noise, strict=True)}
    assert ranks_with_ties(scores, rng=rng()) == {
        "a": RankRange(1, 1),
        "b": RankRange(2, 3),
        "c": RankRange(2, 3),
        "d": RankRange(4, 4),
    }
    assert ranks_with_ties(scores, rng=rng(), higher=False)["a"] == RankRange(4, 4)


def test_too_few_trajectories_tell_nothing():
    """With five pairs the smallest p is 2 / 32: over 0.05, however far apart the two are."""
    scores = {"a": tasks([9.0] * 5), "b": zeros(5), "c": {}}
    assert set(ranks_with_ties(scores, rng=rng()).values()) == {RankRange(1, 3)}
    assert ranks_with_ties({}, rng=rng()) == {}
    assert ranks_with_ties({"a": zeros(3)}, rng=rng()) == {"a": RankRange(1, 1)}


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, None, 0.005]) == pytest.approx([0.03, 0.06, 0.06, None, 0.02])
    assert holm([0.5, 0.9]) == [1, 1]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
    for bad in (-0.1, 1.1):
        with pytest.raises(ShapeError):
            holm([0.5, bad])


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.001, 0.2))
def test_holm_equals_the_step_down_procedure(p_values, alpha):
    rejected = set()
    for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] * (len(p_values) - step) > alpha:
            break
        rejected.add(index)
    adjusted = holm(p_values)
    assert {i for i, p in enumerate(adjusted) if p <= alpha} == rejected
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))


# Smallest resolvable difference ----------------------------------------------------------------------------


def test_smallest_resolvable_difference_by_hand():
    differences = [1.0, None, 2.0, 3.0, 4.0, 5.0]
    expected = (stats.t.ppf(0.975, 4) + stats.t.ppf(0.8, 4)) * math.sqrt(2.5 / 5)
    assert smallest_resolvable_difference(differences) == pytest.approx(expected)
    assert smallest_resolvable_difference([1.0]) is None
    assert smallest_resolvable_difference([]) is None
    assert smallest_resolvable_difference([2.0, 2.0, 2.0]) == 0


def test_smallest_resolvable_difference_scales():
    numbers = rng(2).normal(size=18)
    one = smallest_resolvable_difference(numbers)
    assert smallest_resolvable_difference(3 * numbers + 7) == pytest.approx(3 * one)
    assert smallest_resolvable_difference(numbers, power=0.9) > one
    assert smallest_resolvable_difference(numbers, level=0.99) > one
    assert smallest_resolvable_difference(np.tile(numbers, 4)) < one / 1.9


# Shares and correlations -------------------------------------------------------------------------------------


def test_wilson_by_hand() -> None:
    """One of one: z^2 = 3.8415, so the lower end is 1 / (1 + z^2)."""
    low, high = wilson(1, 1)
    assert (low, high) == (pytest.approx(1 / 4.8415, abs=1e-5), 1.0)
    assert wilson(0, 144).low == 0.0
    assert wilson(0, 0) is None


@given(st.integers(1, 600).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.5, 0.999))
def test_wilson_is_scipys_and_mirrors(pair: tuple[int, int], level: float) -> None:
    k, n = pair
    low, high = wilson(k, n, level=level)
    reference = stats.binomtest(k, n).proportion_ci(level, method="wilson")
    assert (low, high) == (pytest.approx(reference.low, abs=1e-9), pytest.approx(reference.high, abs=1e-9))
    assert low <= k / n <= high
    assert wilson(n - k, n, level=level) == (pytest.approx(1 - high), pytest.approx(1 - low))


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_wilson_of_what_cannot_be(k: int, n: int) -> None:
    with pytest.raises(ShapeError, match="cannot be"):
        wilson(k, n)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=9))
@settings(max_examples=30, deadline=None)
def test_correlation_is_scipys_with_ties(pairs: list[tuple[int, int]]) -> None:
    x, y = ([float(v) for v in column] for column in zip(*pairs, strict=True))
    found = correlation(x, y, rng=rng(), n=50)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert found == (None, None, None, len(x))
        return
    assert found.pearson == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)
    assert correlation(y[::-1], x[::-1], rng=rng(), n=50)[:2] == (
        pytest.approx(found.pearson),
        pytest.approx(found.spearman),
    )


def test_correlation_leaves_out_what_is_missing() -> None:
    x, y = [1.0, 2.0, None, 4.0, 3.0, 9.0], [2.0, 4.0, 1.0, 8.0, math.inf, None]
    found = correlation(x, y, rng=rng())
    assert (found.pearson, found.spearman, found.n) == (pytest.approx(1), pytest.approx(1), 3)
    assert found.interval == (pytest.approx(1), pytest.approx(1))
    assert correlation([1.0, 2.0], [1.0, 2.0], rng=rng()) == (None, None, None, 2)
    with pytest.raises(ShapeError, match="pairs"):
        correlation([1.0], [], rng=rng())
    with pytest.raises(ShapeError, match="NaN"):
        correlation([1.0, math.nan, 2.0], [1.0, 2.0, 3.0], rng=rng())


def test_correlation_is_less_certain_of_fewer_pairs() -> None:
    noise = rng(4).normal(size=(2, 60))
    x, y = noise[0], noise[0] + noise[1]
    few, many = (correlation(list(x[:n]), list(y[:n]), rng=rng(), n=1000) for n in (10, 60))
    for found in (few, many):
        assert found.interval.low < found.spearman < found.interval.high
    assert many.interval.high - many.interval.low < few.interval.high - few.interval.low


# Promises on simulated data --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("draw", ["normal", "bounded"])
@pytest.mark.parametrize("n", [6, 18])
def test_intervals_hold_the_true_mean_as_often_as_they_say(draw, n):
    generator = rng(11)
    hits, rounds = 0, 1500
    for _ in range(rounds):
        sample = generator.normal(0.5, 0.2, n) if draw == "normal" else generator.beta(2, 2, n)
        low, high = bootstrap_interval(sample, rng=generator, n=1000)
        hits += low <= 0.5 <= high
    assert hits / rounds == pytest.approx(0.95, abs=0.025)


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 20])
def test_equal_subjects_are_told_apart_no_more_often_than_allowed(n):
    generator = rng(12)
    p = [
        paired_difference(tasks(generator.normal(size=n)), tasks(generator.normal(size=n)), rng=generator, n=500).p
        for _ in range(1500)
    ]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 18])
def test_the_smallest_resolvable_difference_is_found_as_often_as_it_says(n):
    generator = rng(13)
    size = np.median([smallest_resolvable_difference(generator.normal(size=n)) for _ in range(500)])
    found = [
        paired_difference(tasks(generator.normal(size, 1, n)), zeros(n), rng=generator, n=500).p <= 0.05
        for _ in range(1000)
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.07)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8])
def test_interval_of_few_values_covers_what_it_says(size: int) -> None:
    """Small sets are where people overrate a number: the interval must hold the true mean about 95 times of 100."""
    generator = rng()
    samples = generator.normal(0.6, 0.1, (400, size))
    intervals = [bootstrap_interval(sample, rng=generator, n=500) for sample in samples]
    assert 0.90 < np.mean([one.low <= 0.6 <= one.high for one in intervals]) < 0.99


def test_interval_of_two_values_by_hand() -> None:
    """mean 0.5, s = 0.1414, t(0.975, 1) = 12.706: half width 12.706 x 0.1."""
    low, high = bootstrap_interval([0.4, 0.6], rng=rng())
    assert (low, high) == (pytest.approx(0.5 - 1.2706, abs=1e-4), pytest.approx(0.5 + 1.2706, abs=1e-4))


class TestBalanced:
    """Kinds of values that count alike, whatever their numbers."""

    def test_equal_kinds_agree_with_the_plain_interval_of_alike_values(self) -> None:
        values = np.random.default_rng(1).normal(5.0, 1.0, 400)
        plain = bootstrap_interval(values.tolist(), rng=np.random.default_rng(2))
        halves = [values[:200].tolist(), values[200:].tolist()]
        split = balanced_interval(halves, rng=np.random.default_rng(2))
        assert plain is not None
        assert split is not None
        assert split.low == pytest.approx(plain.low, abs=0.03)
        assert split.high == pytest.approx(plain.high, abs=0.03)

    def test_kinds_of_one_value_each_have_no_width(self) -> None:
        found = balanced_interval([[10.0] * 5, [0.0] * 50], rng=np.random.default_rng(0))
        assert found == Interval(5.0, 5.0)

    def test_it_covers_the_truth_as_often_as_it_says(self) -> None:
        rng = np.random.default_rng(3)
        hits = 0
        for _ in range(300):
            strata = [rng.normal(mean, 2.0, count).tolist() for mean, count in ((0.0, 8), (10.0, 40), (50.0, 15))]
            found = balanced_interval(strata, rng=rng, n=500)
            assert found is not None
            hits += found.low <= 20.0 <= found.high
        assert 0.9 <= hits / 300 <= 1.0

    @pytest.mark.parametrize("strata", [[], [[]], [[1.0]], [[1.0], [2.0]], [[1.0, math.inf]]])
    def test_too_little_has_no_interval(self, strata: list[list[float]]) -> None:
        assert balanced_interval(strata, rng=np.random.default_rng(0)) is None

    def test_difference_weighs_kinds_and_not_tasks(self) -> None:
        stratum = {**{f"a{k}": "a" for k in range(90)}, **{f"b{k}": "b" for k in range(10)}}
        ours = {task: 1.0 if kind == "a" else 0.0 for task, kind in stratum.items()}
        theirs = {task: 0.0 if kind == "a" else 1.0 for task, kind in stratum.items()}
        found = paired_difference(ours, theirs, stratum, rng=np.random.default_rng(0))
        assert (found.mean, found.n, found.excluded) == (0.0, 100, 0)
        assert found.p > 0.05
        assert paired_difference(ours, theirs, rng=np.random.default_rng(0)).mean == pytest.approx(0.8)

    def test_difference_of_one_kind_is_the_plain_one(self) -> None:
        rng = np.random.default_rng(5)
        ours = {f"{k}": float(rng.normal(1.0)) for k in range(12)}
        theirs = {**{f"{k}": float(rng.normal(0.0)) for k in range(12)}, "more": 1.0}
        plain = paired_difference(ours, theirs, rng=np.random.default_rng(0))
        found = paired_difference(ours, theirs, dict.fromkeys(theirs, "x"), rng=np.random.default_rng(0))
        assert found.mean == pytest.approx(plain.mean)
        assert (found.n, found.excluded, found.p) == (plain.n, plain.excluded, plain.p)

    def test_nothing_shared_is_no_difference(self) -> None:
        found = paired_difference({"a": 1.0}, {"b": None}, {}, rng=np.random.default_rng(0))
        assert (found.mean, found.interval, found.p, found.n) == (None, None, None, 0)

    def test_few_values_look_no_more_certain_than_students(self) -> None:
        """Two of 0 and 100 in each of two kinds: Welch's 2 degrees of freedom, standard error 35.4."""
        found = balanced_interval([[0.0, 100.0], [0.0, 100.0]], rng=np.random.default_rng(0))
        assert found is not None
        reach = stats.t.ppf(0.975, 2) * np.sqrt(2 * 5000 / 2) / 2
        assert found.high - 50 == pytest.approx(reach)
        assert 50 - found.low == pytest.approx(reach)
        assert balanced_interval([[1.0, 2.0], [5.0]], rng=np.random.default_rng(0)) is None

    def test_one_kind_is_the_plain_interval(self) -> None:
        values = np.random.default_rng(4).normal(size=30).tolist()
        plain = bootstrap_interval(values, rng=np.random.default_rng(1))
        assert balanced_interval([values], rng=np.random.default_rng(1)) == plain


# Jackknife ---------------------------------------------------------------------------------------------------


def test_jackknife_of_a_mean_is_students_interval():
    x = np.random.default_rng(3).normal(5, 2, 12)
    low, high = jackknife_interval(12, lambda kept: float(x[kept].mean()))
    expected = stats.t.interval(0.95, 11, loc=x.mean(), scale=stats.sem(x))
    assert (low, high) == pytest.approx(expected)


def test_jackknife_by_hand():
    # 0, 3, 6: leaving one out gives 4.5, 3, 1.5; spread sqrt(2/3 * 4.5) = sqrt(3); t(0.975, 2) = 4.3027
    x = np.array([0.0, 3.0, 6.0])
    assert jackknife_interval(3, lambda kept: float(x[kept].mean())) == pytest.approx(
        (3 - 4.30265 * 3**0.5, 3 + 4.30265 * 3**0.5), abs=1e-4
    )


def test_jackknife_leaves_groups_out_where_there_are_many():
    asked = []

    def statistic(kept):
        asked.append(len(kept))
        return float(len(kept))

    assert jackknife_interval(45, statistic) is not None
    assert sorted(asked) == [42] * 5 + [43] * 15 + [45]


def test_jackknife_of_too_few_or_of_what_is_no_number():
    assert jackknife_interval(2, lambda kept: 1.0) is None
    assert jackknife_interval(5, lambda kept: math.inf) is None
    assert jackknife_interval(5, lambda kept: 7.0) == (7.0, 7.0)
