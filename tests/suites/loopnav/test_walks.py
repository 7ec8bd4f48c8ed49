"""Recorded loops: the control rules, the alignment within a tick, closure, and the published length line."""

import itertools

import numpy as np
import pytest

from support.toyworld import hills, meadow
from worldgauge.core.errors import ShapeError, UsageError
from worldgauge.suites.loopnav.walks import LoopFailedError, VoxelSite, record_loop
from worldgauge.worlds.voxel.player import PlayerState, pack, tick
from worldgauge.worlds.walking.planner import start_place
from worldgauge.worlds.walking.walk import Walk, WalkGoal
from worldgauge.worlds.walking.walkers import (
    TURN_DONE,
    TURN_LIMIT,
    TURN_QUANTUM,
    EmbeddedWalker,
    Follower,
    turn_towards,
)

RADII = (5, 15, 30, 50)


@pytest.fixture(scope="module")
def world():
    return hills()


@pytest.fixture(scope="module")
def loops(world):
    """Eight loops of every type and radius."""
    walker = EmbeddedWalker(world)
    return [
        record_loop(VoxelSite(world, walker), kind=kind, radius=radius, rng=np.random.default_rng([radius, i]))
        for kind in ("ABA", "ABCA")
        for radius in RADII
        for i in range(8)
    ]


def test_without_a_look_around_parts_of_the_way_back_are_new(world):
    walker = EmbeddedWalker(world)
    pair = [
        record_loop(VoxelSite(world, walker), kind="ABA", radius=5, rng=np.random.default_rng(3), look_around=around)
        for around in (True, False)
    ]
    arcs = [np.ptp(loop.yaw[: int(loop.forward.argmax())]) for loop in pair]
    assert arcs[0] >= 2 * np.pi - 0.1 > arcs[1]
    np.testing.assert_allclose(pair[0].positions[-1], pair[1].positions[-1], err_msg="else the same walk")


def test_several_laps_go_on_where_one_ends_between_the_same_places(world):
    walker = EmbeddedWalker(world)
    one, three = (
        record_loop(VoxelSite(world, walker), kind="ABCA", radius=5, rng=np.random.default_rng(3), laps=laps)
        for laps in (1, 3)
    )
    before = len(one) - 5  # a lap ends with some idle frames, where another goes on
    np.testing.assert_array_equal(one.positions[:before], three.positions[:before])
    goals = [goal for goal, _ in itertools.groupby(three.goals) if goal is not None]
    lap = [goal for goal, _ in itertools.groupby(one.goals) if goal is not None]
    assert goals == [*lap, *lap[1:], *lap[1:]]
    assert len(three) > 2 * len(one)


def test_the_camera_excludes_motion_and_jump_comes_with_forward(loops):
    for loop in loops:
        turning = np.abs(loop.camera).max(1) >= TURN_DONE
        assert not (turning & (loop.forward | loop.jump)).any()
        assert not (loop.jump & ~loop.forward).any()
        assert np.abs(loop.camera).max() <= TURN_LIMIT + 1e-12
        assert not loop.pitch.any()


def test_camera_of_a_record_led_to_its_view(loops):
    for loop in loops:
        np.testing.assert_allclose(np.diff(loop.yaw), loop.camera[1:, 0], atol=1.01e-3)
        assert not loop.camera[0].any()


def test_turns_are_multiples_of_the_mouse_step_or_at_the_limit(loops):
    turns = np.concatenate([loop.camera[:, 0] for loop in loops])
    partial = turns[np.abs(np.abs(turns) - TURN_LIMIT) > 1e-9]
    steps = partial / TURN_QUANTUM
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)


def test_keys_of_a_record_move_the_body_to_the_next_one(loops):
    """Displacement from t to t + 1 follows forward of t better than that of any neighbour."""
    for loop in loops:
        moved = np.linalg.norm(np.diff(loop.positions[:, :2], axis=0), axis=1)
        keys = loop.forward.astype(float)
        follows = np.corrcoef(moved[1:], keys[1:-1])[0, 1]
        assert follows > 0.8
        assert follows > np.corrcoef(moved[1:], keys[2:])[0, 1]


def test_motion_follows_the_heading(loops):
    for loop in loops:
        moved = np.diff(loop.positions[:, :2], axis=0)
        heading = np.column_stack([np.cos(loop.yaw[:-1]), np.sin(loop.yaw[:-1])])
        along = (moved * heading).sum(1)[loop.forward[:-1]]
        assert along.sum() > 0
        assert (along > 0).mean() > 0.9


def test_the_look_around_shows_every_direction_before_the_first_step(loops):
    for loop in loops:
        first = int(np.argmax(loop.forward))
        arc = np.abs(loop.camera[:first, 0]).sum()
        assert arc >= 2 * np.pi - TURN_DONE
        goals = loop.goals[:first]
        # Up to half a turn before it (to heading 0) and after it (towards B).
        assert arc <= 4 * np.pi + 0.1
        assert goals[0].exact
        seen = np.unwrap(loop.yaw[:first])
        assert seen.max() - seen.min() >= 2 * np.pi - TURN_DONE - 1e-3


def test_the_start_heading_is_in_the_first_turn_of_the_games_yaw(loops):
    starts = np.array([loop.yaw[0] - np.pi / 2 for loop in loops])
    assert (starts >= -1e-9).all()
    assert (starts < 2 * np.pi + 1e-3).all()


def test_goals_are_a_then_b_then_c_then_near_a_then_none(loops):
    for loop in loops:
        legs = [goal for goal, before in zip(loop.goals, (None, *loop.goals[:-1]), strict=True) if goal != before]
        assert (len(legs), legs[-1]) == ({"ABA": 4, "ABCA": 5}[loop.kind], None)
        assert legs[-2] == WalkGoal(legs[0].x, legs[0].y, range_sq=1)
        places = [np.array([goal.x, goal.y]) for goal in legs[:-2]]
        for here, there in itertools.pairwise(places):
            assert 0.8 * loop.radius <= np.linalg.norm(there - here) <= np.sqrt(2) * loop.radius


def test_every_exact_goal_is_stood_in(loops):
    for loop in loops:
        for goal in {goal for goal in loop.goals if goal is not None and goal.exact}:
            there = np.abs(loop.positions[:, :2] - [goal.x + 0.5, goal.y + 0.5]).max(1) <= 0.25
            assert (there & (np.abs(loop.positions[:, 2] - goal.z) < 1)).any()


def test_loops_close(loops):
    gaps = [np.linalg.norm(loop.positions[-1, :2] - loop.positions[0, :2]) for loop in loops]
    assert max(gaps) <= 2


def test_a_loop_ends_with_three_idle_seconds_as_three_records(loops):
    for loop in loops:
        tail = loop.positions[-4:]
        np.testing.assert_array_equal(tail, np.broadcast_to(tail[0], tail.shape))
        assert not loop.forward[-4:].any()
        assert not loop.camera[-3:].any()
        assert loop.goals[-3:] == (None, None, None)
        assert not (loop.positions[-5] == tail[0]).all() or loop.camera[-4].any()


def test_frames_follow_the_published_length_line(loops):
    """frames = 94.7 + 8.07 x path length on average, within 25%: loopnav 1.12."""
    frames = np.array([len(loop) for loop in loops])
    line = np.array([94.7 + 8.07 * loop.length for loop in loops])
    for radius in RADII:
        group = np.array([loop.radius == radius for loop in loops])
        assert 0.75 < frames[group].mean() / line[group].mean() < 1.25


def test_values_are_rounded_as_the_data_set_stores_them(loops):
    for loop in loops:
        for values in (loop.positions, loop.yaw - np.pi / 2, loop.pitch):
            np.testing.assert_allclose(values, np.round(values, 3), atol=1e-12)
        stored = np.round(loop.yaw - np.pi / 2, 3)
        np.testing.assert_array_equal(stored + np.pi / 2, loop.yaw)


def test_poses_are_the_eye_looking_along_the_heading(loops):
    loop = loops[0]
    np.testing.assert_allclose(loop.poses[:, :3, 3] - loop.positions, np.tile([0, 0, 1.6], (len(loop), 1)), atol=1e-12)
    np.testing.assert_allclose(loop.poses[:, 0, 2], np.cos(loop.yaw), atol=1e-12)


def test_same_generator_same_loop(world):
    first, second = (
        record_loop(VoxelSite(world), kind="ABCA", radius=15, rng=np.random.default_rng(9)) for _ in range(2)
    )
    for name in ("positions", "yaw", "camera", "forward", "jump"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.goals == second.goals
    other = record_loop(VoxelSite(world), kind="ABCA", radius=15, rng=np.random.default_rng(10))
    assert not np.array_equal(first.positions[:50], other.positions[:50])


def test_unknown_kind_is_refused(world):
    with pytest.raises(UsageError, match="ABBA"):
        record_loop(VoxelSite(world), kind="ABBA", radius=5, rng=np.random.default_rng(0))


def test_a_world_without_ways_out_fails_with_the_reasons_of_every_try():
    """The centre is a pit three blocks deep: nobody gets out of it."""
    blocks = {(x, y, z): "stone" for x in range(48) for y in range(48) for z in (4, 5, 6) if (x, y) != (24, 24)}
    with pytest.raises(LoopFailedError, match="7 tries") as caught:
        record_loop(VoxelSite(meadow(blocks=blocks)), kind="ABA", radius=5, rng=np.random.default_rng(0))
    assert caught.value.reasons == ("no path",) * 7


def test_a_blocked_walker_gets_stuck(monkeypatch):
    """A path through a wall: the walker stands before it until the try is thrown away."""
    world = meadow(blocks={(26, y, z): "stone" for y in range(48) for z in (4, 5, 6)})
    body = pack(PlayerState.standing((24.5, 24.5, 4.0)))
    follower = Follower(world, np.array([[25.5, 24.5, 4.0], [26.5, 24.5, 4.0]]))
    for _ in range(200):
        control = follower.control(body)
        tick(world, body, ahead=control.forward, jump=control.jump)
    assert follower.stuck
    assert body[0] < 26


def test_turns_take_the_shortest_way_and_stop_when_there():
    assert (turn_towards(0.0, 3.0), turn_towards(0.0, 3.3)) == (TURN_LIMIT, -TURN_LIMIT)
    assert turn_towards(0.0, 0.04) == pytest.approx(0.04, abs=TURN_QUANTUM / 2)
    assert turn_towards(1.0, 1.0 + 2 * np.pi) == 0.0
    assert turn_towards(10 * np.pi, 0.05) == pytest.approx(0.05, abs=TURN_QUANTUM / 2)


def test_a_walk_whose_parts_differ_in_length_is_refused():
    loop = record_loop(VoxelSite(meadow()), kind="ABA", radius=5, rng=np.random.default_rng(0), rule="continuous")
    fields = {name: getattr(loop, name) for name in Walk.__dataclass_fields__}
    with pytest.raises(ShapeError, match="'yaw'"):
        Walk(**fields | {"yaw": loop.yaw[:-1]})
    with pytest.raises(ShapeError, match="goals"):
        Walk(**fields | {"goals": loop.goals[:-1]})
    assert start_place(meadow()) == (24, 24, 4)
