"""The marked table: numbers stand on their things, axes where the bins are, and everything else stays as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from suites.closedloop.manipulation.table_sight import table_sight
from worldgauge.core.geometry import invert
from worldgauge.suites.closedloop.manipulation.prompts import (
    AXES,
    AXIS_BINS,
    ORIGIN_BINS,
    axes_m,
    discs_px,
    marked_table,
    middles_px,
    pixels,
    radius_px,
)
from worldgauge.suites.closedloop.policies.contract import SeenThing
from worldgauge.worlds.tabletop.contract import TABLE_M
from worldgauge.worlds.tabletop.pose_plans import bins_from_points


class Blank:
    """A black picture from the front camera, with things at given places."""

    def __init__(self, places: list[tuple[float, float, float]], size_px: int = 448) -> None:
        real = table_sight(size_px)
        self.pose, self.camera, self.hand, self.size_px = real.pose, real.camera, real.hand, size_px
        self.things = tuple(SeenThing(f"thing {n}", "cup", "red", place, (0.02,) * 3) for n, place in enumerate(places))
        self.front: Any = np.zeros((size_px, size_px, 3), np.uint8)


def changed(seen: Any, *, without_axes: bool = True) -> Any:
    """(H, W) where the marked picture differs from the plain one."""
    drawn = marked_table(seen)
    assert drawn.shape == seen.front.shape
    assert drawn.dtype == np.uint8
    if not without_axes:
        return (drawn != seen.front).any(-1)
    bare: Any = Blank([])
    bare.front, bare.camera = seen.front, seen.camera
    return (drawn != marked_table(bare)).any(-1)


def test_numbers_stand_where_the_masks_of_their_things_are() -> None:
    seen = table_sight()
    plain = seen.front.copy()
    middles = middles_px(seen)
    assert set(middles) == {1, 2, 3}
    for number, (u, v) in middles.items():
        rows, columns = np.nonzero(seen.instances == number)
        assert u == pytest.approx(columns.mean() + 0.5, abs=2)
        assert v == pytest.approx(rows.mean() + 0.5, abs=3)
    assert discs_px(seen) == middles
    drawn = changed(seen)
    away = np.min([np.hypot(*(np.argwhere(drawn)[:, ::-1] + 0.5 - np.array(at)).T) for at in middles.values()], axis=0)
    assert away.max() <= radius_px(seen) + 2
    assert (seen.front == plain).all(), "the picture itself is not drawn on"


@pytest.mark.parametrize("size_px", [224, 448, 480])
def test_the_middle_of_a_disc_is_the_projection_of_its_thing(size_px: int) -> None:
    place = (0.31, -0.07, 0.79)
    seen: Any = Blank([place], size_px)
    # By hand: into the camera's frame, then the pinhole.
    x, y, z = (invert(seen.pose) @ [*place, 1.0])[:3]
    expected = (seen.camera.fx * x / z + seen.camera.cx, seen.camera.fy * y / z + seen.camera.cy)
    rows, columns = np.nonzero(changed(seen))
    ends = [(columns.min() + columns.max() + 1) / 2, (rows.min() + rows.max() + 1) / 2]
    assert ends == pytest.approx(expected, abs=1.0)
    assert columns.max() - columns.min() == pytest.approx(2 * radius_px(seen), abs=3)


def test_the_axes_run_along_the_bins() -> None:
    seen: Any = Blank([])
    begin, *ends = axes_m()
    assert bins_from_points([begin])[0].tolist() == list(ORIGIN_BINS)
    assert begin[2] == pytest.approx(TABLE_M)
    drawn = marked_table(seen)
    for axis, (end, colour) in enumerate(zip(ends, AXES.values(), strict=True)):
        bins = bins_from_points([end])[0] - ORIGIN_BINS
        assert bins.tolist() == [AXIS_BINS * (axis == other) for other in range(3)]
        for share in (0.3, 0.6, 0.9):
            ((u, v),) = pixels(seen, begin + share * (end - begin))
            assert drawn[int(v), int(u)] == pytest.approx(colour, abs=25)
    # To the right, towards the camera and up, as the prompts say.
    from_origin = pixels(seen, axes_m()[1:]) - pixels(seen, axes_m()[:1])
    assert from_origin[0, 1] > 10
    assert from_origin[1, 0] > 10
    assert from_origin[1, 1] == pytest.approx(0, abs=1)
    assert from_origin[2, 1] < -10


def test_discs_that_would_cover_each_other_stand_apart_and_are_tied_to_their_things() -> None:
    stacked = [(0.3, 0.2, 0.78), (0.3, 0.2, 0.79), (0.3, 0.2, 0.80), (0.3, 0.0, 0.78), (0.3, 0.001, 0.78)]
    seen: Any = Blank(stacked)
    discs, middles = discs_px(seen), middles_px(seen)
    places = np.array(list(discs.values()))
    gaps = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)) + 1e9 * np.eye(len(places))
    assert gaps.min() > 2 * radius_px(seen)
    assert discs[1] == middles[1]
    assert discs[2] != middles[2]
    drawn = changed(seen)
    for number, disc in discs.items():
        u, v = (np.array(disc) + middles[number]) / 2
        assert drawn[int(v), int(u)]


def test_what_the_camera_does_not_see_gets_no_number() -> None:
    seen: Any = Blank([(0.3, 0.0, 0.8), (3.0, 0.0, 0.8), (0.3, 2.0, 0.8), (0.3, 0.1, 0.8)])
    assert set(middles_px(seen)) == {1, 4}
    seen.camera = replace(seen.camera, cx=seen.camera.cx + 5000)
    assert not changed(seen).any()
    behind: Any = Blank([])
    behind.pose = behind.pose @ np.diag([1.0, -1.0, -1.0, 1.0])
    assert not changed(behind, without_axes=False).any(), "axes behind the camera"


def test_numbers_differ_and_the_same_table_gives_the_same_picture() -> None:
    # The same place, another number.
    first: Any = Blank([(0.3, 0.0, 0.8)])
    second: Any = Blank([(3.0, 0.0, 0.8), (0.3, 0.0, 0.8)])
    assert (marked_table(first) != marked_table(second)).any()
    assert (marked_table(first) == marked_table(first)).all()
