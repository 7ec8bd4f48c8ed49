import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.suites.target.replan import RADIUS_M, drive_along
from worldgauge.worlds.walking.floor import FloorPlan


@pytest.fixture
def hall() -> FloorPlan:
    """10 x 4 metres of free floor with a wall across at x = 6, and a door in it at y = 1 .. 2."""
    free = np.ones((200, 80), bool)
    free[120:124] = False
    free[120:124, 20:40] = True
    return FloorPlan(free, np.zeros(free.shape, np.float32), (0.0, 0.0), 0.05)


def test_a_free_way_is_driven_to_its_end(hall: FloorPlan) -> None:
    way = np.array([[1.0, 2.0], [2.0, 2.0], [4.0, 3.0]])
    driven = drive_along(hall, way)
    assert not driven.contact
    np.testing.assert_array_equal(driven.xy, way)


def test_a_wall_stops_the_robot_a_radius_before_it(hall: FloorPlan) -> None:
    driven = drive_along(hall, [[1.0, 3.0], [5.0, 3.0], [9.0, 3.0], [9.0, 1.0]])
    assert driven.contact
    assert driven.xy[2, 0] == pytest.approx(6.0 - RADIUS_M, abs=0.06)
    np.testing.assert_array_equal(driven.xy[2], driven.xy[3])


def test_the_door_lets_it_through(hall: FloorPlan) -> None:
    assert not drive_along(hall, [[1.0, 1.5], [9.0, 1.5]]).contact


def test_a_plan_turned_about_the_middle_of_a_symmetric_hall_is_stopped_at_the_same_distance() -> None:
    free = np.zeros((120, 120), bool)
    free[20:100, 20:100] = True
    floor = FloorPlan(free, np.zeros(free.shape, np.float32), (-3.0, -3.0), 0.05)
    ends = [drive_along(floor, [[0, 0], [5 * np.cos(a), 5 * np.sin(a)]]) for a in np.arange(4) * np.pi / 2]
    assert all(end.contact for end in ends)
    np.testing.assert_allclose([np.hypot(*end.xy[-1]) for end in ends], np.hypot(*ends[0].xy[-1]), atol=0.06)


def test_outside_the_plan_nothing_is_free(hall: FloorPlan) -> None:
    assert drive_along(hall, [[1.0, 2.0], [1.0, 9.0]]).contact


def test_a_robot_beside_a_wall_may_leave_it_but_not_go_deeper(hall: FloorPlan) -> None:
    tight = [5.9, 3.0]
    assert not drive_along(hall, [tight, [4.0, 3.0]]).contact
    assert drive_along(hall, [tight, [6.5, 3.0]]).contact


@pytest.mark.parametrize("bad", [np.zeros((0, 2)), np.zeros((3, 3)), [[0.0, np.nan]], 1.0])
def test_what_is_no_plan_is_refused(hall: FloorPlan, bad: object) -> None:
    with pytest.raises(ShapeError):
        drive_along(hall, bad)


def test_a_plan_of_one_point_goes_nowhere(hall: FloorPlan) -> None:
    driven = drive_along(hall, [[1.0, 2.0]])
    assert (len(driven.xy), driven.contact) == (1, False)
