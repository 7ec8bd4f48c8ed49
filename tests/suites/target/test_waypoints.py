"""Path scores: the released functions' vectors, by hand, against plain loops, invariances, the degenerate."""

import builtins
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.target.waypoint_recipes import loop_scores, path_of_recipe
from support.vectors import cases
from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError
from worldgauge.metrics import metrics
from worldgauge.suites.target.metrics import (
    ALIGNED,
    PROFILES,
    RELEASED,
    Mode,
    Profile,
    Weights,
    ade,
    approach_consistency,
    corridor,
    evaluate,
    fde,
    miss_rate,
    overall,
    profile_of,
    resample,
    soft_endpoint,
)

NAMES = {"released_yaml": "released", "paper_text": "paper_text", "vipe_yaml_unused": "vipe_config"}
KEYS = ("ade", "fde", "miss_rate", "se", "ac", "overall_score")
LINE = np.stack([np.zeros(9), np.linspace(0, 4, 9)], 1)
SEED = st.integers(0, 2**32 - 1)
MODES: tuple[Mode, ...] = ("gt", "pred", "max", "min")


def random_pair(seed: int, n: int = 9, rows: int = 250) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.cumsum(rng.normal((0, 0.02), 0.01, (rows, 2)), axis=0)
    return np.cumsum(rng.normal((0, 0.5), 0.2, (n, 2)), axis=0), truth


def numbers(rows: list[list[Any]]) -> np.ndarray:
    return np.array([[float(value) for value in row] for row in rows])


def profile_in(case: dict[str, Any]) -> Profile:
    """A profile of the weights and taus of a case; only what `overall` reads."""
    w = case["weights"]
    weights = Weights(w["ade"], w["fde"], w["mr"], w["se"], w["ac"])
    return Profile("case", tau_ade_m=case["tau_ade"], tau_fde_m=case["tau_fde"], weights=weights)


@pytest.mark.parametrize("case", cases("target_metrics", "cases"))
def test_equals_the_released_functions(case: dict[str, Any]) -> None:
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


def is_path(points: np.ndarray) -> bool:
    """Whether ours and the released functions must agree on it."""
    return points.ndim == 2 and points.shape[1] == 2 and bool(np.isfinite(points).all())


@pytest.mark.parametrize("case", cases("target_metrics", "overall_only"))
def test_overall_equals_the_released_formula(case: dict[str, Any]) -> None:
    numbers = [float(case[key]) for key in KEYS[:5]]
    assert overall(*numbers, profile=profile_in(case)) == pytest.approx(
        float(case["expect"]), rel=1e-9, abs=1e-12, nan_ok=True
    )


def test_by_hand() -> None:
    aside = LINE + np.array([1.2, 0.0])
    aside[-1] = LINE[-1] + (0.3, 0.4)
    assert ade(aside, LINE) == pytest.approx((8 * 1.2 + 0.5) / 9)
    assert fde(aside, LINE) == pytest.approx(0.5)
    assert miss_rate(aside, LINE) == pytest.approx(100 * 8 / 9)
    assert miss_rate(LINE + np.array([1.0, 0.0]), LINE) == 0, "exactly the threshold is no miss"
    assert soft_endpoint(aside, LINE) == pytest.approx(math.exp(-0.5))
    # Nine rows, so nine discs; the first and last have radius 0.5 + exp(-2), the middle one 1.5.
    assert corridor(LINE)[[0, 4, 8], 2] == pytest.approx([0.5 + math.exp(-2), 1.5, 0.5 + math.exp(-2)])
    beyond = np.concatenate([LINE[:-1], [[0.0, 4 + 0.5 + math.exp(-2) + 1e-6]]])
    assert approach_consistency(beyond, LINE) == pytest.approx(math.exp(-5 / 9))
    assert evaluate(LINE, LINE).overall == pytest.approx(0.9)
    assert evaluate(LINE, LINE, ALIGNED).overall == pytest.approx(1.0)


def test_a_camera_that_stands_still_is_consistent() -> None:
    still = evaluate(np.zeros((9, 2)), LINE)
    assert (still.approach_consistency, still.fde, still.miss_rate) == (1.0, 4.0, pytest.approx(100 * 6 / 9))


def test_history_is_cut_where_the_profile_says_so() -> None:
    truth = np.stack([np.zeros(250), np.linspace(-1, 4, 250)], 1)
    path = truth[[50 + int(i) for i in np.linspace(0, 199, 9)]]
    assert evaluate(path, truth, ALIGNED, history_rows=50).ade < 0.01
    assert 0.4 < evaluate(path, truth, RELEASED, history_rows=50).ade < 0.6
    assert (
        evaluate(path, truth, ALIGNED, history_rows=50)[:6]
        == evaluate(path, truth[50:], replace(RELEASED, weights=ALIGNED.weights))[:6]
    )


@given(SEED, st.sampled_from(MODES), st.sampled_from(sorted(PROFILES)), st.integers(2, 40), st.integers(2, 60))
def test_agrees_with_plain_loops(seed: int, mode: Mode, name: str, n: int, rows: int) -> None:
    path, truth = random_pair(seed, n, rows)
    ours, theirs = evaluate(path, truth, PROFILES[name], mode), loop_scores(path, truth, PROFILES[name], mode)
    np.testing.assert_allclose(ours[:6], theirs, rtol=1e-9, atol=1e-12)


@given(SEED, st.floats(-3, 3), st.sampled_from(MODES))
def test_moving_and_turning_both_changes_nothing(seed: int, angle: float, mode: Mode) -> None:
    path, truth = random_pair(seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    for move in (lambda p: p @ turn + (3, -7), lambda p: p * (-1, 1)):
        moved = evaluate(move(path), move(truth), RELEASED, mode)
        np.testing.assert_allclose(moved[:6], evaluate(path, truth, RELEASED, mode)[:6], rtol=1e-6, atol=1e-9)


@given(SEED)
def test_single_functions_are_the_parts_of_the_whole(seed: int) -> None:
    path, truth = random_pair(seed)
    for profile in PROFILES.values():
        scores = evaluate(path, truth, profile)
        assert scores.ade == ade(path, truth)
        assert scores.fde == fde(path, truth)
        assert scores.miss_rate == miss_rate(path, truth, miss_m=profile.miss_m)
        assert scores.soft_endpoint == soft_endpoint(path, truth, sigma_m=profile.sigma_m)
        assert scores.approach_consistency == approach_consistency(path, truth, profile=profile)
        assert 0 <= scores.overall <= 1


@given(SEED, st.integers(2, 30), st.integers(2, 300))
def test_resampling_keeps_the_ends_and_what_is_straight(seed: int, n: int, rows: int) -> None:
    path, _ = random_pair(seed, n)
    there = resample(path, rows)
    np.testing.assert_allclose(there[[0, -1]], path[[0, -1]])
    straight = np.linspace((0, 1), (3, 5), n)
    np.testing.assert_allclose(resample(straight, rows), np.linspace((0, 1), (3, 5), rows), atol=1e-12)


def test_paths_that_cannot_be_scored_are_failures() -> None:
    for path in (np.zeros((0, 2)), [], LINE * np.nan, np.where(LINE == 4, np.inf, LINE)):
        scores = evaluate(path, LINE)
        assert not scores.valid
        assert scores.reason
        assert scores[:6] == (math.inf, math.inf, 100.0, 0.0, 0.0, 0.0)
    assert (ade([], LINE), fde([], LINE), miss_rate([], LINE)) == (math.inf, math.inf, 100.0)
    assert (soft_endpoint([], LINE), approach_consistency([], LINE)) == (0.0, 0.0)


def test_one_point_stands_still() -> None:
    assert evaluate(LINE[:1], LINE)[:6] == evaluate(np.repeat(LINE[:1], 9, 0), LINE)[:6]
    with pytest.raises(ValueError, match="released"):
        evaluate(LINE[:1], LINE, parity="released")
    with pytest.raises(ValueError, match="gt, pred, max, min"):
        evaluate(LINE, LINE, mode="both", parity="released")  # type: ignore[arg-type]


def test_wrong_arguments_are_refused() -> None:
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
        evaluate(LINE, LINE, mode="both")  # type: ignore[arg-type]
    with pytest.raises(ShapeError):
        evaluate(LINE, LINE, ALIGNED, history_rows=8)
    with pytest.raises(ShapeError):
        resample([], 3)


def test_profiles_have_names_and_their_constants() -> None:
    assert list(PROFILES) == ["released", "aligned", "paper_text", "vipe_config"]
    assert [round(sum(profile.weights), 12) for profile in PROFILES.values()] == [0.9, 1.0, 0.9, 1.0]
    assert np.array(ALIGNED.weights) == pytest.approx(np.array(RELEASED.weights) / 0.9)
    assert [profile.cut_history for profile in PROFILES.values()] == [False, True, False, False]
    assert profile_of("paper_text").miss_m == 2.0
    with pytest.raises(UnknownNameError, match="aligned"):
        profile_of("alined")
    assert metrics.entry("path/ade").facts["better"] == "lower"
