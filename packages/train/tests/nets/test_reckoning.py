"""Poses reckoned from actions: beside `camera_path`, in a mirror, and as seen from another pose."""

import numpy as np
import pytest

from worldgauge.core.actions import LOOP_WALK, Actions, camera_path, motions
from worldgauge.core.geometry import pose_from_yaw_pitch, relative, rotation_angle, yaw_pitch_from_pose
from worldgauge_train.nets.reckoning import angle_between, in_mirror, reckoned, seen_from


def some(n: int = 40) -> Actions:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2, (n, len(LOOP_WALK))).astype(np.float32)
    values[:, 2:] = rng.normal(0, 0.05, (n, len(LOOP_WALK) - 2))
    return Actions(LOOP_WALK, values)


def test_it_is_the_camera_path_of_mean_headings() -> None:
    path = camera_path(some(), pose_from_yaw_pitch((0.0, 0.0, 0.0), 0.0, 0.0), heading="mean")
    ours = reckoned(motions(some()))
    np.testing.assert_allclose(ours[:, :3], path[:, :3, 3], atol=1e-9)
    yaw, pitch = yaw_pitch_from_pose(path)
    np.testing.assert_allclose(np.exp(1j * ours[:, 3]), np.exp(1j * yaw), atol=1e-9)
    np.testing.assert_allclose(ours[:, 4], pitch, atol=1e-9)


def test_in_parts_it_is_the_same() -> None:
    moves = motions(some())
    whole = reckoned(moves)
    np.testing.assert_allclose(reckoned(moves[25:], whole[24]), whole[25:], atol=1e-12)


def test_a_mirrored_walk_is_the_walk_in_a_mirror() -> None:
    moves = motions(some()) * [1, -1, 1, -1, 1]
    np.testing.assert_allclose(reckoned(moves), in_mirror(reckoned(motions(some()))), atol=1e-12)


def test_seen_from_a_pose_by_the_geometry_of_poses() -> None:
    path = reckoned(motions(some()))
    poses = pose_from_yaw_pitch(path[:, :3], path[:, 3], path[:, 4])
    here = path[7]
    flat = pose_from_yaw_pitch(here[:3], here[3], 0.0)
    apart = relative(flat, poses)[:, :3, 3]  # x to the right, y down, z forward
    np.testing.assert_allclose(
        seen_from(path, here)[:, :3], np.stack([apart[:, 2], -apart[:, 0], -apart[:, 1]], 1), atol=1e-9
    )
    np.testing.assert_allclose(seen_from(path, here)[:, 3:], path[:, 3:] - here[3:], atol=1e-9)
    level = pose_from_yaw_pitch(path[:, :3], path[:, 3], 0.0 * path[:, 4])
    flat_path = path * [1, 1, 1, 1, 0]
    angles = rotation_angle(relative(level[7], level)[:, :3, :3])
    np.testing.assert_allclose(angle_between(flat_path, flat_path[7]), angles, atol=1e-6)


def test_a_turn_of_more_than_half_a_circle_is_seen_as_the_shorter_one() -> None:
    there, here = np.array([0, 0, 0, 3.0, 0]), np.array([0, 0, 0, -3.0, 0])
    assert seen_from(there, here)[3] == pytest.approx(6 - 2 * np.pi)
