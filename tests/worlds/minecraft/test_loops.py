"""Loops that the game walks: by its rules, one action at a time, there and back."""

import math

import numpy as np
import pytest

from support.toyworld import hills, meadow
from worldgauge.suites.loopnav.walks import LoopFailedError, LoopStart, VoxelSite, record_loop
from worldgauge.worlds.minecraft.names import cells_of
from worldgauge.worlds.minecraft.offline import Offline
from worldgauge.worlds.voxel.player import PlayerState, pack, tick
from worldgauge.worlds.walking.walk import WalkGoal
from worldgauge.worlds.walking.walkers import TURN_DONE, TURN_LIMIT, EmbeddedWalker, GameWalker, WalkFailedError

pytestmark = pytest.mark.minecraft


@pytest.fixture(scope="module")
def country(packages):
    world = hills()
    with Offline(cells_of(world), packages=packages) as offline:
        yield world, GameWalker(offline)


@pytest.fixture(scope="module")
def loops(country):
    world, walker = country
    return [
        record_loop(VoxelSite(world, walker), kind=kind, radius=radius, rng=np.random.default_rng([radius, i]))
        for kind in ("ABA", "ABCA")
        for radius in (5, 15)
        for i in range(3)
    ]


def test_the_camera_excludes_motion_and_turns_within_the_limit(loops):
    for loop in loops:
        turning = np.abs(loop.camera).max(1) >= TURN_DONE
        assert not (turning & (loop.forward | loop.jump)).any()
        assert not (loop.jump & ~loop.forward).any()
        assert np.abs(loop.camera).max() <= TURN_LIMIT
        np.testing.assert_allclose(np.diff(loop.yaw), loop.camera[1:, 0], atol=1.1e-3)


def test_the_whole_circle_is_seen_first_and_the_loop_closes(loops):
    for loop in loops:
        first = int(np.argmax(loop.forward))
        assert np.ptp(loop.yaw[:first]) >= math.tau - 0.02
        assert math.dist(loop.positions[0, :2], loop.positions[-1, :2]) <= 2.0
        assert 0 <= (loop.yaw[0] - math.pi / 2) < math.tau + 1e-3


def test_our_own_physics_goes_the_same_way_with_the_recorded_keys(country, loops):
    """The two physics were written apart, and the keys of a record act on the next: a shift by one tick would show."""
    world, _ = country
    for loop in loops:
        body = pack(PlayerState.standing(tuple(loop.positions[0]), yaw=float(loop.yaw[0])))
        for t in range(1, len(loop)):
            tick(world, body, ahead=float(loop.forward[t - 1]), jump=bool(loop.jump[t - 1]))
            body[6] += loop.camera[t, 0]
            np.testing.assert_allclose(body[:3], loop.positions[t], atol=0.02)
            body[6] = loop.yaw[t]


def test_the_same_draw_is_the_same_loop(country):
    world, walker = country
    one, two = (
        record_loop(VoxelSite(world, walker), kind="ABCA", radius=5, rng=np.random.default_rng(4)) for _ in range(2)
    )
    np.testing.assert_array_equal(one.positions, two.positions)
    assert one.goals == two.goals


def test_in_the_open_the_game_walks_as_far_as_the_embedded_walker(packages):
    world = meadow(96)
    lengths = []
    with Offline(cells_of(world), packages=packages) as offline:
        for walker in (EmbeddedWalker(world), GameWalker(offline)):
            rng = np.random.default_rng(8)
            lengths.append(record_loop(VoxelSite(world, walker), kind="ABA", radius=15, rng=rng).length)
    assert lengths[0] == pytest.approx(lengths[1], rel=0.05)


def test_loose_goals_are_columns_and_begin_where_they_are_told(country):
    world, walker = country
    cell = (100, 96, world.surface(100, 96) + 1)
    start = LoopStart(cell=cell, loose=True)
    loop = record_loop(VoxelSite(world, walker, start), kind="ABA", radius=5, rng=np.random.default_rng(3))
    goals = {goal for goal in loop.goals if goal is not None}
    assert all(goal.z is None and goal.range_sq == 1 for goal in goals)
    assert math.dist(loop.positions[0, :2], (100.5, 96.5)) < 40


def test_a_place_nobody_can_reach_is_a_failed_walk(country):
    world, walker = country
    walker.stand((100, 96, world.surface(100, 96) + 1), 0.0)
    with pytest.raises(WalkFailedError, match="no path"):
        list(walker.walk(WalkGoal(104, 96, world.surface(104, 96) + 9)))


def test_where_no_try_leads_to_a_loop_the_reasons_are_told(packages):
    ring = {
        (x, y, z): "oak_planks"
        for z in range(4, 10)
        for x in range(18, 31)
        for y in range(18, 31)
        if x in (18, 30) or y in (18, 30)
    }
    world = meadow(blocks=ring)
    with (
        Offline(cells_of(world), packages=packages) as offline,
        pytest.raises(LoopFailedError, match="no path") as failed,
    ):
        record_loop(VoxelSite(world, GameWalker(offline)), kind="ABA", radius=15, rng=np.random.default_rng(0))
    assert len(failed.value.reasons) == 7
