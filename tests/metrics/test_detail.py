"""Correlation of fine detail: by hand, beside plain loops, what does not change it, and at the limits."""

import cv2
import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.metrics.colour import correlation, detail_correlation, fine_detail


def noise(seed: int, size: tuple[int, int] = (40, 56)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)


def test_by_hand() -> None:
    # Details (1, 2) and (2, 1) over two pixels: 4 / sqrt(5 * 5).
    assert correlation(2, 4.0, 5.0, 5.0) == pytest.approx(0.8)
    # One white pixel on black, 255 less what the Gaussian keeps of it: (sum exp(-k^2 / 4.5))^-2 of 1.
    frame = np.zeros((21, 21, 3), np.uint8)
    frame[10, 10] = 255
    weight = 1 / np.exp(-(np.arange(-10, 11) ** 2) / 4.5).sum()
    assert fine_detail(frame)[10, 10] == pytest.approx(255 * (1 - weight**2), rel=1e-3)
    # The same pixel elsewhere shares no detail with it, but the rings around both.
    other = np.roll(frame, 8, axis=1)
    assert abs(detail_correlation(other, frame)) < 0.01


def test_equals_plain_loops_with_a_gaussian_of_its_own() -> None:
    got, want = noise(1), cv2.GaussianBlur(noise(2), (0, 0), 1.0)
    got = (got // 2 + want // 2).astype(np.uint8)
    taps = np.exp(-(np.arange(-6, 7) ** 2) / (2 * 1.5**2))
    taps /= taps.sum()
    details = []
    for frame in (got, want):
        grey = np.rint(frame @ np.array([0.299, 0.587, 0.114]))
        padded = np.pad(grey, 6, mode="reflect")
        blurred = np.zeros_like(grey)
        for y in range(grey.shape[0]):
            for x in range(grey.shape[1]):
                blurred[y, x] = taps @ padded[y : y + 13, x : x + 13] @ taps
        details.append(grey - blurred)
    a, b = (one.ravel() for one in details)
    assert detail_correlation(got, want) == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)), abs=2e-3)


def test_what_detail_is() -> None:
    # Brightness contrast and mirroring do not change it.
    got, want = noise(3) // 2, noise(3) // 3 + noise(4) // 3
    before = detail_correlation(got, want)
    assert detail_correlation((got + 70).astype(np.uint8), want) == pytest.approx(before)
    assert detail_correlation((got * 2).astype(np.uint8), want) == pytest.approx(before, abs=0.01)
    assert detail_correlation(got[:, ::-1], want[:, ::-1]) == pytest.approx(before, abs=1e-6)
    assert detail_correlation(want, got) == pytest.approx(before)
    # A blur that a squared error rewards has little of it.
    want = cv2.GaussianBlur(noise(5, (96, 96)), (0, 0), 1.0)
    blurred, moved = cv2.GaussianBlur(want, (0, 0), 6.0), np.roll(want, 5, axis=1)
    assert ((want.astype(float) - blurred) ** 2).mean() < ((want.astype(float) - moved) ** 2).mean()
    assert detail_correlation(want, want) == pytest.approx(1.0)
    assert abs(detail_correlation(blurred, want)) < 0.5


def test_the_limits() -> None:
    frame, flat = noise(6), np.full((40, 56, 3), 9, np.uint8)
    assert detail_correlation(frame, flat) is None
    assert detail_correlation(flat, frame) == 0.0
    assert detail_correlation(flat, flat) is None
    assert correlation(0, 0.0, 0.0, 0.0) is None
    one = np.full((1, 1, 3), 200, np.uint8)
    assert detail_correlation(one, one) is None
    with pytest.raises(ShapeError, match="differ in shape"):
        detail_correlation(frame, frame[:10])
    with pytest.raises(ShapeError, match="expected a frame"):
        detail_correlation(frame.astype(float), frame)
    with pytest.raises(ShapeError, match="expected a frame"):
        fine_detail(frame[:0])
