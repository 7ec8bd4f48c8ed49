"""Rows that describe actions: their motion, and what a mirror makes of them."""

import numpy as np
import pytest

from worldgauge.core.actions import HAND_POSES, LOOP_WALK, Actions, ActionSpace, camera_path
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.models.baselines.tiny import MOTION_SCALES, Told, action_rows, mirror_of, row_width
from worldgauge.suites.mind.actions import walk_look
from worldgauge.worlds.walking.primitives import NAV_STEPS

WIDE = Camera.from_horizontal_fov(64, 36, 90)
PARTS: tuple[Told, ...] = ("keys", "motion", "both")
SPACES = [LOOP_WALK, walk_look(), NAV_STEPS]


def some(space: ActionSpace, n: int = 9) -> Actions:
    rng = np.random.default_rng(1)
    return Actions(space, rng.integers(0, 2, (n, len(space))).astype(np.float32))


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_a_mirror_is_its_own_inverse(space: ActionSpace) -> None:
    mirror = mirror_of(space)
    np.testing.assert_array_equal(mirror @ mirror, np.eye(row_width(space)))


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_a_mirrored_walk_is_the_walk_in_a_mirror(space: ActionSpace) -> None:
    actions = some(space)
    mirrored = Actions(space, (action_rows(actions, WIDE) @ mirror_of(space))[:, : len(space)])
    start = pose_from_yaw_pitch((0.0, 0.0, 0.0), 0.0, 0.0)  # looks along x, the left is y
    there, here = (camera_path(one, start)[:, :3, 3] for one in (mirrored, actions))
    np.testing.assert_allclose(there, here * [1, -1, 1], atol=1e-6)


def test_motion_by_hand() -> None:
    walk = Actions(LOOP_WALK, np.array([[1, 0, 0.1, 0]], np.float32))
    rows = action_rows(walk, WIDE)
    np.testing.assert_allclose(rows, [[1, 0, 0.1, 0, 0.215859 / 0.1, 0, 0, 0.1 / 0.05, 0]], rtol=1e-6)
    assert len(MOTION_SCALES) == 5
    np.testing.assert_array_equal(rows, action_rows(walk, Panorama(64, 32)))
    long = Camera.from_horizontal_fov(64, 36, 53.13010235)
    np.testing.assert_allclose(action_rows(walk, long)[0, 4:], [2.15859, 0, 0, 4, 0], rtol=1e-5)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_keys_and_motion_are_parts_of_both(space: ActionSpace) -> None:
    keys, motion, both = (action_rows(some(space), WIDE, told) for told in PARTS)
    np.testing.assert_array_equal(np.concatenate([keys, motion], 1), both)
    mirrors = [mirror_of(space, told) for told in PARTS]
    np.testing.assert_array_equal(np.concatenate([keys @ mirrors[0], motion @ mirrors[1]], 1), both @ mirrors[2])
    assert [row_width(space, told) for told in PARTS] == [part.shape[1] for part in (keys, motion, both)]


def test_rows_without_actions_or_motion() -> None:
    # No actions and no motion.
    assert action_rows(some(LOOP_WALK, 0), WIDE).shape == (0, row_width(LOOP_WALK))
    assert not action_rows(some(HAND_POSES), WIDE, "motion").any()
    # A hand that points down is told the same by either half turn.
    down = np.array([[0.1, 0.2, 0.9, turn, 0, 0.5, 1] for turn in (np.pi, -np.pi)], np.float32)
    told = action_rows(Actions(HAND_POSES, down), WIDE, "keys")
    assert told.shape[1] == row_width(HAND_POSES, "keys") == 10
    np.testing.assert_allclose(told[0], told[1], atol=1e-6)
    np.testing.assert_allclose(told[0, [5, 9]], [np.sin(0.5), np.cos(0.5)], atol=1e-6)
    # Told nothing all walks are the same.
    rows = action_rows(some(LOOP_WALK), WIDE, "nothing")
    assert rows.shape == (9, row_width(LOOP_WALK, "nothing"))
    assert not rows.any()
    np.testing.assert_array_equal(rows @ mirror_of(LOOP_WALK, "nothing"), rows)
