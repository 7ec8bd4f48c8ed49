"""Actions as keys, as a camera path, as words."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from worldgauge.core.actions import (
    LOOP_WALK,
    WALK_STEP_M,
    Actions,
    Prompt,
    camera_path,
    describe,
    motions,
    path_moves,
    prompts,
)
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.suites.mind.actions import walk_look

QUARTER = np.pi / 2


def walk(*rows: tuple[float, float, float, float]) -> Actions:
    return Actions(LOOP_WALK, np.array(rows, np.float32).reshape(-1, 4))


def forward(n: int) -> list[tuple[float, float, float, float]]:
    return [(1, 0, 0, 0)] * n


ROWS = arrays(
    np.float32, st.tuples(st.integers(0, 30), st.just(4)), elements=st.floats(-1, 1, width=32, allow_nan=False)
)


def test_columns_have_names() -> None:
    actions = walk((1, 0, 0.1, -0.2))
    assert actions.column("camera_yaw") == pytest.approx([0.1])
    assert len(actions) == 1
    assert LOOP_WALK.column("camera_pitch") == 3
    with pytest.raises(ShapeError, match="no axis 'camera'"):
        actions.column("camera")


@pytest.mark.parametrize("shape", [(4,), (3, 3), (1, 2, 4)])
def test_wrong_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="shape"):
        Actions(LOOP_WALK, np.zeros(shape, np.float32))


def test_motions_by_hand() -> None:
    moves = motions(walk((1, 1, 0.1, -0.2)))
    np.testing.assert_allclose(moves, [[WALK_STEP_M, 0, 0, 0.1, -0.2]], rtol=1e-6)


def test_a_square_returns_to_its_start() -> None:
    side = [*forward(10), (0, 0, QUARTER, 0)]
    path = camera_path(walk(*side * 4), pose_from_yaw_pitch((3, 4, 5), 0.3))
    np.testing.assert_allclose(path[-1], pose_from_yaw_pitch((3, 4, 5), 0.3), atol=1e-6)
    assert np.ptp(path[:, 2, 3]) == 0


def test_a_left_turn_walks_to_plus_y() -> None:
    path = camera_path(walk((0, 0, QUARTER, 0), (1, 0, 0, 0)), pose_from_yaw_pitch((0, 0, 1), 0.0))
    np.testing.assert_allclose(path[-1][:3, 3], (0, WALK_STEP_M, 1), atol=1e-7)


@given(ROWS)
def test_turns_add_up_and_pitch_stays_in_bounds(rows: np.ndarray) -> None:
    path = camera_path(Actions(LOOP_WALK, rows), np.eye(4) @ pose_from_yaw_pitch((0, 0, 0), 0.5))
    assert path.shape == (len(rows), 4, 4)
    if len(rows):
        yaw, pitch = yaw_pitch_from_pose(path[-1])
        assert abs(pitch) <= QUARTER + 1e-9
        if abs(pitch) < QUARTER - 1e-3:
            turned = 0.5 + rows[:, 2].astype(float).sum()
            assert np.cos(yaw - turned) == pytest.approx(1, abs=1e-9)


@given(ROWS, st.floats(-3, 3), st.tuples(*[st.floats(-9, 9)] * 3))
def test_a_path_moves_with_its_start(rows: np.ndarray, yaw: float, position: tuple[float, float, float]) -> None:
    actions = Actions(LOOP_WALK, rows)
    turn = pose_from_yaw_pitch(position, yaw) @ np.linalg.inv(pose_from_yaw_pitch((0, 0, 0), 0.0))
    plain = camera_path(actions, pose_from_yaw_pitch((0, 0, 0), 0.0))
    moved = camera_path(actions, pose_from_yaw_pitch(position, yaw))
    np.testing.assert_allclose(moved, turn @ plain, atol=1e-9)


def test_a_walk_in_words() -> None:
    rows = [(0, 0, 0.1, 0)] * 5 + forward(20) + [(0, 0, 0, 0)] * 20 + [(0, 0, 0, -0.1)] * 3
    words = describe(walk(*rows))
    assert words == (
        "Turn left 29 degrees, then walk forward 4.3 metres, then stand still for 1 second. Look down 17 degrees."
    )
    assert describe(walk()) == ""
    assert describe(walk((0, 0, 0, 0))) == "Stand still."
    assert describe(walk((0, 0, -0.1, 0))) == "Turn right 6 degrees."
    assert describe(walk((0, 0, -0.017, 0))) == "Turn right 1 degree."


def test_words_for_keys_as_a_person_would_say_them() -> None:
    space = walk_look(speed_mps=2.4, turn_deg=1.0)

    def held(*legs: tuple[int, str]) -> str:
        values = np.zeros((sum(frames for frames, _ in legs), len(space)), np.float32)
        first = 0
        for frames, keys in legs:
            values[first : first + frames, [space.column(key) for key in keys.split()]] = 1
            first += frames
        return describe(Actions(space, values))

    assert held((20, "forward"), (90, "look_left")) == "Walk forward 2 metres, then turn left 90 degrees."
    assert held((1, "look_right")) == "Turn right 1 degree."
    assert held((10, "back")) == "Walk backward 1 metre."
    assert held((20, "forward look_left")) == "Walk forward 2 metres while turning left 20 degrees."
    assert held((30, "left look_up")) == "Step left 3 metres while looking up 30 degrees."
    assert held((20, "forward right")) == "Walk forward 2 metres while stepping right 2 metres."
    assert held((24, "")) == "Stand still for 1 second."
    assert held((20, "forward"), (3, ""), (20, "forward")) == "Walk forward 4 metres.", "a short halt is not told"
    assert held((20, "forward"), (3, "look_left"), (20, "forward")) == (
        "Walk forward 2 metres, then turn left 3 degrees, then walk forward 2 metres."
    )
    assert held((20, "forward"), (20, "back"), (10, "left"), (10, "right")) == (
        "Walk forward 2 metres, then walk backward 2 metres, then step left 1 metre. Step right 1 metre."
    )


def test_what_is_done_at_once_stands_in_one_clause() -> None:
    assert describe(walk(*[(1, 0, 0.1, 0)] * 10)) == "Walk forward 2.2 metres while turning left 57 degrees."
    assert describe(walk(*[(1, 0, 0.001, 0)] * 10)) == "Walk forward 2.2 metres."


def test_words_leave_out_what_rounds_to_nothing() -> None:
    assert (
        describe(walk((0, 0, 0.1, 0), (0, 0, -0.002, 0), *forward(5)))
        == "Turn left 6 degrees, then walk forward 1.1 metres."
    )


def test_a_walk_as_a_chain_of_sentences() -> None:
    both = [(1, 0, 0.1, 0)] * 10
    said = prompts(walk(*forward(5), *both, *[(0, 0, 0, 0)] * 20, (0, 0, 0, 1e-5), *[(0, 0, 0, -0.1)] * 3))
    assert said == (
        Prompt(0, "Walk forward 1.1 metres."),
        Prompt(5, "Walk forward 2.2 metres and turn left 57 degrees."),
        Prompt(15, "Stand still for 1.1 seconds."),
        Prompt(36, "Look down 17 degrees."),
    )
    assert prompts(walk()) == ()
    # What rounds to zero is left out, and the first sentence holds from the start.
    assert prompts(walk((0, 0, 0.002, 0), *forward(5))) == (Prompt(0, "Walk forward 1.1 metres."),)


@given(ROWS)
def test_prompts_rise_and_never_mention_zero(rows: np.ndarray) -> None:
    said = prompts(Actions(LOOP_WALK, rows))
    assert [one.frame for one in said] == sorted({one.frame for one in said})
    assert all(" 0 " not in one.text and ".0 " not in one.text for one in said)
    assert not said or said[0].frame == 0 <= said[-1].frame < len(rows)


@given(ROWS)
def test_words_never_mention_zero(rows: np.ndarray) -> None:
    words = describe(Actions(LOOP_WALK, rows))
    assert " 0 " not in words
    assert ".0 " not in words
    assert not re.search(r"(?<![.\d])1 (degrees|metres|seconds)|(?<![.\d])(?!1 )[\d.]+ (degree|metre|second)\b", words)
    assert words == "" or words.endswith(".")


def test_opposite_keys_lead_back_over_the_same_poses() -> None:
    space = walk_look(speed_mps=2.8, turn_deg=1.4)
    values = np.zeros((48, len(space)), np.float32)
    values[:24, [space.column("forward"), space.column("look_left")]] = 1
    values[24:, [space.column("back"), space.column("look_right")]] = 1
    start = pose_from_yaw_pitch([3.0, -2.0, 1.6], 0.7, -0.2)
    for arm_m in (0.0, 2.5):
        path = camera_path(Actions(space, values), start, heading="mean", arm_m=arm_m)
        states = np.concatenate([start[None], path])
        assert_allclose(states, states[::-1], atol=1e-12)
        assert np.linalg.norm(states[24, :3, 3] - start[:3, 3]) > 1
    assert not np.allclose(camera_path(Actions(space, values), start)[-1], start, atol=1e-3)


def test_the_arm_turns_round_the_walker() -> None:
    space = walk_look()
    values = np.zeros((90, len(space)), np.float32)
    values[:, space.column("look_left")] = 1
    start = pose_from_yaw_pitch([0.0, 0.0, 0.0], 0.0)
    path = camera_path(Actions(space, values), start, heading="mean", arm_m=2.5)
    assert_allclose(path[-1, :3, 3], [2.5, -2.5, 0.0], atol=1e-9)
    assert_allclose(path[:, :3, 3] + 2.5 * path[:, :3, 2], np.broadcast_to([2.5, 0, 0], (90, 3)), atol=1e-9)


def test_the_moves_of_a_path_lead_along_it_again() -> None:
    rng = np.random.default_rng(4)
    poses = pose_from_yaw_pitch(rng.normal(size=(9, 3)), rng.uniform(-3, 3, 9), rng.uniform(-1, 1, 9))
    moves = path_moves(poses)
    assert (moves.space.name, len(moves)) == ("camera-motion", 8)
    np.testing.assert_allclose(camera_path(moves, poses[0]), poses[1:], atol=1e-5)
    still = path_moves(poses[:1])
    assert still.values.shape == (0, 5)
    ahead = path_moves(pose_from_yaw_pitch(np.array([[0, 0, 0], [0, 2, 0]]), np.full(2, np.pi / 2), np.zeros(2)))
    np.testing.assert_allclose(ahead.values, [[2, 0, 0, 0, 0]], atol=1e-6)  # towards +y, looking there
