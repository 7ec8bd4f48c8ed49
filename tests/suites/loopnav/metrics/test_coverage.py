import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.suites.loopnav.metrics.path import coverage, seen_surfaces


def ground(x0, x1, y0, y1, z=3.0, step=0.25):
    """Hits on level ground, seen from above."""
    x, y = np.meshgrid(np.arange(x0, x1, step) + step / 2, np.arange(y0, y1, step) + step / 2)
    return np.stack([x, y, np.full_like(x, z)], -1).astype(np.float32)


def test_by_hand():
    seen = seen_surfaces([ground(0, 4, 0, 4)])
    assert coverage(ground(0, 4, 0, 4), seen) == 1.0
    assert coverage(ground(10, 14, 0, 4), seen) == 0.0
    assert coverage(ground(2, 6, 0, 4), seen) == pytest.approx(0.5, abs=0.07)
    assert coverage(ground(0, 4, 0, 4, z=4.0), seen) == 0.0, "a block laid on the ground is a new surface"


def test_views_add_up_and_order_does_not_matter():
    left, right = ground(0, 4, 0, 4), ground(4, 8, 0, 4)
    both = seen_surfaces([left, right])
    assert np.array_equal(both, seen_surfaces([right, left, left]))
    assert coverage(ground(0, 8, 0, 4), both) == 1.0


def test_equals_a_set_of_tuples():
    rng = np.random.default_rng(0)
    first, second = (rng.uniform(-3, 3, (20, 30, 3)).astype(np.float32) for _ in "ab")
    first[:5] = second[2:9, 4:] = np.nan

    def cells(position):
        return [tuple(p) for p in np.floor(position[np.isfinite(position[..., 0])] / np.float32(1.5) + 0.5)]

    known = set(cells(first))
    expected = np.mean([cell in known for cell in cells(second)])
    assert coverage(second, seen_surfaces([first], cell=1.5), cell=1.5) == pytest.approx(expected)


def test_faces_are_stable_under_rounding_noise():
    rng = np.random.default_rng(1)
    face = ground(0, 4, 0, 4, z=5.0)
    noisy = face + rng.normal(0, 1e-4, face.shape).astype(np.float32) * [0, 0, 1]
    assert coverage(noisy.astype(np.float32), seen_surfaces([face])) == 1.0


def test_degenerate_inputs():
    sky = np.full((4, 5, 3), np.nan, np.float32)
    assert len(seen_surfaces([sky])) == len(seen_surfaces([])) == 0
    assert coverage(sky, seen_surfaces([ground(0, 1, 0, 1)])) is None
    assert coverage(ground(0, 1, 0, 1), seen_surfaces([sky])) == 0.0
    with pytest.raises(ShapeError, match="shape"):
        seen_surfaces([np.zeros((3, 3), np.float32)])
    with pytest.raises(ShapeError, match="origin"):
        seen_surfaces([np.full((2, 2, 3), 1e9, np.float32)])
