"""From a way to a walk: smooth, clear of everything, within the limits of the gait."""

import math

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, length
from worldgauge.suites.target.walks import Gait, floor_heights, smooth_way, stride
from worldgauge.worlds.walking.clearance import find_way, least_clearance
from worldgauge.worlds.walking.floor import FloorPlan

CELL_M = 0.1
ROWS, DT = 250, 0.04


def plan(free: np.ndarray, height: np.ndarray | None = None) -> FloorPlan:
    return FloorPlan(free, np.zeros(free.shape, np.float32) if height is None else height, (0.0, 0.0), CELL_M)


@pytest.fixture
def hall() -> FloorPlan:
    """8 x 6 m with a wall across and a door 1 m wide: the way has two sharp turns."""
    free = np.ones((80, 60), bool)
    free[40:42] = False
    free[40:42, 40:50] = True
    return plan(free)


def test_smoothing_keeps_the_ends_and_the_radius_and_takes_off_corners(hall: FloorPlan) -> None:
    rough = find_way(hall, (2.0, 2.5), (6.0, 2.5), radius_m=0.3)
    assert rough is not None
    way = smooth_way(hall, rough, radius_m=0.3)
    np.testing.assert_allclose(way[[0, -1]], [[2.0, 2.5], [6.0, 2.5]], atol=1e-9)
    assert least_clearance(hall, way) >= 0.3
    assert length(way) < 1.02 * length(rough)
    assert sharpest(way) < 0.35 * sharpest(rough)


def test_where_there_is_no_room_to_smooth_it_is_smoothed_less() -> None:
    """A corridor with a right angle, hardly wider than the walker."""
    free = np.zeros((50, 50), bool)
    free[5:45, 5:13] = True
    free[37:45, 5:45] = True
    floor = plan(free)
    rough = find_way(floor, (1.0, 0.9), (4.1, 4.0), radius_m=0.35)
    assert rough is not None
    tight = smooth_way(floor, rough, radius_m=0.35)
    assert least_clearance(floor, tight) >= 0.35
    wide = smooth_way(plan(np.ones((50, 50), bool)), rough, radius_m=0.35)
    assert sharpest(wide) < sharpest(tight)


def test_a_way_that_cannot_keep_the_radius_is_refused(hall: FloorPlan) -> None:
    with pytest.raises(ShapeError, match=r"nearer than 0\.3 m"):
        smooth_way(hall, [[2.0, 2.0], [6.0, 2.0]], radius_m=0.3)


def test_legs_are_joined_to_one_bent_way() -> None:
    """In the open one leg is straight; by way of a point aside it bends there, without a corner."""
    floor = plan(np.ones((100, 100), bool))
    ends, aside = ([2.0, 5.0], [8.0, 5.0]), [5.0, 6.5]
    straight = smooth_way(floor, ends)
    assert np.ptp(straight[:, 1]) < 1e-9
    bent = smooth_way(floor, [ends[0], aside], [aside, ends[1]])
    assert 0.8 < np.ptp(bent[:, 1]) < 1.5
    assert length(straight) < length(bent) < 2 * math.hypot(3, 1.5)


@pytest.mark.parametrize("gait", [Gait(), Gait(fastest=0.7, acceleration=0.3, yaw_rate=0.5)])
def test_limits_of_the_gait_are_kept(hall: FloorPlan, gait: Gait) -> None:
    rough = find_way(hall, (2.5, 2.5), (5.5, 2.5), radius_m=0.3)
    assert rough is not None
    way = smooth_way(hall, rough, radius_m=0.3)
    walk = stride(way, rows=ROWS, dt=DT, gait=gait)
    assert walk is not None
    speed = np.linalg.norm(np.diff(walk.xy, axis=0), axis=1) / DT
    assert speed.max() <= gait.fastest + 1e-6
    # A chord is shorter than its arc, so the change of speed along the chords is a little off.
    assert np.abs(np.diff(speed) / DT).max() <= gait.acceleration * 1.15
    assert np.abs(np.diff(walk.yaw) / DT).max() <= gait.yaw_rate * 1.02
    np.testing.assert_allclose(walk.xy[[0, -1]], way[[0, -1]], atol=1e-6)


def test_a_straight_walk_by_hand() -> None:
    """5.4 m in 9.96 s from a run, braking at 0.5 m/s2: v T - v^2 / (2 a) = 5.4 gives v."""
    walk = stride([[0, 0], [5.4, 0]], rows=ROWS, dt=DT)
    assert walk is not None
    total = (ROWS - 1) * DT
    v = 0.5 * (total - math.sqrt(total**2 - 2 * 5.4 / 0.5))
    speed = np.diff(walk.xy[:, 0]) / DT
    np.testing.assert_allclose(speed[: 8 * 25], v, atol=1e-3)
    np.testing.assert_allclose(walk.yaw, 0, atol=1e-12)
    assert walk.arrived_s == pytest.approx(total, abs=1e-3)
    assert speed[-1] < 0.02


def test_a_short_way_is_walked_slowly_and_then_stood() -> None:
    walk = stride([[0, 0], [0, 1.5]], rows=ROWS, dt=DT)
    assert walk is not None
    assert walk.arrived_s < 6
    np.testing.assert_allclose(walk.xy[160:], [[0, 1.5]] * 90, atol=1e-9)
    np.testing.assert_allclose(walk.yaw, math.pi / 2)


def test_a_way_too_long_has_no_walk_and_one_of_no_length_is_refused() -> None:
    assert stride([[0, 0], [8.5, 0]], rows=ROWS, dt=DT) is None
    with pytest.raises(ShapeError, match="none"):
        stride([[1, 1], [1, 1]], rows=ROWS, dt=DT)


def test_a_turned_way_gives_the_turned_walk() -> None:
    way = np.array([[0, 0], [1, 0.3], [2, 0.2], [3, 1], [4.5, 1.5]])
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    here, there = stride(way, rows=ROWS, dt=DT), stride(way @ turn.T, rows=ROWS, dt=DT)
    assert here is not None
    assert there is not None
    np.testing.assert_allclose(here.xy @ turn.T, there.xy, atol=1e-9)
    np.testing.assert_allclose(here.yaw + math.pi / 2, there.yaw, atol=1e-9)


def test_heights_ramp_over_a_step_and_are_level_elsewhere() -> None:
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


def sharpest(way: FloatArray) -> float:
    """Largest turn in radians within 10 cm of a way."""
    from worldgauge.worlds.walking.clearance import resampled

    points = resampled(way, int(length(way) / 0.05))
    step = np.diff(points, axis=0)
    yaw = np.unwrap(np.arctan2(step[:, 1], step[:, 0]))
    return float(np.abs(yaw[2:] - yaw[:-2]).max())
