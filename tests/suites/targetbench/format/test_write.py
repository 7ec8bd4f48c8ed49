"""Writing scenarios and reading them again: every number, whole or not at all."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from suites.targetbench.target_data import make_bad_inputs, make_target_data, make_walk, render, room_of
from support.vectors import cases
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch, quaternion_of_pose, wrap_angle
from worldgauge.core.image import read_png
from worldgauge.core.video import Clip
from worldgauge.suites.targetbench.format.check import check
from worldgauge.suites.targetbench.format.read import discover, read_path, read_sidecar
from worldgauge.suites.targetbench.format.scenario import (
    cut_history,
    cut_released,
    fingerprint_of,
    heading_at,
    path_of_poses,
    rebase,
    truth_clip,
    world_of_path,
    yaw_of_quaternion,
)
from worldgauge.suites.targetbench.format.write import write_scenario
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.textured_rooms import ROOM_CAMERA

SIZE = (160, 90)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_target_data(tmp_path_factory.mktemp("target"))


@pytest.fixture(scope="module")
def walk():
    return make_walk("curve", 0, 5.0)


def write(root, walk, frames, name="room_custom_segment_000_049"):
    camera = ROOM_CAMERA.resized(*SIZE)
    return write_scenario(root, name, walk, frames, world=room_of("curve", 0).facts, camera=camera)


def test_what_is_written_is_read(data, walk):
    scenario = discover(data)[0]
    assert (scenario.fault, scenario.warnings) == (None, ())
    assert (scenario.scene, scenario.label) == ("sample_000", "explicit")
    assert (scenario.category, scenario.split) == ("box", "benchmark")
    assert scenario.target_text == walk.explicit
    assert dict(scenario.wordings) == {"explicit": walk.explicit, "implicit": walk.implicit}
    assert scenario.target == walk.target
    assert (scenario.history_rows, scenario.dt, scenario.history_s) == (10, 0.2, pytest.approx(2.0))
    np.testing.assert_array_equal(scenario.poses, walk.poses)
    np.testing.assert_allclose(scenario.path_xy, path_of_poses(walk.poses, 10), atol=1e-6)
    np.testing.assert_allclose(scenario.path_xy[10], 0, atol=1e-9)
    assert (scenario.path_xy[:10, 1] < 0).all()
    assert scenario.anchor_distance_m == pytest.approx(np.linalg.norm(walk.poses[10, :2, 3] - walk.poses[0, :2, 3]))


def test_pictures_are_rendered_again_from_the_side_car(data):
    scenario = discover(data)[1]
    assert scenario.world is not None
    assert scenario.camera is not None
    world = open_world(scenario.world)
    for path, row in ((scenario.first_frame, 0), (scenario.current_frame, scenario.history_rows)):
        np.testing.assert_array_equal(read_png(path), world.view(scenario.poses[row], scenario.camera).rgb)
    clip = truth_clip(scenario)
    assert len(clip) == len(scenario.path_xy) - scenario.history_rows
    apart = clip[0].astype(int) - read_png(scenario.current_frame).astype(int)
    assert np.abs(apart).mean() < 12, "the video is coded for players, not lossless"


def test_published_files_and_keys(data):
    folder = discover(data)[0].folder
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


def test_same_walk_same_bytes(tmp_path, walk):
    one, other = (write(tmp_path / name, walk, render("curve", 0, walk.poses, SIZE)) for name in "ab")
    for path in sorted(one.iterdir()):
        assert path.read_bytes() == (other / path.name).read_bytes(), path.name


def test_horizons_are_seen_from_their_own_pose(data):
    whole = discover(data)
    for horizon, row in ((6.0, 20), (4.0, 30)):
        for scenario, base in zip(discover(data, horizon), whole, strict=True):
            assert scenario.fault is None
            expected = path_of_poses(base.poses, row)[row:]
            np.testing.assert_allclose(scenario.path_xy, expected, atol=1e-6)
            np.testing.assert_array_equal(scenario.poses, base.poses[row:])
            assert (scenario.history_rows, scenario.first_video_frame) == (0, row)
            assert scenario.history_s == pytest.approx((row - 10) * 0.2)
            assert scenario.first_frame == base.current_frame
            assert scenario.anchor_distance_m == pytest.approx(np.linalg.norm(base.path_xy[row]), abs=1e-5)
            truth = truth_clip(scenario)
            assert len(truth) == len(scenario.path_xy)
            np.testing.assert_array_equal(truth[0], Clip.open(base.video)[row])


def test_released_horizons_are_not_turned_at_6_s(data):
    base = discover(data)[0]
    later = discover(data, 6.0, compat="released")[0]
    np.testing.assert_allclose(later.path_xy, base.path_xy[20:] - base.path_xy[20], atol=1e-12)
    assert not np.allclose(later.path_xy, discover(data, 6.0)[0].path_xy, atol=0.05)
    # At 4 s the release reads a csv of its own, which has been turned.
    last = discover(data, 4.0, compat="released")[0]
    np.testing.assert_allclose(last.path_xy, discover(data, 4.0)[0].path_xy, atol=2e-6)
    assert fingerprint_of(later) != fingerprint_of(discover(data, 6.0)[0])


def test_a_published_horizon_is_turned_by_the_way_the_path_goes(data, tmp_path):
    """Without a side-car, as published, the heading comes of the path alone."""
    shutil.copytree(data, tmp_path / "data")
    for path in (tmp_path / "data").rglob("*_world.json"):
        path.unlink()
    for ours, exact in zip(discover(tmp_path / "data", 6.0), discover(data, 6.0), strict=True):
        assert ours.world is None
        assert ours.label == exact.label, "of the csv"
        assert ours.dt == pytest.approx(0.2)
        assert np.abs(ours.path_xy - exact.path_xy).max() < 0.02


@pytest.mark.parametrize("count", [49, 51])
def test_another_number_of_frames_leaves_nothing(tmp_path, walk, count):
    frames = (np.zeros((90, 160, 3), np.uint8) for _ in range(count))
    with pytest.raises(DataError, match=f"{count} frames for 50 rows"):
        write(tmp_path, walk, frames)
    assert list(tmp_path.iterdir()) == []


def test_what_was_there_stays_until_the_new_one_is_whole(tmp_path, walk):
    folder = write(tmp_path, walk, iter(np.zeros((50, 90, 160, 3), np.uint8)))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def stops():
        yield np.zeros((90, 160, 3), np.uint8)
        raise RuntimeError("the lamp went out")

    with pytest.raises(RuntimeError, match="lamp"):
        write(tmp_path, walk, stops())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    write(tmp_path, walk, iter(np.full((50, 90, 160, 3), 90, np.uint8)))
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert read_png(folder / f"{folder.name}_first_frame.png").mean() == 90


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b"])
def test_names_that_are_no_folder_are_refused(tmp_path, walk, name):
    with pytest.raises(DataError, match="rename"):
        write(tmp_path, walk, iter(()), name)


def test_a_short_walk_has_no_late_horizons(tmp_path, walk):
    short = replace(walk, poses=walk.poses[:28])
    folder = write(tmp_path, short, iter(np.zeros((28, 90, 160, 3), np.uint8)))
    assert (folder / f"{folder.name}_2s.png").exists()
    assert not (folder / f"{folder.name}_4s.png").exists()
    assert "no horizon of 4 s" in str(discover(tmp_path, 4.0)[0].fault)


@pytest.mark.parametrize("field", ["world", "camera", "poses", "target", "wordings", "format", "version"])
def test_a_side_car_that_is_none_is_refused(data, tmp_path, field):
    scenario = discover(data)[0]
    content = json.loads((scenario.folder / f"{scenario.id}_world.json").read_text())
    path = tmp_path / "w.json"
    rest = {name: value for name, value in content.items() if name != field}
    for wrong in ({}, {field: "x"}, {field: 7}, {field: [[1, 2]]}):
        path.write_text(json.dumps(rest | wrong))
        with pytest.raises(DataError):
            read_sidecar(path)


SEED = st.integers(0, 2**32 - 1)


def of_kind(kind):
    return [case for case in cases("target_scale", "cases") if case.values[0]["kind"] == kind]


def poses_of_walk(seed, n=60):
    rng = np.random.default_rng(seed)
    return pose_from_yaw_pitch(
        np.cumsum(rng.normal((0.02, 0.02, 0), 0.01, (n, 3)), 0), np.cumsum(rng.normal(0, 0.05, n)) + rng.uniform(-3, 3)
    )


@pytest.mark.parametrize("case", of_kind("ground_truth_rebase"))
def test_equals_the_annotation_tool(case):
    inputs, expected = case["inputs"], case["expect"]
    table = dict(zip(inputs["columns"], np.array(inputs["rows"]).T, strict=True))
    numbers = table["frame"]
    inside = np.flatnonzero((numbers >= inputs["start_frame"]) & (numbers <= inputs["end_frame"]))
    expected_xy = np.reshape(expected["xy"], (-1, 2))
    if not len(inside):
        assert (len(expected_xy), expected["rotation_angle"]) == (0, None)
        return
    off = np.abs(numbers[inside] - inputs["reference_frame"])
    row = int(np.argmin(off))
    quaternions = np.stack([table[f"quat_{axis}"] for axis in "xyzw"], 1)
    yaw = float(yaw_of_quaternion(quaternions[inside[row]]))
    xy = rebase(np.stack([table["pos_x"], table["pos_y"]], 1)[inside], row, yaw)
    np.testing.assert_allclose(xy, expected_xy, rtol=1e-9, atol=1e-9)
    # The tool adds up whole turns; the angle is the same.
    assert wrap_angle(np.pi / 2 - yaw - expected["rotation_angle"]) == pytest.approx(0, abs=1e-9)
    anchor = np.linalg.norm(xy[0]) if off[row] == 0 else None
    distance = expected["distance_first_to_current_m"]
    assert anchor == (None if distance is None else pytest.approx(distance, rel=1e-9, abs=1e-9))


@pytest.mark.parametrize("case", of_kind("ground_truth_csv"))
def test_reads_a_path_as_the_released_loader(case, tmp_path):
    rows = case["inputs"]["csv_rows"]
    for gap in ("", "nan", "NULL"):
        lines = [",".join(gap if value is None else repr(value) for value in row) for row in rows]
        (tmp_path / "path.csv").write_text("\n".join(["x,y", *lines]) + "\n")
        found = read_path(tmp_path / "path.csv")
        assert found.xy.tolist() == case["expect"]["trajectory"]
        assert found.kept.tolist() == [i for i, row in enumerate(rows) if None not in row]
        assert found.n_rows == len(rows)


@given(SEED, st.integers(0, 59))
def test_poses_and_points_agree_and_go_back(seed, row):
    poses = poses_of_walk(seed)
    path = path_of_poses(poses, row)
    inverse = np.linalg.inv(poses[row])
    local = (inverse @ poses[..., 3].T).T
    # The camera is level, so its right and ahead are the two axes of the path.
    np.testing.assert_allclose(path, local[:, [0, 2]], atol=1e-9)
    np.testing.assert_allclose(world_of_path(path, poses[row]), poses[:, :2, 3], atol=1e-9)


@given(SEED)
def test_quaternions_agree_with_scipy(seed):
    poses = poses_of_walk(seed, 8)
    poses[:, :3, :3] = Rotation.random(8, rng=np.random.default_rng(seed)).as_matrix()
    camera = poses[:, :3, :3]
    body = np.stack([camera[..., 2], -camera[..., 0], -camera[..., 1]], -1)
    found, expected = quaternion_of_pose(poses), Rotation.from_matrix(body).as_quat()
    np.testing.assert_allclose(np.abs((found * expected).sum(-1)), 1, atol=1e-9)


@given(st.floats(-3.1, 3.1))
def test_yaw_of_a_quaternion_is_where_the_camera_looks(yaw):
    pose = pose_from_yaw_pitch((1.0, 2.0, 3.0), yaw)
    assert yaw_of_quaternion(quaternion_of_pose(pose)) == pytest.approx(yaw, abs=1e-9)


def test_by_hand():
    east = np.array([(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0)])
    np.testing.assert_allclose(rebase(east, 1, 0.0), [(0, -1), (0, 0), (0, 1), (-1, 1)], atol=1e-12)
    np.testing.assert_allclose(cut_history(east, 1), [(0, 0), (0, 1), (-1, 1)], atol=1e-12)
    np.testing.assert_allclose(cut_released(east, 1), [(0, 0), (1, 0), (1, 1)])
    assert heading_at(east, 1) == 0.0
    assert heading_at(east * 0.01, 1) is None, "nowhere"
    np.testing.assert_allclose(rebase(east * 0.01, 1), (east - east[1]) * 0.01)


@given(SEED, st.integers(5, 50))
def test_cutting_twice_is_cutting_once(seed, row):
    path = path_of_poses(poses_of_walk(seed), 0)
    heading = heading_at(path, row)
    first = cut_history(path, 3)
    # The same rows are around `row` either way, unless the heading is looked for across the cut.
    if heading is not None and np.linalg.norm(path[row] - path[3]) > 0.2:
        np.testing.assert_allclose(cut_history(first, row - 3), cut_history(path, row), atol=1e-9)


def test_wrong_shapes_are_refused():
    for xy, row in ((np.zeros((4, 3)), 0), (np.zeros((4, 2)), 4), (np.zeros((4, 2)), -1), (np.zeros(4), 0)):
        for function in (rebase, cut_history, cut_released, heading_at):
            with pytest.raises(ShapeError):
                function(xy, row)
    with pytest.raises(ShapeError):
        path_of_poses(np.zeros((4, 3)), 0)


class TestCheck:
    def test_a_good_folder(self, data):
        report = check(data, decode=True)
        assert [finding.text for finding in report.findings] == []
        assert (report.n_items, report.n_valid, report.n_frames) == (3, 3, 150)
        assert (report.facts["horizons"], report.facts["categories"]) == ({"8": 3, "6": 3, "4": 3}, {"box": 3})
        rows = {row["label"]: row for row in report.facts["rows"]}
        assert {label: row["scenarios"] for label, row in rows.items()} == {"all": 3, "explicit": 2, "implicit": 1}
        assert rows["all"]["published"] == 125
        assert rows["all"]["speed_m_s"]["mean"] == pytest.approx(4.34 / 8, rel=0.01)
        assert rows["implicit"]["end_m"]["mean"] == pytest.approx(39 * 4.34 / 40)
        json.dumps(report.facts, allow_nan=False)

    def test_bad_inputs(self, tmp_path):
        root, _ = make_bad_inputs(tmp_path)
        report = check(root)
        assert (report.n_items, report.n_valid) == (9, 4), "one cannot be asked, which is a warning"
        texts = [f"{finding.severity}: {finding.text}" for finding in report.findings]
        assert sum(text.startswith("error") for text in texts) == 4
        for words in ("needs the columns", "gaps, left out", "video has 1 frames, the path 20 rows"):
            assert any(words in text for text in texts), words

    def test_what_is_odd_is_told(self, data, tmp_path):
        root = Path(shutil.copytree(data, tmp_path / "data"))
        scenarios = discover(root)
        stem = [scenario.folder / scenario.id for scenario in scenarios]
        metadata = json.loads(Path(f"{stem[0]}_metadata.json").read_text())
        metadata["distance_first_to_current"]["distance_meters"] = 2.0
        Path(f"{stem[0]}_metadata.json").write_text(json.dumps(metadata))
        xy = scenarios[1].path_xy.copy()
        xy[30:] += (0, 3)
        Path(f"{stem[1]}_trajectory.csv").write_text("x,y\n" + "\n".join(f"{x},{y}" for x, y in xy))
        Path(f"{stem[2]}_first_frame.png").write_bytes(b"no picture")
        (root / "dataset" / "im_ex_test_only.csv").write_text("name,is_explicit\nstranger,1\n")
        for path in root.rglob("*_world.json"):
            path.unlink()
        texts = [finding.text for finding in check(root).findings]
        for words in ("2.00 m in the metadata, 1.08 m in the path", "jumps: 15.5 m/s", "not a PNG", "stranger"):
            assert any(words in text for text in texts), (words, texts)
        assert any("3 scenarios have no label" in text for text in texts)

    def test_broken_labels_are_one_error(self, data, tmp_path):
        root = Path(shutil.copytree(data, tmp_path / "data"))
        (root / "dataset" / "im_ex_test_only.csv").write_text("name,is_explicit\nx,maybe\n")
        report = check(root)
        assert (report.n_items, report.n_valid) == (3, 3)
        (finding,) = report.findings
        assert finding.severity == "error"
        assert "im_ex_test_only.csv: row 0: is_explicit is 'maybe'; give 1 or 0" in finding.text

    def test_nothing_there(self, tmp_path):
        assert [finding.severity for finding in check(tmp_path).findings] == ["error"]
