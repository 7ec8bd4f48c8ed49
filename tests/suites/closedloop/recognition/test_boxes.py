"""Boxes of masks."""

from typing import Any

import numpy as np
import pytest

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.suites.closedloop.recognition.boxes import mask_box, target_box

MASKS = [case for case in cases("wiw_loop", "cases") if case.values[0]["kind"] == "mask_box"]


def mask_of(*rectangles: tuple[int, int, int, int], size: tuple[int, int] = (60, 80)) -> np.ndarray:
    mask = np.zeros(size, bool)
    for y, x, height, width in rectangles:
        mask[y : y + height, x : x + width] = True
    return mask


@pytest.mark.parametrize("case", MASKS)
def test_mask_box_vectors(case: dict[str, Any]) -> None:
    mask = mask_of(*case["rect_y_x_h_w"], size=(case["H"], case["W"]))
    found = mask_box(mask, tuple(case["area_range"]))
    box, centre = case["expected"]["box"], case["expected"]["centre"]
    assert found.box == (None if box is None else (box["x_min"], box["y_min"], box["x_max"], box["y_max"]))
    if centre is None:
        assert found.shift_px is None
        assert found.turn_left_deg is None
    else:
        assert found.shift_px == pytest.approx(centre["shift_px"])
        assert found.turn_left_deg == pytest.approx(centre["angle_deg"])


def test_limits_of_the_area_are_outside() -> None:
    mask = mask_of((0, 0, 7, 9))  # (7 - 1) * (9 - 1) = 48 of 4800
    assert mask_box(mask, (0.01, 0.5)).box is None
    assert mask_box(mask, (0.0099, 0.01)).box is None
    assert mask_box(mask, (0.0099, 0.0101)).box == (0, 0, 8, 6)


def test_target_box_grows_about_its_middle() -> None:
    assert target_box(mask_of((20, 30, 20, 20))) == (28, 18, 52, 42)  # 1.5 on each side, outwards
    assert target_box(mask_of((20, 30, 20, 20)), grown=1.0) == (30, 20, 50, 40)


def test_target_box_is_of_the_largest_part_and_corners_touch() -> None:
    apart = mask_of((0, 0, 5, 5), (20, 20, 6, 6), (40, 40, 4, 4))
    assert target_box(apart, grown=1.0) == (20, 20, 26, 26)
    touching = mask_of((0, 0, 5, 5), (5, 5, 5, 5), (20, 20, 6, 6))
    assert target_box(touching, grown=1.0) == (0, 0, 10, 10)


def test_target_box_stays_in_the_image_and_moves_with_the_mask() -> None:
    assert target_box(np.ones((60, 80), bool)) == (0, 0, 80, 60)
    mask = mask_of((20, 30, 13, 7))
    x0, y0, x1, y1 = target_box(mask)  # type: ignore[misc]
    assert target_box(np.roll(mask, (5, -8), (0, 1))) == (x0 - 8, y0 + 5, x1 - 8, y1 + 5)


def test_no_mask_no_box() -> None:
    assert target_box(np.zeros((6, 8), bool)) is None
    with pytest.raises(ShapeError):
        target_box(np.zeros((6, 8), np.uint8))  # type: ignore[arg-type]
    with pytest.raises(ShapeError):
        mask_box(np.zeros((2, 6, 8), bool), (0, 1))
