"""The walker of primitives: turns, steps, and where they end."""

import math

import numpy as np
import pytest

from worldgauge.core.geometry import yaw_pitch_from_pose
from worldgauge.worlds.walking.floor import FloorPlan
from worldgauge.worlds.walking.primitives import RADIUS_M, STEP_M, Primitive, Stance, stands, walked


def hall(walls: tuple[tuple[slice, slice], ...] = (), shape: tuple[int, int] = (80, 60)) -> FloorPlan:
    """A floor of 4 x 3 m from (0, 0), 5 cm cells."""
    free = np.ones(shape, bool)
    for wall in walls:
        free[wall] = False
    return FloorPlan(free, np.zeros(shape, np.float32), (0.0, 0.0), 0.05)


def test_a_step_forward_is_twenty_centimetres_along_the_heading() -> None:
    there, collided = walked(hall(), Stance(1.0, 1.0, math.radians(30)), Primitive.FORWARD)
    assert not collided
    assert there[:3] == pytest.approx((1 + 0.2 * math.cos(math.pi / 6), 1.1, math.pi / 6), abs=1e-12)


def test_sixteen_turns_are_a_full_one_and_left_is_counter_clockwise() -> None:
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


def test_a_wall_ends_a_step_one_radius_before_it() -> None:
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


def test_it_does_not_slide_along_walls() -> None:
    floor = hall(((slice(40, 44), slice(None)),))
    there, collided = walked(floor, Stance(1.9, 1.0, math.radians(45)), Primitive.FORWARD)
    assert collided
    assert there.y - 1.0 == pytest.approx(there.x - 1.9)


def test_one_in_a_tight_place_may_leave_it_but_goes_through_nothing() -> None:
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
