import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.metrics.lpips_fvd import frechet_distance, fvd, fvd_pair


def by_the_formula(a, b):
    offset = a.mean(0) - b.mean(0)
    cov_a, cov_b = np.atleast_2d(np.cov(a.T)), np.atleast_2d(np.cov(b.T))
    return offset @ offset + np.trace(cov_a + cov_b - 2 * np.real(sqrtm(cov_a @ cov_b)))


@pytest.mark.parametrize("case", cases("loopnav_", "frechet_cases"))
def test_vector_loopnav_frechet(case):
    assert frechet_distance(case["features_a"], case["features_b"]) == pytest.approx(case["expected"], abs=1e-8)


def test_frechet_by_hand():
    # One dimension by hand.
    # Means 1 and 5, standard deviations sqrt(2) and 2 sqrt(2): (1 - 5)^2 + (sqrt(2) - 2 sqrt(2))^2
    assert frechet_distance([[0.0], [2.0]], [[3.0], [7.0]]) == pytest.approx(16 + 2)
    # Single samples have no covariance.
    assert frechet_distance([[1.0, 2.0]], [[4.0, 6.0]]) == 25
    assert frechet_distance([[0.0]], [[-1.0], [1.0]]) == pytest.approx(2)


@pytest.mark.parametrize(("n", "m", "d"), [(50, 60, 5), (40, 20, 12), (8, 30, 6)])
def test_equals_the_matrix_square_root(n, m, d):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), rng.normal(1, 2, (m, d))
    assert frechet_distance(a, b) == pytest.approx(by_the_formula(a, b), rel=1e-9)


def test_fewer_samples_than_dimensions_equals_the_many_sample_way():
    """Padding with zero dimensions changes nothing, though it turns full covariances into singular ones."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(9, 4)), rng.normal(1, 1, (7, 4))
    wide = [np.hstack([x, np.zeros((len(x), 400 - 4))]) for x in (a, b)]
    assert frechet_distance(*wide) == pytest.approx(frechet_distance(a, b), rel=1e-10)
    assert frechet_distance(a, b) == pytest.approx(by_the_formula(a, b), rel=1e-9)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 12), st.integers(1, 8))
def test_properties(seed, n, m, d):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0, 3, (n, d)), rng.normal(1, 1, (m, d))
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    distance = frechet_distance(a, b)
    assert distance >= 0
    assert distance == pytest.approx(frechet_distance(b, a), abs=1e-9)
    assert distance == pytest.approx(frechet_distance(rng.permutation(a), b), abs=1e-9)
    assert distance == pytest.approx(frechet_distance(a @ turn + 5, b @ turn + 5), abs=1e-8)
    assert frechet_distance(2 * a, 2 * b) == pytest.approx(4 * distance, abs=1e-8)
    assert frechet_distance(a, a) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(a, a + 2) == pytest.approx(4 * d, abs=1e-8)


@pytest.mark.parametrize("bad", [[], [[]], [1.0, 2.0], [[np.nan, 0.0]], [[np.inf, 0.0]], [[1.0, 2.0, 3.0]]])
def test_refuses_what_it_cannot_take(bad):
    with pytest.raises(ShapeError):
        frechet_distance(bad, [[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ShapeError):
        frechet_distance([[0.0, 0.0], [1.0, 1.0]], bad)


def test_sets_and_pairs_of_videos():
    # Fvd of sets and of a pair.
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(5, 4)), rng.normal(size=(6, 4))
    assert fvd(a, b) == frechet_distance(a, b)
    assert fvd(a, a) == pytest.approx(0, abs=1e-9)
    assert fvd_pair([1.0, 2.0], [4.0, 6.0]) == 25
    assert fvd_pair(a[0], b[0]) == pytest.approx(((a[0] - b[0]) ** 2).sum()) == fvd_pair(b[0], a[0])
    # Fvd of what is no set is refused.
    with pytest.raises(ShapeError, match="fvd_pair"):
        fvd([[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]])
    for wrong in ([[1.0]], [1.0, 2.0, 3.0], []):
        with pytest.raises(ShapeError):
            fvd_pair(wrong, [1.0, 2.0])
