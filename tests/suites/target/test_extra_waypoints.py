"""Opt-in path metrics: by hand, against plain loops, invariances, the degenerate."""

import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldgauge.core.errors import ShapeError
from worldgauge.suites.target.metrics import (
    arc_aligned_ade,
    end_heading,
    length_ratio,
    reach_half_metre,
    reach_metre,
    scale_free_ade,
    time_aligned_ade,
)

LINE = np.stack([np.zeros(101), np.linspace(0, 4, 101)], 1)
"""Four metres ahead in 4 s at 25 rows a second and one more."""

SEED = st.integers(0, 2**32 - 1)
TIMELESS = (arc_aligned_ade, scale_free_ade, end_heading, length_ratio, reach_half_metre, reach_metre)


def walk_of(seed: int, n: int = 40) -> np.ndarray:
    return np.cumsum(np.random.default_rng(seed).normal((0, 0.1), 0.05, (n, 2)), axis=0)


def test_time_alignment_by_hand() -> None:
    half = [(0, 0), (0, 1), (0, 2)]
    assert time_aligned_ade(half, [0, 1, 2], LINE, 0.04) == pytest.approx(0), "the second half is not in the video"
    slow = [(0, 0), (0, 2)]
    assert time_aligned_ade(slow, [0, 4], LINE, 0.04) == pytest.approx(1.0), "0 to 2 m behind"
    assert time_aligned_ade([(0.5, 0)], [0], LINE, 0.04) == pytest.approx(0.5)


def test_arc_alignment_by_hand() -> None:
    hasty = [(0, 0), (0, 3.9), (0, 4)]
    assert arc_aligned_ade(hasty, LINE) == pytest.approx(0, abs=1e-12)
    assert arc_aligned_ade([(0, 0), (0, 2)], LINE) == pytest.approx(1.0), "half as long: 0 to 2 m behind"
    assert arc_aligned_ade([(0, 0)], LINE) == pytest.approx(2.0)


def test_scale_free_by_hand() -> None:
    assert scale_free_ade([(0, 0), (0, 0.5)], LINE) == pytest.approx(0), "an eighth as long"
    assert scale_free_ade([(1, 2), (2, 2)], LINE) == pytest.approx(math.sqrt(2) / 2), "a right angle from the start"
    assert scale_free_ade(LINE[::-1], LINE) == pytest.approx(1.0)
    assert scale_free_ade([(0, 0), (0, 0)], LINE) == pytest.approx(0.5), "standing still"
    assert scale_free_ade(LINE, [(0, 0)]) is None


@given(SEED, SEED, st.floats(0.01, 100))
def test_scale_free_knows_no_speed_and_agrees_with_points_by_hand(one: int, other: int, factor: float) -> None:
    path, truth = walk_of(one, 30), walk_of(other, 30)
    assert scale_free_ade(factor * path, truth) == pytest.approx(scale_free_ade(path, truth))
    places = []
    for points in (path, truth):
        along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        shares = np.linspace(0, 1, 30)
        places.append(np.stack([np.interp(shares, along / along[-1], c - c[0]) for c in points.T], 1) / along[-1])
    assert scale_free_ade(path, truth) == pytest.approx(np.hypot(*(places[0] - places[1]).T).mean())


def test_the_others_by_hand() -> None:
    corner = [(0, 0), (0, 2), (2, 2)]
    assert end_heading(corner, LINE) == pytest.approx(math.pi / 2)
    assert end_heading(LINE[::-1], LINE) == pytest.approx(math.pi)
    assert end_heading([(0, 0), (0, 0.4)], LINE) is None
    assert length_ratio(corner, LINE) == pytest.approx(1.0)
    assert length_ratio(LINE, LINE[:1]) is None
    near = LINE[-1:] + np.array([0.3, 0.4])
    assert (reach_half_metre(near, LINE), reach_metre(near, LINE)) == (0.0, 1.0)
    assert (reach_half_metre(near - (0.01, 0), LINE), reach_metre(near + np.array([0, 1]), LINE)) == (1.0, 0.0)


@given(SEED, SEED)
def test_time_alignment_agrees_with_a_loop(one: int, other: int) -> None:
    path, truth = walk_of(one, 9), walk_of(other, 60)
    total, count = 0.0, 0
    for row, (x, y) in enumerate(truth):
        moment = row * 0.04
        if moment <= 2.0:
            at = min(int(moment / 0.25), 7)
            share = moment / 0.25 - at
            px, py = (1 - share) * path[at] + share * path[at + 1]
            total, count = total + math.hypot(px - x, py - y), count + 1
    assert time_aligned_ade(path, np.arange(9) * 0.25, truth, 0.04) == pytest.approx(total / count)


@given(SEED)
def test_arc_alignment_agrees_with_a_loop(seed: int) -> None:
    path = walk_of(seed, 5)
    rows = np.stack([np.zeros(50), np.linspace(0, 1, 50)], 1)
    pieces = [math.dist(a, b) for a, b in pairwise(path)]
    total = 0.0
    for i in range(50):
        left, k = i / 49 * sum(pieces), 0
        while k < 3 and left > pieces[k]:
            left, k = left - pieces[k], k + 1
        place = path[k] + (path[k + 1] - path[k]) * left / pieces[k]
        total += math.dist(place, rows[i])
    assert arc_aligned_ade(path, rows) == pytest.approx(total / 50)


@given(SEED, SEED, st.floats(-3, 3))
def test_moving_and_turning_both_changes_nothing(one: int, other: int, angle: float) -> None:
    path, truth = walk_of(one), walk_of(other)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def move(points: np.ndarray) -> np.ndarray:
        return points @ turn + (3, -7)

    for metric in TIMELESS:
        assert metric(move(path), move(truth)) == pytest.approx(metric(path, truth), rel=1e-6, abs=1e-7)
    times = np.arange(len(path)) * 0.05
    assert time_aligned_ade(move(path), times, move(truth), 0.04) == pytest.approx(
        time_aligned_ade(path, times, truth, 0.04)
    )


@given(SEED)
def test_a_path_is_itself(seed: int) -> None:
    path = walk_of(seed)
    assert time_aligned_ade(path, np.arange(40) * 0.04, path, 0.04) == pytest.approx(0, abs=1e-12)
    assert arc_aligned_ade(path, path) == pytest.approx(0, abs=1e-12)
    assert length_ratio(path, path) == 1.0
    assert reach_half_metre(path, path) == reach_metre(path, path) == 1.0


@pytest.mark.parametrize("metric", TIMELESS, ids=lambda metric: metric.__name__)
def test_degenerate_paths_are_refused(metric: Callable[..., object]) -> None:
    for bad in (np.zeros((4, 3)), LINE * np.nan, np.zeros(4)):
        with pytest.raises(ShapeError):
            metric(bad, LINE)
        with pytest.raises(ShapeError):
            metric(LINE, bad)


def test_times_that_are_none_are_refused() -> None:
    for times in ([0, 1], [0, 1, 1], [0, 1, np.nan], [9, 10, 11]):
        with pytest.raises(ShapeError):
            time_aligned_ade(LINE[:3], times, LINE, 0.04)
