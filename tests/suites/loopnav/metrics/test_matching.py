import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from worldgauge.core.errors import ShapeError
from worldgauge.suites.loopnav.metrics.sgcs import (
    assignment,
    closest_maximum_matching,
    maximum_matching,
    padded_cost_matches,
)

valid_matrices = st.tuples(st.integers(0, 5), st.integers(0, 5)).flatmap(lambda shape: arrays(np.bool_, shape))
cost_matrices = st.tuples(st.integers(0, 6), st.integers(0, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(0, 100, allow_nan=False, width=32))
)


def brute_force(valid):
    m, n = valid.shape
    if m > n:
        return brute_force(valid.T)
    return max(sum(valid[i, j] for i, j in enumerate(choice)) for choice in itertools.permutations(range(n), m))


def test_by_hand():
    # Row 0 must give up column 0, or row 1 stays alone.
    assert maximum_matching([[True, True], [True, False]]) == 2
    assert maximum_matching([[True, False], [True, False]]) == 1
    # A chain: the third row only fits after two re-seatings.
    assert maximum_matching([[1, 1, 0], [0, 1, 1], [1, 0, 0]]) == 3


@settings(deadline=None)
@given(valid_matrices)
def test_equals_brute_force(valid):
    assert maximum_matching(valid) == brute_force(valid)


def test_equals_independent_library_on_large_matrices():
    rng = np.random.default_rng(3)
    for _ in range(200):
        valid = rng.random(rng.integers(1, 40, 2)) < rng.random() * 0.3
        assert maximum_matching(valid) == (maximum_bipartite_matching(csr_matrix(valid)) >= 0).sum()


@settings(deadline=None)
@given(valid_matrices, st.randoms(use_true_random=False))
def test_order_does_not_matter(valid, random):
    rows, columns = list(range(valid.shape[0])), list(range(valid.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    assert maximum_matching(valid[rows][:, columns]) == maximum_matching(valid) == maximum_matching(valid.T)


@settings(deadline=None)
@given(cost_matrices)
def test_assignment_costs_what_the_independent_solver_costs(cost):
    columns = assignment(cost)
    rows = np.flatnonzero(columns >= 0)
    assert len(rows) == min(cost.shape) == len(set(columns[rows]))
    ours, theirs = cost[rows, columns[rows]].sum(), cost[linear_sum_assignment(cost)].sum()
    assert ours == pytest.approx(theirs, abs=1e-6)


@settings(deadline=None)
@given(cost_matrices, st.floats(0.1, 100))
def test_closest_maximum_matching_is_maximum_and_valid(distance, limit):
    columns = closest_maximum_matching(distance, limit)
    rows = np.flatnonzero(columns >= 0)
    assert (distance[rows, columns[rows]] < limit).all()
    assert len(rows) == len(set(columns[rows])) == maximum_matching(distance < limit)


def test_closest_maximum_matching_takes_the_near_pair_among_equals():
    assert closest_maximum_matching([[3.0, 1.0], [2.0, 3.0]], 10).tolist() == [1, 0]
    # Three rows for two columns: the far row stays alone.
    assert closest_maximum_matching([[9.0, 9.0], [1.0, 5.0], [5.0, 1.0]], 10).tolist() == [-1, 0, 1]


def test_padded_cost_equals_the_independent_solver():
    rng = np.random.default_rng(5)
    for _ in range(200):
        m, n = rng.integers(1, 8, 2)
        a, b = rng.random((m, 2)), rng.random((n, 2))
        distance = np.linalg.norm(a[:, None] - b, axis=-1)
        cost = np.where(distance < 0.3, distance, 0.3 + distance.max() + 1)
        expected = (distance[linear_sum_assignment(cost)] < 0.3).sum()
        assert padded_cost_matches(distance, 0.3) == expected <= maximum_matching(distance < 0.3)


def test_degenerate_inputs():
    assert maximum_matching(np.zeros((0, 4), bool)) == 0
    assert maximum_matching(np.zeros((4, 0), bool)) == 0
    assert padded_cost_matches(np.zeros((0, 4)), 1.0) == 0
    assert assignment(np.zeros((3, 0))).tolist() == [-1, -1, -1]
    assert closest_maximum_matching(np.zeros((2, 0)), 1.0).tolist() == [-1, -1]
    with pytest.raises(ShapeError, match="shape"):
        maximum_matching([True, False])
    with pytest.raises(ShapeError, match="finite"):
        assignment([[np.nan]])
