"""Pictures for language models: what is drawn is where it should be, and nothing else changes."""

import numpy as np
import pytest

from worldgauge.chat.prompts import RED, TITLE_PX, boxed, sheet, smaller, titled
from worldgauge.core.errors import ShapeError, UsageError

IMAGE = np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8)


def test_a_title_is_a_strip_above_the_picture() -> None:
    made = titled(IMAGE, "step 1")
    assert made.shape == (40 + TITLE_PX, 60, 3)
    assert np.array_equal(made[TITLE_PX:], IMAGE)
    assert (made[:TITLE_PX] < 100).any()
    assert not np.array_equal(titled(IMAGE, "step 2"), made)


@pytest.mark.parametrize("title", ["", "x" * 500, "Γ", "a\nb"])
def test_any_title_fits(title: str) -> None:
    made = titled(IMAGE, title)
    assert made.shape == (40 + TITLE_PX, 60, 3)
    assert (made[:TITLE_PX, -4:] == 255).all()


def test_boxes_are_outlines_within_their_edges() -> None:
    made = boxed(IMAGE, (10, 5, 30, 25))
    drawn = (made == RED).all(-1)
    expected = np.zeros((40, 60), bool)
    expected[5:25, 10:30] = True
    expected[7:23, 12:28] = False
    assert np.array_equal(drawn, expected)
    assert np.array_equal(made[~expected], IMAGE[~expected])
    assert ((boxed(IMAGE, (0, 0, 1, 1)) == RED).all(-1)).sum() == 1
    assert boxed(IMAGE, None) is IMAGE


@pytest.mark.parametrize("box", [(0, 0, 61, 5), (-1, 0, 3, 3), (5, 5, 5, 9), (0, 9, 4, 9)])
def test_a_box_outside_is_refused(box: tuple[int, int, int, int]) -> None:
    with pytest.raises(ShapeError, match="does not lie in an image of 60 x 40"):
        boxed(IMAGE, box)


def test_sheets_and_smaller_pictures() -> None:
    small = IMAGE[:20, :30]
    made = sheet([IMAGE, small, IMAGE, IMAGE], columns=3)
    assert made.shape == (40 * 2 + 6, 60 * 3 + 2 * 6, 3)
    for top, left, image in ((0, 0, IMAGE), (0, 66, small), (0, 132, IMAGE), (46, 0, IMAGE)):
        assert np.array_equal(made[top : top + image.shape[0], left : left + image.shape[1]], image)
    assert (made[20:40, 66:126] == 255).all()
    assert sheet([IMAGE]).shape == IMAGE.shape
    with pytest.raises(UsageError):
        sheet([])
    assert smaller(IMAGE, 1) is IMAGE
    assert smaller(IMAGE, 4).shape == (10, 15, 3)
    assert smaller(IMAGE[:2, :3], 4).shape == (1, 1, 3)
