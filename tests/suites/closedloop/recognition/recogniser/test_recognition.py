"""The recogniser: what it says, and how it is kept."""

import json
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.suites.closedloop.recognition.recogniser.recognition import (
    FILE_VARIABLE,
    Recogniser,
    cached_file,
    load,
    recogniser,
    save,
)
from worldgauge.suites.closedloop.recognition.recogniser.samples import labelled_views
from worldgauge.suites.closedloop.recognition.recogniser.train import train
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.indoor.splits import scene_seed

IMAGE = np.random.default_rng(3).integers(0, 256, (96, 128, 3), np.uint8)
BOX = (10, 20, 60, 70)


def test_probabilities(poor: Recogniser) -> None:
    shares = poor.probabilities(IMAGE, BOX)
    assert shares.shape == (len(LABELS),)
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert np.array_equal(shares, poor.probabilities(IMAGE.copy(), BOX))
    present = poor.presence(IMAGE)
    assert present.shape == (len(LABELS),)
    assert ((present >= 0) & (present <= 1)).all()


def test_even_a_poor_one_beats_the_most_common_label_in_homes_it_never_saw(poor: Recogniser) -> None:
    right, labels, present, scores = [], [], [], []
    for number in range(100, 103):
        for view in labelled_views(Home(scene_seed("val", number)), 12, np.random.default_rng(number)):
            right += [
                int(poor.probabilities(view.image, box).argmax()) == label
                for box, label in zip(view.boxes, view.labels, strict=True)
            ]
            labels += view.labels
            present.append(view.present)
            scores.append(poor.presence(view.image))
    assert np.mean(right) > 1.5 * np.bincount(labels).max() / len(labels)
    seen = np.array(present)
    assert np.array(scores)[seen].mean() > 2 * np.array(scores)[~seen].mean()


def test_facts_say_what_it_was_trained_on(poor: Recogniser) -> None:
    assert poor.facts["homes"] == 4
    assert poor.facts["labels"] == list(LABELS)
    assert poor.facts["trained_on"]["digest"] != poor.facts["validated_on"]["digest"]
    assert 0 < poor.facts["accuracy"] < 1
    json.dumps(poor.facts, allow_nan=False)


def test_it_is_kept_to_the_last_bit(poor: Recogniser, tmp_path: Path) -> None:
    save(poor, tmp_path / "deep" / "one.npz")
    again = load(tmp_path / "deep" / "one.npz")
    assert again.digest == poor.digest
    assert again.facts == poor.facts
    assert np.array_equal(again.probabilities(IMAGE, BOX), poor.probabilities(IMAGE, BOX))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["one.npz"]


@pytest.mark.parametrize("damage", ["cut", "changed", "text", "missing", "pickled"])
def test_damage_is_found(poor: Recogniser, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "one.npz"
    save(poor, path)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "text":
        path.write_text("no zip")
    elif damage == "missing":
        path.unlink()
    else:
        with np.load(path) as content:
            arrays = dict(content)
        arrays["boxes.biases.0"] = arrays["boxes.biases.0"] + 1
        if damage == "pickled":
            arrays["boxes.biases.0"] = np.array([{"a": 1}], object)
        np.savez(path, **arrays)
    with pytest.raises(DataError, match="train it again"):
        load(path)


def test_too_large_a_file_is_not_unpacked(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", facts=np.zeros(40 * 2**20, np.uint8))
    with pytest.raises(DataError, match="bytes for a recogniser"):
        load(tmp_path / "bomb.npz")


def test_cache_and_named_file(poor: Recogniser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FILE_VARIABLE, raising=False)
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    file = cached_file(4)
    assert file is not None
    assert file.is_relative_to(tmp_path / "cache")
    save(poor, file)
    assert recogniser(4).digest == poor.digest
    save(poor, tmp_path / "named.npz")
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "named.npz"))
    assert recogniser().digest == poor.digest
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "none.npz"))
    with pytest.raises(DataError):
        recogniser()
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")
    assert cached_file() is None


@pytest.mark.slow
def test_same_homes_same_bytes() -> None:
    assert train(2, held_out=1).digest == train(2, held_out=1).digest
