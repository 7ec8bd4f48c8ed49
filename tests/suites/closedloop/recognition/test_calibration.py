"""Calibration: what is stated against what is so."""

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.suites.closedloop.recognition.recogniser import (
    ConfidenceBin,
    calibration_error,
    reliability,
    softmax,
    temperature,
)


def test_by_hand() -> None:
    confidence = np.array([0.95, 0.95, 0.95, 0.95, 0.55, 0.55])
    right = np.array([True, True, True, False, True, False])
    assert reliability(confidence, right) == [
        ConfidenceBin(2, pytest.approx(0.55), pytest.approx(0.5)),
        ConfidenceBin(4, pytest.approx(0.95), pytest.approx(0.75)),
    ]
    assert calibration_error(confidence, right) == pytest.approx((4 * 0.20 + 2 * 0.05) / 6)


def test_perfect_and_none() -> None:
    assert calibration_error(np.ones(5), np.ones(5, bool)) == 0
    assert np.isnan(calibration_error(np.zeros(0), np.zeros(0, bool)))
    with pytest.raises(ShapeError):
        calibration_error(np.ones(3), np.ones(4, bool))


@pytest.mark.parametrize("heat", [0.5, 1.0, 2.5])
def test_temperature_is_found_again(heat: float) -> None:
    rng = np.random.default_rng(5)
    logits = rng.normal(0, 2, (20_000, 6))
    labels = np.array([rng.choice(6, p=each) for each in softmax(logits)])
    assert temperature(logits * heat, labels) == pytest.approx(heat, rel=0.04)


def test_softmax_adds_up_and_does_not_overflow() -> None:
    shares = softmax(np.array([[1000.0, 999.0], [-1e4, 0.0]]))
    assert shares.sum(-1) == pytest.approx([1, 1])
    assert shares[0, 0] == pytest.approx(1 / (1 + np.exp(-1)))
