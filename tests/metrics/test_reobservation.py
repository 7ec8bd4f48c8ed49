"""How long a surface was away, and what of it came back: by hand, beside plain loops, and at the limits."""

import math

import cv2
import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.metrics.reobservation import ReturnedPixels, SurfaceClock, returned_detail, returned_mse

NAN = np.nan


def wall(*columns: float) -> np.ndarray:
    """A view of one pixel per column: hits at x, NaN for sky."""
    return np.array([[[x, 0.0, 0.0] for x in columns]], np.float32)


def noise(seed: int, size: tuple[int, int] = (24, 32)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)


def test_time_away_by_hand() -> None:
    clock = SurfaceClock()
    assert clock.see(wall(0, 1), 0.0, shown=True).tolist() == [[0, 0]]
    assert clock.see(wall(1, 2), 0.4, shown=True).tolist() == [[0, 0]]
    # At 5 s the model is on its own: 0 was last seen 5 s ago, 2 4.6 s ago; 7 is new, and sky is nothing.
    away = clock.see(wall(0, 2, 7, NAN), 5.0, shown=False)
    assert away[0, :2].tolist() == pytest.approx([5, 4.6])
    assert np.isnan(away[0, 2:]).all()
    # It stays what it was when it came back, also while it remains in view; what nobody was shown stays new.
    assert clock.see(wall(0, 1), 5.3, shown=False)[0].tolist() == pytest.approx([5, 4.9])
    late = clock.see(wall(7, 0), 9.0, shown=False)[0]
    assert np.isnan(late[0])
    assert late[1] == pytest.approx(3.7)


def test_a_short_gap_is_no_absence() -> None:
    clock = SurfaceClock(out_of_view_s=0.5)
    clock.see(wall(0), 0.0, shown=True)
    assert clock.see(wall(0), 0.5, shown=False).tolist() == [[0]]
    assert clock.see(wall(0), 1.1, shown=False)[0, 0] == pytest.approx(0.6)


def test_time_away_equals_a_plain_dictionary() -> None:
    rng = np.random.default_rng(3)
    clock, last, gap = SurfaceClock(), {}, {}
    for number in range(40):
        time = 0.4 * number
        views = rng.integers(0, 30, (3, 5)).astype(float)
        views[rng.random((3, 5)) < 0.2] = NAN
        away = clock.see(np.stack([views, 0 * views, 0 * views], -1).astype(np.float32), time, shown=number < 10)
        for x in {x for x in views.ravel() if not math.isnan(x)}:
            if x not in last:
                gap[x] = 0.0 if number < 10 else NAN
            elif time - last[x] > 0.5 and not math.isnan(gap[x]):
                gap[x] = time - last[x]
            last[x] = time
        expected = [[gap.get(x, NAN) for x in row] for row in views]
        np.testing.assert_allclose(away, expected, rtol=1e-5)


def test_scores_do_not_depend_on_place_or_time() -> None:
    # Where a walk is and when it began do not matter.
    rng = np.random.default_rng(4)
    views = [rng.uniform(-4, 4, (6, 8, 3)).astype(np.float32) for _ in range(12)]
    one, other = SurfaceClock(), SurfaceClock()
    for number, view in enumerate(views):
        a = one.see(view, number, shown=number < 6)
        b = other.see(view + np.float32(8.0), 100.0 + number, shown=number < 6)
        np.testing.assert_allclose(a, b)
    # Scores by hand.
    want, got = np.zeros((1, 4, 3), np.uint8), np.zeros((1, 4, 3), np.uint8)
    got[0, :, :] = [[1] * 3, [2] * 3, [30] * 3, [40] * 3]
    away = np.array([[1.5, 3.0, 0.5, NAN]], np.float32)
    assert returned_mse([(want, got, away)]) == pytest.approx((1 + 4) / 2)
    assert returned_mse([(want, got, away)], least_s=2.0) == pytest.approx(4)
    sums = ReturnedPixels((1.0, 2.0, math.inf))
    sums.add(want, got, away)
    assert [(one.pixels, one.mse) for one in sums.bins()] == [(1, 1), (1, 4)]
    assert sums.total().pixels == 2


def test_scores_equal_plain_loops_over_pixels() -> None:
    times = [np.random.default_rng(k).uniform(0, 4, (24, 32)).astype(np.float32) for k in range(3)]
    frames = [(noise(k), noise(k + 50), away) for k, away in enumerate(times)]
    squared, fine = [], []
    for want, got, away in frames:
        details = []
        for frame in (want, got):
            grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY).astype(np.float32)
            details.append(grey - cv2.GaussianBlur(grey, (0, 0), 1.5))
        for y in range(24):
            for x in range(32):
                if away[y, x] >= 1:
                    squared += [(int(want[y, x, c]) - int(got[y, x, c])) ** 2 for c in range(3)]
                    fine.append((details[0][y, x], details[1][y, x]))
    one, other = np.array(fine, np.float64).T
    assert returned_mse(frames) == pytest.approx(np.mean(squared))
    assert returned_detail(frames) == pytest.approx(one @ other / math.sqrt((one @ one) * (other @ other)), abs=1e-6)


def test_a_blur_loses_its_detail_and_not_much_else() -> None:
    want, away = cv2.GaussianBlur(noise(7, (96, 96)), (0, 0), 1.0), np.full((96, 96), 2, np.float32)
    blurred, other = cv2.GaussianBlur(want, (0, 0), 6.0), cv2.GaussianBlur(noise(8, (96, 96)), (0, 0), 1.0)
    assert returned_mse([(want, blurred, away)]) < returned_mse([(want, other, away)])
    assert returned_detail([(want, want, away)]) == pytest.approx(1.0)
    assert abs(returned_detail([(want, other, away)])) < 0.1
    assert returned_detail([(want, np.full_like(want, 128), away)]) == 0.0
    # Brighter, or of less contrast, it is the same detail.
    assert returned_detail([(want, (want // 2 + 60).astype(np.uint8), away)]) > 0.98


def test_the_limits() -> None:
    frame, never = noise(1), np.full((24, 32), NAN, np.float32)
    assert returned_mse([]) is None
    assert returned_mse([(frame, frame, never)]) is None
    assert returned_detail([(frame, frame, never)]) is None
    flat, away = np.full_like(frame, 9), np.full((2, 2), 3, np.float32)
    assert returned_detail([(flat, frame, away)]) is None
    assert returned_mse([(frame, frame, away)]) == 0.0
    with pytest.raises(ShapeError, match="one shape"):
        returned_mse([(frame, frame[:10], away)])
    clock = SurfaceClock()
    clock.see(wall(0), 2.0, shown=True)
    with pytest.raises(ShapeError, match="order of time"):
        clock.see(wall(0), 1.0, shown=True)
