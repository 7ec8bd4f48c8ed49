"""Rates of episodes that share a home."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldgauge.core.errors import ShapeError
from worldgauge.core.intervals import Sample, rate_interval, student_quantile, wilson

Z = 1.959963984540054
trials = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=24)


def test_by_hand() -> None:
    """Four homes with 2, 1, 1 and 0 of 2, successes and failures in 3 each: p = 1/2, V = (2/24 + 1/4/16) / (2 + 1/4).

    So 1/4 / V = 108/19 trials count, less by t.
    """
    ended = [True, True, True, False, False, True, False, False]
    found = rate_interval(ended, [0, 0, 1, 1, 2, 2, 3, 3])
    count = 108 / 19 * (Z / student_quantile(0.975, 3)) ** 2
    centre, reach = 0.5, math.sqrt(Z**2 * (0.25 / count + Z**2 / (4 * count**2))) / (1 + Z**2 / count)
    assert found == (pytest.approx(centre - reach), pytest.approx(centre + reach))


@given(trials)
@settings(max_examples=60, deadline=None)
def test_equals_the_score_test_solved_for_the_rate(rows: list[tuple[bool, int]]) -> None:
    """Wilson's interval holds the rates p with |share - p| <= z sqrt(p (1 - p) / count)."""
    ended, names = [e for e, _ in rows], [c for _, c in rows]
    found = rate_interval(ended, names)
    assert found is not None
    n, share = len(ended), sum(ended) / len(ended)
    sizes = np.unique(names, return_counts=True)[1]
    if len(sizes) == n:
        count = float(n)
    elif share in (0, 1) or len(sizes) == 1:
        count = sizes.sum() ** 2 / (sizes**2).sum()
    else:
        error = Sample.of([[float(e) for e in ended]], [names]).estimate()
        clusters = sizes.sum() ** 2 / (sizes**2).sum()
        unlike = share * (1 - share) / clusters
        rarer = min(len({name for e, name in zip(ended, names, strict=True) if e == kind}) for kind in (True, False))
        known = min(error.degrees, rarer - 1)
        variance = (known * error.error**2 + unlike / 4) / (known + 1 / 4)
        count = min(n, share * (1 - share) / variance) * (Z / student_quantile(0.975, error.degrees)) ** 2
    for end in found:
        if 1e-9 < end < 1 - 1e-9:
            assert abs(share - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / count), abs=1e-7)
    assert 0 <= found.low <= share <= found.high <= 1


@given(trials)
@settings(max_examples=30, deadline=None)
def test_failures_mirror_successes(rows: list[tuple[bool, int]]) -> None:
    names = [c for _, c in rows]
    found, mirrored = rate_interval([e for e, _ in rows], names), rate_interval([not e for e, _ in rows], names)
    assert found is not None
    assert mirrored == (pytest.approx(1 - found.high), pytest.approx(1 - found.low))


def test_episodes_that_stand_alone_have_wilsons_own() -> None:
    ended = [True] * 9 + [False] * 4
    assert rate_interval(ended) == rate_interval(ended, range(13)) == wilson(9, 13)


@pytest.mark.parametrize("ended", [True, False])
def test_where_all_end_alike_a_home_counts_once(ended: bool) -> None:
    """48 of 48 in four homes is four of four: how alike a home's episodes are cannot be seen."""
    assert rate_interval([ended] * 48, list(range(4)) * 12) == wilson(4 * ended, 4)


def test_episodes_of_a_home_that_always_end_alike_add_nothing() -> None:
    once = [True, True, False, True, False, True, True, True, False]
    tenfold, names = [e for e in once for _ in range(10)], [h for h in range(9) for _ in range(10)]
    wide, narrow = rate_interval(tenfold, names), wilson(sum(tenfold), 90)
    one = wilson(sum(once), 9)
    assert wide is not None
    assert narrow is not None
    assert one is not None
    assert wide.low < one.low < one.high < wide.high
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_of_one_home_it_is_that_of_one_trial() -> None:
    found = rate_interval([True, False, True], ["a"] * 3)
    assert found is not None
    assert found.high - found.low > 0.8


def test_missing_ends_are_left_out_and_nothing_is_known_of_nothing() -> None:
    assert rate_interval([True, None, False], [0, 1, 2]) == wilson(1, 2)
    assert rate_interval([]) is None
    assert rate_interval([None, None], ["a", "b"]) is None
    with pytest.raises(ShapeError, match="one cluster for each"):
        rate_interval([True, False], ["a"])
