from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest

from support.places import TESTS
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.scan import _detour
from worldgauge.worlds.scan.mesh import ours
from worldgauge.worlds.scan.navmesh import NavMesh, surface_of

FILE = TESTS / "vectors" / "scan" / "two_storeys.navmesh"
VECTORS = json.loads(FILE.with_suffix(".json").read_text())
"""Made with Recast and Detour themselves: 300 ways and 500 steps in a house of two storeys with stairs and a roof."""


@pytest.fixture(scope="module")
def house() -> NavMesh:
    return NavMesh.read(FILE)


def place(simulator: list[float]) -> FloatArray:
    return ours(np.array([simulator]), "y")[0]


def test_distances_are_those_of_detour(house: NavMesh) -> None:
    for case in VECTORS["paths"]:
        found = house.distance(place(case["start"]), place(case["end"]))
        if case["geodesic"] is None:
            assert math.isinf(found)
        else:
            assert found == pytest.approx(case["geodesic"], abs=1e-5)


def test_ways_are_those_of_detour(house: NavMesh) -> None:
    for case in VECTORS["paths"][:100]:
        if case["points"]:
            way = house.path(place(case["start"]), place(case["end"]))
            assert way is not None
            assert np.allclose(way, [place(point) for point in case["points"]], atol=1e-5)


def test_steps_slide_as_in_detour(house: NavMesh) -> None:
    slid = 0
    for walk in VECTORS["walks_with_sliding"]:
        for step in walk:
            found = house.slide(place(step["from"]), place(step["to"]))
            assert found is not None
            assert np.abs(found - place(step["ends"])).max() <= 1e-5
            slid += bool(np.abs(found[:2] - place(step["to"])[:2]).max() > 1e-3)
    assert slid > 20


def test_a_square_by_hand() -> None:
    corners = np.array([(0.0, 1.0, 0.0), (0.0, 1.0, 4.0), (4.0, 1.0, 4.0), (4.0, 1.0, 0.0)])
    edges = (True, True, True)
    faces = (((0, 1, 2), edges), ((0, 2, 3), edges))
    floor = NavMesh(surface_of([corners], [[-1] * 4], [np.empty((0, 3))], [faces], 0.2))
    assert floor.area_m2 == 16
    a, b = place([1, 1, 1]), place([3, 1, 2])
    assert floor.distance(a, b) == pytest.approx(math.sqrt(5))
    # Into the wall at x = 4: the part along the wall is left. The height is that of the floor.
    assert np.allclose(floor.slide(a, place([5, 3, 2.5])), place([4, 1, 2.5]))  # type: ignore[arg-type]
    assert floor.stands(a)
    assert floor.stands(place([4.05, 1.2, 1]))
    assert not floor.stands(place([4.5, 1, 1]))
    assert floor.nearest(place([9, 1, 1])) is None
    with pytest.raises(ShapeError, match="three finite numbers"):
        floor.distance([0, 0], b)


def test_distances_are_symmetric_enough_and_never_shorter_than_a_line(house: NavMesh) -> None:
    for case in VECTORS["paths"][:60]:
        a, b = place(case["start"]), place(case["end"])
        there = house.distance(a, b)
        assert math.isinf(there) == math.isinf(house.distance(b, a))
        if math.isfinite(there):
            way = house.path(a, b)
            assert way is not None
            assert there >= np.linalg.norm(way[-1] - way[0]) - 1e-9


def test_the_roof_is_an_island(house: NavMesh) -> None:
    assert len(set(house.islands.tolist())) == 3
    assert house.area_m2 == pytest.approx(124.72, abs=0.01)


def test_funnel_by_hand() -> None:
    portals = np.array([[(1.0, 0.0, 2.0), (1.0, 0.0, 1.0)], [(2.0, 0.0, 2.0), (2.0, 0.0, 1.0)]])
    way = _detour.pulled((0.0, 0.0, 0.0), (3.0, 0.0, 0.0), portals)
    assert way.tolist() == [[0, 0, 0], [1, 0, 1], [2, 0, 1], [3, 0, 0]]


def test_a_file_of_version_1(tmp_path: Path, house: NavMesh) -> None:
    data = FILE.read_bytes()
    path = tmp_path / "old.navmesh"
    path.write_bytes(data[:4] + struct.pack("<i", 1) + data[8:40] + data[96:])
    for one, other in zip(NavMesh.read(path).surface, house.surface, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:50], "damaged: it is cut off"),
        (lambda data: data[:-100], "passes the end of the file"),
        (lambda data: b"MEST" + data[4:], "not MSET"),
        (lambda data: data[:8] + struct.pack("<i", 4) + data[12:], "it has 4 tiles"),
        (lambda data: data[:104] + b"XXXX" + data[108:], "not 7 of Detour"),
        (lambda data: data[:128] + struct.pack("<i", 10**9) + data[132:], "do not fit|cannot hold"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, change: object, words: str) -> None:
    path = tmp_path / "a.navmesh"
    path.write_bytes(change(FILE.read_bytes()))  # type: ignore[operator]
    with pytest.raises(DataError, match=words) as found:
        NavMesh.read(path)
    assert "\n" not in str(found.value)
