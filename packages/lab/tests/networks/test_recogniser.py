"""The shipped recogniser: what it says, how well it sees, and which files it is read from."""

import json
from pathlib import Path

import numpy as np
import pytest

from worldgauge.suites.closedloop.recognition import recogniser as recognition
from worldgauge.suites.closedloop.recognition.recogniser import (
    Recogniser,
    identity,
    recogniser,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS, scene_seed
from worldgauge_lab.network_recogniser import HOMES, clear_views, labelled_views, train


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
