"""Primitives as clips, paths, ids and words: the vectors, the package's own camera path, and what is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.worlds.walking import primitives as p

WALK = st.lists(st.sampled_from(p.Primitive), max_size=13).map(tuple)
MOVES = st.lists(st.sampled_from(list(p.Primitive)[:3]), max_size=13).map(tuple)


def of_kind(prefix: str, kind: str) -> list[Any]:
    return [case for case in cases(prefix, "cases") if case.values[0]["kind"] == kind]


def of_names(names: list[str]) -> p.Steps:
    return tuple(p.Primitive[name.upper()] for name in names)


@pytest.mark.parametrize("case", of_kind("wiw_actions", "nav_plan"))
def test_clips_of_the_reference(case: dict[str, Any]) -> None:
    steps, expected = of_names(case["plan"]), case["expected"]
    exact = p.nav_control(steps, case["frames"])
    model = p.nav_control(steps, case["frames"], leading="model")
    assert np.degrees(exact.turn_left_rad) == pytest.approx(expected["leading_yaw_deg"])
    assert p.leading_turns(steps)[1] == of_names(expected["remainder"])
    assert exact.wire_ids.tolist() == expected["released_ids_factored"]
    assert model.wire_ids.tolist() == expected["ids_not_factored"]
    assert exact.valid_len == expected["valid_frames_factored"]
    assert model.valid_len == expected["valid_frames_not_factored"]
    assert exact.display_len == model.display_len == expected["display_steps"]
    assert list(p.phrases(exact.steps)) == expected["phrases_factored"]


@pytest.mark.parametrize("case", of_kind("wiw_camera", "local_xyphi") + of_kind("wiw_camera", "world_xyphi"))
def test_paths_of_the_reference(case: dict[str, Any]) -> None:
    steps, units = of_names(case["actions"]), {"step_m": case["step_m"], "turn_deg": case["turn_deg"]}
    path = p.world_trajectory(steps, case["start"], **units) if "start" in case else p.trajectory(steps, **units)
    expected = np.array(case["expected"], np.float64)
    np.testing.assert_allclose(path[1:, :2], expected[:, :2], atol=1e-5)
    np.testing.assert_allclose(np.degrees(wrap_angle(np.radians(path[1:, 2] - expected[:, 2]))), 0, atol=1e-5)
    assert (path[:, 2] >= -180).all()
    assert (path[:, 2] < 180).all()


@given(WALK, st.floats(-5, 5), st.floats(-180, 180), st.floats(-1, 1))
def test_poses_are_the_path(steps: p.Steps, x: float, phi: float, pitch: float) -> None:
    start = pose_from_yaw_pitch((x, 2.0, 1.0), np.radians(phi), pitch)
    poses, path = p.poses_of(steps, start), p.world_trajectory(steps, (x, 2.0, phi))
    assert poses.shape == (len(steps), 4, 4)
    np.testing.assert_allclose(poses[:, :2, 3], path[1:, :2], atol=1e-9)
    yaw, tilt = yaw_pitch_from_pose(poses)
    np.testing.assert_allclose(wrap_angle(yaw - np.radians(path[1:, 2])), 0, atol=1e-9)
    np.testing.assert_allclose(tilt, pitch, atol=1e-9)
    np.testing.assert_allclose(poses[:, 2, 3], 1.0)


@given(WALK, WALK)
def test_a_path_goes_on_where_another_ended(first: p.Steps, second: p.Steps) -> None:
    whole, start = p.trajectory(first + second), p.trajectory(first)[-1]
    rest = p.world_trajectory(second, start)
    np.testing.assert_allclose(whole[len(first) :, :2], rest[:, :2], atol=1e-9)
    np.testing.assert_allclose(np.sin(np.radians(whole[len(first) :, 2] - rest[:, 2])), 0, atol=1e-9)


@given(MOVES, st.sampled_from(["exact", "model"]))
def test_a_clip_loses_nothing_of_a_plan(steps: p.Steps, leading: p.Leading) -> None:
    control = p.nav_control(steps, 14, leading=leading)
    assert len(control.steps) == 13
    assert len(control.wire_ids) == len(control.frame_to_action) == 14
    assert p.from_wire_ids(control.wire_ids) == control.steps
    assert control.leading + control.valid_len == len(steps) + 1
    assert control.frame_to_action[: control.valid_len].tolist() == list(range(control.leading, len(steps) + 1))
    assert (control.frame_to_action[control.valid_len :] == -1).all()
    assert set(control.steps[control.valid_len - 1 :]) <= {p.Primitive.FORWARD}
    # Each frame of the clip shows the place to which the plan leads by then.
    turned = p.world_trajectory(control.steps, (0, 0, np.degrees(control.turn_left_rad)))
    valid = control.frame_to_action[: control.valid_len]
    np.testing.assert_allclose(turned[: control.valid_len, :2], p.trajectory(steps)[valid, :2], atol=1e-9)
    if leading == "model":
        assert (control.leading, control.turn_left_rad) == (0, 0.0)


def test_leading_turns_stop_at_the_first_other_step() -> None:
    for word, turn, rest in [("LLRF", 45, "RF"), ("RRR", -67.5, ""), ("FLL", 0, "FLL"), ("", 0, ""), ("SLL", 0, "SLL")]:
        found, left = p.leading_turns(p.from_letters(word))
        assert np.degrees(found) == pytest.approx(turn)
        assert p.letters(left) == rest


def test_the_shortest_clip_and_one_that_is_too_short() -> None:
    control = p.nav_control(p.from_letters("LL"), 1)
    assert (control.steps, control.wire_ids.tolist(), control.frame_to_action.tolist()) == ((), [4], [2])
    with pytest.raises(UsageError, match=r"holds 1 steps, the plan has 2"):
        p.nav_control(p.from_letters("LL"), 2, leading="model")
    with pytest.raises(UsageError, match="'exact' or 'model'"):
        p.nav_control((), 14, leading="never")  # type: ignore[arg-type]


def test_ids_both_ways() -> None:
    assert p.from_wire_ids([4, 1, 3, 0, 4, 0]) == p.from_letters("FRS")
    with pytest.raises(UsageError, match="begin with null"):
        p.from_wire_ids([1, 2])
    with pytest.raises(UsageError, match="begin with null"):
        p.from_wire_ids([])
    with pytest.raises(UsageError, match="has id 7"):
        p.from_wire_ids([4, 7])


@given(WALK)
def test_letters_both_ways(steps: p.Steps) -> None:
    assert p.from_letters(p.letters(steps)) == steps


def test_letters_that_are_none() -> None:
    with pytest.raises(UsageError, match="no primitive 'X' in 'FXL'"):
        p.from_letters("FXL")


def test_what_the_channels_of_the_post_trained_model_hold() -> None:
    assert p.micro_cond([1, 1, 3]).tolist() == [[4, 0, 0], [4, 1, 0], [4, 1, 3]]
    with pytest.raises(UsageError, match="list of ids"):
        p.micro_cond([])


def test_words() -> None:
    moved = p.render_text("nav/v1", steps=p.from_letters("LFS"))
    assert moved.endswith("turn_left 22.5°, forward 0.2m, stop.")
    assert "stays" in p.render_text("nav/v1")
    assert p.render_text("manip/v1", words="push the red button").endswith("push the red button")
    assert p.render_text("free/v1", words="Go {on}, unchanged ") == "Go {on}, unchanged "
    with pytest.raises(UnknownNameError, match="Did you mean 'nav/v1'"):
        p.render_text("nav/v2")


def test_wordings_never_change_under_their_name() -> None:
    said = {name: p.render_text(name, steps=p.from_letters("FL"), words="w") for name in p.RENDERERS}
    assert said == {
        "nav/v1": "A view from eye level indoors; nothing moves but the camera, which does this step by step: "
        "forward 0.2m, turn_left 22.5°.",
        "manip/v1": "A robot arm at a table carries out this plan in one smooth movement, seen by a fixed camera: w",
        "free/v1": "w",
    }
