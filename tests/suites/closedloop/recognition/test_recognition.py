"""The shipped recogniser: what it says, how well it sees, and which files it is read from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.suites.closedloop.recognition.recogniser import (
    FILE_VARIABLE,
    Recogniser,
    in_mirror,
    load,
    recogniser,
    save,
)
from worldgauge.worlds.indoor.homes import LABELS

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


def test_a_mirror_changes_nothing(shipped: Recogniser) -> None:
    assert shipped.probabilities(*in_mirror(IMAGE, BOX)) == pytest.approx(shipped.probabilities(IMAGE, BOX))


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
