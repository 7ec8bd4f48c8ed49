"""Path scores: the released functions' vectors, by hand, against plain loops, invariances, the degenerate."""

import builtins
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.vectors import cases
from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError
from worldgauge.metrics import metrics
from worldgauge.suites.targetbench.metrics import (
    ALIGNED,
    PROFILES,
    RELEASED,
    Profile,
    Weights,
    ade,
    approach_consistency,
    arc_aligned_ade,
    corridor,
    end_heading,
    evaluate,
    fde,
    length_ratio,
    miss_rate,
    overall,
    profile_of,
    reach_half_metre,
    reach_metre,
    resample,
    scale_free_ade,
    soft_endpoint,
    time_aligned_ade,
)

NAMES = {"released_yaml": "released", "paper_text": "paper_text", "vipe_yaml_unused": "vipe_config"}
KEYS = ("ade", "fde", "miss_rate", "se", "ac", "overall_score")
LINE = np.stack([np.zeros(9), np.linspace(0, 4, 9)], 1)
SEED = st.integers(0, 2**32 - 1)
MODES = ("gt", "pred", "max", "min")


def random_pair(seed, n=9, rows=250):
    rng = np.random.default_rng(seed)
    truth = np.cumsum(rng.normal((0, 0.02), 0.01, (rows, 2)), axis=0)
    return np.cumsum(rng.normal((0, 0.5), 0.2, (n, 2)), axis=0), truth


def numbers(rows):
    return np.array([[float(value) for value in row] for row in rows])


def profile_in(case):
    """A profile of the weights and taus of a case; only what `overall` reads."""
    w = case["weights"]
    weights = Weights(w["ade"], w["fde"], w["mr"], w["se"], w["ac"])
    return Profile("case", tau_ade_m=case["tau_ade"], tau_fde_m=case["tau_fde"], weights=weights)


@pytest.mark.parametrize("case", cases("target_metrics", "cases"))
def test_equals_the_released_functions(case):
    inputs = case["inputs"]
    if "recipe" in inputs:
        path, truth = path_of_recipe(inputs["recipe"])
        check = case.get("check", {})
        assert path.shape == tuple(check.get("pred_shape", path.shape))
        np.testing.assert_allclose(np.abs(truth).sum(), check.get("gt_abs_sum", np.abs(truth).sum()), rtol=1e-9)
    else:
        path, truth = numbers(inputs["pred"]), numbers(inputs["gt"])
    for mode, profiles in case["expect"].items():
        for name, expected in profiles.items():
            profile = PROFILES[NAMES[name]]
            if "raises" in expected:
                with pytest.raises(getattr(builtins, expected["raises"])):
                    evaluate(path, truth, profile, mode, parity="released")
                continue
            scores = evaluate(path, truth, profile, mode, parity="released")
            want = [float(expected[key]) for key in KEYS]
            np.testing.assert_allclose(scores[:6], want, rtol=1e-9, atol=1e-12)
            if is_path(truth) and len(truth) > 1 and (path.size == 0 or is_path(path)):
                np.testing.assert_allclose(evaluate(path, truth, profile, mode)[:6], want, rtol=1e-9, atol=1e-12)


def is_path(points):
    """Whether ours and the released functions must agree on it."""
    return points.ndim == 2 and points.shape[1] == 2 and bool(np.isfinite(points).all())


@pytest.mark.parametrize("case", cases("target_metrics", "overall_only"))
def test_overall_equals_the_released_formula(case):
    numbers = [float(case[key]) for key in KEYS[:5]]
    assert overall(*numbers, profile=profile_in(case)) == pytest.approx(
        float(case["expect"]), rel=1e-9, abs=1e-12, nan_ok=True
    )


def test_by_hand():
    aside = LINE + np.array([1.2, 0.0])
    aside[-1] = LINE[-1] + (0.3, 0.4)
    assert (ade(aside, LINE), fde(aside, LINE)) == (pytest.approx((8 * 1.2 + 0.5) / 9), pytest.approx(0.5))
    assert miss_rate(aside, LINE) == pytest.approx(100 * 8 / 9)
    assert miss_rate(LINE + np.array([1.0, 0.0]), LINE) == 0, "exactly the threshold is no miss"
    assert soft_endpoint(aside, LINE) == pytest.approx(math.exp(-0.5))
    # Nine rows, so nine discs; the first and last have radius 0.5 + exp(-2), the middle one 1.5.
    assert corridor(LINE)[[0, 4, 8], 2] == pytest.approx([0.5 + math.exp(-2), 1.5, 0.5 + math.exp(-2)])
    beyond = np.concatenate([LINE[:-1], [[0.0, 4 + 0.5 + math.exp(-2) + 1e-6]]])
    assert approach_consistency(beyond, LINE) == pytest.approx(math.exp(-5 / 9))
    assert evaluate(LINE, LINE).overall == pytest.approx(0.9)
    assert evaluate(LINE, LINE, ALIGNED).overall == pytest.approx(1.0)


def test_a_camera_that_stands_still_is_consistent():
    still = evaluate(np.zeros((9, 2)), LINE)
    assert (still.approach_consistency, still.fde, still.miss_rate) == (1.0, 4.0, pytest.approx(100 * 6 / 9))


def test_history_is_cut_where_the_profile_says_so():
    truth = np.stack([np.zeros(250), np.linspace(-1, 4, 250)], 1)
    path = truth[[50 + int(i) for i in np.linspace(0, 199, 9)]]
    assert evaluate(path, truth, ALIGNED, history_rows=50).ade < 0.01
    assert 0.4 < evaluate(path, truth, RELEASED, history_rows=50).ade < 0.6
    assert (
        evaluate(path, truth, ALIGNED, history_rows=50)[:6]
        == evaluate(path, truth[50:], replace(RELEASED, weights=ALIGNED.weights))[:6]
    )


@given(SEED, st.sampled_from(MODES), st.sampled_from(sorted(PROFILES)), st.integers(2, 40), st.integers(2, 60))
def test_agrees_with_plain_loops(seed, mode, name, n, rows):
    path, truth = random_pair(seed, n, rows)
    ours, theirs = evaluate(path, truth, PROFILES[name], mode), loop_scores(path, truth, PROFILES[name], mode)
    np.testing.assert_allclose(ours[:6], theirs, rtol=1e-9, atol=1e-12)


@given(SEED, st.floats(-3, 3), st.sampled_from(MODES))
def test_moving_and_turning_both_changes_nothing(seed, angle, mode):
    path, truth = random_pair(seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for move in (lambda p: p @ turn + (3, -7), lambda p: p * (-1, 1)):
        moved = evaluate(move(path), move(truth), RELEASED, mode)
        np.testing.assert_allclose(moved[:6], evaluate(path, truth, RELEASED, mode)[:6], rtol=1e-6, atol=1e-9)


@given(SEED)
def test_single_functions_are_the_parts_of_the_whole(seed):
    path, truth = random_pair(seed)
    for profile in PROFILES.values():
        scores = evaluate(path, truth, profile)
        assert (scores.ade, scores.fde) == (ade(path, truth), fde(path, truth))
        assert scores.miss_rate == miss_rate(path, truth, miss_m=profile.miss_m)
        assert scores.soft_endpoint == soft_endpoint(path, truth, sigma_m=profile.sigma_m)
        assert scores.approach_consistency == approach_consistency(path, truth, profile=profile)
        assert 0 <= scores.overall <= 1


@given(SEED, st.integers(2, 30), st.integers(2, 300))
def test_resampling_keeps_the_ends_and_what_is_straight(seed, n, rows):
    path, _ = random_pair(seed, n)
    there = resample(path, rows)
    np.testing.assert_allclose(there[[0, -1]], path[[0, -1]])
    straight = np.linspace((0, 1), (3, 5), n)
    np.testing.assert_allclose(resample(straight, rows), np.linspace((0, 1), (3, 5), rows), atol=1e-12)


def test_paths_that_cannot_be_scored_are_failures():
    for path in (np.zeros((0, 2)), [], LINE * np.nan, np.where(LINE == 4, np.inf, LINE)):
        scores = evaluate(path, LINE)
        assert not scores.valid
        assert scores.reason
        assert scores[:6] == (math.inf, math.inf, 100.0, 0.0, 0.0, 0.0)
    assert (ade([], LINE), fde([], LINE), miss_rate([], LINE)) == (math.inf, math.inf, 100.0)
    assert (soft_endpoint([], LINE), approach_consistency([], LINE)) == (0.0, 0.0)


def test_one_point_stands_still():
    assert evaluate(LINE[:1], LINE)[:6] == evaluate(np.repeat(LINE[:1], 9, 0), LINE)[:6]
    with pytest.raises(ValueError, match="released"):
        evaluate(LINE[:1], LINE, parity="released")
    with pytest.raises(ValueError, match="gt, pred, max, min"):
        evaluate(LINE, LINE, mode="both", parity="released")


def test_wrong_arguments_are_refused():
    threes = np.zeros((9, 3))
    for path, truth in ((threes, threes), (LINE, threes), (LINE[:, 0], LINE), (LINE, LINE[:1]), (LINE, LINE * np.nan)):
        with pytest.raises(ShapeError):
            evaluate(path, truth)
        for metric in (ade, fde, miss_rate, soft_endpoint, approach_consistency):
            with pytest.raises(ShapeError):
                metric(path, truth)
    for metric in (ade, fde, miss_rate, soft_endpoint, approach_consistency):
        with pytest.raises(ShapeError):
            metric(LINE * np.nan, LINE)
    with pytest.raises(UsageError, match="gt, pred, max, min"):
        evaluate(LINE, LINE, mode="both")
    with pytest.raises(ShapeError):
        evaluate(LINE, LINE, ALIGNED, history_rows=8)
    with pytest.raises(ShapeError):
        resample([], 3)


def test_profiles_have_names_and_their_constants():
    assert list(PROFILES) == ["released", "aligned", "paper_text", "vipe_config"]
    assert [round(sum(profile.weights), 12) for profile in PROFILES.values()] == [0.9, 1.0, 0.9, 1.0]
    assert np.array(ALIGNED.weights) == pytest.approx(np.array(RELEASED.weights) / 0.9)
    assert [profile.cut_history for profile in PROFILES.values()] == [False, True, False, False]
    assert profile_of("paper_text").miss_m == 2.0
    with pytest.raises(UnknownNameError, match="aligned"):
        profile_of("alined")
    assert metrics.entry("path/ade").facts["better"] == "lower"


FINE = np.stack([np.zeros(101), np.linspace(0, 4, 101)], 1)
"""Four metres ahead in 4 s at 25 rows a second and one more."""

TIMELESS = (arc_aligned_ade, scale_free_ade, end_heading, length_ratio, reach_half_metre, reach_metre)


def walk_of(seed, n=40):
    return np.cumsum(np.random.default_rng(seed).normal((0, 0.1), 0.05, (n, 2)), axis=0)


def test_time_alignment_by_hand():
    half = [(0, 0), (0, 1), (0, 2)]
    assert time_aligned_ade(half, [0, 1, 2], FINE, 0.04) == pytest.approx(0), "the second half is not in the video"
    slow = [(0, 0), (0, 2)]
    assert time_aligned_ade(slow, [0, 4], FINE, 0.04) == pytest.approx(1.0), "0 to 2 m behind"
    assert time_aligned_ade([(0.5, 0)], [0], FINE, 0.04) == pytest.approx(0.5)


def test_arc_alignment_by_hand():
    hasty = [(0, 0), (0, 3.9), (0, 4)]
    assert arc_aligned_ade(hasty, FINE) == pytest.approx(0, abs=1e-12)
    assert arc_aligned_ade([(0, 0), (0, 2)], FINE) == pytest.approx(1.0), "half as long: 0 to 2 m behind"
    assert arc_aligned_ade([(0, 0)], FINE) == pytest.approx(2.0)


def test_scale_free_by_hand():
    assert scale_free_ade([(0, 0), (0, 0.5)], FINE) == pytest.approx(0), "an eighth as long"
    assert scale_free_ade([(1, 2), (2, 2)], FINE) == pytest.approx(math.sqrt(2) / 2), "a right angle from the start"
    assert scale_free_ade(FINE[::-1], FINE) == pytest.approx(1.0)
    assert scale_free_ade([(0, 0), (0, 0)], FINE) == pytest.approx(0.5), "standing still"
    assert scale_free_ade(FINE, [(0, 0)]) is None


@given(SEED, SEED, st.floats(0.01, 100))
def test_scale_free_knows_no_speed_and_agrees_with_points_by_hand(one, other, factor):
    path, truth = walk_of(one, 30), walk_of(other, 30)
    assert scale_free_ade(factor * path, truth) == pytest.approx(scale_free_ade(path, truth))
    places = []
    for points in (path, truth):
        along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
        shares = np.linspace(0, 1, 30)
        places.append(np.stack([np.interp(shares, along / along[-1], c - c[0]) for c in points.T], 1) / along[-1])
    assert scale_free_ade(path, truth) == pytest.approx(np.hypot(*(places[0] - places[1]).T).mean())


def test_the_others_by_hand():
    corner = [(0, 0), (0, 2), (2, 2)]
    assert end_heading(corner, FINE) == pytest.approx(math.pi / 2)
    assert end_heading(FINE[::-1], FINE) == pytest.approx(math.pi)
    assert (end_heading([(0, 0), (0, 0.4)], FINE), length_ratio(corner, FINE)) == (None, pytest.approx(1.0))
    assert length_ratio(FINE, FINE[:1]) is None
    near = FINE[-1:] + np.array([0.3, 0.4])
    assert (reach_half_metre(near, FINE), reach_metre(near, FINE)) == (0.0, 1.0)
    assert (reach_half_metre(near - (0.01, 0), FINE), reach_metre(near + np.array([0, 1]), FINE)) == (1.0, 0.0)


@given(SEED, SEED)
def test_time_alignment_agrees_with_a_loop(one, other):
    path, truth = walk_of(one, 9), walk_of(other, 60)
    total, count = 0.0, 0
    for row, (x, y) in enumerate(truth):
        moment = row * 0.04
        if moment <= 2.0:
            at = min(int(moment / 0.25), 7)
            share = moment / 0.25 - at
            px, py = (1 - share) * path[at] + share * path[at + 1]
            total, count = total + math.hypot(px - x, py - y), count + 1
    assert time_aligned_ade(path, np.arange(9) * 0.25, truth, 0.04) == pytest.approx(total / count)


@given(SEED)
def test_arc_alignment_agrees_with_a_loop(seed):
    path = walk_of(seed, 5)
    rows = np.stack([np.zeros(50), np.linspace(0, 1, 50)], 1)
    pieces = [math.dist(a, b) for a, b in pairwise(path)]
    total = 0.0
    for i in range(50):
        left, k = i / 49 * sum(pieces), 0
        while k < 3 and left > pieces[k]:
            left, k = left - pieces[k], k + 1
        place = path[k] + (path[k + 1] - path[k]) * left / pieces[k]
        total += math.dist(place, rows[i])
    assert arc_aligned_ade(path, rows) == pytest.approx(total / 50)


@given(SEED, SEED, st.floats(-3, 3))
def test_moving_and_turning_both_changes_no_extra(one, other, angle):
    path, truth = walk_of(one), walk_of(other)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def move(points):
        return points @ turn + (3, -7)

    for metric in TIMELESS:
        assert metric(move(path), move(truth)) == pytest.approx(metric(path, truth), rel=1e-6, abs=1e-7)
    times = np.arange(len(path)) * 0.05
    assert time_aligned_ade(move(path), times, move(truth), 0.04) == pytest.approx(
        time_aligned_ade(path, times, truth, 0.04)
    )


@given(SEED)
def test_a_path_is_itself(seed):
    path = walk_of(seed)
    assert time_aligned_ade(path, np.arange(40) * 0.04, path, 0.04) == pytest.approx(0, abs=1e-12)
    assert (arc_aligned_ade(path, path), length_ratio(path, path)) == (pytest.approx(0, abs=1e-12), 1.0)
    assert reach_half_metre(path, path) == reach_metre(path, path) == 1.0


@pytest.mark.parametrize("metric", TIMELESS, ids=lambda metric: metric.__name__)
def test_degenerate_paths_are_refused(metric):
    for bad in (np.zeros((4, 3)), FINE * np.nan, np.zeros(4)):
        with pytest.raises(ShapeError):
            metric(bad, FINE)
        with pytest.raises(ShapeError):
            metric(FINE, bad)


def test_times_that_are_none_are_refused():
    for times in ([0, 1], [0, 1, 1], [0, 1, np.nan], [9, 10, 11]):
        with pytest.raises(ShapeError):
            time_aligned_ade(FINE[:3], times, FINE, 0.04)


Points = list[list[float]]


def path_of_recipe(r):
    """Decoded path and truth of a recipe (target_metrics.json, `recipe_steps`)."""
    rng = np.random.default_rng(r["seed"])
    rows = r["n_hist"] + r["n_future"]
    turn = rng.normal(0.0, r["turn_sd"], rows - 1)
    step = rng.uniform(r["step_lo"], r["step_hi"], rows - 1)
    head = np.cumsum(turn)
    head = head - head[min(r["n_hist"], rows - 2)] + np.pi / 2
    truth = np.concatenate([[[0.0, 0.0]], np.cumsum(np.stack([step * np.cos(head), step * np.sin(head)], 1), 0)])
    truth = truth - truth[r["n_hist"]]
    at = np.linspace(r["n_hist"], rows - 1, r["m"])
    base = np.stack([np.interp(at, np.arange(rows), truth[:, k]) for k in (0, 1)], 1)
    cos, sin = np.cos(r["yaw"]), np.sin(r["yaw"])
    turned = r["scale"] * base @ np.array([[cos, sin], [-sin, cos]])
    noise = rng.normal(0.0, r["noise"], (r["m"], 2))
    return turned + np.linspace(0, 1, r["m"])[:, None] * noise + np.array(r["offset"]), truth


def loop_scores(path, truth, profile, mode="gt"):
    """ADE, FDE, miss rate, soft endpoint, approach consistency and overall; no history is cut."""
    p, g = path.tolist(), truth.tolist()
    if mode == "min":
        rows = min(len(p), len(g))
        a, b = p[:rows], g[:rows]
    else:
        rows = {"gt": len(g), "pred": len(p), "max": max(len(p), len(g))}[mode]
        a, b = _stretched(p, rows), _stretched(g, rows)
    apart = [math.dist(one, other) for one, other in zip(a, b, strict=True)]
    ade = math.fsum(apart) / rows
    fde = math.dist(p[-1], g[-1])
    missed = 100 * sum(d > profile.miss_m for d in apart) / rows
    endpoint = math.exp(-(fde**2) / (2 * profile.sigma_m**2))
    outside = sum(not _covered(point, g, profile) for point in p)
    approach = math.exp(-profile.gamma * outside / len(p)) if outside else 1.0
    w = profile.weights
    near = w.ade * math.exp(-ade / profile.tau_ade_m) + w.fde * math.exp(-fde / profile.tau_fde_m)
    whole = near + w.miss_rate * (1 - missed / 100) + (w.endpoint + w.approach) * endpoint * approach
    return [ade, fde, missed, endpoint, approach, whole]


def _stretched(points, rows):
    if len(points) == rows:
        return points
    out = []
    for i in range(rows):
        at = i / (rows - 1) * (len(points) - 1) if rows > 1 else 0.0
        low = min(int(at), len(points) - 2)
        share = at - low
        out.append([(1 - share) * x + share * y for x, y in zip(points[low], points[low + 1], strict=True)])
    return out


def _covered(point, truth, profile):
    last = len(truth) - 1
    rows = list(range(len(truth)))
    if len(truth) >= profile.references:
        step = last / (profile.references - 1)
        rows = [*(int(i * step) for i in range(profile.references - 1)), last]
    for row in rows:
        off = row / max(last, 1) - 0.5
        widening = math.exp(-(off**2) / (2 * profile.beta**2))
        radius = profile.radius_min_m + (profile.radius_max_m - profile.radius_min_m) * widening
        if math.dist(point, truth[row]) <= radius:
            return True
    return False
