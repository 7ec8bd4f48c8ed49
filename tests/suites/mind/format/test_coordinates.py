"""The engine's frame and ours, against the vector file, its proof rows and by invariance."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.geometry import pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.suites.mind.format.files import arm_angles, our_point, our_pose, ue_point, ue_pose

OURS_OF_OPENCV = np.array([[0, 0, 1], [-1, 0, 0], [0, -1, 0]])
"""The vectors' world is x right, y down, z ahead."""


@pytest.mark.parametrize("case", cases("mind_ue_pose", "cases"))
def test_poses_of_the_vectors(case: dict[str, Any]) -> None:
    pose = our_pose(case["pos_cm"], case["roll_pitch_yaw_deg"])
    np.testing.assert_allclose(pose[:3], OURS_OF_OPENCV @ np.array(case["T_cam_to_world"]), atol=1e-8)
    position, angles = ue_pose(pose)
    np.testing.assert_allclose(position, case["pos_cm"], atol=1e-8)
    np.testing.assert_allclose(angles, case["roll_pitch_yaw_deg"], atol=1e-8)


@pytest.mark.parametrize("case", cases("mind_ue_pose", "cases"))
def test_poses_by_the_formula_of_the_specification(case: dict[str, Any]) -> None:
    r, p, y = np.radians(case["roll_pitch_yaw_deg"])

    def about(axis: int, angle: float) -> np.ndarray[Any, Any]:
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        turn = np.eye(3)
        turn[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
        return turn

    axes = about(2, y) @ about(1, -p) @ about(0, -r) @ np.array([[0, 0, 1], [1, 0, 0], [0, -1, 0]])
    np.testing.assert_allclose(
        our_pose(case["pos_cm"], case["roll_pitch_yaw_deg"])[:3, :3], np.diag([1, -1, 1]) @ axes, atol=1e-12
    )


def test_signs_by_hand() -> None:
    np.testing.assert_allclose(our_point([100, 200, 300]), [1, -2, 3])
    np.testing.assert_allclose(ue_point([1, -2, 3]), [100, 200, 300])
    yaw, pitch = yaw_pitch_from_pose(our_pose([0, 0, 0], [0, 30, 90]))
    assert np.degrees([yaw, pitch]) == pytest.approx([-90, 30]), "right is clockwise for us, up is up"


@settings(deadline=None)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3),
    st.floats(-3.1, 3.1),
    st.floats(-1.55, 1.55),
    st.floats(-1.5, 1.5),
)
def test_there_and_back(place: list[float], yaw: float, pitch: float, roll: float) -> None:
    pose = our_pose(ue_point(place), np.degrees([roll, pitch, yaw]))
    np.testing.assert_allclose(our_pose(*ue_pose(pose)), pose, atol=1e-9)
    assert np.linalg.det(pose[:3, :3]) == pytest.approx(1)


@pytest.mark.parametrize("pitch", [90.0, -90.0])
def test_straight_up_and_down_keep_the_pose(pitch: float) -> None:
    pose = pose_from_yaw_pitch([1, 2, 3], 0.7, np.radians(pitch))
    position, angles = ue_pose(pose)
    np.testing.assert_allclose(our_pose(position, angles), pose, atol=1e-9)


@pytest.mark.parametrize("row", cases("mind_ue_pose", "observed_rows"))
def test_the_arm_of_the_published_rows(row: dict[str, Any]) -> None:
    angles, found = arm_angles([row["actor_pos"]], [row["camera_pos"]], [row["camera_rpy"]])
    assert found.all()
    assert angles[0, 1:] == pytest.approx([row["pitch_from_positions_deg"], row["yaw_from_positions_deg"]], abs=1e-5)


@pytest.mark.parametrize(
    ("actor", "camera", "field"),
    [
        ((0, 0, 0), (-200, 0, 120), (0, 0, 0)),  # pushed in by a wall
        ((0, 0, 0), (-250, 0, 120), (0, 0, 5)),  # looks elsewhere
        ((0, 0, 0), (0, 0, 120), (0, -9, 20)),  # no arm at all
    ],
)
def test_without_an_arm_the_field_is_taken(actor: Any, camera: Any, field: Any) -> None:
    angles, found = arm_angles([actor], [camera], [field])
    assert not found.any()
    np.testing.assert_array_equal(angles, [field])


def test_the_arm_across_the_cut_of_yaw() -> None:
    angles, found = arm_angles([(0, 0, 0)], [(250, 0.5, 120)], [(0, 0, 179)])
    assert found.all()
    assert angles[0, 2] == pytest.approx(-180 + np.degrees(0.5 / 250), abs=1e-3)
