"""Primitives as clips, paths, ids and words: the vectors, the package's own camera path, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import UnknownNameError, UsageError
from worldgauge.core.geometry import pose_from_yaw_pitch, wrap_angle, yaw_pitch_from_pose
from worldgauge.worlds.walking import primitives as p
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.primitives import RADIUS_M, STEP_M, Primitive, Stance, stands, walked

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


def test_clips_at_their_edges() -> None:
    for word, turn, rest in [("LLRF", 45, "RF"), ("RRR", -67.5, ""), ("FLL", 0, "FLL"), ("", 0, ""), ("SLL", 0, "SLL")]:
        found, left = p.leading_turns(p.from_letters(word))
        assert np.degrees(found) == pytest.approx(turn)
        assert p.letters(left) == rest
    # The shortest clip and one that is too short.
    control = p.nav_control(p.from_letters("LL"), 1)
    assert (control.steps, control.wire_ids.tolist(), control.frame_to_action.tolist()) == ((), [4], [2])
    with pytest.raises(UsageError, match=r"holds 1 steps, the plan has 2"):
        p.nav_control(p.from_letters("LL"), 2, leading="model")
    with pytest.raises(UsageError, match="'exact' or 'model'"):
        p.nav_control((), 14, leading="never")  # type: ignore[arg-type]


def test_ids_letters_and_channels() -> None:
    assert p.from_wire_ids([4, 1, 3, 0, 4, 0]) == p.from_letters("FRS")
    with pytest.raises(UsageError, match="begin with null"):
        p.from_wire_ids([1, 2])
    with pytest.raises(UsageError, match="begin with null"):
        p.from_wire_ids([])
    with pytest.raises(UsageError, match="has id 7"):
        p.from_wire_ids([4, 7])
    # Letters that are none.
    with pytest.raises(UsageError, match="no primitive 'X' in 'FXL'"):
        p.from_letters("FXL")
    # What the channels of the post trained model hold.
    assert p.micro_cond([1, 1, 3]).tolist() == [[4, 0, 0], [4, 1, 0], [4, 1, 3]]
    with pytest.raises(UsageError, match="list of ids"):
        p.micro_cond([])


@given(WALK)
def test_letters_both_ways(steps: p.Steps) -> None:
    assert p.from_letters(p.letters(steps)) == steps


def test_words_and_their_wording() -> None:
    moved = p.render_text("nav/v1", steps=p.from_letters("LFS"))
    assert moved.endswith("turn_left 22.5°, forward 0.2m, stop.")
    assert "stays" in p.render_text("nav/v1")
    assert p.render_text("manip/v1", words="push the red button").endswith("push the red button")
    assert p.render_text("free/v1", words="Go {on}, unchanged ") == "Go {on}, unchanged "
    assert p.render_text("nav/v2") == "Stand still."
    assert p.render_text("nav/v2", steps=p.from_letters("LLFFFFFR")) == (
        "Turn left 45 degrees, then walk forward 1 metre, then turn right 22.5 degrees."
    )
    assert p.render_text("manip/v2", words="push the red button.") == "Push the red button."
    with pytest.raises(UnknownNameError, match=r"Did you mean 'nav/v[12]'"):
        p.render_text("nav/v3")
    # Wordings never change under their name.
    said = {name: p.render_text(name, steps=p.from_letters("FL"), words="w") for name in p.RENDERERS}
    assert said == {
        "nav/v1": "A view from eye level indoors; nothing moves but the camera, which does this step by step: "
        "forward 0.2m, turn_left 22.5°.",
        "nav/v2": "Walk forward 0.2 metres, then turn left 22.5 degrees.",
        "manip/v2": "W.",
        "manip/v1": "A robot arm at a table carries out this plan in one smooth movement, seen by a fixed camera: w",
        "free/v1": "w",
    }


def hall(walls: tuple[tuple[slice, slice], ...] = (), shape: tuple[int, int] = (80, 60)) -> FloorPlan:
    """A floor of 4 x 3 m from (0, 0), 5 cm cells."""
    free = np.ones(shape, bool)
    for wall in walls:
        free[wall] = False
    return FloorPlan(free, np.zeros(shape, np.float32), (0.0, 0.0), 0.05)


def test_steps_and_turns() -> None:
    there, collided = walked(hall(), Stance(1.0, 1.0, math.radians(30)), Primitive.FORWARD)
    assert not collided
    assert there[:3] == pytest.approx((1 + 0.2 * math.cos(math.pi / 6), 1.1, math.pi / 6), abs=1e-12)
    # Sixteen turns are a full one and left is counter clockwise.
    floor, stance = hall(), Stance(1.0, 1.0, 0.3)
    here = stance
    for _ in range(16):
        here, collided = walked(floor, here, Primitive.TURN_LEFT)
        assert not collided
    assert here == pytest.approx(stance, abs=1e-12)
    left, _ = walked(floor, stance, Primitive.TURN_LEFT)
    right, _ = walked(floor, left, Primitive.TURN_RIGHT)
    assert left.yaw == pytest.approx(0.3 + math.radians(22.5))
    assert right == pytest.approx(stance, abs=1e-12)
    assert walked(floor, stance, Primitive.STOP) == (stance, False)
    yaw, pitch = yaw_pitch_from_pose(left.eye(pitch=-0.1))
    assert (yaw, pitch) == (pytest.approx(left.yaw), pytest.approx(-0.1))
    assert left.eye()[2, 3] == 1.0


def test_walls_end_steps() -> None:
    # The wall begins at x = 2; the last cell with a clearance of two cells is that from 1.90 to 1.95 m.
    floor = hall(((slice(40, 44), slice(None)),))
    there, collided = walked(floor, Stance(1.825, 1.5, 0.0), Primitive.FORWARD)
    assert collided
    assert there.x == pytest.approx(1.945, abs=1e-9)
    assert 2.0 - there.x < RADIUS_M
    stuck, collided = walked(floor, there, Primitive.FORWARD)
    assert collided
    assert stuck == there
    back, collided = walked(floor, there._replace(yaw=math.pi), Primitive.FORWARD)
    assert not collided
    assert there.x - back.x == pytest.approx(STEP_M)
    # It does not slide along walls.
    there, collided = walked(floor, Stance(1.9, 1.0, math.radians(45)), Primitive.FORWARD)
    assert collided
    assert there.y - 1.0 == pytest.approx(there.x - 1.9)
    # A gap one cell wide has a clearance of one cell: less than the radius.
    floor = hall(((slice(0, 40), slice(0, 30)), (slice(0, 40), slice(31, 60))))
    out, collided = walked(floor, Stance(1.9, 1.525, 0.0), Primitive.FORWARD)
    assert not collided
    assert out.x == pytest.approx(2.1)
    inside, collided = walked(floor, out._replace(yaw=math.pi), Primitive.FORWARD)
    assert collided
    assert inside.x > 2.0
    in_wall = Stance(1.0, 1.0, math.pi / 2)  # deep inside what is not free
    assert walked(floor, in_wall, Primitive.FORWARD) == (in_wall, True)


@pytest.mark.parametrize("cells", range(1, 15))
def test_the_radius_is_met_by_clearances_that_equal_it(cells: int) -> None:
    floor = hall(shape=(60, 60))
    clearance = np.float64(floor.clearance_m[cells - 1, 30])
    assert stands(clearance, cells * 0.05)
    assert not stands(clearance, cells * 0.05 + 0.001)


def test_no_walk_ever_ends_where_a_walker_cannot_stand() -> None:
    rng = np.random.default_rng(5)
    free = rng.random((120, 120)) > 0.02
    floor = FloorPlan(free, np.zeros(free.shape, np.float32), (-1.0, 2.0), 0.05)
    cells = np.argwhere(stands(floor.clearance_m))
    met = 0
    for cell in cells[rng.integers(len(cells), size=60)]:
        here = Stance(*floor.points_of(cell), float(rng.uniform(-3, 3)))
        for step in rng.integers(1, 4, size=20):
            before = here
            here, collided = walked(floor, here, Primitive(int(step)))
            met += collided
            assert stands(floor.clearance_at(here[:2]))
            assert math.dist(before[:2], here[:2]) <= STEP_M + 1e-9
    assert met > 20
