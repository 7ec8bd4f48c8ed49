"""The ten out-and-back paths, against the vector file of the specification."""

import math

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UnknownNameError
from worldgauge.core.geometry import pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.suites.mind.actions import LEG, MIRROR_PATHS, actions_of, mirror_poses, walk_look

COLUMNS = ("ws", "ad", "ud", "lr")


def test_names_stand_in_the_order_of_the_videos() -> None:
    assert list(MIRROR_PATHS) == ["w", "s", "u", "down", "a", "d", "wl", "wr", "sl", "sr"]


@pytest.mark.parametrize("case", cases("mind_mirror_paths", "cases"))
def test_vector(case: dict) -> None:
    assert case["video"] == f"path-{1 + list(MIRROR_PATHS).index(case['name'])}.mp4"
    keys = MIRROR_PATHS[case["name"]]
    assert keys.shape == (2 * LEG, 4)
    assert keys.dtype == np.uint8
    for rows, codes in ((keys[:LEG], case["out_keys"]), (keys[LEG:], case["back_keys"])):
        assert (rows == [codes.get(column, 0) for column in COLUMNS]).all()
    space = walk_look(case["delta_p_cm_per_s"] / 100, case["delta_r_deg_per_frame"])
    poses = mirror_poses(case["name"], np.array(pose_from_yaw_pitch((0, 0, 0), 0.0)), space)
    assert poses.shape == (48, 4, 4)
    for row, moment in ((11, "after_half_out"), (23, "after_out"), (47, "after_back")):
        yaw, pitch = yaw_pitch_from_pose(poses[row])
        x, y, z = case[moment]["xyz_cm"]
        # Engine axes have y and yaw to the right.
        np.testing.assert_allclose(100 * poses[row, :3, 3], (x, -y, z), atol=1e-8)
        assert math.degrees(-yaw) == pytest.approx(case[moment]["yaw"], abs=1e-8)
        assert math.degrees(pitch) == pytest.approx(case[moment]["pitch"], abs=1e-8)


@pytest.mark.parametrize("name", MIRROR_PATHS)
@pytest.mark.parametrize("arm_m", [0.0, 2.5])
def test_the_way_back_goes_over_the_poses_of_the_way_out(name: str, arm_m: float) -> None:
    start = pose_from_yaw_pitch((3, -2, 1.7), 2.1, -0.2)
    poses = mirror_poses(name, start, walk_look(), arm_m)
    there_and_back = np.concatenate([start[None], poses])
    np.testing.assert_allclose(there_and_back, there_and_back[::-1], atol=1e-12)
    assert not np.allclose(there_and_back[LEG], start, atol=0.1)


def test_keys_of_ones_own_lead_as_far_as_they_go() -> None:
    """Three frames of forward and look left at 2 m/s and 1 degree: half a degree, then one and a half, ..."""
    poses = mirror_poses([(1, 0, 0, 1)] * 3, np.array(pose_from_yaw_pitch((0, 0, 0), 0.0)), walk_look())
    angles = np.radians([0.5, 1.5, 2.5])
    np.testing.assert_allclose(poses[-1, :2, 3], (np.cos(angles).sum() / 12, np.sin(angles).sum() / 12))


def test_what_cannot_be_meant_is_refused() -> None:
    start = np.eye(4)
    with pytest.raises(UnknownNameError, match="Did you mean 'down'"):
        mirror_poses("dwon", start, walk_look())
    for keys in ([1, 0, 0, 0], [[1, 0, 0]], [[3, 0, 0, 0]]):
        with pytest.raises(ShapeError, match="key codes"):
            actions_of(keys, walk_look())
