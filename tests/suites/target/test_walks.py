"""Walks to named things, in real worlds."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from worldgauge.core.geometry import Camera, length, yaw_pitch_from_pose
from worldgauge.suites.target.walks import (
    SHORTEST_M,
    WALK_M,
    TargetWalk,
    TargetWalkFailedError,
    record_target_walk,
)
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.walking.floor import Landmark, Walkable, distance_from_box

CAMERA = Camera(640, 360, 381.36, 381.36, 320, 180)
Asked = tuple[Walkable, list[TargetWalk]]


@pytest.fixture(scope="module", params=["outdoors", "indoors"])
def walked(request: pytest.FixtureRequest) -> Asked:
    world = Voxel("plains", 5, (160, 160, 56)) if request.param == "outdoors" else Home(2)
    return world, [
        record_target_walk(world, np.random.default_rng([7, n]), place=request.param, camera=CAMERA) for n in range(3)
    ]


def each(test: Callable[[Walkable, TargetWalk], None]) -> Callable[[Asked], None]:
    def run(walked: Asked) -> None:
        world, walks = walked
        for walk in walks:
            test(world, walk)

    run.__doc__ = test.__doc__
    return run


@each
def test_ten_seconds_of_which_two_are_history(world: Walkable, walk: TargetWalk) -> None:
    assert walk.poses.shape == (250, 4, 4)
    assert (walk.history_rows, walk.dt, len(walk)) == (50, 0.04, 250)
    xy = walk.poses[:, :2, 3]
    assert 0.5 < np.linalg.norm(xy[50] - xy[0]) < 1.7
    assert SHORTEST_M - 0.01 <= length(xy) <= WALK_M[1] + 0.01


@each
def test_it_ends_a_metre_from_the_target_facing_it(world: Walkable, walk: TargetWalk) -> None:
    end = walk.poses[-1, :2, 3]
    assert 0.8 - world.floor.cell_m <= distance_from_box(walk.target, end) <= 1.2 + world.floor.cell_m
    assert distance_from_box(walk.target, walk.poses[50, :2, 3]) >= 2.0
    assert world.view(walk.poses[-1], CAMERA).instance.ravel().tolist().count(walk.target.instance) > 0.01 * 640 * 360


@each
def test_the_target_is_in_view_at_the_current_frame(world: Walkable, walk: TargetWalk) -> None:
    seen = np.bincount(world.view(walk.poses[50], CAMERA).instance.ravel(), minlength=walk.target.instance + 1)
    # Judged on a small grid, so a little off at full size.
    assert 0.008 < seen[walk.target.instance] / (640 * 360) < 0.62
    kin = [one.instance for one in world.landmarks if one.category == walk.category and one != walk.target]
    assert all(seen[n] < 0.7 * seen[walk.target.instance] for n in kin if n < len(seen))


@each
def test_nothing_is_in_the_way(world: Walkable, walk: TargetWalk) -> None:
    assert world.floor.clearance_at(walk.poses[:, :2, 3]).min() >= 0.3


@each
def test_the_camera_is_level_at_its_height_and_looks_along_the_way(world: Walkable, walk: TargetWalk) -> None:
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
def test_words_are_about_the_target(world: Walkable, walk: TargetWalk) -> None:
    assert walk.target in world.landmarks
    assert walk.category == walk.target.category
    assert walk.category in walk.explicit
    assert walk.label in ("explicit", "implicit")


def test_the_same_generator_gives_the_same_walk_and_another_one_another(walked: Asked) -> None:
    world, walks = walked
    again = record_target_walk(world, np.random.default_rng([7, 1]), place=walks[1].place, camera=CAMERA)
    np.testing.assert_array_equal(again.poses, walks[1].poses)
    assert (again.target, again.label, again.discards) == (walks[1].target, walks[1].label, walks[1].discards)
    assert not np.array_equal(walks[0].poses, walks[1].poses)


def test_categories_are_tried_in_the_order_given() -> None:
    world = Voxel("plains", 5, (160, 160, 56))
    rng = np.random.default_rng(3)
    walk = record_target_walk(world, rng, place="outdoors", categories=["igloo", "well"], fps=10)
    assert walk.category == "well"
    assert (len(walk), walk.history_rows, walk.dt) == (100, 20, 0.1)


def test_no_target_at_all_says_why() -> None:
    world = Voxel("plains", 5, (160, 160, 56))
    high = [Landmark("boulder", 1, (80.0, 80.0, 50.0), (82.0, 82.0, 52.0))]
    world.__dict__["landmarks"] = tuple(high)
    with pytest.raises(TargetWalkFailedError, match="no walk of") as failed:
        record_target_walk(world, np.random.default_rng(3), place="outdoors")
    assert set(failed.value.reasons) == {"no room in front of the target"}


def test_distance_from_a_box_by_hand() -> None:
    box = Landmark("boulder", 1, (0.0, 0.0, 0.0), (2.0, 1.0, 1.0))
    found = distance_from_box(box, np.array([[1.0, 0.5], [5.0, 0.5], [5.0, 5.0], [-1.0, 1.0]]))
    np.testing.assert_allclose(found, [0, 3, 5, 1])
