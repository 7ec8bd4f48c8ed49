"""Ways over a floor plan: obstacles avoided, little longer than the shortest, the same every time."""

import math

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError, WorldError
from worldgauge.core.geometry import FloatArray, length
from worldgauge.worlds.walking.clearance import find_way, least_clearance, resampled, straightened, ways_to
from worldgauge.worlds.walking.floor import FloorPlan

CELL_M = 0.1


def plan(free: np.ndarray, origin: tuple[float, float] = (0.0, 0.0)) -> FloorPlan:
    return FloorPlan(free, np.zeros(free.shape, np.float32), origin, CELL_M)


@pytest.fixture
def hall() -> FloorPlan:
    """10 x 6 m, a wall across at x = 5 .. 5.2 with a door 1.2 m wide at y = 4 .. 5.2."""
    free = np.ones((100, 60), bool)
    free[50:52] = False
    free[50:52, 40:52] = True
    return plan(free)


def test_a_way_keeps_the_radius_and_is_little_longer_than_the_shortest(hall: FloorPlan) -> None:
    way = find_way(hall, (1.0, 1.0), (9.0, 1.0), radius_m=0.4)
    assert way is not None
    np.testing.assert_array_equal(way[[0, -1]], [[1.0, 1.0], [9.0, 1.0]])
    assert least_clearance(hall, way) >= 0.4
    through = way[np.abs(way[:, 0] - 5.1) < 0.1]
    assert ((through[:, 1] > 4.0) & (through[:, 1] < 5.2)).all()
    # By hand: round the lower door post, which the walker passes at its radius or a little more.
    assert way is not None
    shortest = 2 * math.hypot(4.1, 3.4)
    assert shortest < length(way) < 1.15 * shortest
    taut = straightened(hall, way)
    assert len(taut) < 8
    assert shortest < length(taut) < 1.06 * shortest


@pytest.mark.parametrize("angle", np.radians([0, 17, 45, 90, 201]))
def test_in_the_open_the_straightened_way_is_the_straight_line(angle: float) -> None:
    floor = plan(np.ones((120, 120), bool))
    ends = np.array([6.0, 6.0]) + np.array([[0.0, 0.0], [4 * math.cos(angle), 4 * math.sin(angle)]])
    way = find_way(floor, *ends)
    assert way is not None
    np.testing.assert_array_equal(straightened(floor, way), ends)


def test_where_there_is_room_the_walker_stays_clear_of_walls() -> None:
    """The straight line runs 0.3 m beside a wall; the way swings out to the comfortable distance."""
    free = np.ones((100, 60), bool)
    free[:, :5] = False
    floor = plan(free)
    way = find_way(floor, (0.5, 0.85), (9.5, 0.85), radius_m=0.3, comfort_m=1.0)
    assert way is not None
    middle = way[len(way) // 2]
    assert floor.clearance_at(middle) > 0.8
    beside = find_way(floor, (0.5, 0.85), (9.5, 0.85), radius_m=0.3, comfort_m=0.3)
    assert beside is not None
    assert length(beside) == pytest.approx(9.0, abs=0.2)


def test_no_way_is_none_and_a_place_without_room_is_an_error(hall: FloorPlan) -> None:
    assert find_way(hall, (1.0, 1.0), (9.0, 1.0), radius_m=0.7) is None
    with pytest.raises(WorldError, match=r"goal \(5.10, 1.00\) has 0.00 m of clearance"):
        find_way(hall, (1.0, 1.0), (5.1, 1.0))
    with pytest.raises(WorldError, match="start"):
        find_way(hall, (-3.0, 1.0), (1.0, 1.0))
    for wrong in ((1.0, 2.0, 3.0), (math.nan, 1.0)):
        with pytest.raises(ShapeError):
            find_way(hall, wrong, (1.0, 1.0))


def test_ways_of_two_points_repeated_and_shifted(hall: FloorPlan) -> None:
    way = find_way(hall, (1.01, 1.01), (1.03, 1.02))
    np.testing.assert_array_equal(way, [[1.01, 1.01], [1.03, 1.02]])
    # The same question has the same way.
    ways = [find_way(hall, (1.0, 1.0), (9.0, 3.3)) for _ in range(2)]
    np.testing.assert_array_equal(*ways)
    # The origin is only a label: nothing but the coordinates changes.
    moved = plan(hall.free, origin=(-32.0, 16.0))
    here, there = find_way(hall, (1.05, 1.05), (9.05, 1.05)), find_way(moved, (-30.95, 17.05), (-22.95, 17.05))
    assert here is not None
    np.testing.assert_allclose(here + np.array([-32.0, 16.0]), there, atol=1e-9)


def test_distances_and_headings(hall: FloorPlan) -> None:
    """Against an independent flood fill: without shyness, octile lengths over the cells with room."""
    goal = (9.05, 1.05)
    found = ways_to(hall, goal, reach_m=30, radius_m=0.35, comfort_m=0.35).metres
    np.testing.assert_allclose(found, _flood(hall, goal, 0.35), atol=1e-6)
    # Distances end at the reach.
    found = ways_to(hall, (2.0, 2.0), reach_m=1.5).metres
    assert np.nanmax(found[np.isfinite(found)]) <= 1.5
    assert np.isinf(found[90, 30])
    assert found[20, 20] == 0
    # Behind the wall every way comes through the door; in front of it from where one stands.
    goal = (5.65, 1.05)
    ways = ways_to(hall, goal, reach_m=30, radius_m=0.35, comfort_m=0.35)
    assert ways.heading[10, 10] == pytest.approx(-math.pi / 2, abs=0.3)
    assert ways.heading[95, 10] == pytest.approx(math.pi, abs=1e-6)
    assert np.isnan(ways.heading[58, 10])
    assert np.array_equal(np.isnan(ways.heading), ~(ways.metres >= 0.8) | np.isinf(ways.metres))


def test_resampling_keeps_ends_and_spreads_evenly() -> None:
    points = resampled([[0, 0], [3, 0], [3, 1]], 9)
    np.testing.assert_allclose(points[[0, -1]], [[0, 0], [3, 1]])
    np.testing.assert_allclose(np.linalg.norm(np.diff(points, axis=0), axis=1), 0.5, atol=1e-12)


def _flood(floor: FloorPlan, goal: tuple[float, float], radius: float) -> FloatArray:
    """Bellman's equation until nothing changes."""
    room = floor.clearance_m >= radius
    far = np.full(room.shape, np.inf)
    far[tuple(floor.cells_of(goal))] = 0
    while True:
        wide = np.pad(np.where(room, far, np.inf), 1, constant_values=np.inf)
        open_ = np.pad(room, 1)
        best = far.copy()
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):

                def part(values, i, j):
                    return values[1 + i : values.shape[0] - 1 + i, 1 + j : values.shape[1] - 1 + j]

                allowed = part(open_, di, 0) & part(open_, 0, dj)
                step = CELL_M * math.hypot(di, dj)
                best = np.minimum(best, np.where(allowed & room, part(wide, di, dj) + step, np.inf))
        if np.array_equal(best, far):
            return far
        far = best
