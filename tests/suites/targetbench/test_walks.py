"""Walks to named things in real worlds, from a way to a walk, and words for every thing that can be a target."""

import math
import re

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError, UnknownNameError
from worldgauge.core.geometry import Camera, length, yaw_pitch_from_pose
from worldgauge.suites.targetbench.walks import (
    EXPLICIT_SHARE,
    IMPLICIT,
    SHORTEST_M,
    VAGUE,
    WALK_M,
    Gait,
    TargetWalkFailedError,
    draw_label,
    floor_heights,
    record_target_walk,
    smooth_way,
    stride,
    wording_of,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.floor import CATEGORIES, NAMES
from worldgauge.worlds.voxel.world import KINDS
from worldgauge.worlds.walking.clearance import find_way, least_clearance, resampled
from worldgauge.worlds.walking.floor import FloorPlan, Landmark, distance_from_box

CAMERA = Camera(640, 360, 381.36, 381.36, 320, 180)


@pytest.fixture(scope="module", params=["outdoors", "indoors"])
def walked(request):
    world = Voxel("plains", 5, (160, 160, 56)) if request.param == "outdoors" else Home(2)
    return world, [
        record_target_walk(world, np.random.default_rng([7, n]), place=request.param, camera=CAMERA) for n in range(3)
    ]


def each(test):
    def run(walked):
        world, walks = walked
        for walk in walks:
            test(world, walk)

    run.__doc__ = test.__doc__
    return run


@each
def test_ten_seconds_of_which_two_are_history(world, walk):
    assert (walk.poses.shape, (walk.history_rows, walk.dt, len(walk))) == ((250, 4, 4), (50, 0.04, 250))
    xy = walk.poses[:, :2, 3]
    assert 0.5 < np.linalg.norm(xy[50] - xy[0]) < 1.7
    assert SHORTEST_M - 0.01 <= length(xy) <= WALK_M[1] + 0.01


@each
def test_it_ends_a_metre_from_the_target_facing_it(world, walk):
    end = walk.poses[-1, :2, 3]
    assert 0.8 - world.floor.cell_m <= distance_from_box(walk.target, end) <= 1.2 + world.floor.cell_m
    assert distance_from_box(walk.target, walk.poses[50, :2, 3]) >= 2.0
    assert world.view(walk.poses[-1], CAMERA).instance.ravel().tolist().count(walk.target.instance) > 0.01 * 640 * 360


@each
def test_the_target_is_in_view_at_the_current_frame(world, walk):
    seen = np.bincount(world.view(walk.poses[50], CAMERA).instance.ravel(), minlength=walk.target.instance + 1)
    # Judged on a small grid, so a little off at full size.
    assert 0.008 < seen[walk.target.instance] / (640 * 360) < 0.62
    kin = [one.instance for one in world.landmarks if one.category == walk.category and one != walk.target]
    assert all(seen[n] < 0.7 * seen[walk.target.instance] for n in kin if n < len(seen))


@each
def test_nothing_is_in_the_way(world, walk):
    assert world.floor.clearance_at(walk.poses[:, :2, 3]).min() >= 0.3


@each
def test_the_camera_is_level_at_its_height_and_looks_along_the_way(world, walk):
    yaw, pitch = yaw_pitch_from_pose(walk.poses)
    np.testing.assert_allclose(pitch, 0, atol=1e-12)
    height = {"outdoors": 1.2, "indoors": 0.6}[walk.place]
    assert walk.camera_height_m == height
    above = walk.poses[:, 2, 3] - world.floor.height_at(walk.poses[:, :2, 3])
    assert np.median(above) == pytest.approx(height, abs=1e-3)
    step = np.diff(walk.poses[:, :2, 3], axis=0)
    moving = np.linalg.norm(step, axis=1) > 0.005
    off = np.angle(np.exp(1j * (np.arctan2(step[:, 1], step[:, 0]) - yaw[:-1])))[moving]
    assert np.abs(off).max() < math.radians(35)
    assert np.median(np.abs(off)) < math.radians(6)


@each
def test_words_are_about_the_target(world, walk):
    assert walk.target in world.landmarks
    assert walk.category == walk.target.category
    assert walk.category in walk.explicit
    assert walk.label in ("explicit", "implicit")


def test_the_same_generator_gives_the_same_walk_and_another_one_another(walked):
    world, walks = walked
    again = record_target_walk(world, np.random.default_rng([7, 1]), place=walks[1].place, camera=CAMERA)
    np.testing.assert_array_equal(again.poses, walks[1].poses)
    assert (again.target, again.label, again.discards) == (walks[1].target, walks[1].label, walks[1].discards)
    assert not np.array_equal(walks[0].poses, walks[1].poses)


def test_categories_are_tried_in_the_order_given():
    world = Voxel("plains", 5, (160, 160, 56))
    rng = np.random.default_rng(3)
    walk = record_target_walk(world, rng, place="outdoors", categories=["igloo", "well"], fps=10)
    assert (walk.category, (len(walk), walk.history_rows, walk.dt)) == ("well", (100, 20, 0.1))


def test_no_target_at_all_says_why():
    world = Voxel("plains", 5, (160, 160, 56))
    high = [Landmark("boulder", 1, (80.0, 80.0, 50.0), (82.0, 82.0, 52.0))]
    world.__dict__["landmarks"] = tuple(high)
    with pytest.raises(TargetWalkFailedError, match="no walk of") as failed:
        record_target_walk(world, np.random.default_rng(3), place="outdoors")
    assert set(failed.value.reasons) == {"no room in front of the target"}


def test_distance_from_a_box_by_hand():
    box = Landmark("boulder", 1, (0.0, 0.0, 0.0), (2.0, 1.0, 1.0))
    found = distance_from_box(box, np.array([[1.0, 0.5], [5.0, 0.5], [5.0, 5.0], [-1.0, 1.0]]))
    np.testing.assert_allclose(found, [0, 3, 5, 1])


CELL_M = 0.1
ROWS, DT = 250, 0.04


def plan(free, height=None):
    return FloorPlan(free, np.zeros(free.shape, np.float32) if height is None else height, (0.0, 0.0), CELL_M)


@pytest.fixture
def hall():
    """8 x 6 m with a wall across and a door 1 m wide: the way has two sharp turns."""
    free = np.ones((80, 60), bool)
    free[40:42] = False
    free[40:42, 40:50] = True
    return plan(free)


def test_smoothing_keeps_the_ends_and_the_radius_and_takes_off_corners(hall):
    rough = find_way(hall, (2.0, 2.5), (6.0, 2.5), radius_m=0.3)
    way = smooth_way(hall, rough, radius_m=0.3)
    np.testing.assert_allclose(way[[0, -1]], [[2.0, 2.5], [6.0, 2.5]], atol=1e-9)
    assert least_clearance(hall, way) >= 0.3
    assert length(way) < 1.02 * length(rough)
    assert sharpest(way) < 0.35 * sharpest(rough)


def test_where_there_is_no_room_to_smooth_it_is_smoothed_less():
    """A corridor with a right angle, hardly wider than the walker."""
    free = np.zeros((50, 50), bool)
    free[5:45, 5:13] = True
    free[37:45, 5:45] = True
    floor = plan(free)
    rough = find_way(floor, (1.0, 0.9), (4.1, 4.0), radius_m=0.35)
    tight = smooth_way(floor, rough, radius_m=0.35)
    assert least_clearance(floor, tight) >= 0.35
    wide = smooth_way(plan(np.ones((50, 50), bool)), rough, radius_m=0.35)
    assert sharpest(wide) < sharpest(tight)


def test_a_way_that_cannot_keep_the_radius_is_refused(hall):
    with pytest.raises(ShapeError, match=r"nearer than 0\.3 m"):
        smooth_way(hall, [[2.0, 2.0], [6.0, 2.0]], radius_m=0.3)


def test_legs_are_joined_to_one_bent_way():
    """In the open one leg is straight; by way of a point aside it bends there, without a corner."""
    floor = plan(np.ones((100, 100), bool))
    ends, aside = ([2.0, 5.0], [8.0, 5.0]), [5.0, 6.5]
    straight = smooth_way(floor, ends)
    assert np.ptp(straight[:, 1]) < 1e-9
    bent = smooth_way(floor, [ends[0], aside], [aside, ends[1]])
    assert 0.8 < np.ptp(bent[:, 1]) < 1.5
    assert length(straight) < length(bent) < 2 * math.hypot(3, 1.5)


@pytest.mark.parametrize("gait", [Gait(), Gait(fastest=0.7, acceleration=0.3, yaw_rate=0.5)])
def test_limits_of_the_gait_are_kept(hall, gait):
    rough = find_way(hall, (2.5, 2.5), (5.5, 2.5), radius_m=0.3)
    way = smooth_way(hall, rough, radius_m=0.3)
    walk = stride(way, rows=ROWS, dt=DT, gait=gait)
    speed = np.linalg.norm(np.diff(walk.xy, axis=0), axis=1) / DT
    assert speed.max() <= gait.fastest + 1e-6
    # A chord is shorter than its arc, so the change of speed along the chords is a little off.
    assert np.abs(np.diff(speed) / DT).max() <= gait.acceleration * 1.15
    assert np.abs(np.diff(walk.yaw) / DT).max() <= gait.yaw_rate * 1.02
    np.testing.assert_allclose(walk.xy[[0, -1]], way[[0, -1]], atol=1e-6)


def test_a_straight_walk_by_hand():
    """5.4 m in 9.96 s from a run, braking at 0.5 m/s2: v T - v^2 / (2 a) = 5.4 gives v."""
    walk = stride([[0, 0], [5.4, 0]], rows=ROWS, dt=DT)
    total = (ROWS - 1) * DT
    v = 0.5 * (total - math.sqrt(total**2 - 2 * 5.4 / 0.5))
    speed = np.diff(walk.xy[:, 0]) / DT
    np.testing.assert_allclose(speed[: 8 * 25], v, atol=1e-3)
    np.testing.assert_allclose(walk.yaw, 0, atol=1e-12)
    assert walk.arrived_s == pytest.approx(total, abs=1e-3)
    assert speed[-1] < 0.02


def test_a_short_way_is_walked_slowly_and_then_stood():
    walk = stride([[0, 0], [0, 1.5]], rows=ROWS, dt=DT)
    assert walk.arrived_s < 6
    np.testing.assert_allclose(walk.xy[160:], [[0, 1.5]] * 90, atol=1e-9)
    np.testing.assert_allclose(walk.yaw, math.pi / 2)


def test_a_way_too_long_has_no_walk_and_one_of_no_length_is_refused():
    assert stride([[0, 0], [8.5, 0]], rows=ROWS, dt=DT) is None
    with pytest.raises(ShapeError, match="none"):
        stride([[1, 1], [1, 1]], rows=ROWS, dt=DT)


def test_a_turned_way_gives_the_turned_walk():
    way = np.array([[0, 0], [1, 0.3], [2, 0.2], [3, 1], [4.5, 1.5]])
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    here, there = stride(way, rows=ROWS, dt=DT), stride(way @ turn.T, rows=ROWS, dt=DT)
    np.testing.assert_allclose(here.xy @ turn.T, there.xy, atol=1e-9)
    np.testing.assert_allclose(here.yaw + math.pi / 2, there.yaw, atol=1e-9)


def test_heights_ramp_over_a_step_and_are_level_elsewhere():
    height = np.zeros((80, 20), np.float32)
    height[40:] = 0.5
    floor = plan(np.ones((80, 20), bool), height)
    xy = np.stack([np.linspace(1, 7, 301), np.full(301, 1.0)], -1)
    z = floor_heights(floor, xy)
    np.testing.assert_allclose(z[:100], 0, atol=1e-9)
    np.testing.assert_allclose(z[-100:], 0.5, atol=1e-6)
    assert (np.diff(z) >= -1e-12).all()
    assert np.diff(z).max() / 0.02 < 0.5 / 0.6
    # A walker that stands stays at its height.
    stood = floor_heights(floor, np.concatenate([xy, np.repeat(xy[-1:], 20, axis=0)]))
    np.testing.assert_allclose(stood[-20:], 0.5, atol=1e-6)


def sharpest(way):
    """Largest turn in radians within 10 cm of a way."""
    points = resampled(way, int(length(way) / 0.05))
    step = np.diff(points, axis=0)
    yaw = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    return float(np.abs(yaw[2:] - yaw[:-2]).max())


@pytest.mark.parametrize("category", sorted(IMPLICIT))
def test_explicit_names_it_and_implicit_does_not(category):
    explicit, implicit = wording_of(category)
    assert category in explicit
    for text in (explicit, implicit):
        assert re.fullmatch(r"Walk to [^.]+\.", text)
    said = re.findall(r"[a-z]+", implicit.lower())
    for word in category.split():
        stem = word.removesuffix("s").removesuffix("ie").removesuffix("y")
        told = [one for one in said if (one.startswith(stem[:5]) and len(stem) > 3) or one == word]
        assert told == [], implicit


def test_sentences_are_different_ones():
    """Two categories share a sentence only where they are two names of one thing."""
    sentences = {}
    for category in sorted(IMPLICIT):
        sentences.setdefault(wording_of(category)[1], []).append(category)
    assert [names for names in sentences.values() if len(names) > 1] == [
        ["bookcase", "bookshelf"],
        ["counter", "kitchen counter"],
        ["fridge", "refrigerator"],
        ["plant", "potted plant"],
    ]


@pytest.mark.parametrize("seed", range(4))
def test_every_landmark_of_both_worlds_has_words(seed):
    worlds = [Voxel(KINDS[seed % len(KINDS)], seed, (160, 160, 56)), Home(seed)]
    for world in worlds:
        found = {landmark.category for landmark in world.landmarks}
        assert len(found - VAGUE) >= 12
        for category in found:
            wording_of(category)


def test_all_that_settlements_can_name_has_words():
    assert {category for drawn, category in CATEGORIES.items() if drawn not in NAMES} <= set(IMPLICIT)


def test_unknown_categories_are_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match="Did you mean 'boulder'"):
        wording_of("bolder")


def test_labels_come_in_the_published_share_and_from_the_generator():
    drawn = [draw_label(np.random.default_rng([1, n])) for n in range(3000)]
    assert drawn.count("explicit") / 3000 == pytest.approx(EXPLICIT_SHARE, abs=0.03)
    assert set(drawn) == {"explicit", "implicit"}
    assert draw_label(np.random.default_rng(4)) == draw_label(np.random.default_rng(4))
