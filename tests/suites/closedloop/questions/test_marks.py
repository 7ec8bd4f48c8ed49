"""Set-of-marks: what is drawn, where, and that nothing else changes."""

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.suites.closedloop.questions.chat import draw_marks

GREY = np.full((120, 160, 3), 128, np.uint8)


def block(x0, x1, y0=30, y1=90):
    mask = np.zeros((120, 160), bool)
    mask[y0:y1, x0:x1] = True
    return mask


def test_contour_and_number_are_drawn_and_the_rest_is_left_alone():
    image = GREY.copy()
    drawn = draw_marks(image, {1: block(40, 100)})
    changed = (drawn != GREY).any(-1)
    assert (image == GREY).all(), "the picture itself is not drawn on"
    assert changed[[30, 60], [70, 40]].all(), "contour"
    assert changed[55:65, 65:75].all(), "number in the middle"
    assert not changed[:27].any()
    assert not changed[:, 104:].any()


def test_numbers_of_one_mask_inside_another_do_not_hide_each_other():
    whole = draw_marks(GREY, {1: block(10, 150, 10, 110), 2: block(70, 90, 50, 70)})
    label = [np.argwhere((whole == colour).all(-1)) for colour in ((230, 60, 60), (40, 140, 240))]
    assert all(len(pixels) > 20 for pixels in label)


def test_a_landmark_keeps_its_colour_from_view_to_view():
    first, second = draw_marks(GREY, {3: block(10, 60)}), draw_marks(GREY, {3: block(90, 150), 1: block(10, 60)})
    assert (first[60, 10] == second[60, 90]).all()


def test_nothing_to_mark_and_masks_that_do_not_fit():
    assert (draw_marks(GREY, {}) == GREY).all()
    assert (draw_marks(GREY, {1: np.zeros((120, 160), bool)}) == GREY).all()
    with pytest.raises(ShapeError, match="120 x 160"):
        draw_marks(GREY, {1: np.zeros((2, 2), bool)})
