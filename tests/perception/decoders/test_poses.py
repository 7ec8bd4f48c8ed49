"""From camera poses to a path on the ground."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from support.vectors import cases
from worldgauge.core import geometry
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import FloatArray, pose_from_yaw_pitch
from worldgauge.perception.decoders.poses import (
    anchor_fault,
    between,
    ground_path,
    heading_change_deg,
    poses_of,
    poses_of_quaternions,
    released_path,
)

MATRICES = {"vggt": "extrinsics_w2c", "spatracker": "c2w", "vipe": "poses_tx_ty_tz_qx_qy_qz_qw"}
TOLERANCE = {"vggt": 1e-9, "spatracker": 1e-4, "vipe": 1e-12}
RELEASED = [case for case in cases("target_scale", "cases") if case.values[0]["kind"] in MATRICES]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def walk(*steps: tuple[float, float, float], pitch: float = 0.0) -> FloatArray:
    """Camera poses at (x, y, yaw) of a world with z up, 1.5 m high."""
    table = np.array(steps, np.float64)
    at = np.c_[table[:, :2], np.full(len(table), 1.5)]
    return pose_from_yaw_pitch(at, table[:, 2], pitch)


def moved(poses: FloatArray, rng: np.random.Generator, scale: float = 1.0) -> FloatArray:
    """The same cameras in another world frame and unit."""
    turn, shift = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3) * 10
    other = poses.copy()
    other[..., :3, :3] = turn @ poses[..., :3, :3]
    other[..., :3, 3] = (poses[..., :3, 3] @ turn.T + shift) * scale
    return other


@pytest.mark.parametrize("case", RELEASED)
def test_released_rules_give_the_released_path(case: dict) -> None:
    kind, inputs, expected = case["kind"], case["inputs"], case["expect"]
    path = released_path(inputs[MATRICES[kind]], kind, inputs.get("real_displacement_m"))
    close = {"rtol": TOLERANCE[kind], "atol": TOLERANCE[kind]}
    np.testing.assert_allclose(path.xy, np.array(expected["trajectory_2d"]).reshape(-1, 2), **close)
    np.testing.assert_allclose(path.xyz, np.array(expected["trajectory_3d"]).reshape(-1, 3), **close)
    if "scale_factor" in expected:
        np.testing.assert_allclose(path.scale, expected["scale_factor"], **close)
        np.testing.assert_allclose(path.anchor_estimated, expected["camera_displacement"], **close)


@pytest.mark.parametrize("case", [case for case in RELEASED if "corrected" in case.values[0]])
def test_our_rules_take_the_distance_of_the_centres(case: dict) -> None:
    inputs, corrected = case["inputs"], case["corrected"]
    poses, anchor = poses_of(inputs[MATRICES[case["kind"]]], case["kind"])
    path = ground_path(poses, anchor, inputs["real_displacement_m"])
    assert path.anchor_estimated == pytest.approx(corrected["centre_displacement"], rel=1e-9)
    if inputs["real_displacement_m"] >= 0.05:
        assert path.scale == pytest.approx(corrected["scale_factor"], rel=1e-9)
    else:
        assert path.scale is None
        assert path.xy is None
        assert "apart" in path.fault


def test_a_path_by_hand() -> None:
    # Looks along +x, walks 2 units ahead, then 1 to its right (world -y); the anchor is half a unit behind.
    poses = walk((0, 0, 0), (2, 0, 0), (2, -1, -np.pi / 2))
    anchor = walk((-0.5, 0, 0))[0]
    path = ground_path(poses, anchor, 1.0)
    np.testing.assert_allclose(path.xy, [[0, 0], [0, 4], [2, 4]], atol=1e-12)
    np.testing.assert_allclose(path.positions, [[0, 0, 0], [0, 0, 4], [2, 0, 4]], atol=1e-12)
    assert (path.scale, path.anchor_estimated) == (pytest.approx(2.0), pytest.approx(0.5))
    assert heading_change_deg(path.rotations) == pytest.approx(90.0)
    assert geometry.length(path.positions) == pytest.approx(6.0)


def test_world_frame_and_unit_do_not_matter(rng: np.random.Generator) -> None:
    poses, anchor = walk((0, 0, 0.3), (1, 0.5, 0.6), (2, 1.4, 1.0)), walk((-1, -0.3, 0.3))
    there = moved(np.concatenate([poses, anchor]), rng, scale=7.3)
    one, other = ground_path(poses, anchor[0], 1.07), ground_path(there[:-1], there[-1], 1.07)
    np.testing.assert_allclose(one.xy, other.xy, atol=1e-9)
    np.testing.assert_allclose(one.rotations, other.rotations, atol=1e-9)
    assert one.scale == pytest.approx(7.3 * other.scale)


def test_metric_poses_need_no_anchor_and_a_tilt_changes_nothing() -> None:
    path = ground_path(walk((5, 5, 1), (5, 6, 1)), None, None)
    assert (path.scale, np.linalg.norm(path.xy[1])) == (1.0, pytest.approx(1.0))
    level, tilted = (walk((0, 0, 0), (3, 1, 0.5), pitch=pitch) for pitch in (0.0, -0.4))
    right = ground_path(level, None, None).xy
    short = ground_path(tilted, None, None).xy
    assert short[1, 1] == pytest.approx(right[1, 1] * np.cos(0.4))
    np.testing.assert_allclose(
        ground_path(tilted, None, None, up=(0, -np.cos(0.4), -np.sin(0.4))).xy, right, atol=1e-12
    )


@pytest.mark.parametrize(
    ("estimated", "extent", "real", "said"),
    [
        (1.0, 4.0, 1.0, ""),
        (0.081, 4.0, 1.0, ""),
        (0.079, 4.0, 1.0, "too close"),
        (1e-7, 0.0, 1.0, "too close"),
        (0.0, 0.0, 1.0, "too close"),
        (1.0, 4.0, 0.05, ""),
        (1.0, 4.0, 0.049, "apart"),
        (1.0, 4.0, 0.0, "apart"),
        (1.0, 4.0, -1.0, "apart"),
        (1.0, 4.0, float("nan"), "not known"),
        (1.0, 4.0, None, "not known"),
        (float("nan"), 4.0, 1.0, "too close"),
    ],
)
def test_an_anchor_that_says_nothing_gives_no_scale(estimated: float, extent: float, real: float, said: str) -> None:
    fault = anchor_fault(estimated, extent, real)
    assert (said in fault) if said else fault == ""


def test_paths_without_a_scale_and_by_released_rules() -> None:
    path = ground_path(walk((0, 0, 0), (4, 0, 0)), walk((-0.01, 0, 0))[0], 1.0)
    assert path.xy is None
    assert path.scale is None
    np.testing.assert_allclose(path.positions[1], [0, 0, 4], atol=1e-12)
    here, near = walk((0, 0, 0)), walk((1e-12, 0, 0))
    there = walk((1, 0, 0))
    assert released_path(np.concatenate([here, here, there]), "spatracker", 1.0) is None
    assert released_path(np.concatenate([near, here, there]), "spatracker", 1.0).scale > 1e11
    still = released_path(np.concatenate([there, here, there]), "spatracker", 0.0)
    np.testing.assert_array_equal(np.abs(still.xy), 0.0)
    cameras = np.linalg.inv(walk((3, 2, 0.7), (4, 2, 0.7), (2, 1, 0.2)))[:, :3]
    path = released_path(cameras, "vggt", 1.0)
    assert path.anchor_estimated == pytest.approx(np.linalg.norm(cameras[0, :, 3] - cameras[2, :, 3]))
    assert path.anchor_estimated != pytest.approx(np.sqrt(2))
    poses, anchor = poses_of(cameras, "vggt")
    assert ground_path(poses, anchor, 1.0).anchor_estimated == pytest.approx(np.sqrt(2))


def test_quaternions_and_poses_between_frames(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(50, 7))
    poses = poses_of_quaternions(rows)
    np.testing.assert_allclose(poses[:, :3, :3], Rotation.from_quat(rows[:, 3:]).as_matrix(), atol=1e-12)
    np.testing.assert_array_equal(poses[:, :3, 3], rows[:, :3])
    poses = walk((0, 0, 0), (2, 0, 0.2), (2, 0, 0.2))
    found = between(poses, [0, 10, 20], [0, 5, 10, 25])
    np.testing.assert_allclose(found[0], poses[0])
    np.testing.assert_allclose(found[1], walk((1, 0, 0.1))[0], atol=1e-12)
    np.testing.assert_allclose(found[2], poses[1])
    np.testing.assert_allclose(found[3], poses[2], atol=1e-12)
    np.testing.assert_allclose(between(poses[:1], [0], [0, 3])[1], poses[0])


def test_what_is_no_pose_is_refused() -> None:
    good = walk((0, 0, 0), (1, 0, 0))
    broken = good.copy()
    broken[1, 0, 3] = np.nan
    skewed = good.copy()
    skewed[1, :3, :3] *= 1.1
    mirrored = good.copy()
    mirrored[0, :3, 0] *= -1
    for poses in (good[0], good[:0], good[:, :3], broken, skewed, mirrored):
        with pytest.raises(ShapeError):
            ground_path(poses, None, None)
    with pytest.raises(ShapeError, match="anchor"):
        ground_path(good, broken[1], 1.0)
    with pytest.raises(ShapeError, match="heading"):
        ground_path(good, None, None, up=[0, 0, 1])
    with pytest.raises(ShapeError, match="up"):
        ground_path(good, None, None, up=[0, 0, 0])
    with pytest.raises(ShapeError, match="no length"):
        poses_of_quaternions(np.zeros((1, 7)))
    with pytest.raises(ShapeError):
        poses_of_quaternions(np.zeros((1, 6)))
    with pytest.raises(ShapeError):
        poses_of(good[:1], "vggt")
    with pytest.raises(UsageError, match="distance"):
        released_path(good, "vggt")
    with pytest.raises(UsageError, match="no layout"):
        released_path(good, "colmap", 1.0)
