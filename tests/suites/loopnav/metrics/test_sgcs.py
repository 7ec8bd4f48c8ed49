"""SGCS: matchings, frames and videos worked by hand, properties, and how accurate a segmenter is."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.core.intervals import mean_std
from worldgauge.metrics import metrics
from worldgauge.perception.instances import CATEGORIES, Instances, instances_from_labels, instances_from_masks
from worldgauge.suites.loopnav.metrics.sgcs import (
    assignment,
    category_iou,
    closest_maximum_matching,
    confusion,
    frame_sgcs,
    maximum_matching,
    padded_cost_matches,
    pixel_accuracy,
    sample_pairs,
    sgcs,
    video_score,
)

SIZE = {"height": 360, "width": 640}

instance = st.tuples(st.floats(0, 639), st.floats(0, 359), st.integers(1, 20_000))
scenes = st.dictionaries(st.sampled_from(CATEGORIES[:4]), st.lists(instance, max_size=5).map(Instances.of), max_size=4)


def scene_of(categories, side):
    return {
        name: Instances.of((i["cx"], i["cy"], i["area"]) for i in sides[side]) for name, sides in categories.items()
    }


def brute_force_score(a, b, tau=0.1):
    """SGCS by the text of the paper: enumerate all matchings."""
    total = weights = 0.0
    for name in {*a, *b}:
        one, other = (scene.get(name, Instances.of([])).rows() for scene in (a, b))
        few, many = sorted((one, other), key=len)
        p = max(
            sum(math.dist(f[:2], g[:2]) < tau * math.hypot(360, 640) for f, g in zip(few, choice, strict=True))
            for choice in itertools.permutations(many, len(few))
        )
        weight = (sum(i[2] for i in one) + sum(i[2] for i in other)) / 2
        if weight:
            total += weight * 2 * p / (len(one) + len(other))
            weights += weight
    return total / weights if weights else None


@pytest.mark.parametrize("case", cases("loopnav_", "frame_cases"))
def test_vector_loopnav_frame(case):
    size = {"height": case["height"], "width": case["width"], "tau": case["tau"]}
    a, b = scene_of(case["categories"], "a"), scene_of(case["categories"], "b")
    expected = case["expected"]
    frame = frame_sgcs(a, b, **size)
    assert {name: c._asdict() for name, c in frame.categories.items()} == {
        name: pytest.approx(values, abs=1e-9) for name, values in expected["per_category"].items()
    }
    assert sum(c.weight for c in frame.categories.values()) == pytest.approx(expected["total_weight"], abs=1e-9)
    assert frame.value == (
        None if expected["frame_score"] is None else pytest.approx(expected["frame_score"], abs=1e-9)
    )
    released = frame_sgcs(a, b, empty="zero", **size)
    assert released.value == pytest.approx(expected["frame_score_release"], abs=1e-9)
    for name, p in case.get("matches_by_padded_cost_release_code", {}).items():
        assert frame_sgcs(a, b, matching="padded_cost", **size).categories[name].p == p


@pytest.mark.parametrize("case", cases("loopnav_", "mask_cases"))
def test_vector_loopnav_mask(case):
    mask = np.array([[c == "#" for c in row] for row in case["rows"]])
    expected = case["expected"]
    from_mask = instances_from_masks({"tree": [mask]})
    from_labels = instances_from_labels(mask.astype(np.uint16), np.zeros(mask.shape, np.uint16), ("tree",))
    for scene in (from_mask, from_labels):
        if expected["area"] == 0:
            assert scene == {}
        else:
            assert scene["tree"].rows() == [pytest.approx([*expected["centroid"], expected["area"]], abs=1e-9)]


@pytest.mark.parametrize("case", cases("loopnav_", "sampling_cases"))
def test_vector_loopnav_sampling(case):
    got = sample_pairs(case["count_a"], case["count_b"], case["stride"])
    assert got._asdict() == case["expected"]


@pytest.mark.parametrize("case", cases("loopnav_", "aggregate_cases"))
def test_vector_loopnav_aggregate(case):
    expected = case["expected"]
    right = [video_score(frames) for frames in case["frame_scores"]]
    released = [video_score(frames, empty="zero") for frames in case["frame_scores"]]
    assert [v.value for v in right] == [
        None if value is None else pytest.approx(value, abs=1e-9) for value in expected["trajectory_scores"]
    ]
    assert [v.undefined for v in right] == expected["undefined_frames"]
    assert [v.value for v in released] == pytest.approx(expected["trajectory_scores_release"], abs=1e-9)
    mean, std, n = mean_std(v.value for v in right)
    assert mean == pytest.approx(expected["dataset_mean"], abs=1e-9)
    # The file says that one value has a spread of 0; it has none.
    assert std == (pytest.approx(expected["dataset_std_population"], abs=1e-9) if n > 1 else None)
    assert n == sum(value is not None for value in expected["trajectory_scores"])
    assert mean_std(v.value for v in released).mean == pytest.approx(expected["dataset_mean_release"], abs=1e-9)


@settings(deadline=None)
@given(scenes, scenes)
def test_equals_enumeration(a, b):
    expected = brute_force_score(a, b)
    assert frame_sgcs(a, b, **SIZE).value == (None if expected is None else pytest.approx(expected, abs=1e-9))


@settings(deadline=None)
@given(scenes, scenes)
def test_bounds_identity_symmetry(a, b):
    score = frame_sgcs(a, b, **SIZE).value
    assert score is None or 0 <= score <= 1
    assert frame_sgcs(b, a, **SIZE).value == pytest.approx(score)
    assert frame_sgcs(a, a, **SIZE).value in (None, 1.0)


@settings(deadline=None)
@given(scenes, scenes, st.randoms(use_true_random=False))
def test_order_of_instances_and_categories_does_not_matter(a, b, random):
    def shuffled(scene):
        names = random.sample(sorted(scene), len(scene))
        return {name: Instances.of(random.sample(scene[name].rows(), len(scene[name]))) for name in names}

    assert frame_sgcs(shuffled(a), shuffled(b), **SIZE).value == pytest.approx(frame_sgcs(a, b, **SIZE).value)


@settings(deadline=None)
@given(scenes, scenes, st.sampled_from([0.25, 0.5, 2.0, 4.0]))
def test_common_scaling_does_not_matter(a, b, factor):
    def scaled(scene):
        return {k: Instances(i.cx * factor, i.cy * factor, i.area * factor**2) for k, i in scene.items()}

    big = frame_sgcs(scaled(a), scaled(b), height=360 * factor, width=640 * factor)
    assert big.value == pytest.approx(frame_sgcs(a, b, **SIZE).value)


@settings(deadline=None)
@given(scenes, scenes, instance, st.sampled_from(CATEGORIES[:4]))
def test_an_unmatched_instance_never_raises_its_category(a, b, extra, name):
    before = frame_sgcs(a, b, **SIZE).categories.get(name)
    far = Instances.of([*a.get(name, Instances.of([])).rows(), (extra[0] + 5000, extra[1], extra[2])])
    after = frame_sgcs({**a, name: far}, b, **SIZE).categories[name]
    assert after.score <= (before.score if before else 1.0)


@settings(deadline=None)
@given(scenes, scenes)
def test_padded_cost_never_finds_more(a, b):
    right, released = (frame_sgcs(a, b, matching=m, **SIZE) for m in ("maximum", "padded_cost"))
    assert all(released.categories[name].p <= c.p for name, c in right.categories.items())


def test_degenerate_inputs():
    assert (frame_sgcs({}, {}, **SIZE).value, frame_sgcs({}, {}, empty="zero", **SIZE).value) == (None, 0.0)
    assert instances_from_labels(np.zeros((0, 0), np.uint16), np.zeros((0, 0), np.uint16)) == {}
    assert Instances.of([(1, 1, 0)]).rows() == []
    with pytest.raises(ShapeError, match="finite"):
        Instances.of([(float("nan"), 1, 5)])
    with pytest.raises(ShapeError, match="equal"):
        instances_from_labels(np.zeros((2, 3), np.uint16), np.zeros((3, 2), np.uint16))
    with pytest.raises(ShapeError, match="index 7"):
        instances_from_labels(np.full((2, 3), 7, np.uint16), np.zeros((2, 3), np.uint16), ("tree",))
    with pytest.raises(ShapeError, match="no score"):
        video_score([])
    with pytest.raises(ShapeError, match="sample_pairs"):
        sgcs([{}], [], **SIZE)


def test_sampling_from_the_start_strict_and_empty():
    assert sample_pairs(12, 7, 5, alignment="start") == (7, 0, 0, [0, 5], [0, 5])
    with pytest.raises(ShapeError, match="12 and 7"):
        sample_pairs(12, 7, strict=True)
    with pytest.raises(ShapeError, match="0 and 7"):
        sample_pairs(0, 7)


def test_registered_metric_scores_a_video():
    tree, moved = ({"tree": Instances.of([(x, 50, 100)])} for x in (100, 500))
    video, frames = metrics.get("sgcs")([tree, tree, {}], [tree, moved, {}], **SIZE)
    assert [f.value for f in frames] == [1.0, 0.0, None]
    assert video == (0.5, 2, 1)
    assert metrics.get("sgcs")([tree, tree, {}], [tree, moved, {}], empty="zero", **SIZE)[0].value == pytest.approx(
        1 / 3
    )
    facts = metrics.entry("sgcs").facts
    assert (facts["bounds"], facts["better"]) == ((0.0, 1.0), "higher")


valid_matrices = st.tuples(st.integers(0, 5), st.integers(0, 5)).flatmap(lambda shape: arrays(np.bool_, shape))
cost_matrices = st.tuples(st.integers(0, 6), st.integers(0, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(0, 100, allow_nan=False, width=32))
)


def brute_force(valid):
    m, n = valid.shape
    if m > n:
        return brute_force(valid.T)
    return max(sum(valid[i, j] for i, j in enumerate(choice)) for choice in itertools.permutations(range(n), m))


def test_matchings_by_hand():
    # Row 0 must give up column 0, or row 1 stays alone.
    assert maximum_matching([[True, True], [True, False]]) == 2
    assert maximum_matching([[True, False], [True, False]]) == 1
    # A chain: the third row only fits after two re-seatings.
    assert maximum_matching([[1, 1, 0], [0, 1, 1], [1, 0, 0]]) == 3


@settings(deadline=None)
@given(valid_matrices)
def test_equals_brute_force(valid):
    assert maximum_matching(valid) == brute_force(valid)


def test_equals_independent_library_on_large_matrices():
    rng = np.random.default_rng(3)
    for _ in range(200):
        valid = rng.random(rng.integers(1, 40, 2)) < rng.random() * 0.3
        assert maximum_matching(valid) == (maximum_bipartite_matching(csr_matrix(valid)) >= 0).sum()


@settings(deadline=None)
@given(valid_matrices, st.randoms(use_true_random=False))
def test_order_does_not_matter(valid, random):
    rows, columns = list(range(valid.shape[0])), list(range(valid.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    assert maximum_matching(valid[rows][:, columns]) == maximum_matching(valid) == maximum_matching(valid.T)


@settings(deadline=None)
@given(cost_matrices)
def test_assignment_costs_what_the_independent_solver_costs(cost):
    columns = assignment(cost)
    rows = np.flatnonzero(columns >= 0)
    assert len(rows) == min(cost.shape) == len(set(columns[rows]))
    ours, theirs = cost[rows, columns[rows]].sum(), cost[linear_sum_assignment(cost)].sum()
    assert ours == pytest.approx(theirs, abs=1e-6)


@settings(deadline=None)
@given(cost_matrices, st.floats(0.1, 100))
def test_closest_maximum_matching_is_maximum_and_valid(distance, limit):
    columns = closest_maximum_matching(distance, limit)
    rows = np.flatnonzero(columns >= 0)
    assert (distance[rows, columns[rows]] < limit).all()
    assert len(rows) == len(set(columns[rows])) == maximum_matching(distance < limit)


def test_closest_maximum_matching_takes_the_near_pair_among_equals():
    assert closest_maximum_matching([[3.0, 1.0], [2.0, 3.0]], 10).tolist() == [1, 0]
    # Three rows for two columns: the far row stays alone.
    assert closest_maximum_matching([[9.0, 9.0], [1.0, 5.0], [5.0, 1.0]], 10).tolist() == [-1, 0, 1]


def test_padded_cost_equals_the_independent_solver():
    rng = np.random.default_rng(5)
    for _ in range(200):
        m, n = rng.integers(1, 8, 2)
        a, b = rng.random((m, 2)), rng.random((n, 2))
        distance = np.linalg.norm(a[:, None] - b, axis=-1)
        cost = np.where(distance < 0.3, distance, 0.3 + distance.max() + 1)
        expected = (distance[linear_sum_assignment(cost)] < 0.3).sum()
        assert padded_cost_matches(distance, 0.3) == expected <= maximum_matching(distance < 0.3)


def test_degenerate_matchings():
    assert (maximum_matching(np.zeros((0, 4), bool)), maximum_matching(np.zeros((4, 0), bool))) == (0, 0)
    assert padded_cost_matches(np.zeros((0, 4)), 1.0) == 0
    assert assignment(np.zeros((3, 0))).tolist() == [-1, -1, -1]
    assert closest_maximum_matching(np.zeros((2, 0)), 1.0).tolist() == [-1, -1]
    with pytest.raises(ShapeError, match="shape"):
        maximum_matching([True, False])
    with pytest.raises(ShapeError, match="finite"):
        assignment([[np.nan]])


LABELS = arrays(np.uint16, (4, 5), elements=st.integers(0, 3))


def test_accuracy_by_hand():
    exact = np.array([[1, 1, 1, 2], [2, 0, 0, 3]], np.uint16)
    got = np.array([[1, 1, 2, 2], [0, 0, 1, 3]], np.uint16)
    counts = confusion(got, exact, 3)
    assert counts.tolist() == [[1, 1, 0, 0], [0, 2, 1, 0], [1, 0, 1, 0], [0, 0, 0, 1]]
    assert pixel_accuracy(counts) == pytest.approx(4 / 6)
    assert category_iou(counts) == [pytest.approx(2 / 4), pytest.approx(1 / 3), pytest.approx(1.0)]


@given(LABELS, LABELS)
def test_as_masks_say(got, exact):
    counts = confusion(got, exact, 3)
    labelled = exact > 0
    expected = (got[labelled] == exact[labelled]).mean() if labelled.any() else None
    assert pixel_accuracy(counts) == (None if expected is None else pytest.approx(expected))
    for i, value in enumerate(category_iou(counts), start=1):
        union = ((got == i) | (exact == i)).sum()
        assert value == (pytest.approx(((got == i) & (exact == i)).sum() / union) if union else None)


@given(LABELS, LABELS)
def test_frames_add_up_and_order_does_not_matter(one, other):
    both = confusion(np.vstack([one, other]), np.vstack([other, one]), 3)
    assert np.array_equal(both, confusion(one, other, 3) + confusion(other, one, 3))
    assert np.array_equal(confusion(one[::-1], other[::-1], 3), confusion(one, other, 3))


def test_degenerate():
    none = np.zeros((2, 2), np.uint16)
    assert pixel_accuracy(confusion(none, none, 3)) is None
    assert category_iou(confusion(none, none, 3)) == [None, None, None]
    with pytest.raises(ShapeError, match="equal"):
        confusion(none, none[:1], 3)
    with pytest.raises(ShapeError, match="above 3"):
        confusion(none + 4, none, 3)
