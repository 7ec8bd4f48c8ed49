"""Walks as LeRobot data and as shards: what was written is read back, by our reader and by the documented layout."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from support.training_walks import WALKS, walk, written
from worldgauge.core.errors import DataError, UnknownNameError, UsageError
from worldgauge.core.geometry import Camera
from worldgauge.core.video import Clip
from worldgauge_train import export_data_lerobot as lerobot
from worldgauge_train.export_data import export_data, read_lerobot, write_lerobot, write_webdataset
from worldgauge_train.training.clip import DamagedClip, TrainingClip

__all__ = ["written"]


def test_walks_come_back_from_lerobot(written: Path) -> None:
    back = list(read_lerobot(written, "train"))
    assert len(back) == 3
    for one, was in zip(back, WALKS, strict=True):
        assert isinstance(one, TrainingClip)
        assert np.allclose(one.poses, was.poses, atol=1e-6)
        assert np.array_equal(one.actions.values, was.actions.values)
        assert one.actions.space == was.actions.space
        assert one.camera == was.camera
        assert one.text == (was.text or "walk")
        shown, meant = one.frames.to_array().astype(float), was.frames.to_array().astype(float)
        assert np.abs(shown - meant).mean() < 12  # lossy, but the same frames:
        assert all(np.abs(shown - shown[k]).mean((1, 2, 3)).argmin() == k for k in range(len(shown)))


def test_the_tables_are_as_the_layout_says(written: Path) -> None:
    info = json.loads((written / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"], info["total_episodes"], info["total_frames"]) == ("v3.0", 20, 3, 28)
    rows = pd.read_parquet(written / info["data_path"].format(chunk_index=0, file_index=0))
    assert list(rows["index"]) == list(range(28))
    assert list(rows["frame_index"]) == [*range(12), *range(7), *range(9)]
    assert np.allclose(rows["timestamp"], rows["frame_index"] / 20)
    for name, feature in info["features"].items():
        if feature["dtype"] != "video":
            value = rows[name].iloc[0]
            assert np.size(value) == feature["shape"][0], name
            assert feature["names"] is None or len(feature["names"]) == feature["shape"][0]
    episodes = pd.read_parquet(written / "meta/episodes/chunk-000/file-000.parquet")
    assert list(episodes["dataset_to_index"] - episodes["dataset_from_index"]) == list(episodes["length"]) == [12, 7, 9]
    for row in episodes.to_dict("records"):
        key = "observation.images.view"
        path = info["video_path"].format(
            video_key=key, chunk_index=row[f"videos/{key}/chunk_index"], file_index=row[f"videos/{key}/file_index"]
        )
        assert len(Clip.open(written / path)) == row["length"]
        assert row[f"videos/{key}/to_timestamp"] == pytest.approx(row["length"] / 20)
    tasks = pd.read_parquet(written / "meta/tasks.parquet")
    assert dict(tasks["task_index"]) == {"a red house": 0, "walk": 1}
    assert list(rows["task_index"]) == [0] * 12 + [1] * 7 + [0] * 9


def test_walks_keep_their_split(written: Path, tmp_path: Path) -> None:
    def splits(folder: Path) -> dict[str, str]:
        return json.loads((folder / "meta/info.json").read_text())["splits"]

    assert splits(written) == {"train": "0:3"}
    write_lerobot([replace(one, split="test") for one in WALKS], tmp_path / "set")
    assert splits(tmp_path / "set") == {"test": "0:3"}
    with pytest.raises(DataError, match="its split is test"):
        write_lerobot([WALKS[0], replace(WALKS[1], split="test")], tmp_path / "mixed")
    assert not (tmp_path / "mixed").exists()
    assert len(list(read_lerobot(tmp_path / "set"))) == 3


def test_statistics_are_those_of_the_rows(written: Path) -> None:
    told = json.loads((written / "meta/stats.json").read_text())
    rows = pd.read_parquet(written / "data/chunk-000/file-000.parquet")
    state = np.stack(rows["observation.state"].to_list()).astype(float)
    assert np.allclose(told["observation.state"]["mean"], state.mean(0))
    assert np.allclose(told["observation.state"]["std"], state.std(0))
    assert np.shape(told["observation.images.view"]["mean"]) == (3, 1, 1)
    assert 0 <= np.min(told["observation.images.view"]["min"]) <= np.max(told["observation.images.view"]["max"]) <= 1


def test_statistics_are_those_of_all_walks_at_once(written: Path) -> None:
    frames = [walk.frames.to_array() for walk in WALKS]
    picked = [np.linspace(0, len(one) - 1, min(8, len(one))).round().astype(int) for one in frames]
    pixels = np.concatenate([one[at] for one, at in zip(frames, picked, strict=True)]).reshape(-1, 3) / 255.0
    rows = pd.read_parquet(written / "data/chunk-000/file-000.parquet")
    told = json.loads((written / "meta/stats.json").read_text())
    for name, column in told.items():
        table = pixels if name == "observation.images.view" else np.stack(rows[name].to_list()).astype(float)
        table = table.reshape(len(table), -1)
        assert column["count"] == [len(table)]
        for word, meant in (
            ("min", table.min(0)),
            ("max", table.max(0)),
            ("mean", table.mean(0)),
            ("std", table.std(0)),
        ):
            np.testing.assert_allclose(np.ravel(column[word]), meant, rtol=1e-12, atol=1e-12, err_msg=f"{name} {word}")
    episodes = pd.read_parquet(written / "meta/episodes/chunk-000/file-000.parquet")
    second = frames[1][picked[1]].reshape(-1, 3) / 255.0
    np.testing.assert_allclose(
        np.concatenate([np.ravel(one.tolist()) for one in episodes["stats/observation.images.view/std"][1].ravel()]),
        second.std(0),
    )


def test_memory_of_writing_does_not_grow_with_walks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tracemalloc

    import pyarrow as pa

    monkeypatch.setattr(lerobot, "_TOGETHER", 2)
    held = []

    def walks(count: int):
        for number in range(count):
            held.append(tracemalloc.get_traced_memory()[0] + pa.total_allocated_bytes())
            yield walk(f"w{number}", 9)

    tracemalloc.start()
    try:
        assert write_lerobot(walks(12), tmp_path / "set") == 12
    finally:
        tracemalloc.stop()
    picture = 48 * 32 * 3
    grown = [now - held[4] for now in held[4::2]]
    assert max(grown) < 8 * picture, f"bytes: {grown}"  # eight pictures as float64 would be 64 of these a walk
    assert len(list(read_lerobot(tmp_path / "set"))) == 12


def _split(folder: Path) -> None:
    """Tables of one file as two, in another chunk each, as large data sets of that layout have them."""
    for name, column, bound in (("meta/episodes", "episode_index", 2), ("data", "index", 19)):
        path = folder / name / "chunk-000/file-000.parquet"
        rows = pd.read_parquet(path)
        rows[rows[column] < bound].to_parquet(path)
        (folder / name / "chunk-001").mkdir()
        rows[rows[column] >= bound].to_parquet(folder / name / "chunk-001/file-000.parquet")


def test_a_video_of_another_rate_than_the_tables_is_named(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "set")
    info = tmp_path / "set/meta/info.json"
    info.write_text(json.dumps(json.loads(info.read_text()) | {"fps": 10}))
    first = next(iter(read_lerobot(tmp_path / "set")))
    assert isinstance(first, DamagedClip)
    assert "runs at 20 frames/s, info.json says 10; export it again" in str(first)


def test_tables_of_several_files_are_read_whole(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "set")
    _split(tmp_path / "set")
    back = list(read_lerobot(tmp_path / "set"))
    assert [len(one) for one in back if isinstance(one, TrainingClip)] == [12, 7, 9]


@pytest.mark.parametrize(
    ("missing", "words"),
    [("meta/episodes", "states 3 walks, the tables hold 2"), ("data", "states 28 frames, the tables hold 19")],
)
def test_a_file_that_is_missing_is_one_line(written: Path, tmp_path: Path, missing: str, words: str) -> None:
    shutil.copytree(written, tmp_path / "set")
    _split(tmp_path / "set")
    shutil.rmtree(tmp_path / "set" / missing / "chunk-001")
    with pytest.raises(DataError, match=words) as told:
        list(read_lerobot(tmp_path / "set"))
    assert "\n" not in str(told.value)


def test_a_walk_that_comes_twice_is_one_line(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "set")
    path = tmp_path / "set/meta/episodes/chunk-000/file-000.parquet"
    rows = pd.read_parquet(path)
    pd.concat([rows[:2], rows[:1]]).to_parquet(path)
    with pytest.raises(DataError, match="not numbered 0 to 2"):
        list(read_lerobot(tmp_path / "set"))


def test_walks_that_do_not_go_together_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="frame size"):
        write_lerobot([WALKS[0], walk("d", 5, size=(24, 16))], tmp_path / "x")
    odd = replace(WALKS[0], frames=Clip.from_array(WALKS[0].frames.to_array(), 12.5))
    with pytest.raises(DataError, match="whole numbers"):
        write_lerobot([odd], tmp_path / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda info: info.update(codebase_version="v2.1"), "known is v3.0"),
        (lambda info: info["features"].pop("observation.state"), "no feature 'observation.state'"),
        (lambda info: info["features"]["observation.intrinsics"].update(shape=[3]), "of 4 numbers"),
        (lambda info: info["worldgauge"].update(axes=[1]), "no usable names or rate"),
        (lambda info: info.update(fps=10**400), "no usable names or rate"),
    ],
)
def test_another_data_set_is_one_line(written: Path, tmp_path: Path, change, words: str) -> None:
    shutil.copytree(written, tmp_path / "set")
    path = tmp_path / "set/meta/info.json"
    info = json.loads(path.read_text())
    change(info)
    path.write_text(json.dumps(info))
    with pytest.raises(DataError, match=words):
        list(read_lerobot(tmp_path / "set"))


def test_a_cut_video_is_a_damaged_walk(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "set")
    video = sorted((tmp_path / "set/videos").rglob("*.mp4"))[1]
    video.write_bytes(video.read_bytes()[:200])
    kinds = [isinstance(one, DamagedClip) for one in read_lerobot(tmp_path / "set")]
    assert kinds == [False, True, False]


def test_shards_hold_each_walk_side_by_side(tmp_path: Path) -> None:
    assert write_webdataset(iter(WALKS), tmp_path / "shards", shard_bytes=5_000) == 3
    shards = sorted((tmp_path / "shards").iterdir())
    assert len(shards) > 1
    names: list[str] = []
    for shard in shards:
        with tarfile.open(shard) as tar:
            names += [one.name for one in tar]
    keys = [name.split(".", 1)[0] for name in names]
    assert keys == sorted(keys)
    assert [name.split(".", 1)[1] for name in names[:4]] == ["mp4", "json", "actions.npy", "poses.npy"]
    with tarfile.open(shards[0]) as tar:
        facts = json.loads(tar.extractfile("000000.json").read())
        poses = np.load(io.BytesIO(tar.extractfile("000000.poses.npy").read()), allow_pickle=False)
        actions = np.load(io.BytesIO(tar.extractfile("000000.actions.npy").read()), allow_pickle=False)
        (tmp_path / "walk.mp4").write_bytes(tar.extractfile("000000.mp4").read())
    assert (facts["id"], facts["fps"], facts["actions"]) == ("toy/a", 20.0, ["W", "yaw"])
    assert np.array_equal(poses, WALKS[0].poses)
    assert np.array_equal(actions, WALKS[0].actions.values)
    assert len(Clip.open(tmp_path / "walk.mp4")) == 12


def test_the_same_walks_give_the_same_shards(tmp_path: Path) -> None:
    for name in ("x", "y"):
        write_webdataset(iter(WALKS), tmp_path / name)
    assert (tmp_path / "x/shard-000000.tar").read_bytes() == (tmp_path / "y/shard-000000.tar").read_bytes()


def test_a_data_set_goes_out_and_from_there_into_shards(walks: Path, tmp_path: Path) -> None:
    made = export_data(walks, tmp_path / "lerobot", source="loopnav")
    assert made.clips > 0
    assert not made.damaged
    again = export_data(tmp_path / "lerobot", tmp_path / "shards", source="lerobot", to="webdataset")
    assert again.clips == made.clips


def test_what_cannot_be_written_is_one_line(walks: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lerobot'"):
        export_data(walks, tmp_path / "x", source="loopnav", to="lerobt")
    with pytest.raises(UnknownNameError, match="training source"):
        export_data(walks, tmp_path / "x", source="lopnav")
    with pytest.raises(UsageError, match="exists already"):
        export_data(walks, tmp_path, source="loopnav")
    with pytest.raises(DataError, match="no episode of split 'val'"):
        export_data(walks, tmp_path / "x", source="loopnav", split="val")
    assert not (tmp_path / "x").exists()


ODD = [(49, 33), (48, 33), (49, 32), (193, 109)]


def odd_walk(size: tuple[int, int]) -> TrainingClip:
    walk_of = walk("odd", 6)
    rows, columns = np.indices((size[1], size[0]))
    picture = np.stack([columns * 255 // size[0], rows * 255 // size[1], (rows + columns) % 256], -1).astype(np.uint8)
    camera = Camera(*size, 40.0, 41.0, size[0] / 2, size[1] / 2)
    return replace(walk_of, frames=Clip.from_array(np.stack([picture] * 6), 20.0), camera=camera)


def probed_size(path: Path) -> tuple[int, int]:
    """Width and height by PyAV."""
    import av

    with av.open(str(path)) as video:
        return video.streams.video[0].width, video.streams.video[0].height


@pytest.mark.parametrize("size", ODD)
def test_the_shape_is_that_of_the_video(tmp_path: Path, size: tuple[int, int]) -> None:
    write_lerobot([odd_walk(size)], tmp_path / "set")
    info = json.loads((tmp_path / "set/meta/info.json").read_text())
    told = info["features"]["observation.images.view"]
    width, height = probed_size(next((tmp_path / "set").rglob("*.mp4")))
    assert told["shape"] == [height, width, 3]
    assert (told["info"]["video.width"], told["info"]["video.height"]) == (width, height)
    (back,) = read_lerobot(tmp_path / "set")
    assert isinstance(back, TrainingClip)
    assert back.camera == odd_walk(size).camera
    assert (back.frames.width, back.frames.height) == size
    shown, meant = back.frames.to_array().astype(float), odd_walk(size).frames.to_array().astype(float)
    assert shown.shape == meant.shape
    assert np.abs(shown - meant).mean() < 12
    write_lerobot([back], tmp_path / "again")
    assert json.loads((tmp_path / "again/meta/info.json").read_text())["features"] == info["features"]


@pytest.mark.parametrize("size", ODD)
def test_the_camera_of_a_shard_is_that_of_the_video(tmp_path: Path, size: tuple[int, int]) -> None:
    write_webdataset([odd_walk(size)], tmp_path / "shards")
    with tarfile.open(next((tmp_path / "shards").glob("*.tar"))) as tar:
        facts = json.loads(tar.extractfile("000000.json").read())  # type: ignore[union-attr]
        (tmp_path / "a.mp4").write_bytes(tar.extractfile("000000.mp4").read())  # type: ignore[union-attr]
    assert (facts["camera"]["width"], facts["camera"]["height"]) == probed_size(tmp_path / "a.mp4")
    assert facts["frame_size"] == list(size)
    assert (facts["camera"]["cx"], facts["camera"]["cy"]) == (size[0] / 2, size[1] / 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda info: info["worldgauge"].update(frame_size=[46, 32]), "its frames are 48x32"),
        (lambda info: info["worldgauge"].update(frame_size=[48, "32"]), "no usable shape"),
        (lambda info: info["features"]["observation.images.view"].update(shape=[48]), "no usable shape"),
    ],
)
def test_a_size_that_is_not_that_of_the_video_is_one_line(written: Path, tmp_path: Path, change, words: str) -> None:
    copy = shutil.copytree(written, tmp_path / "copy")
    info = json.loads((copy / "meta/info.json").read_text())
    change(info)
    (copy / "meta/info.json").write_text(json.dumps(info))
    try:
        first = next(iter(read_lerobot(copy)))
        said = first.why if isinstance(first, DamagedClip) else ""
    except DataError as error:
        said = str(error)
    assert words in said
