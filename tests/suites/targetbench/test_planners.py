"""Whose path a model is asked to follow: where it begins, how fast it goes, and what it needs."""

import dataclasses

import numpy as np
import pytest

from worldgauge.core.actions import camera_path
from worldgauge.core.errors import DataError, NotApplicableError
from worldgauge.core.geometry import pose_from_yaw_pitch, yaw_pitch_from_pose
from worldgauge.suites.targetbench.format.read import discover
from worldgauge.suites.targetbench.format.scenario import path_of_poses, world_of_path
from worldgauge.suites.targetbench.planners import (
    INFORMED,
    PLANNERS,
    current_pose,
    default_planner,
    path_poses,
    place_before,
    plan_for,
    poses_at,
    speed_of,
    steps_of,
    walk_to_target,
)
from worldgauge.worlds import worlds
from worldgauge.worlds.walking.floor import FloorPlan, Landmark

SPEED = 4.34 / 8


@pytest.fixture(scope="module")
def curve(scenarios):
    return discover(scenarios)[0]


@pytest.fixture(scope="module")
def unknown(curve):
    """The same walk as published data have it: a path, and no world."""
    return dataclasses.replace(curve, world=None, poses=None, camera=None, target=None)


def test_recorded_is_the_walk_row_by_row(curve):
    plan = plan_for(curve, "recorded", 40, 5.0, seed=0)
    np.testing.assert_array_equal(plan[:-1], curve.poses[curve.history_rows + 1 :])
    np.testing.assert_array_equal(plan[-1], curve.poses[-1])


def test_other_rates_pass_through_the_same_places(curve):
    slow, fast = (plan_for(curve, "recorded", n, n / 8, seed=0) for n in (16, 160))
    np.testing.assert_allclose(slow[:-1, :3, 3], fast[9:-1:10, :3, 3], atol=1e-9)
    yaw, _ = yaw_pitch_from_pose(fast)
    assert np.abs(np.diff(np.unwrap(yaw))).max() < 0.01, "headings between rows do not jump"


@pytest.mark.parametrize("embedded", [True, False])
def test_straight_goes_on_at_the_speed_of_the_history(curve, unknown, embedded):
    scenario = curve if embedded else unknown
    poses = plan_for(scenario, "straight", 16, 2.0, seed=0)
    assert speed_of(scenario) == pytest.approx(SPEED, rel=0.01)
    start = current_pose(scenario)
    ahead = (poses[:, :3, 3] - start[:3, 3]) @ start[:3, 2]
    np.testing.assert_allclose(ahead, speed_of(scenario) * np.arange(1, 17) / 2, atol=1e-9)
    np.testing.assert_allclose(poses[:, :3, :3], np.repeat(start[None, :3, :3], 16, 0), atol=1e-12)


def test_without_a_world_the_walk_lies_in_the_plane_and_begins_ahead(unknown):
    poses = path_poses(unknown)
    np.testing.assert_allclose(poses[:, :2, 3], unknown.path_xy)
    assert (poses[:, 2, 3] == 0).all()
    np.testing.assert_allclose(current_pose(unknown)[:3, 2], [0, 1, 0], atol=1e-12)


def test_no_history_means_no_speed(curve):
    assert speed_of(dataclasses.replace(curve, history_s=0.0)) == 0
    assert speed_of(dataclasses.replace(curve, anchor_distance_m=float("nan"))) == 0


def test_still_stays(curve):
    assert (plan_for(curve, "still", 5, 5.0, seed=0) == current_pose(curve)).all()


def test_noisy_is_seeded_starts_right_and_ends_elsewhere(curve):
    clean = plan_for(curve, "recorded", 40, 5.0, seed=1)[:, :2, 3]
    one, same, other = (plan_for(curve, "noisy", 40, 5.0, seed=seed)[:, :2, 3] for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    error = np.linalg.norm(one - clean, axis=1)
    assert error[0] < 0.02 < 0.2 < error[-1]
    assert np.linalg.norm(one[-1] - other[-1]) > 0.05


def test_the_default_needs_no_more_than_there_is(curve, unknown):
    assert (default_planner(unknown), default_planner(curve)) == ("straight", "walker")
    aimless = dataclasses.replace(curve, target=None)
    assert default_planner(aimless) == "recorded"
    with pytest.raises(NotApplicableError, match="planner=recorded"):
        plan_for(aimless, "walker", 10, 5.0, seed=0)
    assert set(PLANNERS) - INFORMED == {"straight", "still"}


@pytest.mark.parametrize("planner", ["recorded", "noisy", "straight", "still"])
def test_moves_lead_along_the_poses(curve, planner):
    """The very same plan, as an action-driven model gets it: dead reckoning must end where the camera does."""
    poses = plan_for(curve, planner, 40, 5.0, seed=3)
    steps = steps_of(poses, current_pose(curve), 5.0)
    assert (len(steps), steps.space.fps) == (40, 5.0)
    reckoned = camera_path(steps, current_pose(curve))
    np.testing.assert_allclose(reckoned[:, :2, 3], poses[:, :2, 3], atol=1e-5)
    np.testing.assert_allclose(yaw_pitch_from_pose(reckoned)[0], yaw_pitch_from_pose(poses)[0], atol=1e-6)


def test_moves_are_in_metres_ahead_and_to_the_left():
    start = pose_from_yaw_pitch((2.0, 3.0, 1.0), np.pi / 2)
    there = pose_from_yaw_pitch([(1.7, 3.5, 1.0)], [np.pi])
    np.testing.assert_allclose(steps_of(there, start, 25.0).values, [[0.5, 0.3, np.pi / 2]], atol=1e-6)


def test_poses_at_the_ends_are_held(curve):
    poses = poses_at(curve, np.array([-99.0, 99.0]))
    np.testing.assert_array_equal(poses, curve.poses[[0, -1]])


@pytest.fixture(scope="module")
def hall():
    """12 x 8 m with a wall across at x = 6 that leaves 2 m at the low end free."""
    free = np.zeros((240, 160), bool)
    free[10:-10, 10:-10] = True
    free[118:122, 50:] = False
    return FloorPlan(free, np.zeros(free.shape, np.float32), (0.0, 0.0), 0.05)


FROM = pose_from_yaw_pitch((2.0, 5.0, 0.6), 0.0)
TARGET = Landmark("chair", 3, (9.0, 5.0, 0.0), (9.5, 5.5, 1.0))


def test_the_place_before_a_target_is_about_a_metre_from_it(hall):
    place = place_before(hall, TARGET, FROM, 0.3, 9.0)
    gap = np.maximum(np.maximum(np.array(TARGET.low[:2]) - place, place - np.array(TARGET.high[:2])), 0)
    assert 0.8 <= np.hypot(*gap) <= 1.2


def test_of_the_places_before_a_wide_target_pace_and_heading_decide(hall):
    shelf = Landmark("shelf", 4, (1.0, 7.0, 0.0), (5.5, 7.4, 1.0))
    for yaw, x in ((np.pi / 2, 3.0), (np.arctan2(1, 1), 4.5), (np.arctan2(1, -1), 1.5)):
        start = pose_from_yaw_pitch((3.0, 4.5, 0.6), yaw)
        place = place_before(hall, shelf, start, 0.3, 1.5 / np.sin(yaw))
        assert place[0] == pytest.approx(x, abs=0.3)
        assert 5.8 <= place[1] <= 6.2


def test_a_target_that_cannot_be_reached_is_approached(hall):
    cut = FloorPlan(hall.free & (np.arange(240) < 118)[:, None], hall.height_m, hall.origin, hall.cell_m)
    place = place_before(cut, TARGET, FROM, 0.3, 9.0)
    assert 5.0 < place[0] < 6.0


@dataclasses.dataclass
class Hall:
    floor: FloorPlan


def test_the_walker_goes_round_the_wall_and_comes_to_rest(hall, curve, monkeypatch):
    monkeypatch.setattr("worldgauge.suites.targetbench.planners.open_world", lambda facts: Hall(hall))
    scenario = dataclasses.replace(curve, target=TARGET)
    start = pose_from_yaw_pitch((4.0, 3.5, 0.6), 0.0)
    times = np.arange(1, 201) / 25
    poses = walk_to_target(scenario, start, times, 4.5)
    xy = poses[:, :2, 3]
    assert (hall.clearance_at(xy) >= 0.29).all()
    speed = np.linalg.norm(np.diff(xy, axis=0), axis=1) * 25
    assert speed.max() < 0.85
    assert speed[-1] < 0.05
    np.testing.assert_allclose(poses[:, 2, 3], 0.6)
    yaw = np.unwrap(yaw_pitch_from_pose(poses)[0])
    assert abs(yaw[0]) < 0.06, "it begins with the heading that the camera has"
    assert np.abs(np.diff(yaw)).max() * 25 < 2.5


def test_a_walker_that_stands_in_a_wall_has_no_way(hall, curve, monkeypatch):
    monkeypatch.setattr("worldgauge.suites.targetbench.planners.open_world", lambda facts: Hall(hall))
    scenario = dataclasses.replace(curve, target=TARGET)
    with pytest.raises(DataError, match="no way leads"):
        walk_to_target(scenario, pose_from_yaw_pitch((6.0, 5.0, 0.6), 0.0), np.arange(1, 9) / 1.0, 4.0)


def test_a_path_and_its_place_in_the_world_are_one(curve):
    xy = path_of_poses(curve.poses, curve.history_rows)
    np.testing.assert_allclose(world_of_path(xy, current_pose(curve)), curve.poses[:, :2, 3], atol=1e-9)
    assert "room" in worlds
