import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from worldgauge.core.errors import ShapeError
from worldgauge.core.intervals import (
    MeanStd,
    correlation,
    jackknife_interval,
    mean_interval,
    mean_std,
    student_interval,
    student_quantile,
    wilson,
)
from worldgauge.core.paired_tests import holm, paired_difference, ranks

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


@pytest.mark.parametrize(
    "function",
    [
        mean_std,
        ranks,
        holm,
        mean_interval,
        lambda v: paired_difference(tasks(v), zeros(len(v))),
        lambda v: paired_difference(zeros(len(v)), tasks(v)),
    ],
)
def test_nan_is_refused(function):
    with pytest.raises(ShapeError, match="NaN"):
        function([0.1, math.nan, 0.3])


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


@pytest.mark.parametrize("n", [2, 3, 20])
def test_students_interval_is_scipys(n):
    x = rng(n).normal(5, 2, n)
    assert student_interval(x) == pytest.approx(stats.t.interval(0.95, n - 1, x.mean(), stats.sem(x)))
    assert student_interval([0.25] * n) == (0.25, 0.25)
    assert student_interval([0.25]) is student_interval([1.0, math.inf]) is None
