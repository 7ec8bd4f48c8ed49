"""The shipped recogniser: what it says, how well it sees, and which files it is read from."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.suites.closedloop.recognition.recogniser import recognition
from worldgauge.suites.closedloop.recognition.recogniser.features import in_mirror
from worldgauge.suites.closedloop.recognition.recogniser.recognition import (
    FILE_VARIABLE,
    Recogniser,
    identity,
    load,
    recogniser,
    save,
)
from worldgauge.suites.closedloop.recognition.recogniser.samples import clear_views, labelled_views
from worldgauge.suites.closedloop.recognition.recogniser.train import HOMES, train
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.homes import LABELS
from worldgauge.worlds.indoor.splits import scene_seed

IMAGE = np.random.default_rng(3).integers(0, 256, (96, 128, 3), np.uint8)
BOX = (10, 20, 60, 70)


@pytest.fixture(scope="module")
def shipped() -> Recogniser:
    return recogniser()


def test_probabilities(shipped: Recogniser) -> None:
    shares = shipped.probabilities(IMAGE, BOX)
    assert shares.shape == (len(LABELS),)
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    assert np.array_equal(shares, shipped.probabilities(IMAGE.copy(), BOX))
    present = shipped.presence(IMAGE)
    assert present.shape == (len(LABELS),)
    assert ((present >= 0) & (present <= 1)).all()


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


def test_a_mirror_changes_nothing(shipped: Recogniser) -> None:
    assert shipped.probabilities(*in_mirror(IMAGE, BOX)) == pytest.approx(shipped.probabilities(IMAGE, BOX))


def test_the_shipped_file_is_small_and_says_what_it_was_made_of(shipped: Recogniser) -> None:
    assert (Path(recognition.__file__).parent / recognition.FILE).stat().st_size < 1_000_000
    assert shipped.facts["homes"] == HOMES
    assert shipped.facts["labels"] == list(LABELS)
    assert shipped.facts["trained_on"]["digest"] != shipped.facts["validated_on"]["digest"]
    assert identity() == f"recogniser-{shipped.digest[:16]}"
    assert shipped.facts["clear_boxes"] >= 200
    assert shipped.facts["clear_accuracy"] >= 0.9
    json.dumps(shipped.facts, allow_nan=False)


def test_it_is_kept_to_the_last_bit(shipped: Recogniser, tmp_path: Path) -> None:
    save(shipped, tmp_path / "deep" / "one.npz")
    again = load(tmp_path / "deep" / "one.npz")
    assert again.digest == shipped.digest
    assert again.facts == shipped.facts
    assert np.array_equal(again.probabilities(IMAGE, BOX), shipped.probabilities(IMAGE, BOX))
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["one.npz"]


@pytest.mark.parametrize("damage", ["cut", "changed", "text", "missing", "pickled"])
def test_damage_is_found(shipped: Recogniser, tmp_path: Path, damage: str) -> None:
    path = tmp_path / "one.npz"
    save(shipped, path)
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
    with pytest.raises(DataError, match="more than 16777216 bytes"):
        load(tmp_path / "bomb.npz")


def test_a_named_file_is_taken_in_place_of_the_shipped_one(
    shipped: Recogniser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = replace(shipped, scenes=replace(shipped.scenes, mean=shipped.scenes.mean + 1))
    save(other, tmp_path / "named.npz")
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "named.npz"))
    assert recogniser().digest == other.digest != shipped.digest
    monkeypatch.setenv(FILE_VARIABLE, str(tmp_path / "none.npz"))
    with pytest.raises(DataError, match=r"none\.npz: no recogniser \(No such file or directory\); train it again"):
        recogniser()


def test_a_file_of_another_version_is_refused_in_one_line(shipped: Recogniser, tmp_path: Path) -> None:
    save(replace(shipped, facts={**shipped.facts, "version": 1}), tmp_path / "old.npz")
    with pytest.raises(DataError, match=r"^\S*old\.npz: no recogniser \(version 1, not 2\); train it again$"):
        load(tmp_path / "old.npz")


@pytest.mark.slow
def test_same_homes_same_bytes_and_what_is_learned_holds_elsewhere() -> None:
    one, other = (train(2, held_out=1) for _ in range(2))
    assert one.digest == other.digest
    assert one.facts["accuracy"] > 0.2, "one of 27 labels by chance"
