"""Plans of a robot's hand: the vectors, scipy's rotations, round trips, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation, Slerp

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.core.geometry import rotation_of_quaternion
from worldgauge.worlds.tabletop import pose_plans as p

SEED = st.integers(0, 2**32 - 1)
BINS = st.tuples(*[st.integers(0, 99)] * 3, *[st.integers(0, 119)] * 3, st.integers(0, 1))


def of_kind(kind: str) -> list[Any]:
    return [case for case in cases("wiw_actions", "cases") if case.values[0]["kind"] == kind]


def random_poses(seed: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    places = rng.uniform(p.WORKSPACE_LOW_M, np.array(p.WORKSPACE_LOW_M) + 1, (n, 3))
    quaternions = rng.normal(size=(n, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    return np.column_stack([places, quaternions, rng.integers(0, 2, n)])


def same_poses(found: np.ndarray, expected: Any, tolerance: float = 2e-5) -> None:
    expected = np.asarray(expected, np.float64)
    np.testing.assert_allclose(found[:, [0, 1, 2, 7]], expected[:, [0, 1, 2, 7]], atol=tolerance)
    alike = np.abs(np.sum(found[:, 3:7] * expected[:, 3:7], 1))
    np.testing.assert_allclose(alike, np.linalg.norm(expected[:, 3:7], axis=1), atol=tolerance)
    sign = np.sign(np.sum(found[:, 3:7] * expected[:, 3:7], 1))
    np.testing.assert_allclose(found[:, 3:7] * sign[:, None], expected[:, 3:7], atol=tolerance)


@pytest.mark.parametrize("case", of_kind("discrete_to_pose"))
def test_bins_of_the_reference(case: dict[str, Any]) -> None:
    same_poses(p.poses_from_bins([case["action"]]), [case["expected"]])
    assert p.bins_from_points([case["point"]]).tolist() == [case["point_bins"]]
    same_poses(p.poses_from_bins(p.bins_from_poses([case["expected"]])), [case["expected"]])


@pytest.mark.parametrize("case", of_kind("subgoal_interpolation"))
def test_sub_goals_of_the_reference(case: dict[str, Any]) -> None:
    found, expected = p.through_sub_goals(case["current_pose"], case["plan"], case["T"]), case["expected"]
    assert list(found.per_segment) == expected["frames_per_segment"]
    assert list(found.anchors) == expected["anchor_frames"]
    same_poses(found.poses, expected["poses"])


@pytest.mark.parametrize("case", of_kind("match_length"))
def test_lengths_of_the_reference(case: dict[str, Any]) -> None:
    same_poses(p.match_length(case["actions"], case["T"]), case["expected"]["poses"])
    if "indices" in case["expected"]:
        assert p.grid(len(case["actions"]), case["T"]).tolist() == case["expected"]["indices"]


@pytest.mark.parametrize("case", of_kind("clip_resample"))
def test_clips_of_the_reference(case: dict[str, Any]) -> None:
    assert p.clip_indices(case["n"], case["T"]).tolist() == case["expected"]


@given(st.lists(BINS, min_size=1, max_size=5))
def test_bins_there_and_back(actions: list[tuple[int, ...]]) -> None:
    poses = p.poses_from_bins(actions)
    turns = Rotation.from_euler("xyz", np.array(actions)[:, 3:6] * 3.0 - 180, degrees=True)
    assert ((turns.inv() * Rotation.from_quat(poses[:, 3:7])).magnitude() < 1e-9).all()
    again = p.bins_from_poses(poses)
    assert again[:, [0, 1, 2, 6]].tolist() == np.array(actions)[:, [0, 1, 2, 6]].tolist()
    same_poses(p.poses_from_bins(again), poses, 1e-9)


@settings(max_examples=50)
@given(SEED, st.floats(0, 1))
def test_slerp_is_scipys(seed: int, share: float) -> None:
    poses = random_poses(seed, 2)
    reference = Slerp([0, 1], Rotation.from_quat(poses[:, 3:7]))([share])
    found = Rotation.from_quat(p.slerp(poses[:1, 3:7], poses[1:, 3:7], [share]))
    assert (reference.inv() * found).magnitude()[0] < 1e-9


def test_slerp_between_nearly_equal_and_between_opposite_rotations() -> None:
    one = np.array([[0, 0, 0, 1.0]])
    close = Rotation.from_rotvec([[0, 0, 1e-10]]).as_quat()
    np.testing.assert_allclose(p.slerp(one, close, [0.5])[0, 2], 2.5e-11, rtol=1e-3)
    np.testing.assert_array_equal(p.slerp(one, -one, [0.3]), one)
    half = p.slerp(one, [[1.0, 0, 0, 0]], [0.5])
    np.testing.assert_allclose(half, [[np.sqrt(0.5), 0, 0, np.sqrt(0.5)]])


@given(SEED, st.integers(1, 13), st.integers(14, 30))
def test_sub_goals_are_met_in_their_frames(seed: int, n: int, frames: int) -> None:
    poses = random_poses(seed, n + 1)
    found = p.through_sub_goals(poses[0], poses[1:], frames)
    assert sum(found.per_segment) == len(found.poses) == frames
    assert max(found.per_segment) - min(found.per_segment) <= 1
    same_poses(found.poses[[0, *found.anchors]], poses, 1e-9)
    changes = np.flatnonzero(np.diff(found.poses[:, 7])) + 1
    assert set(changes) <= set(found.anchors), "the gripper moves where a sub-goal is reached, nowhere else"


@given(st.integers(1, 400), st.integers(1, 60))
def test_grids_are_exact(n: int, count: int) -> None:
    found = p.grid(n, count)
    assert found[0] == 0
    assert found[-1] == (n - 1 if count > 1 else 0)
    assert found.tolist() == [j * (n - 1) // max(count - 1, 1) for j in range(count)]
    assert len({*found.tolist()}) == min(n, count), "none is chosen twice where there are others"
    clip = p.clip_indices(n, count)
    assert len(clip) == count
    assert clip.max() < n
    if n < count:
        assert clip.tolist() == [*range(n), *[n - 1] * (count - n)]


@pytest.mark.parametrize(("n", "count"), [(31, 23), (31, 24), (61, 24), (99, 24)])
def test_as_many_poses_stay_as_requested_where_floats_or_the_release_fail(n: int, count: int) -> None:
    kept = p.grid(n, count)
    assert (len({*kept.tolist()}), kept[0], kept[-1]) == (count, 0, n - 1)
    assert kept[count // 2] == count // 2 * (n - 1) // (count - 1)


@given(SEED, st.integers(1, 20), st.integers(1, 20))
def test_lengths_keep_the_ends(seed: int, n: int, frames: int) -> None:
    poses = random_poses(seed, n)
    found = p.match_length(poses, frames)
    assert found.shape == (frames, 8)
    same_poses(found[:1], poses[:1], 1e-9)
    if frames > 1:
        same_poses(found[-1:], poses[-1:], 1e-9)
    if frames == n:
        same_poses(found, poses, 1e-9)


def pose_channels(poses: ArrayLike) -> NDArray[np.float64]:
    """What the post-trained manipulation model is given of poses (n, 8): (n, 10) in radians.

    Places of the workspace between -2 pi and 2 pi, the first two columns of the rotation matrix between -pi and pi, one
    after the other, and the gripper between -pi and pi.
    """
    known = p._poses(poses)
    places = ((known[:, :3] - p.WORKSPACE_LOW_M) / (p.POSITION_BINS * p.BIN_M) * 4 - 2) * np.pi
    columns = rotation_of_quaternion(known[:, 3:7])[:, :, :2].transpose(0, 2, 1).reshape(-1, 6) * np.pi
    return np.column_stack([places, columns, (2 * known[:, 7] - 1) * np.pi])


def test_channels_of_the_post_trained_model() -> None:
    low = [*p.WORKSPACE_LOW_M, 0, 0, 0, 1, 0]
    high = [0.7, 0.5, 1.6, 0, 0, np.sqrt(0.5), np.sqrt(0.5), 1]  # a quarter turn about z
    found = pose_channels([low, high]) / np.pi
    np.testing.assert_allclose(found[0], [-2, -2, -2, 1, 0, 0, 0, 1, 0, -1], atol=1e-12)
    np.testing.assert_allclose(found[1], [2, 2, 2, 0, 1, 0, -1, 0, 0, 1], atol=1e-12)


@pytest.mark.parametrize(
    ("column", "value", "name"), [(0, 100, "x"), (2, -1, "z"), (3, 120, "roll"), (5, 0.5, "yaw"), (6, 2, "gripper")]
)
def test_bins_outside(column: int, value: float, name: str) -> None:
    action = [0.0] * 7
    action[column] = value
    with pytest.raises(UsageError, match=f"action 1: {name} is {value}"):
        p.poses_from_bins([[0] * 7, action])


def test_points_on_edges_and_outside() -> None:
    steps = np.round(np.arange(100) * 0.01, 2)
    points = np.round(np.array(p.WORKSPACE_LOW_M) + steps[:, None], 2)
    assert p.bins_from_points(points).tolist() == [[n] * 3 for n in range(100)]
    with pytest.raises(UsageError, match="point 1"):
        p.bins_from_points([[0, 0, 1], [0.7, 0, 1]])
    with pytest.raises(UsageError, match="point 0"):
        p.bins_from_points([[0, float("nan"), 1]])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda poses: p.through_sub_goals(poses[0], poses, 14), UsageError, "1 to 13 sub-goals, got 14"),
        (lambda poses: p.through_sub_goals(poses[0], poses[:0], 14), UsageError, "got 0"),
        (lambda poses: p.match_length(poses[:0], 14), UsageError, "nothing in it"),
        (lambda poses: p.clip_indices(0, 14), UsageError, "nothing in it"),
        (lambda poses: p.match_length(poses[:, :7], 14), ShapeError, r"\(n, 8\)"),
        (lambda poses: p.poses_from_bins(poses), ShapeError, r"\(n, 7\)"),
        (lambda poses: p.match_length(0 * poses, 14), ShapeError, "length 0"),
        (lambda poses: p.match_length(np.nan * poses, 14), ShapeError, "finite"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(random_poses(0, 14))


@pytest.mark.parametrize("yaw_deg", [0, 30, -135, 200, 725])
def test_a_hand_that_reaches_down_is_turned_about_the_vertical(yaw_deg: float) -> None:
    pose = p.reaching_down(0.1, 0.2, 0.9, 1, yaw_rad=np.radians(yaw_deg))
    assert pose[:3] == (0.1, 0.2, 0.9)
    assert pose.gripper == 1.0
    expected = Rotation.from_euler("z", yaw_deg, degrees=True) * Rotation.from_quat([1, 0, 0, 0])
    np.testing.assert_allclose(Rotation.from_quat(pose[3:7]).as_matrix(), expected.as_matrix(), atol=1e-12)


def test_points_are_kept_inside_the_workspace() -> None:
    points = [[0.1, 0.2, 0.9], [5.0, -3.0, 0.0]]
    np.testing.assert_allclose(p.inside_workspace(points), [[0.1, 0.2, 0.9], [0.7, -0.5, 0.6]], atol=1e-12)
    np.testing.assert_allclose(np.subtract(p.WORKSPACE_HIGH_M, p.WORKSPACE_LOW_M), 1.0, atol=1e-12)
