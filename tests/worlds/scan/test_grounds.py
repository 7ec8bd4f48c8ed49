"""Grounds of scans: the floors found in a mesh, and a published navmesh, as walkers use them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from support.boxed_rooms import box, room
from support.scan_tree import VECTORS, things, vectors
from worldgauge.core.errors import ShapeError, WorldError
from worldgauge.worlds.scan.grounds import HeightfieldGround, NavMeshGround
from worldgauge.worlds.scan.heightfield import heightfield_of
from worldgauge.worlds.scan.mesh import ours
from worldgauge.worlds.scan.navmesh import NavMesh
from worldgauge.worlds.walking.primitives import Primitive, Stance

F = Primitive.FORWARD


def ground(*things: NDArray[np.float64], sliding: bool = False) -> HeightfieldGround:
    return HeightfieldGround(heightfield_of(room(*things)), sliding=sliding)


@pytest.fixture(scope="module")
def house() -> HeightfieldGround:
    points, triangles = things()[3]
    return HeightfieldGround(heightfield_of(points[triangles].reshape(-1, 9)), sliding=False)


def test_on_an_empty_floor_the_way_is_a_line() -> None:
    here = ground()
    a, b = [0.31, 0.42, 0.0], [5.43, 3.58, 0.0]
    assert here.distance(a, b) == pytest.approx(math.hypot(5.12, 3.16), abs=1e-9)
    way = here.path(a, b)
    assert way is not None
    assert way.tolist() == [a, b]


@pytest.mark.parametrize(("height", "walked"), [(0.05, True), (0.2, True), (0.25, False), (0.75, False)])
def test_what_can_be_climbed(height: float, walked: bool) -> None:
    here = ground(box((2.0, 0.0, 0.0), (4.0, 4.0, height)))
    assert (here.distance([1, 2, 0], [5, 2, 0]) < math.inf) == walked
    stance = Stance(1.6, 2.0, 0.0)
    for _ in range(4):
        stance, met = here.step(stance, F)
    assert met != walked
    assert stance.z == pytest.approx(height if walked else 0.0, abs=1e-3), "the eye follows the floor"
    assert stance.eye()[2, 3] == pytest.approx(stance.z + 1.0)


@pytest.mark.parametrize(("wide", "walked"), [(0.25, True), (0.15, False)])
def test_a_door_needs_room(wide: float, walked: bool) -> None:
    here = ground(box((2.9, 0.0, 0.0), (3.1, 2.0, 2.5)), box((2.9, 2.0 + wide, 0.0), (3.1, 4.0, 2.5)))
    assert (here.distance([1, 2, 0], [5, 2, 0]) < math.inf) == walked


def test_stairs_lead_up_and_the_way_is_as_long_as_the_slope() -> None:
    steps = [box((1.0 + 0.4 * n, 1.0, 0.0), (1.4 + 0.4 * n, 3.0, 0.1 * (n + 1))) for n in range(5)]
    here = HeightfieldGround(heightfield_of(room(*steps, height=4.0)), sliding=False)
    up = here.nearest([2.8, 2.0, 0.5])
    assert up[2] == pytest.approx(0.5, abs=1e-3)
    assert here.distance([0.5, 2.0, 0.0], up) == pytest.approx(math.hypot(2.3, 0.5), rel=0.02)
    primitives = here.steps_to(Stance(0.5, 2.0, 0.0), up, 0.3)
    assert primitives is not None
    stance = Stance(0.5, 2.0, 0.0)
    for one in primitives:
        stance, _ = here.step(stance, one)
    assert here.distance(stance.at, up) <= 0.3


def test_a_wall_stops_a_walker_or_lets_it_slide() -> None:
    start = Stance(5.82, 2.0, math.radians(45))
    stopped, met = ground().step(start, F)
    assert met
    assert stopped.x <= 5.95 + 1e-9, "in the last cell whose centre has 10 cm, as on the floors of homes"
    slid, met = ground(sliding=True).step(start, F)
    assert met, "it moved less than it should"
    for _ in range(3):
        stopped, _ = ground().step(stopped, F)
        slid, _ = ground(sliding=True).step(slid, F)
    assert slid.y - stopped.y > 0.3
    assert stopped.x == pytest.approx(slid.x, abs=0.02)


def test_distances_are_near_those_of_detour_and_never_shorter_than_a_line(house: HeightfieldGround) -> None:
    off = []
    for case in vectors()["paths"]:
        a, b = (ours(np.array([case[end]]), "y")[0] for end in ("start", "end"))
        found = house.distance(a, b) if house.stands(a) and house.stands(b) else math.inf
        if case["geodesic"] is None or not math.isfinite(found):
            continue
        assert found >= math.dist(a[:2], b[:2]) - 1e-6
        off.append(abs(found / case["geodesic"] - 1))  # type: ignore[operator]
    assert len(off) > 60
    assert float(np.median(off)) <= 0.015


def test_random_places_are_indoors_and_steps_arrive(house: HeightfieldGround) -> None:
    rng = np.random.default_rng(0)
    places = [house.random_point(rng) for _ in range(40)]
    assert all(place[2] < 3.0 for place in places), "none is on the roof"
    near = house.places_near(Stance(*places[0][:2], 0.0, places[0][2]), places[0], 1.0, 20, rng)
    assert len(near.at) == len(near.metres) == 20
    assert (np.linalg.norm(near.at - places[0], axis=1) <= near.metres + 1e-6).all()
    with pytest.raises(WorldError, match="no floor lies near"):
        house.nearest([80, 80, 0])
    with pytest.raises(ShapeError, match="three finite numbers"):
        house.stands([1, 2])


def test_a_navmesh_stops_before_walls_without_sliding() -> None:
    mesh = NavMesh.read(VECTORS / "two_storeys.navmesh")
    slides, stops = (NavMeshGround(mesh, lambda at: bool(at[2] < 4), sliding=way) for way in (True, False))
    rng = np.random.default_rng(1)
    met = 0
    for _ in range(300):
        place = stops.random_point(rng)
        assert place[2] < 4
        stance = Stance(float(place[0]), float(place[1]), float(rng.uniform(-3, 3)), float(place[2]))
        there, stopped = stops.step(stance, F)
        along, slid = slides.step(stance, F)
        assert stopped == slid, "one that must slide has met something"
        moved = math.hypot(there.x - stance.x, there.y - stance.y)
        if stopped:
            met += 1
            heading = np.array([math.cos(stance.yaw), math.sin(stance.yaw)])
            across = np.array([there.x - stance.x, there.y - stance.y]) @ [-heading[1], heading[0]]
            assert abs(across) < 1e-9, "it keeps to its line"
        else:
            assert moved == pytest.approx(0.2)
            assert np.allclose(there, along, atol=1e-9)
        assert stops.stands(there.at)
    assert 5 < met < 150


def test_turning_and_stopping_move_nobody(house: HeightfieldGround) -> None:
    here = Stance(4.0, 3.0, 0.0)
    for one in (Primitive.TURN_LEFT, Primitive.TURN_RIGHT, Primitive.STOP):
        there, met = house.step(here, one)
        assert (there.at, met) == (here.at, False)
