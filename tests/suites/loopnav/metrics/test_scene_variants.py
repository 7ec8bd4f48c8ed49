"""Variants of SGCS: by category, above chance, against drift, by coverage; relations and shapes of objects."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.metrics import metrics
from worldgauge.perception.instances import CATEGORIES, Instances, instances_from_labels
from worldgauge.suites.loopnav.metrics.scene_variants import (
    chance_corrected,
    chance_level,
    drift_tolerant_sgcs,
    information,
    informative_sgcs,
    loop_closure,
    macro_sgcs,
    match_by_look,
    match_by_place,
    mean_colours,
    object_sgcs,
    relation_score,
    seen_sgcs,
    sgcs_by_coverage,
    shape_iou,
    shape_score,
    unseen_sgcs,
)
from worldgauge.suites.loopnav.metrics.sgcs import frame_sgcs, sgcs

SIZE = {"height": 360, "width": 640}


def scene(**categories):
    return {name: Instances.of(rows) for name, rows in categories.items()}


def walk(count, step=40, start=20):
    """A tree that moves `step` columns a frame, under a sky that stays."""
    return [scene(tree=[(start + step * t, 200, 1000)], sky=[(320, 60, 9000)]) for t in range(count)]


MEADOW = scene(sky=[(320, 60, 60_000)], grass=[(320, 260, 60_000)])
VILLAGE = scene(sky=[(320, 60, 20_000)], building=[(100, 150, 30_000), (400, 150, 20_000)], flower=[(50, 300, 50)])
RUIN = scene(sky=[(320, 60, 20_000)], building=[(100, 150, 30_000)])

tiny = st.lists(st.tuples(st.floats(0, 639), st.floats(0, 359), st.integers(1, 9999)), max_size=3).map(Instances.of)
scenes = st.dictionaries(st.sampled_from(("sky", "tree", "path", "building")), tiny, max_size=4)


@pytest.mark.parametrize("case", cases("loopnav_", "frame_cases"))
def test_vector_loopnav_unweighted_frame_score(case):
    rows = {
        side: {name: [(i["cx"], i["cy"], i["area"]) for i in both[side]] for name, both in case["categories"].items()}
        for side in "ab"
    }
    sides = (scene(**rows[side]) for side in "ab")
    frame = frame_sgcs(*sides, height=case["height"], width=case["width"], tau=case["tau"])
    expected = case["expected"]["frame_score_unweighted"]
    assert macro_sgcs(frame) == (None if expected is None else pytest.approx(expected, abs=1e-9))


def test_macro_and_object_scores_by_hand():
    frame = frame_sgcs(RUIN, VILLAGE, **SIZE)
    assert macro_sgcs(frame) == pytest.approx((1 + 2 / 3 + 0) / 3)
    # building: S = 2/3, w = 40,000; flower: S = 0, w = 25.
    assert object_sgcs(frame) == pytest.approx(40_000 * (2 / 3) / 40_025)
    assert object_sgcs(frame) < frame.value
    assert object_sgcs(frame_sgcs(MEADOW, MEADOW, **SIZE)) is None
    assert macro_sgcs(frame_sgcs({}, {}, **SIZE)) is None


@settings(deadline=None)
@given(scenes, scenes)
def test_variants_stay_in_bounds_and_are_one_for_the_truth(a, b):
    for one, other in ((a, b), (a, a)):
        frame = frame_sgcs(one, other, **SIZE)
        for value in (macro_sgcs(frame), object_sgcs(frame), informative_sgcs([frame])):
            assert value is None or 0 <= value <= 1
            assert one is not other or value in (None, 1.0)
        assert 0 <= information(frame) <= 1


def test_information_is_read_from_the_truth():
    assert information(frame_sgcs(VILLAGE, MEADOW, **SIZE)) == 0
    assert information(frame_sgcs(MEADOW, VILLAGE, **SIZE)) == pytest.approx(50_050 / 70_050)
    assert information(frame_sgcs(VILLAGE, {}, **SIZE)) == 0


def test_informative_mean_leaves_out_empty_meadows():
    meadow, village = frame_sgcs(MEADOW, MEADOW, **SIZE), frame_sgcs(RUIN, VILLAGE, **SIZE)
    assert informative_sgcs([meadow, village, meadow]) == pytest.approx(village.value)
    assert (informative_sgcs([meadow]), informative_sgcs([])) == (None, None)


def test_freeze_scores_chance_and_truth_scores_one():
    truth = walk(12)
    frozen = [truth[0]] * 12
    chance = chance_level(frozen, truth, shifts=11, **SIZE)
    value = sgcs(frozen, truth, **SIZE)[0].value
    # Every frame of a frozen video meets every frame of the truth but its own once.
    assert chance == pytest.approx(value, abs=1e-12)
    assert chance_corrected(value, chance) == pytest.approx(0, abs=1e-12)
    assert chance_corrected(1.0, chance_level(truth, truth, **SIZE)) == 1.0


def test_chance_level_by_hand_and_undefined():
    there, away = scene(tree=[(100, 100, 10)]), scene(tree=[(500, 100, 10)])
    assert chance_level([there, there, there], [there, away, there], **SIZE) == pytest.approx(4 / 6)
    assert (chance_level([there], [there], **SIZE), chance_level([{}, {}], [{}, {}], **SIZE)) == (None, None)
    assert (chance_corrected(0.5, 1.0), chance_corrected(None, 0.2)) == (None, None)
    assert chance_corrected(0.2, 0.6) == pytest.approx(-1.0)
    with pytest.raises(ShapeError):
        chance_level([there], [], **SIZE)


def test_drift_tolerance_finds_the_shift():
    truth = walk(10, step=100)
    late = [truth[0], truth[0], *truth[1:9]]
    plain, shifts = drift_tolerant_sgcs(late, truth, window=0, **SIZE)
    assert plain == sgcs(late, truth, **SIZE)[0]
    tolerant, shifts = drift_tolerant_sgcs(late, truth, window=1, **SIZE)
    assert tolerant.value == 1.0 > plain.value
    assert shifts == [0] + [-1] * 9
    assert drift_tolerant_sgcs([{}], [{}], window=2, **SIZE) == ((None, 0, 1), [None])


@settings(deadline=None)
@given(st.lists(st.tuples(scenes, scenes), min_size=1, max_size=4))
def test_drift_tolerance_never_lowers_a_defined_score(pairs):
    a, b = zip(*pairs, strict=True)
    plain = [frame.value for frame in sgcs(a, b, **SIZE)[1]]
    for t, value in enumerate(plain):
        best, _ = drift_tolerant_sgcs(a, b, window=2, **SIZE)
        assert value is None or drift_tolerant_sgcs([a[t]], [b[t]], window=2, **SIZE)[0].value >= value
        assert best.n >= sum(v is not None for v in plain)


def test_coverage_bins():
    bins = sgcs_by_coverage([1.0, 0.5, None, 0.25, 0.75], [1.0, 0.95, 0.5, None, 0.1])
    assert [(b.n, b.mean) for b in bins] == [(1, 0.75), (0, None), (0, None), (0, None), (2, 0.75)]
    with pytest.raises(ShapeError, match="coverage"):
        sgcs_by_coverage([1.0], [1.2])


def test_loop_closure_meets_the_nearest_heading():
    around = [scene(tree=[(50 + 100 * i, 200, 500)]) for i in range(4)]
    yaw = np.arange(4) * math.pi / 2
    assert loop_closure([around[3]], [-math.pi / 2 + 0.01], around, yaw, **SIZE) == (1.0, 1, 0)
    assert loop_closure([around[3]], [0.0], around, yaw, **SIZE).value == 0.0
    assert loop_closure([around[0]], [math.pi / 4], around, yaw, **SIZE) == (None, 0, 1)
    with pytest.raises(ShapeError, match="headings"):
        loop_closure([], [], around, yaw, **SIZE)


def test_variants_are_listed_with_their_bounds():
    for name in ("sgcs", "sgcs_macro", "sgcs_objects", "sgcs_chance_corrected", "sgcs_relations", "sgcs_shape"):
        facts = metrics.entry(name).facts
        assert {"unit", "better", "bounds", "version", "source"} <= set(facts)


def test_seen_and_unseen_frames_apart():
    values, coverage = [1.0, 0.5, None, 0.25, 0.75], [1.0, 0.5, 0.9, None, 0.1]
    assert (seen_sgcs(values, coverage), unseen_sgcs(values, coverage)) == ((0.75, 2, 1), (0.75, 1, 0))
    assert unseen_sgcs([1.0], [0.9]) == (None, 0, 0)


SMALL = {"height": 100, "width": 160}


def relation_by_place(a, b):
    return relation_score(a, b, match_by_place(a, b, **SMALL), **SMALL)


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
    assert frame_sgcs(a, b, **SMALL).value == 1.0
    assert relation_by_place(a, b) == 1.0
    looks = [mean_colours(*view, CATEGORIES) for view in (before, after)]
    pairs = match_by_look(*looks)
    assert pairs["building"].tolist() == [2, 1, 0]
    # All three left-of relations turn round; above and near hold (red and white are far apart both times).
    assert relation_score(a, b, pairs, **SMALL) == pytest.approx(2 / 3)
    assert relation_score(a, a, match_by_look(looks[0], looks[0]), **SMALL) == 1.0


def test_relation_score_by_hand():
    a = scene(tree=[(20, 50, 9), (140, 50, 9)], building=[(80, 20, 9)], sky=[(80, 5, 999)])
    b = scene(tree=[(20, 50, 9)], building=[(80, 20, 9)], sky=[(80, 5, 999)])
    # One of three edges of A is the one edge of B: 2 * 1 / (3 + 1).
    for one, other in ((a, b), (b, a)):
        assert relation_by_place(one, other) == pytest.approx(0.5)
    # A tree that slides from left to level: half of one relation of three is gone, and near begins to hold.
    moved = scene(tree=[(79, 50, 9)], building=[(80, 20, 9)])
    pairs = {"tree": np.array([0]), "building": np.array([0])}
    assert relation_score(moved, b, pairs, **SMALL) == pytest.approx((0.5 + 1 + 0) / 3)


def test_relation_score_without_objects_or_edges():
    meadow, lone = scene(sky=[(80, 5, 999)], grass=[(80, 90, 999)]), scene(tree=[(20, 50, 9)])
    assert relation_by_place(meadow, meadow) is None
    assert relation_by_place(lone, lone) is None
    pair = scene(tree=[(20, 50, 9), (120, 50, 9)])
    assert relation_score(meadow, pair, {}, **SMALL) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_relation_score_is_bounded_and_order_free(seed):
    rng = np.random.default_rng(seed)
    a, b = (
        scene(**{name: rng.uniform((0, 0, 1), (160, 100, 50), (4, 3)) for name in ("tree", "building")}) for _ in "ab"
    )
    value = relation_by_place(a, b)
    flipped = {name: Instances.of(group.rows()[::-1]) for name, group in a.items()}
    assert 0 <= value <= 1
    assert relation_by_place(flipped, b) == pytest.approx(value)


def test_mean_colours_follow_the_scene():
    rng = np.random.default_rng(0)
    rgb = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
    category = rng.integers(0, 3, (30, 40)).astype(np.uint16)
    instance = rng.integers(0, 4, (30, 40)).astype(np.uint16)
    found = mean_colours(rgb, category, instance, ("tree", "path"), min_area=2)
    kept = instances_from_labels(category, instance, ("tree", "path"), min_area=2)
    for index, name in enumerate(("tree", "path"), start=1):
        expected = [rgb[(category == index) & (instance == k)].mean(0) for k in range(4)]
        assert (found[name], len(found[name])) == (pytest.approx(np.array(expected)), len(kept[name]))


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
