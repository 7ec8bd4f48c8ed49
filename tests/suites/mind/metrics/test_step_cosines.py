"""Directions of steps: worked by hand, beside scipy, unmoved by speed, place and frame, and at the limits."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.suites.mind.metrics.action_accuracy import camera_steps, move_cosine, step_cosines, turn_cosine


def walk(seed: int = 0, n: int = 30) -> np.ndarray:
    """A camera that moves and turns at random."""
    rng = np.random.default_rng(seed)
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(np.cumsum(rng.normal(0, 0.05, (n, 3)), 0)).as_matrix()
    poses[:, :3, 3] = np.cumsum(rng.normal(0, 0.1, (n, 3)), 0)
    return poses


def straight(heading: float, step_m: float = 0.1, n: int = 5) -> np.ndarray:
    """A camera that looks along x and moves along a heading."""
    along = step_m * np.arange(n)[:, None] * [math.cos(heading), math.sin(heading), 0.0]
    return pose_from_yaw_pitch(along, np.zeros(n))


def test_cosines_by_hand() -> None:
    true = straight(0.0)
    for heading in (0.0, math.pi / 3, math.pi / 2, math.pi):
        assert move_cosine(true, straight(heading, 0.7)) == pytest.approx(math.cos(heading))
    assert turn_cosine(true, true) is None
    left = pose_from_yaw_pitch(np.zeros((4, 3)), 0.02 * np.arange(4))
    assert turn_cosine(left, pose_from_yaw_pitch(np.zeros((4, 3)), 0.3 * np.arange(4))) == pytest.approx(1)
    assert turn_cosine(left, pose_from_yaw_pitch(np.zeros((4, 3)), -0.3 * np.arange(4))) == pytest.approx(-1)
    up = pose_from_yaw_pitch(np.zeros((4, 3)), np.zeros(4), 0.02 * np.arange(4))
    assert turn_cosine(left, up) == pytest.approx(0, abs=0.02)
    assert move_cosine(left, up) is None


def test_steps_equal_those_of_scipy() -> None:
    poses = walk(3)
    for k, step in enumerate(camera_steps(poses)):
        between = np.linalg.inv(poses[k]) @ poses[k + 1]
        np.testing.assert_allclose(step[:3], between[:3, 3], atol=1e-12)
        np.testing.assert_allclose(step[3:], Rotation.from_matrix(between[:3, :3]).as_rotvec(), atol=1e-12)


def test_speed_place_and_frame_of_the_world_do_not_count() -> None:
    true, shown = walk(1), walk(2)
    moved = shown.copy()
    moved[:, :3, 3] *= 7.5
    world = np.eye(4)
    world[:3, :3], world[:3, 3] = Rotation.from_rotvec([0.3, 1.0, -2.0]).as_matrix(), (5, 6, 7)
    for one, other in zip(step_cosines(true, shown), step_cosines(true, world @ moved), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_an_error_made_once_does_not_count_again() -> None:
    true, shown = walk(1), walk(1)
    jump = np.eye(4)
    jump[:3, :3], jump[:3, 3] = Rotation.from_rotvec([0, 0, 1.0]).as_matrix(), (3, 0, 0)
    shown[10:] = jump @ shown[10:]
    found = step_cosines(true, shown)
    assert np.delete(found.move, 9) == pytest.approx(1)
    assert np.delete(found.turn, 9) == pytest.approx(1)


def test_rest_gaps_and_nothing_at_all() -> None:
    true = walk(1)
    still = np.tile(np.eye(4), (30, 1, 1))
    assert move_cosine(true, still) == 0
    assert turn_cosine(true, still) == 0
    assert move_cosine(still, true) is None
    gap = true.copy()
    gap[5] = np.nan
    found = step_cosines(true, gap)
    assert np.flatnonzero(np.isnan(found.move)).tolist() == [4, 5]
    assert move_cosine(true, gap) == pytest.approx(1)
    assert move_cosine(true, np.full_like(true, np.nan)) is None
    assert move_cosine(true[:1], true[:1]) is None
    for wrong in (true[:-1], true[0], np.zeros((30, 3))):
        with pytest.raises(ShapeError):
            move_cosine(true, wrong)
