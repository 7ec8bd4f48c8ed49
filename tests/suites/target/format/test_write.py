"""Writing scenarios and reading them again: every number, whole or not at all."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from suites.target.target_data import make_target_data, make_walk, render, room_of
from worldgauge.core.errors import DataError
from worldgauge.core.image import Image, read_png
from worldgauge.core.video import Clip
from worldgauge.suites.target import format as target
from worldgauge.suites.target.format.read import read_sidecar
from worldgauge.suites.target.walks import TargetWalk
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.textured_rooms import ROOM_CAMERA

SIZE = (160, 90)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_target_data(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module")
def walk() -> TargetWalk:
    return make_walk("curve", 0, 5.0)


def write(root: Path, walk: TargetWalk, frames: Iterator[Image], name: str = "room_custom_segment_000_049") -> Path:
    camera = ROOM_CAMERA.resized(*SIZE)
    return target.write_scenario(root, name, walk, frames, world=room_of("curve", 0).facts, camera=camera)


def test_what_is_written_is_read(data: Path, walk: TargetWalk) -> None:
    scenario = target.discover(data)[0]
    assert (scenario.fault, scenario.warnings) == (None, ())
    assert (scenario.scene, scenario.label, scenario.category, scenario.split) == (
        "sample_000",
        "explicit",
        "box",
        "benchmark",
    )
    assert scenario.target_text == walk.explicit
    assert dict(scenario.wordings) == {"explicit": walk.explicit, "implicit": walk.implicit}
    assert scenario.target == walk.target
    assert (scenario.history_rows, scenario.dt, scenario.history_s) == (10, 0.2, pytest.approx(2.0))
    np.testing.assert_array_equal(scenario.poses, walk.poses)
    np.testing.assert_allclose(scenario.path_xy, target.path_of_poses(walk.poses, 10), atol=1e-6)
    np.testing.assert_allclose(scenario.path_xy[10], 0, atol=1e-9)
    assert (scenario.path_xy[:10, 1] < 0).all()
    assert scenario.anchor_distance_m == pytest.approx(np.linalg.norm(walk.poses[10, :2, 3] - walk.poses[0, :2, 3]))


def test_pictures_are_rendered_again_from_the_side_car(data: Path) -> None:
    scenario = target.discover(data)[1]
    assert scenario.world is not None
    assert scenario.poses is not None
    assert scenario.camera is not None
    world = open_world(scenario.world)
    for path, row in ((scenario.first_frame, 0), (scenario.current_frame, scenario.history_rows)):
        assert path is not None
        np.testing.assert_array_equal(read_png(path), world.view(scenario.poses[row], scenario.camera).rgb)
    clip = target.truth_clip(scenario)
    assert len(clip) == len(scenario.path_xy) - scenario.history_rows
    apart = clip[0].astype(int) - read_png(scenario.current_frame).astype(int)
    assert np.abs(apart).mean() < 12, "the video is coded for players, not lossless"


def test_published_files_and_keys(data: Path) -> None:
    folder = target.discover(data)[0].folder
    ends = {path.name.removeprefix(f"{folder.name}_") for path in folder.iterdir()}
    assert ends == {
        *("first_frame.png", "current_frame.png", "metadata.json", "trajectory.csv", "trajectory.json", "caption.txt"),
        *("video.mp4", "trajectory_plot.png", "2s.png", "metadata_2s.json", "4s.png", "metadata_4s.json"),
        *("trajectory_4s.csv", "world.json"),
    }
    metadata = json.loads((folder / f"{folder.name}_metadata.json").read_text())
    first, current = (metadata["distance_first_to_current"][end] for end in ("first_frame", "current_frame"))
    assert current["video_index"] - first["video_index"] == 10
    assert (current["transformed_x"], current["transformed_y"]) == pytest.approx((0, 0), abs=1e-12)
    assert metadata["distance_current_to_end"]["time_duration_seconds"] == pytest.approx(39 * 0.2)
    assert metadata["trajectory_points"] == 50
    table = json.loads((folder / f"{folder.name}_trajectory.json").read_text())
    lines = (folder / f"{folder.name}_trajectory.csv").read_text().splitlines()
    assert lines[0] == "x,y"
    assert [float(line.split(",")[0]) for line in lines[1:]] == table["x_coordinates"]
    assert (data / "dataset" / "im_ex_test_only.csv").read_text().splitlines()[:2] == [
        "name,is_explicit",
        f"{folder.name},1",
    ]


def test_same_walk_same_bytes(tmp_path: Path, walk: TargetWalk) -> None:
    one, other = (write(tmp_path / name, walk, render("curve", 0, walk.poses, SIZE)) for name in "ab")
    for path in sorted(one.iterdir()):
        assert path.read_bytes() == (other / path.name).read_bytes(), path.name


def test_horizons_are_seen_from_their_own_pose(data: Path) -> None:
    whole = target.discover(data)
    for horizon, row in ((6.0, 20), (4.0, 30)):
        for scenario, base in zip(target.discover(data, horizon), whole, strict=True):
            assert scenario.fault is None
            assert base.poses is not None
            expected = target.path_of_poses(base.poses, row)[row:]
            np.testing.assert_allclose(scenario.path_xy, expected, atol=1e-6)
            np.testing.assert_array_equal(scenario.poses, base.poses[row:])
            assert (scenario.history_rows, scenario.first_video_frame) == (0, row)
            assert scenario.history_s == pytest.approx((row - 10) * 0.2)
            assert scenario.first_frame == base.current_frame
            assert scenario.anchor_distance_m == pytest.approx(np.linalg.norm(base.path_xy[row]), abs=1e-5)
            truth = target.truth_clip(scenario)
            assert len(truth) == len(scenario.path_xy)
            np.testing.assert_array_equal(truth[0], Clip.open(base.video)[row])


def test_released_horizons_are_not_turned_at_6_s(data: Path) -> None:
    base = target.discover(data)[0]
    later = target.discover(data, 6.0, compat="released")[0]
    np.testing.assert_allclose(later.path_xy, base.path_xy[20:] - base.path_xy[20], atol=1e-12)
    assert not np.allclose(later.path_xy, target.discover(data, 6.0)[0].path_xy, atol=0.05)
    # At 4 s the release reads a csv of its own, which has been turned.
    last = target.discover(data, 4.0, compat="released")[0]
    np.testing.assert_allclose(last.path_xy, target.discover(data, 4.0)[0].path_xy, atol=2e-6)
    assert target.fingerprint_of(later) != target.fingerprint_of(target.discover(data, 6.0)[0])


def test_a_published_horizon_is_turned_by_the_way_the_path_goes(data: Path, tmp_path: Path) -> None:
    """Without a side-car, as published, the heading comes of the path alone."""
    import shutil

    shutil.copytree(data, tmp_path / "data")
    for path in (tmp_path / "data").rglob("*_world.json"):
        path.unlink()
    for ours, exact in zip(target.discover(tmp_path / "data", 6.0), target.discover(data, 6.0), strict=True):
        assert ours.world is None
        assert ours.label == exact.label, "of the csv"
        assert ours.dt == pytest.approx(0.2)
        assert np.abs(ours.path_xy - exact.path_xy).max() < 0.02


@pytest.mark.parametrize("count", [49, 51])
def test_another_number_of_frames_leaves_nothing(tmp_path: Path, walk: TargetWalk, count: int) -> None:
    frames = (np.zeros((90, 160, 3), np.uint8) for _ in range(count))
    with pytest.raises(DataError, match=f"{count} frames for 50 rows"):
        write(tmp_path, walk, frames)
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_stays_until_the_new_one_is_whole(tmp_path: Path, walk: TargetWalk) -> None:
    folder = write(tmp_path, walk, iter(np.zeros((50, 90, 160, 3), np.uint8)))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def stops() -> Iterator[Image]:
        yield np.zeros((90, 160, 3), np.uint8)
        raise RuntimeError("the lamp went out")

    with pytest.raises(RuntimeError, match="lamp"):
        write(tmp_path, walk, stops())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    write(tmp_path, walk, iter(np.full((50, 90, 160, 3), 90, np.uint8)))
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert read_png(folder / f"{folder.name}_first_frame.png").mean() == 90


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b"])
def test_names_that_are_no_folder_are_refused(tmp_path: Path, walk: TargetWalk, name: str) -> None:
    with pytest.raises(DataError, match="rename"):
        write(tmp_path, walk, iter(()), name)


def test_a_short_walk_has_no_late_horizons(tmp_path: Path, walk: TargetWalk) -> None:
    from dataclasses import replace

    short = replace(walk, poses=walk.poses[:28])
    folder = write(tmp_path, short, iter(np.zeros((28, 90, 160, 3), np.uint8)))
    assert (folder / f"{folder.name}_2s.png").exists()
    assert not (folder / f"{folder.name}_4s.png").exists()
    assert "no horizon of 4 s" in str(target.discover(tmp_path, 4.0)[0].fault)


@pytest.mark.parametrize("field", ["world", "camera", "poses", "target", "wordings", "format", "version"])
def test_a_side_car_that_is_none_is_refused(data: Path, tmp_path: Path, field: str) -> None:
    scenario = target.discover(data)[0]
    content = json.loads((scenario.folder / f"{scenario.id}_world.json").read_text())
    path = tmp_path / "w.json"
    for wrong in ("x", 7, [[1, 2]]):
        path.write_text(json.dumps({**content, field: wrong}))
        with pytest.raises(DataError):
            read_sidecar(path)
    del content[field]
    path.write_text(json.dumps(content))
    with pytest.raises(DataError):
        read_sidecar(path)
