"""Walks by keys: that they follow from their keys, that a policy could have made them, and that they come back."""

import math
import tracemalloc
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError, UsageError, WorldError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch, rotation_angle, yaw_pitch_from_pose
from worldgauge.suites.mind import key_walks
from worldgauge.suites.mind.actions import MIRROR_PATHS, mirror_poses, walk_look
from worldgauge.suites.mind.key_policy import BRAKE, FIRST, RISE, SHORTEST, STEEPEST, area_around, replayed, start_state
from worldgauge.suites.mind.key_walks import (
    EYE_M,
    LEAST_SEEN,
    MOST_SAME,
    PITCH_DEG,
    UNEVEN_M,
    KeyWalk,
    KeyWalkFailedError,
    find_mirror_start,
    record_key_walk,
    share_seen,
)
from worldgauge.worlds import worlds
from worldgauge.worlds.third_person import ARM_M, PIVOT_M, ThirdPerson, feet_of, figure_mask
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import SHAPE_OF, SHAPES, block
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.floor import FloorPlan

FRAMES, MARK = 360, 120
CASES = [("1st", 1.0, 2.0), ("3rd", 1.0, 2.0), ("1st", 0.4, 1.0), ("3rd", 1.4, 2.8)]


@pytest.fixture(scope="module")
def world():
    return ThirdPerson("plains", 1, (160, 160, 56))


@pytest.fixture(scope="module")
def recorded(world):
    """The walk of a case, made once."""

    @cache
    def record(case):
        perspective, turn_deg, speed_mps = case
        space = walk_look(speed_mps, turn_deg)
        rng = np.random.default_rng(7)
        return record_key_walk(world, rng, frames=FRAMES, mark_time=MARK, space=space, perspective=perspective)

    return record


@pytest.fixture(params=CASES, ids=lambda c: f"{c[0]}-{c[1]}deg")
def walk(request, recorded):
    return recorded(request.param)


@pytest.fixture(params=[case for case in CASES if case[0] == "3rd"], ids=lambda c: f"{c[0]}-{c[1]}deg")
def third(request, recorded):
    return recorded(request.param)


def make(world, seed, frames, mark_time, perspective="1st"):
    rng = np.random.default_rng(seed)
    return record_key_walk(world, rng, frames=frames, mark_time=mark_time, space=walk_look(), perspective=perspective)


def flat(side=40):
    """Stone all over, 4 cells thick, and air."""
    states = np.zeros((side, side, 12), np.uint8)
    states[:, :, :4] = block("grass_block")
    return ThirdPerson.from_cells(VoxelWorld("plains", 0, states, np.zeros(states.shape, np.uint16), (20, 20)))


class TestRule:
    def test_speed_rises_as_published_and_falls(self):
        """3.7, 5.6, 7.7, 8.2 cm in the first four frames at 200 cm/s, to a quarter of a centimetre."""
        keys = np.zeros((12, 4), np.uint8)
        keys[1:7, 0] = 1
        states = replayed(area_around(flat(), (20, 20), arm=False), start_state((20, 20), 0.0, 0.0), keys, walk_look())
        steps_cm = 100 * np.diff(states[:, 0])
        np.testing.assert_allclose(steps_cm[:4], (3.7, 5.6, 7.7, 8.2), atol=0.25)
        full = 200 / 24
        np.testing.assert_allclose(steps_cm[:3], full * np.array([FIRST, FIRST + RISE, FIRST + 2 * RISE]))
        np.testing.assert_allclose(steps_cm[3:6], full)
        np.testing.assert_allclose(steps_cm[6:], [full * (1 - BRAKE), full * (1 - 2 * BRAKE), 0, 0, 0], atol=1e-9)

    def test_two_walking_keys_are_no_faster_than_one(self):
        keys = np.tile(np.array([1, 1, 0, 0], np.uint8), (20, 1))
        states = replayed(area_around(flat(), (20, 20), arm=False), start_state((20, 20), 0.0, 0.0), keys, walk_look())
        last = states[-1, :2] - states[-2, :2]
        np.testing.assert_allclose(last, 2 / 24 * np.array([1, 1]) / math.sqrt(2))

    @pytest.mark.parametrize("name", ["wl", "sr", "a"])
    def test_at_full_speed_it_is_the_rule_of_the_mirror_paths(self, name):
        """Both take a step along the mean of the yaw before and after it."""
        keys = np.concatenate([np.zeros((1, 4), np.uint8), np.tile(MIRROR_PATHS[name][:1], (24, 1))])
        start = start_state((20, 20), 0.4, 0.0)
        place = area_around(flat(), (20, 20), arm=False)
        states = replayed(place, start, keys, walk_look())
        poses = mirror_poses(keys[1:], np.array(pose_from_yaw_pitch((20, 20, 0), 0.4)), walk_look())
        np.testing.assert_allclose(states[1:, 4], yaw_pitch_from_pose(poses)[0], atol=1e-12)
        turned = states[-1, :2] - states[-2, :2], poses[-1, :2, 3] - poses[-2, :2, 3]
        np.testing.assert_allclose(*turned, atol=2e-3)  # the velocity of a turning walker lags by its turn

    def test_walls_hold_and_looking_stops_at_forty_degrees(self):
        world = flat()
        states = world.voxels.states.copy()
        states[24, :, 4:8] = block("stone")
        walled = ThirdPerson.from_cells(VoxelWorld("plains", 0, states, world.voxels.instances, (20, 20)))
        place = area_around(walled, (20, 20), arm=False)
        keys = np.tile(np.array([1, 0, 1, 0], np.uint8), (120, 1))
        path = replayed(place, start_state((20, 20), 0.0, 0.0), keys, walk_look())
        assert 23.0 < path[-1, 0] < 24 - 0.24  # room is counted from the centres of quarter-metre cells
        assert path[-1, 5] == STEEPEST


class TestWalk:
    def test_replaying_the_keys_gives_the_same_walk(self, walk, world):
        """From the recorded start, by the rule alone; the part of the floor is that of the same start."""
        place = area_around(world, walk.feet[0, :2], arm=walk.perspective == "3rd")
        start = start_state(walk.feet[0, :2], walk.yaw[0], walk.pitch[0])
        states = replayed(place, start, walk.keys, walk.space)
        np.testing.assert_array_equal(states[:, :2], walk.feet[:, :2])
        np.testing.assert_array_equal(states[:, 4:], np.column_stack([walk.yaw, walk.pitch, walk.heading]))

    def test_shape_and_meaning_of_the_keys(self, walk):
        assert (len(walk), walk.keys.dtype) == (FRAMES, np.uint8)
        assert not walk.keys[0].any()
        assert (walk.keys.max(), len(walk.actions)) == (2, FRAMES - 1)
        look_left = walk.actions.column("look_left") - walk.actions.column("look_right")
        turn = walk.space.axes[walk.space.column("look_left")].motion.yaw
        np.testing.assert_allclose(np.diff(walk.yaw), turn * look_left, atol=1e-12)
        tilt = walk.actions.column("look_up") - walk.actions.column("look_down")
        np.testing.assert_allclose(np.diff(walk.pitch), turn * tilt, atol=1e-12)
        assert np.abs(walk.pitch).max() <= STEEPEST
        steps = np.linalg.norm(np.diff(walk.feet[:, :2], axis=0), axis=1)
        assert steps.max() <= walk.space.axes[0].motion.forward + 1e-9

    def test_keys_are_held_as_by_a_person(self, walk):
        changes = 1 + np.flatnonzero((np.diff(walk.keys[1:], axis=0) != 0).any(1))
        phases = np.diff([0, *changes, FRAMES - 1])
        assert phases[:-1].min() >= SHORTEST
        assert phases.max() <= 60
        assert (walk.keys[:, 0] == 1).mean() > 0.15

    def test_it_comes_back_to_what_was_seen(self, walk):
        """Counted once more, frame by frame."""
        poses = walk.poses
        seen = 0
        for pose in poses[MARK:]:
            near = np.linalg.norm(poses[:MARK, :3, 3] - pose[:3, 3], axis=1) <= 2
            ahead = np.degrees(np.arccos(np.clip(poses[:MARK, :3, 2] @ pose[:3, 2], -1, 1))) <= 30
            seen += bool((near & ahead).any())
        assert walk.seen == pytest.approx(seen / (FRAMES - MARK))
        assert walk.seen >= LEAST_SEEN
        assert share_seen(poses[MARK - 1 :], 1) <= MOST_SAME

    def test_feet_have_room_and_follow_the_floor(self, walk, world):
        floor = world.floor
        assert floor.clearance_at(walk.feet[:, :2]).min() >= 0.3
        assert np.abs(walk.feet[:, 2] - floor.height_at(walk.feet[:, :2])).max() <= 0.5
        assert np.abs(np.diff(walk.feet[:, 2])).max() < 0.1

    def test_the_camera_is_where_it_is_said_to_be(self, walk):
        poses = walk.poses
        yaw, pitch = yaw_pitch_from_pose(poses)
        np.testing.assert_allclose(rotation_angle(np.swapaxes(poses[:, :3, :3], 1, 2) @ poses[:, :3, :3]), 0, atol=1e-6)
        np.testing.assert_allclose(np.exp(1j * yaw), np.exp(1j * walk.yaw))
        np.testing.assert_allclose(pitch, walk.pitch, atol=1e-12)
        if walk.perspective == "1st":
            np.testing.assert_allclose(poses[:, :3, 3] - walk.feet, np.tile([0, 0, EYE_M], (FRAMES, 1)), atol=1e-12)
        else:
            np.testing.assert_allclose(feet_of(poses), walk.feet, atol=1e-12)

    def test_nothing_stands_between_camera_and_pivot(self, third, world):
        shapes = np.array(SHAPES)[SHAPE_OF]
        pivots = third.feet + np.array([0, 0, PIVOT_M])
        for share in np.linspace(0, 1, 60):
            points = pivots + share * (third.poses[:, :3, 3] - pivots)
            cells = np.floor(points).astype(int)
            found = shapes[world.voxels.states[tuple(cells.T)]]
            assert np.isin(found, ("empty", "cross")).all()
            if share > 1 - 0.9 / ARM_M:
                assert (found == "empty").all()

    def test_the_figure_is_in_every_picture(self, third, world):
        camera = Camera.from_vertical_fov(96, 54, 58.7)
        for pose in third.poses[::20]:
            assert figure_mask(world.view(pose, camera)).mean() > 0.02

    def test_the_body_turns_into_its_way(self, walk):
        turns = np.abs((np.diff(walk.heading) + np.pi) % (2 * np.pi) - np.pi)
        assert turns.max() <= math.radians(15) + 1e-9
        if walk.perspective == "1st":
            np.testing.assert_array_equal(walk.heading, walk.yaw)
            return
        steady = np.flatnonzero((walk.keys[14:] == walk.keys[:-14]).all(1) & (walk.keys[14:, 0] == 2)) + 14
        way = np.diff(walk.feet[:, :2], axis=0)[steady - 1]
        off = walk.heading[steady] - np.arctan2(way[:, 1], way[:, 0])
        held = np.array([(walk.keys[t - 13 : t + 1] == walk.keys[t]).all() for t in steady], bool)
        assert np.abs(np.angle(np.exp(1j * off[held]))).max(initial=0) < 0.05


def test_same_seed_same_walk(world):
    one, again, other = (make(world, seed, 200, 60, "3rd") for seed in (3, 3, 4))
    assert np.array_equal(one.keys, again.keys)
    assert np.array_equal(one.poses, again.poses)
    assert not np.array_equal(one.keys, other.keys)


@pytest.mark.parametrize(("frames", "mark_time"), [(1, 0), (2, 1), (30, 0), (30, 10), (48, 48)])
def test_short_walks(frames, mark_time, world):
    walk = make(world, 0, frames, mark_time)
    assert walk.poses.shape == (frames, 4, 4)


def test_a_world_without_room_is_said_so():
    flooded = flat(12)
    flooded.voxels.states[:, :, 4:6] = block("water")
    with pytest.raises(KeyWalkFailedError, match=r"no open place.*another seed") as caught:
        make(flooded, 0, 60, 20)
    assert len(caught.value.reasons) > 1


def test_what_cannot_be_meant_is_refused(world):
    for frames, mark_time in ((0, 0), (10, 11), (10, -1)):
        with pytest.raises(UsageError, match="mark_time"):
            make(world, 0, frames, mark_time)
    with pytest.raises(WorldError, match="world of cells"):
        make(worlds.get("indoor")(1), 0, 60, 20, "3rd")
    keys, three = np.zeros((3, 4), np.uint8), np.zeros(3)
    with pytest.raises(ShapeError, match="needs yaw of shape"):
        KeyWalk(keys, np.zeros((3, 3)), three[:2], three, three, "1st", walk_look(), mark_time=1, seen=0.0)


def test_what_was_seen_by_hand():
    """A turn of 60 degrees by 20, back home by 31, and the first view from 2.1 m away."""
    yaw = np.radians([0, 20, 40, 60, 29, -31, 0, 0])
    poses = pose_from_yaw_pitch(np.zeros((8, 3)), yaw)
    poses[-1, :3, 3] = 0, 0, 2.1
    assert share_seen(poses, 4) == 2 / 4
    assert share_seen(poses, 0) == share_seen(poses, 8) == 0


@pytest.mark.parametrize("pairs", [1, 70, 1000, 2**20])
def test_what_was_seen_does_not_depend_on_the_blocks(monkeypatch, pairs):
    rng = np.random.default_rng(3)
    poses = pose_from_yaw_pitch(rng.uniform(-6, 6, (150, 3)), rng.uniform(-3, 3, 150), rng.uniform(-0.5, 0.5, 150))
    near = np.linalg.norm(poses[50:, None, :3, 3] - poses[None, :50, :3, 3], axis=-1) <= 2
    alike = np.einsum("ti,mi->tm", poses[50:, :3, 2], poses[:50, :3, 2]) >= math.cos(math.radians(30))
    wanted = (near & alike).any(1).mean()
    assert 0 < wanted < 1
    monkeypatch.setattr(key_walks, "_BLOCK", pairs)
    for product in (1, 7 * 50, 2**24):
        monkeypatch.setattr(key_walks, "_PRODUCT", product)
        assert share_seen(poses, 50) == wanted, product


def test_long_walks_need_little_memory(monkeypatch):
    poses = np.tile(np.eye(4), (4352, 1, 1))
    monkeypatch.setattr(key_walks, "_PRODUCT", 2**20)
    tracemalloc.start()
    try:
        share_seen(poses, 1450)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 80e6


CAMERA = Camera.from_vertical_fov(48, 27, 59)
SIZE = (192, 192, 64)


@pytest.mark.parametrize(("perspective", "kind"), [("1st", "urban"), ("3rd", "urban"), ("3rd", "interior")])
def test_every_path_is_free_and_level_and_shows_what_it_should(perspective, kind):
    third = perspective == "3rd"
    world = (ThirdPerson if third else Voxel)(kind, 3, SIZE)
    start = find_mirror_start(world, np.random.default_rng(0), space=walk_look(), perspective=perspective)
    low, high = np.radians(PITCH_DEG[perspective])
    assert low <= yaw_pitch_from_pose(start)[1] <= high
    for name in MIRROR_PATHS:
        poses = mirror_poses(name, start, walk_look(), arm_m=ARM_M if third else 0.0)
        feet = feet_of(poses) if third else poses[:, :3, 3] - [0.0, 0.0, 1.62]
        assert world.floor.clearance_at(feet[:, :2]).min() >= 0.3
        assert np.abs(world.floor.height_at(feet[:, :2]) - feet[:, 2]).max() <= UNEVEN_M + 1e-6
        for pose in poses[[5, 11, 17, 23]]:
            view = world.view(pose, CAMERA)
            assert view.depth.min() > 0.1, f"{name}: the camera is inside something"
            if third:
                seen, still = figure_mask(view).sum(), world.still(pose, CAMERA)
                assert seen > 10
                # Nothing of the world is nearer than the figure's back where the figure is looked for.
                middle = still.depth[CAMERA.height // 2, CAMERA.width // 2]
                assert middle > ARM_M - 0.5, f"{name}: something stands before the figure"


def test_same_dice_same_start():
    world = Voxel("urban", 3, SIZE)
    one, again, other = (
        find_mirror_start(world, np.random.default_rng(seed), space=walk_look(), perspective="1st")
        for seed in (4, 4, 5)
    )
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def square(low, high):
    free = np.zeros((40, 40), bool)
    free[low:high, low:high] = True
    return SimpleNamespace(floor=FloorPlan(free, np.zeros(free.shape, np.float32), (0.0, 0.0), 0.25))


@pytest.mark.parametrize("side_m", [0.0, 2.5])
def test_without_room_there_is_no_start(side_m):
    world = square(0, round(side_m * 4))
    with pytest.raises(WorldError, match="no place in this world from which the ten paths are free"):
        find_mirror_start(world, np.random.default_rng(0), space=walk_look(), perspective="1st")


def test_a_start_is_found_in_just_enough_room():
    world = square(4, 28)  # 6 m: 2 m to each side, and the body
    start = find_mirror_start(world, np.random.default_rng(0), space=walk_look(), perspective="1st")
    assert np.abs(start[:2, 3] - 4.0).max() <= 3.0 - 0.3 - 2.0 * np.sqrt(0.5)  # at most turned by half a quarter
    assert start[2, 3] == pytest.approx(1.62)
