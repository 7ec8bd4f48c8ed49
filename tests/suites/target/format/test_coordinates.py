"""Re-basing of paths: the released tool's vectors, against poses, there and back, the degenerate."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch, quaternion_of_pose, wrap_angle
from worldgauge.suites.target.format.read import read_path
from worldgauge.suites.target.format.scenario import (
    cut_history,
    cut_released,
    heading_at,
    path_of_poses,
    rebase,
    world_of_path,
    yaw_of_quaternion,
)

SEED = st.integers(0, 2**32 - 1)


def of_kind(kind: str) -> list[Any]:
    return [case for case in cases("target_scale", "cases") if case.values[0]["kind"] == kind]


def walk(seed: int, n: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return pose_from_yaw_pitch(
        np.cumsum(rng.normal((0.02, 0.02, 0), 0.01, (n, 3)), 0), np.cumsum(rng.normal(0, 0.05, n)) + rng.uniform(-3, 3)
    )


@pytest.mark.parametrize("case", of_kind("ground_truth_rebase"))
def test_equals_the_annotation_tool(case: dict[str, Any]) -> None:
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
def test_reads_a_path_as_the_released_loader(case: dict[str, Any], tmp_path: Any) -> None:
    rows = case["inputs"]["csv_rows"]
    for gap in ("", "nan", "NULL"):
        lines = [",".join(gap if value is None else repr(value) for value in row) for row in rows]
        (tmp_path / "path.csv").write_text("\n".join(["x,y", *lines]) + "\n")
        found = read_path(tmp_path / "path.csv")
        assert found.xy.tolist() == case["expect"]["trajectory"]
        assert found.kept.tolist() == [i for i, row in enumerate(rows) if None not in row]
        assert found.n_rows == len(rows)


@given(SEED, st.integers(0, 59))
def test_poses_and_points_agree_and_go_back(seed: int, row: int) -> None:
    poses = walk(seed)
    path = path_of_poses(poses, row)
    inverse = np.linalg.inv(poses[row])
    local = (inverse @ poses[..., 3].T).T
    # The camera is level, so its right and ahead are the two axes of the path.
    np.testing.assert_allclose(path, local[:, [0, 2]], atol=1e-9)
    np.testing.assert_allclose(world_of_path(path, poses[row]), poses[:, :2, 3], atol=1e-9)


@given(SEED)
def test_quaternions_agree_with_scipy(seed: int) -> None:
    poses = walk(seed, 8)
    poses[:, :3, :3] = Rotation.random(8, rng=np.random.default_rng(seed)).as_matrix()
    camera = poses[:, :3, :3]
    body = np.stack([camera[..., 2], -camera[..., 0], -camera[..., 1]], -1)
    found, expected = quaternion_of_pose(poses), Rotation.from_matrix(body).as_quat()
    np.testing.assert_allclose(np.abs((found * expected).sum(-1)), 1, atol=1e-9)


@given(st.floats(-3.1, 3.1))
def test_yaw_of_a_quaternion_is_where_the_camera_looks(yaw: float) -> None:
    pose = pose_from_yaw_pitch((1.0, 2.0, 3.0), yaw)
    assert yaw_of_quaternion(quaternion_of_pose(pose)) == pytest.approx(yaw, abs=1e-9)


def test_by_hand() -> None:
    east = np.array([(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0)])
    np.testing.assert_allclose(rebase(east, 1, 0.0), [(0, -1), (0, 0), (0, 1), (-1, 1)], atol=1e-12)
    np.testing.assert_allclose(cut_history(east, 1), [(0, 0), (0, 1), (-1, 1)], atol=1e-12)
    np.testing.assert_allclose(cut_released(east, 1), [(0, 0), (1, 0), (1, 1)])
    assert heading_at(east, 1) == 0.0
    assert heading_at(east * 0.01, 1) is None, "nowhere"
    np.testing.assert_allclose(rebase(east * 0.01, 1), (east - east[1]) * 0.01)


@given(SEED, st.integers(5, 50))
def test_cutting_twice_is_cutting_once(seed: int, row: int) -> None:
    path = path_of_poses(walk(seed), 0)
    heading = heading_at(path, row)
    first = cut_history(path, 3)
    # The same rows are around `row` either way, unless the heading is looked for across the cut.
    if heading is not None and np.linalg.norm(path[row] - path[3]) > 0.2:
        np.testing.assert_allclose(cut_history(first, row - 3), cut_history(path, row), atol=1e-9)


def test_wrong_shapes_are_refused() -> None:
    for xy, row in ((np.zeros((4, 3)), 0), (np.zeros((4, 2)), 4), (np.zeros((4, 2)), -1), (np.zeros(4), 0)):
        for function in (rebase, cut_history, cut_released, heading_at):
            with pytest.raises(ShapeError):
                function(xy, row)
    with pytest.raises(ShapeError):
        path_of_poses(np.zeros((4, 3)), 0)
