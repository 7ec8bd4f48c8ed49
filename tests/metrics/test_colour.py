"""Colours of frames: worked by hand, beside scikit-image, unmoved by where things are, and at the limits."""

import numpy as np
import pytest
from skimage.color import rgb2lab

from worldgauge.core.errors import ShapeError
from worldgauge.metrics.colour import (
    WIDTH_PX,
    ColourMoments,
    colour_change,
    colour_distance,
    colour_drift,
    colour_moments,
)


def grey(level: int, size: tuple[int, int] = (90, 160)) -> np.ndarray:
    return np.full((*size, 3), level, np.uint8)


def noise(seed: int, size: tuple[int, int] = (90, 160)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)


def test_colours_by_hand() -> None:
    # Distance by hand.
    one = ColourMoments(np.array([50.0, 0, 0]), np.array([10.0, 0, 0]))
    other = ColourMoments(np.array([53.0, 4, 0]), np.array([10.0, 0, 12]))
    assert colour_distance(one, other) == pytest.approx(13)  # 3, 4, 12
    # Black and white are the whole of lightness apart.
    assert colour_drift(grey(255), grey(0)) == pytest.approx(100, abs=0.01)
    assert colour_change(grey(255), grey(0)) == pytest.approx(100, abs=0.01)
    half = grey(0)
    half[:, 80:] = 255  # mean 50, spread 50
    assert colour_drift(half, grey(0)) == pytest.approx(np.hypot(50, 50), abs=0.02)
    # Moments equal those of scikit image.
    for seed in range(3):
        frame = noise(seed)
        values = rgb2lab(frame).reshape(-1, 3)
        found = colour_moments(frame)
        np.testing.assert_allclose(found.mean, values.mean(0), atol=5e-3)
        np.testing.assert_allclose(found.spread, values.std(0), atol=5e-3)
    # Where things are does not count nor the size of the frame.
    frame = noise(1)
    assert colour_drift(frame[:, ::-1].copy(), frame) == pytest.approx(0, abs=1e-4)
    assert colour_drift(np.roll(frame, 30, 0), frame) == pytest.approx(0, abs=1e-4)
    assert colour_drift(frame.repeat(2, 0).repeat(2, 1), frame) == pytest.approx(0, abs=1e-4)
    assert colour_drift(noise(2), noise(3)) == colour_drift(noise(3), noise(2))


def test_tints_and_degenerate_frames() -> None:
    # A tint grows with its strength.
    frame = noise(4) // 2 + 40
    tinted = [
        colour_drift(np.clip(frame + np.array([k, 0, 0]), 0, 255).astype(np.uint8), frame) for k in (0, 5, 10, 30)
    ]
    assert tinted[0] == 0
    assert tinted == sorted(tinted)
    assert tinted[3] > 5
    # Degenerate frames.
    assert colour_drift(grey(9, (1, 1)), grey(9, (1, 1))) == 0
    assert colour_moments(grey(0, (1, 1))).spread.tolist() == pytest.approx([0, 0, 0])
    assert colour_moments(noise(1, (3, 10 * WIDTH_PX))).mean.shape == (3,)
    for wrong in (np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3), np.float32), np.zeros((0, 4, 3), np.uint8)):
        with pytest.raises(ShapeError, match="uint8"):
            colour_moments(wrong)
