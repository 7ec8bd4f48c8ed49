import math

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.perception.instances import CATEGORIES, Instances, instances_from_labels
from worldgauge.suites.loopnav.metrics.scene_variants import (
    match_by_look,
    match_by_place,
    mean_colours,
    relation_score,
    shape_iou,
    shape_score,
)
from worldgauge.suites.loopnav.metrics.sgcs import frame_sgcs

SIZE = {"height": 100, "width": 160}


def scene(**categories):
    return {name: Instances.of(rows) for name, rows in categories.items()}


def street(colours):
    """Three houses in a row, painted; as image and label images."""
    rgb = np.zeros((100, 160, 3), np.uint8)
    category, instance = np.zeros((2, 100, 160), np.uint16)
    for number, colour in enumerate(colours, start=1):
        box = np.s_[40:70, 50 * number - 40 : 50 * number - 15]
        rgb[box], category[box], instance[box] = colour, 1, number
    return rgb, category, instance


def test_a_swap_of_two_houses_shows_only_when_matched_by_look():
    red, blue, white = (200, 20, 20), (20, 20, 200), (240, 240, 240)
    before, after = street([red, blue, white]), street([white, blue, red])
    a, b = (instances_from_labels(*labels) for _, *labels in (before, after))
    assert frame_sgcs(a, b, **SIZE).value == 1.0
    assert relation_score(a, b, match_by_place(a, b, **SIZE), **SIZE) == 1.0
    looks = [mean_colours(*view, CATEGORIES) for view in (before, after)]
    pairs = match_by_look(*looks)
    assert pairs["building"].tolist() == [2, 1, 0]
    # All three left-of relations turn round; above and near hold (red and white are far apart both times).
    assert relation_score(a, b, pairs, **SIZE) == pytest.approx(2 / 3)
    assert relation_score(a, a, match_by_look(looks[0], looks[0]), **SIZE) == 1.0


def test_relation_score_by_hand():
    a = scene(tree=[(20, 50, 9), (140, 50, 9)], building=[(80, 20, 9)], sky=[(80, 5, 999)])
    b = scene(tree=[(20, 50, 9)], building=[(80, 20, 9)], sky=[(80, 5, 999)])
    # One of three edges of A is the one edge of B: 2 * 1 / (3 + 1).
    pairs = match_by_place(a, b, **SIZE)
    assert relation_score(a, b, pairs, **SIZE) == pytest.approx(0.5)
    assert relation_score(b, a, match_by_place(b, a, **SIZE), **SIZE) == pytest.approx(0.5)
    # A tree that slides from left to level: half of one relation of three is gone, and near begins to hold.
    moved = scene(tree=[(79, 50, 9)], building=[(80, 20, 9)])
    pairs = {"tree": np.array([0]), "building": np.array([0])}
    assert relation_score(moved, b, pairs, **SIZE) == pytest.approx((0.5 + 1 + 0) / 3)


def test_relation_score_without_objects_or_edges():
    meadow, lone = scene(sky=[(80, 5, 999)], grass=[(80, 90, 999)]), scene(tree=[(20, 50, 9)])
    assert relation_score(meadow, meadow, match_by_place(meadow, meadow, **SIZE), **SIZE) is None
    assert relation_score(lone, lone, match_by_place(lone, lone, **SIZE), **SIZE) is None
    pair = scene(tree=[(20, 50, 9), (120, 50, 9)])
    assert relation_score(meadow, pair, {}, **SIZE) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_relation_score_is_bounded_and_order_free(seed):
    rng = np.random.default_rng(seed)
    a, b = (
        scene(**{name: rng.uniform((0, 0, 1), (160, 100, 50), (4, 3)) for name in ("tree", "building")}) for _ in "ab"
    )
    value = relation_score(a, b, match_by_place(a, b, **SIZE), **SIZE)
    flipped = {name: Instances.of(group.rows()[::-1]) for name, group in a.items()}
    assert 0 <= value <= 1
    assert relation_score(flipped, b, match_by_place(flipped, b, **SIZE), **SIZE) == pytest.approx(value)


def test_mean_colours_follow_the_scene():
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
    category = rng.integers(0, 3, (30, 40)).astype(np.uint16)
    instance = rng.integers(0, 4, (30, 40)).astype(np.uint16)
    found = mean_colours(rgb, category, instance, ("tree", "path"), min_area=2)
    kept = instances_from_labels(category, instance, ("tree", "path"), min_area=2)
    for index, name in enumerate(("tree", "path"), start=1):
        expected = [rgb[(category == index) & (instance == k)].mean(0) for k in range(4)]
        assert found[name] == pytest.approx(np.array(expected))
        assert len(found[name]) == len(kept[name])


def disc(cx, cy, radius, shape=(60, 80)):
    y, x = np.mgrid[: shape[0], : shape[1]]
    return (x - cx) ** 2 + (y - cy) ** 2 <= radius**2


def test_shape_iou_ignores_the_offset_and_sees_the_shape():
    assert shape_iou(disc(20, 20, 9), disc(55, 40, 9)) == 1.0
    square = np.zeros((60, 80), bool)
    square[10:28, 10:28] = True
    expected = shape_iou(square, disc(50, 30, 9))
    assert 0.6 < expected < 0.85
    # Nested concentric discs: the ratio of areas.
    assert shape_iou(disc(20, 20, 5), disc(55, 40, 10)) == pytest.approx(disc(20, 20, 5).sum() / disc(55, 40, 10).sum())
    # Cut off by the border after the shift.
    assert shape_iou(disc(40, 30, 9), disc(0, 30, 9)) < 0.7
    with pytest.raises(ShapeError, match="not empty"):
        shape_iou(square, np.zeros((60, 80), bool))


def test_shape_score_weighs_by_area():
    big, small, other = disc(20, 20, 12), disc(60, 40, 4), disc(61, 40, 8)
    masks_a, masks_b = {"tree": [big, small]}, {"tree": [big, other]}
    pairs = {"tree": np.array([0, 1])}
    areas = [big.sum(), (small.sum() + other.sum()) / 2]
    expected = (areas[0] + areas[1] * small.sum() / other.sum()) / sum(areas)
    assert shape_score(masks_a, masks_b, pairs) == pytest.approx(expected)
    assert shape_score(masks_a, masks_b, {"tree": np.array([-1, -1])}) is None
    assert math.isclose(shape_score(masks_a, masks_a, pairs), 1.0)
