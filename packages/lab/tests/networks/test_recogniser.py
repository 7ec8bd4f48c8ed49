"""The shipped recogniser: what it says, how well it sees, and which files it is read from."""

import json
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.suites.worldinworld.recognition import recogniser as recognition
from worldgauge.suites.worldinworld.recognition.recogniser import Recogniser, identity, recogniser, softmax
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS, scene_seed
from worldgauge_lab.network_recogniser import (
    HOMES,
    ConfidenceBin,
    calibration_error,
    clear_views,
    labelled_views,
    reliability,
    temperature,
    train,
)


@pytest.fixture(scope="module")
def shipped() -> Recogniser:
    return recogniser()


def test_it_names_what_is_seen_clearly_in_homes_it_never_saw(shipped: Recogniser) -> None:
    right, boxes, present, scores = [], [], [], []
    for number in range(500_000, 500_003):
        home, rng = Home(scene_seed("test", number)), np.random.default_rng(number)
        for view in clear_views(home, 16, rng):
            shares = shipped.probabilities(view.image, view.boxes[0])
            right.append(shares.argmax() == view.labels[0])
        for view in labelled_views(home, 6, rng):
            boxes += [
                shipped.probabilities(view.image, box).argmax() == label
                for box, label in zip(view.boxes, view.labels, strict=True)
            ]
            present.append(view.present)
            scores.append(shipped.presence(view.image))
    assert len(right) > 12
    assert np.mean(right) > 0.7
    assert 0.5 < np.mean(boxes) <= 1
    seen = np.array(present)
    assert np.array(scores)[seen].mean() > 2 * np.array(scores)[~seen].mean()


def test_the_shipped_file_is_small_and_says_what_it_was_made_of(shipped: Recogniser) -> None:
    assert (Path(recognition.__file__).parent / recognition.FILE).stat().st_size < 1_000_000
    assert shipped.facts["homes"] == HOMES
    assert shipped.facts["labels"] == list(LABELS)
    assert shipped.facts["trained_on"]["digest"] != shipped.facts["validated_on"]["digest"]
    assert identity() == f"recogniser-{shipped.digest[:16]}"
    assert shipped.facts["clear_boxes"] >= 200
    assert shipped.facts["clear_accuracy"] >= 0.9
    json.dumps(shipped.facts, allow_nan=False)


@pytest.mark.slow
def test_same_homes_same_bytes_and_what_is_learned_holds_elsewhere() -> None:
    one, other = (train(2, held_out=1) for _ in range(2))
    assert one.digest == other.digest
    assert one.facts["accuracy"] > 0.2, "one of 27 labels by chance"


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
