"""Walks as RLDS: they come back as they were, and what is damaged is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("google_crc32c")

from support.training_walks import WALKS, walk
from worldgauge.core.errors import DataError
from worldgauge_train.export_data import export_data, read_rlds, write_rlds
from worldgauge_train.export_data_rlds import decode_example, encode_example, read_records, write_record
from worldgauge_train.training.clip import DamagedClip, TrainingClip

FIRST = "worldgauge_walks-train.tfrecord-00000-of-00001"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rlds") / "set"
    assert write_rlds(iter(WALKS), out) == 3
    return out


def test_walks_come_back(written: Path) -> None:
    back = list(read_rlds(written, "train"))
    assert len(back) == 3
    for one, was in zip(back, WALKS, strict=True):
        assert isinstance(one, TrainingClip)
        assert np.array_equal(one.poses, was.poses.astype(np.float32))
        assert np.array_equal(one.actions.values, was.actions.values)
        assert one.actions.space == was.actions.space
        assert (one.camera, one.text) == (was.camera, was.text)
        assert np.array_equal(one.frames.to_array(), was.frames.to_array())
        assert one.frames.fps == was.frames.fps
    assert not list(read_rlds(written, "test"))


def test_steps_are_those_of_rlds(written: Path) -> None:
    (held, *_) = (decode_example(record) for record in read_records(written / FIRST))
    assert held["steps/is_first"].tolist() == [1] + [0] * 11
    assert held["steps/is_last"].tolist() == [0] * 11 + [1]
    assert held["steps/is_terminal"].tolist() == [0] * 12
    actions = held["steps/action"].reshape(12, 2)
    assert np.array_equal(actions[:-1], WALKS[0].actions.values)
    assert not actions[-1].any()
    assert held["steps/language_instruction"] == [b"a red house"] * 12
    assert held["episode_metadata/name"] == [b"toy/a"]


def test_files_are_of_a_size_and_of_the_same_bytes(tmp_path: Path, written: Path) -> None:
    write_rlds(iter(WALKS), tmp_path / "again")
    names = sorted(path.name for path in written.iterdir())
    assert names == sorted(["dataset_info.json", "features.json", "metadata.json", FIRST])
    assert all((written / name).read_bytes() == (tmp_path / "again" / name).read_bytes() for name in names)
    assert write_rlds(iter(WALKS), tmp_path / "small", shard_bytes=1) == 3
    shards = sorted(path.name for path in (tmp_path / "small").glob("*tfrecord*"))
    assert shards == [f"worldgauge_walks-train.tfrecord-{at:05d}-of-00003" for at in range(3)]
    assert [len(one.frames) for one in read_rlds(tmp_path / "small", "train") if isinstance(one, TrainingClip)] == [
        12,
        7,
        9,
    ]


def test_records_are_as_tensorflow_writes_them(tmp_path: Path) -> None:
    features = {"b": [b"x", b"yz"], "f": np.array([[0.5, -2.0]]), "i": [3, -1]}
    with open(tmp_path / "a", "wb") as file:
        write_record(file, encode_example(features))
    assert (tmp_path / "a").read_bytes().hex() == BY_TENSORFLOW
    (record,) = read_records(tmp_path / "a")
    held = decode_example(record)
    assert held["b"] == features["b"]
    assert held["f"].tolist() == [0.5, -2.0]
    assert held["i"].tolist() == [3, -1]


BY_TENSORFLOW = (
    "3b000000000000001a23ac5c0a390a0e0a016212090a070a01780a02797a0a110a0166120c120a0a080000003f000000c00a140a0169120f1a0d"
    "0a0b03ffffffffffffffffff01379a11ec"
)
"""tf.io.TFRecordWriter of TensorFlow 2.21.0, with the same tf.train.Example, serialised in the order of its keys."""


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "set"))


def test_a_changed_byte_is_one_damaged_walk(copy: Path) -> None:
    path = copy / FIRST
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    back = list(read_rlds(copy, "train"))
    assert [isinstance(one, DamagedClip) for one in back] == [True, False, False]
    assert "checksum" in back[0].why


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: bytes([data[0] ^ 1]) + data[1:], "length of a record is damaged"),
        (lambda data: data[:-1], "passes the end"),
        (lambda data: data + b"abc", "length of a record is damaged"),
        (lambda data: data + data, "holds 6 episodes"),
    ],
)
def test_a_file_that_is_cut_or_too_long(copy: Path, change: Callable[[bytes], bytes], words: str) -> None:
    path = copy / FIRST
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=words):
        list(read_rlds(copy, "train"))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("dataset_info", lambda told: told.update(name="other"), "no data set 'worldgauge_walks'"),
        ("dataset_info", lambda told: told["splits"][0].update(shardLengths=["x"]), "a field is missing or damaged"),
        ("dataset_info", lambda told: told["splits"][0].update(shardLengths=[1] * 100_001), "more than can be read"),
        ("dataset_info", lambda told: told["splits"][0].update(name="../x"), ""),
        ("metadata", lambda told: told.update(frame_size=[1]), "a field is missing or damaged"),
        ("metadata", lambda told: told.update(frame_size=[10**9, 10**9]), "features are not those"),
        ("features", lambda told: told["featuresDict"]["features"].pop("steps"), "features are not those"),
    ],
)
def test_another_data_set_is_one_line(copy: Path, name: str, change: Callable[[Any], object], words: str) -> None:
    path = copy / f"{name}.json"
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    if not words:  # a split that nobody can ask for
        assert not list(read_rlds(copy, "train"))
        return
    with pytest.raises(DataError, match=words):
        list(read_rlds(copy, "train"))


def test_steps_that_do_not_fit_are_a_damaged_walk(copy: Path) -> None:
    held = [decode_example(record) for record in read_records(copy / FIRST)]
    held[0]["steps/is_last"][3] = 1
    held[1]["steps/action"] = held[1]["steps/action"][:-1]
    del held[2]["steps/observation/image"][2:]
    with open(copy / FIRST, "wb") as file:
        for one in held:
            floats = {
                key: value.tolist() if value.dtype == np.int64 else value
                for key, value in one.items()
                if isinstance(value, np.ndarray)
            }
            write_record(file, encode_example({**one, **floats}))
    whys = [one.why for one in read_rlds(copy, "train") if isinstance(one, DamagedClip)]
    assert whys[0] == "episode 000000: its steps are not one episode from the first to the last"
    assert all(why.startswith("episode 0") and "of its steps is missing or damaged (cannot" in why for why in whys[1:])
    assert len(whys) == 3


def test_walks_that_do_not_go_together_leave_nothing(tmp_path: Path) -> None:
    for other in (walk("d", 5, size=(24, 16)), replace(WALKS[1], split="val")):
        with pytest.raises(DataError, match="export them apart"):
            write_rlds([WALKS[0], other], tmp_path / "x")
    assert write_rlds([], tmp_path / "x") == 0
    assert not list(tmp_path.iterdir())


def test_a_data_set_goes_out_and_from_there_into_lerobot(walks: Path, tmp_path: Path) -> None:
    made = export_data(walks, tmp_path / "rlds", source="loopnav", to="rlds")
    again = export_data(tmp_path / "rlds", tmp_path / "lerobot", source="rlds", to="lerobot")
    assert again.clips == made.clips > 0
