"""Lengths and enclosed areas of walks: by hand, against a raster, invariances, the degenerate."""

import cv2
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from worldgauge.core.errors import ShapeError
from worldgauge.metrics import metrics
from worldgauge.suites.loopnav.metrics.path import (
    coverage,
    enclosed_area,
    normalised_deviation,
    path_length,
    seen_surfaces,
)

SEED = st.integers(0, 2**32 - 1)
OUT = [(0, 0), (2, 0), (2, 1)]
BACK = [(2, 1), (0, 1), (0, 0)]


def random_loop(seed, n=12):
    rng = np.random.default_rng(seed)
    out = np.cumsum(rng.normal(size=(n, 2)), axis=0)
    back = np.concatenate([out[-1:], out[1:-1][::-1] + rng.normal(size=(n - 2, 2)), out[:1]])
    return out, back


def test_by_hand():
    assert (enclosed_area(OUT, BACK), path_length(OUT)) == (pytest.approx(2), 3)
    assert normalised_deviation(OUT, BACK) == pytest.approx(2 / 3)
    # Two triangles of area 1 on either side of the way out: the signed sum would be 0.
    assert enclosed_area([(0, 0), (4, 0)], [(4, 0), (3, 1), (2, 0), (1, -1), (0, 0)]) == pytest.approx(2)
    # Three unequal lobes, crossing between the points of both ways.
    assert enclosed_area([(0, 0), (6, 0)], [(6, 0), (5, 2), (3, -2), (1, 2), (0, 0)]) == pytest.approx(
        0.5 * 2 * 2 + 0.5 * 2 * 2 + 0.5 * 2 * 2
    )


def test_the_way_back_on_the_way_out_encloses_nothing():
    out, _ = random_loop(1)
    assert enclosed_area(out, out[::-1]) == pytest.approx(0, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(SEED)
def test_agrees_with_counting_pixels(seed):
    """Winding numbers of a fine grid, by signed crossings of a ray to the right."""
    out, back = random_loop(seed)
    curve = np.concatenate([out, back])
    low, high = curve.min(0), curve.max(0)
    n = 700
    x = low[0] + (np.arange(n) + 0.5) / n * (high[0] - low[0])
    y = low[1] + (np.arange(n) + 0.5) / n * (high[1] - low[1])
    winding = np.zeros((n, n), int)
    for a, b in zip(curve, np.roll(curve, -1, axis=0), strict=True):
        rows = (np.minimum(a[1], b[1]) <= y) & (y < np.maximum(a[1], b[1]))
        with np.errstate(divide="ignore", invalid="ignore"):
            at = a[0] + (y - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
        winding[rows] += (x[None] < at[rows, None]) * int(np.sign(b[1] - a[1]))
    pixel = (high - low).prod() / n**2
    assert enclosed_area(out, back) == pytest.approx(np.abs(winding).sum() * pixel, rel=0.02)


@given(SEED)
def test_a_convex_loop_has_its_polygon_area(seed):
    points = np.random.default_rng(seed).normal(size=(9, 2)).astype(np.float32)
    hull = cv2.convexHull(points)[:, 0].astype(float)
    assume(len(hull) >= 4)
    half = len(hull) // 2
    area = enclosed_area(hull[: half + 1], np.concatenate([hull[half:], hull[:1]]))
    assert area == pytest.approx(cv2.contourArea(hull.astype(np.float32)), rel=1e-5)


@settings(deadline=None)
@given(SEED, st.floats(-3, 3), st.floats(0.1, 10))
def test_moving_turning_mirroring_scaling(seed, angle, scale):
    out, back = random_loop(seed)
    area, length = enclosed_area(out, back), path_length(out)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for move in (lambda p: p @ turn + (100, -7), lambda p: p * (-1, 1)):
        assert enclosed_area(move(out), move(back)) == pytest.approx(area, rel=1e-6, abs=1e-9)
        assert path_length(move(out)) == pytest.approx(length)
    assert enclosed_area(scale * out, scale * back) == pytest.approx(scale**2 * area, rel=1e-6)
    assert enclosed_area(back, out) == pytest.approx(area, rel=1e-6), "walked from the other end"
    assert enclosed_area(out[::-1], back[::-1]) == pytest.approx(area, rel=1e-6), "walked backwards"
    middle = (out[:1] + out[1:2]) / 2
    denser = np.concatenate([out[:1], middle, middle, out[1:]])
    assert enclosed_area(denser, back) == pytest.approx(area, rel=1e-6), "more points on the same way"


def test_degenerate_paths():
    assert (path_length(np.zeros((0, 2))), path_length([(3, 4)])) == (0, 0)
    assert (enclosed_area([(1, 1)], [(1, 1)]), enclosed_area([(0, 0), (1, 0)], [(1, 0), (0, 0)])) == (0, 0)
    assert (normalised_deviation([(1, 1)], [(1, 1)]), path_length([(0, 0, 0), (1, 2, 2)])) == (None, 3)
    for out, back in (([(0, 0, 0)], [(0, 0, 0)]), (np.zeros((0, 2)), OUT), (OUT, 3.0), (OUT, [(0, np.nan)])):
        with pytest.raises(ShapeError):
            enclosed_area(out, back)


@pytest.mark.parametrize("name", ["path/length", "path/enclosed_area", "path/normalised_deviation"])
def test_registered_with_its_facts(name):
    facts = metrics.entry(name).facts
    assert (facts["better"], facts["bounds"]) == ("neither", (0.0, np.inf))
    assert facts["unit"] == ("m^2" if name.endswith("area") else "m")


def ground(x0, x1, y0, y1, z=3.0, step=0.25):
    """Hits on level ground, seen from above."""
    x, y = np.meshgrid(np.arange(x0, x1, step) + step / 2, np.arange(y0, y1, step) + step / 2)
    return np.stack([x, y, np.full_like(x, z)], -1).astype(np.float32)


def test_coverage_by_hand():
    seen = seen_surfaces([ground(0, 4, 0, 4)])
    assert (coverage(ground(0, 4, 0, 4), seen), coverage(ground(10, 14, 0, 4), seen)) == (1.0, 0.0)
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
