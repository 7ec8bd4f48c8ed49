from __future__ import annotations

import numpy as np
import pytest

from support.boxed_rooms import box, room
from worldgauge.core.errors import WorldError
from worldgauge.worlds.scan.heightfield import heightfield_of
from worldgauge.worlds.walking.geodesic import Geodesic


def test_an_empty_room() -> None:
    found = heightfield_of(room())
    # Cells that a wall touches are none.
    assert found.area_m2 == pytest.approx(24.0, rel=0.05)
    assert found.storeys == (0.0,)
    geodesic = Geodesic(found.floor())
    a, b = [0.31, 0.42], [5.43, 3.58]
    assert geodesic.distance(a, b) == pytest.approx(np.hypot(5.12, 3.16), abs=1e-9)
    roof = found.islands[0]
    assert (roof.is_indoor, round(roof.height_m, 2)) == (False, 2.6)


@pytest.mark.parametrize(("height", "walked"), [(0.05, True), (0.2, True), (0.25, False), (0.75, False)])
def test_steps(height: float, walked: bool) -> None:
    found = heightfield_of(room(box((2.0, 0.0, 0.0), (4.0, 4.0, height))))
    geodesic = Geodesic(found.floor())
    assert (geodesic.path([1.0, 2.0], [5.0, 2.0]) is not None) == walked


@pytest.mark.parametrize(("above", "walked"), [(1.6, True), (1.4, False)])
def test_head_room(above: float, walked: bool) -> None:
    found = heightfield_of(room(box((2.0, 0.0, above), (4.0, 4.0, above + 0.05))))
    assert (Geodesic(found.floor()).path([1.0, 2.0], [5.0, 2.0]) is not None) == walked


@pytest.mark.parametrize(("gap", "walked"), [(0.5, True), (0.35, True), (0.15, False)])
def test_doors(gap: float, walked: bool) -> None:
    low, high = 2.0 - gap / 2, 2.0 + gap / 2
    walls = box((2.95, 0.0, 0.0), (3.05, low, 2.5)), box((2.95, high, 0.0), (3.05, 4.0, 2.5))
    assert (Geodesic(heightfield_of(room(*walls)).floor()).path([1.0, 2.0], [5.0, 2.0]) is not None) == walked


@pytest.mark.parametrize(("degrees", "walked"), [(30, True), (44, True), (50, False)])
def test_slopes(degrees: float, walked: bool) -> None:
    rise = float(np.tan(np.radians(degrees)))
    a, b, c, d = [2.0, 0.0, 0.0], [2.6, 0.0, 0.6 * rise], [2.6, 4.0, 0.6 * rise], [2.0, 4.0, 0.0]
    ramp = np.array([[*a, *b, *c], [*a, *c, *d]])
    found = heightfield_of(room(ramp, box((2.6, 0.0, 0.0), (6.0, 4.0, 0.6 * rise)), height=4.0))
    low = found.islands[int(np.argmin([abs(one.height_m) + 9 * (not one.is_indoor) for one in found.islands]))]
    # The whole floor is one island only where the ramp joins its halves.
    assert (low.area_m2 > 20) == walked


def test_two_storeys_and_stairs() -> None:
    stairs = [box((5.0 - 0.3 * n, 0.0, 0.0), (5.3 - 0.3 * n, 1.0, 0.2 * (n + 1))) for n in range(14)]
    upper = box((-0.1, 1.0, 2.7), (8.1, 4.1, 2.8)), box((-0.1, -0.1, 2.7), (1.1, 1.0, 2.8))
    found = heightfield_of(room(*stairs, *upper, size=(8.0, 4.0), height=5.4))
    assert np.allclose(found.storeys, [0.0, 2.8], atol=0.01)
    indoor = [one for one in found.islands if one.is_indoor]
    assert len(indoor) == 1, "stairs join both storeys"
    assert found.floor(0).height_m[found.floor(0).free].max() <= 0.36
    assert found.floor(1).height_m[found.floor(1).free].min() >= 2.4
    with pytest.raises(WorldError, match="there is none of number 2"):
        found.floor(2)


def test_without_a_floor() -> None:
    found = heightfield_of(box((0, 0, 0), (1, 1, 1)))
    assert found.storeys == ()
    with pytest.raises(WorldError, match="no indoor floor"):
        found.floor()


def test_a_scan_of_another_unit_is_refused() -> None:
    with pytest.raises(WorldError, match="check its unit"):
        heightfield_of(room() * 1000)
