"""Strips as models may show them, for training."""

import numpy as np

from worldgauge_lab.network_layers import CONTRAST, OFFSET, as_imagined


def test_strips_as_models_show_them_are_of_the_seed_and_change_within_limits() -> None:
    strips = np.broadcast_to(np.linspace(-0.5, 0.5, 32, dtype=np.float32)[:, None], (64, 24, 32, 3))
    made = as_imagined(strips, np.random.default_rng(0))
    assert np.array_equal(made, as_imagined(strips, np.random.default_rng(0)))
    assert not np.array_equal(made, as_imagined(strips, np.random.default_rng(1)))
    assert made.dtype == np.float32
    assert made.shape == strips.shape
    assert np.abs(made).max() <= 1
    levels = made.mean((1, 2))
    assert 0.05 < np.abs(levels).max() <= OFFSET + 0.01
    gains = np.array([[np.polyfit(strips[0, 0, :, 0], one[..., c].mean(0), 1)[0] for c in range(3)] for one in made])
    assert 0.05 < np.abs(gains - 1).max() <= CONTRAST + 0.05
    noisy = np.array([np.diff(one, axis=0).std() > 0.01 for one in made])
    assert 0.3 < noisy.mean() < 0.6
