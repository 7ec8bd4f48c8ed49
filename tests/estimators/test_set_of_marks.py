"""Which detections are worth a mark: values by hand, orders and sizes that do not matter, degenerate views."""

from typing import Any

import numpy as np
import pytest

from worldgauge.errors import ShapeError
from worldgauge.estimators.landmarks import Detection, Landmark, landmarks

HEIGHT, WIDTH = 100, 200


def thing(name: str, score: float, x0: int, y0: int, x1: int, y1: int) -> tuple[Detection, Any]:
    """A rectangle: its detection and its mask."""
    mask = np.zeros((HEIGHT, WIDTH), bool)
    mask[y0:y1, x0:x1] = True
    return Detection(name, score, (x0, y0, x1, y1)), mask


def marked(things: list[tuple[Detection, Any]], **more: Any) -> list[Landmark]:
    return landmarks([each for each, _ in things], np.array([mask for _, mask in things]), **more)


def names(marks: list[Landmark]) -> list[str]:
    return [mark.detection.name for mark in marks]


def test_low_scores_are_left_out_and_the_limit_is_kept() -> None:
    assert names(marked([thing("a", 0.29, 0, 0, 40, 40), thing("b", 0.3, 100, 0, 140, 40)])) == ["b"]


def test_masks_of_less_than_a_333rd_or_more_than_half_of_the_view_are_left_out() -> None:
    things = [
        thing("60 pixels: 0.3 %", 0.9, 0, 0, 10, 6),
        thing("56 pixels", 0.9, 60, 0, 68, 7),
        thing("half", 0.9, 100, 0, 200, 100),
        thing("more than half", 0.9, 0, 0, 101, 100),
    ]
    assert names(marked(things)) == ["60 pixels: 0.3 %", "half"]


def test_of_masks_that_show_the_same_the_surer_one_stays() -> None:
    """40 x 40 against 40 x 37 in it: IoU 0.925. By their centres alone, the larger one would stay."""
    large, small = thing("large", 0.5, 0, 0, 40, 40), thing("small", 0.8, 0, 0, 40, 37)
    assert names(marked([large, small, thing("b", 0.9, 90, 0, 130, 40)])) == ["small", "b"]


def test_of_centres_closer_than_20_pixels_the_largest_stays() -> None:
    """IoU 0.5 and less: only their centres, 19 and 20 pixels apart, are near."""
    first = thing("large", 0.4, 0, 0, 40, 60)
    assert names(marked([first, thing("near", 0.9, 19, 0, 59, 59)])) == ["large"]
    assert names(marked([first, thing("far", 0.9, 20, 0, 60, 60)])) == ["large", "far"]


def test_a_mask_loses_what_lies_inside_it() -> None:
    """The lamp's box is in the table's and a quarter of it."""
    table, lamp = thing("table", 0.9, 0, 0, 80, 80), thing("lamp", 0.5, 40, 40, 80, 80)
    marks = marked([table, lamp])
    assert names(marks) == ["table", "lamp"]
    assert marks[0].mask.sum() == 80 * 80 - 40 * 40
    assert not (marks[0].mask & marks[1].mask).any()
    assert marks[1].mask.sum() == 40 * 40


@pytest.mark.parametrize(("x1", "left"), [(69, 31), (70, 40)])
def test_what_fills_most_of_a_box_is_no_part_of_it(x1: int, left: int) -> None:
    """69 columns are less than 0.7 of a box of 100, and 70 are not. Of the large thing 40 columns are seen."""
    large, mask = thing("large", 0.9, 0, 0, 100, 100)
    mask[:, :60] = False
    marks = marked([(large, mask), thing("small", 0.9, 0, 0, x1, 100)], passages=["small"])
    assert marks[0].mask.sum() == 100 * left


def test_passages_are_kept_whatever_their_score_size_and_overlap() -> None:
    tiny = thing("doorway", 0.01, 150, 50, 153, 53)
    assert names(marked([tiny])) == ["doorway"]
    assert names(marked([tiny], passages=[])) == []
    whole, surer = thing("stairs", 0.1, 0, 0, 150, 100), thing("wall", 0.9, 0, 0, 145, 60)
    assert "stairs" in names(marked([whole, surer]))


def test_order_does_not_matter() -> None:
    random = np.random.default_rng(4)
    things = []
    for index in range(30):
        x, y = random.integers(0, 150), random.integers(0, 60)
        size = random.integers(8, 50, 2)
        things.append(thing(f"t{index}", float(random.random()), x, y, x + size[0], min(y + size[1], HEIGHT)))
    marks = {mark.detection.name: mark.mask for mark in marked(things)}
    assert 3 < len(marks) < 20
    for seed in range(5):
        again = marked([things[index] for index in np.random.default_rng(seed).permutation(len(things))])
        assert set(names(again)) == set(marks)
        assert all((mark.mask == marks[mark.detection.name]).all() for mark in again)


def test_marks_are_in_the_order_of_the_detections() -> None:
    things = [thing("a", 0.4, 0, 0, 30, 30), thing("b", 0.9, 60, 0, 120, 90), thing("c", 0.6, 150, 0, 190, 40)]
    assert names(marked(things)) == ["a", "b", "c"]


def test_of_equals_the_first_one_stays() -> None:
    assert names(marked([thing("a", 0.5, 0, 0, 30, 30), thing("b", 0.5, 0, 0, 30, 30)])) == ["a"]


def test_nothing_and_empty_masks_give_no_marks() -> None:
    assert landmarks([], np.zeros((0, 4, 6), bool)) == []
    assert landmarks([], np.zeros((0, 0, 0), bool)) == []
    assert marked([thing("doorway", 0.9, 5, 5, 5, 5), thing("a", 0.9, 5, 5, 5, 5)]) == []


def test_what_is_given_is_not_changed() -> None:
    things = [thing("table", 0.9, 0, 0, 80, 80), thing("lamp", 0.5, 40, 40, 80, 80)]
    masks = np.array([mask for _, mask in things])
    before = masks.copy()
    landmarks([each for each, _ in things], masks)
    assert (masks == before).all()


@pytest.mark.parametrize("masks", [np.zeros((1, 4, 6), bool), np.zeros((2, 4, 6)), np.zeros((2, 4), bool)])
def test_masks_that_do_not_go_with_the_detections_are_refused(masks: Any) -> None:
    with pytest.raises(ShapeError, match="2 detections go with as many masks"):
        landmarks([Detection("a", 0.5, (0, 0, 1, 1)), Detection("b", 0.5, (0, 0, 1, 1))], masks)
