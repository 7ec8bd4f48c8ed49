"""Action accuracy of a clip: the released results, by hand, gaps and outliers, floors, degenerate motion."""

from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.trajectories import pair
from support.vectors import cases
from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.suites.mind.metrics.action_accuracy import MIN_STEPS, ActionAccuracy, action_accuracy, labels_of

SEED = st.integers(0, 2**32 - 1)
FIELDS = ("count", "rpe_trans_mean", "rpe_trans_median", "rpe_rot_mean_deg", "rpe_rot_median_deg")
RECIPE = {
    **{"rot": 0.02, "tr": 0.08, "nrot": 0.005, "ntr": 0.01, "scale": 2.0, "g": [0.2, -0.4, 0.1, 3, -1, 2]},
    **{"mark": 10, "rows": 120, "p_key": 0.35},
}


def made(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Poses and labels of a case of mind_action_metric."""
    truth, generated, rng = pair(case)
    codes = rng.integers(0, 3, size=(case["mark"] + case["rows"], 4))
    codes = np.where(rng.random(size=codes.shape) < case["p_key"], codes, 0)
    for i in case.get("flip", []):
        generated[i, :3, :3] = generated[i, :3, :3] @ np.diag([-1, 1, -1])
    for i in case.get("nan", []):
        generated[i, :3, 3] = np.nan
    return truth, generated[: case.get("n_gen")], labels_of(codes[case["mark"] :][:97])


def walk(seed: int, n: int = 30) -> tuple[np.ndarray, np.ndarray, list[str]]:
    return made({**RECIPE, "seed": seed, "n": n})


def straight(n: int = 11) -> np.ndarray:
    """A step of 0.5 m ahead a frame, turning by 2 degrees from the middle on."""
    yaw = np.radians(2.0) * np.maximum(np.arange(n) - n // 2, 0)
    return pose_from_yaw_pitch(np.outer(np.arange(n), [0.5, 0, 0]), yaw)


@pytest.mark.parametrize("case", cases("mind_action_metric", "cases"))
def test_released_results(case: dict[str, Any]) -> None:
    truth, generated, labels = made(case)
    assert len(labels) == case["n_labels"]
    assert labels[:6] == case["first_labels"]
    wanted = case["result"]
    if wanted is not None and "raises" in wanted:
        with pytest.raises(ShapeError, match="pose 40 is not finite"):
            action_accuracy(truth, generated, labels, groups="released", nan="raise")
        return
    found = action_accuracy(truth, generated, labels, groups="released")
    if wanted is None:
        assert found.overall is None
        assert found.reason
        return
    assert found.overall is not None
    judged = {"__overall__": found.overall, **found.groups, **{f"act:{k}": v for k, v in found.actions.items()}}
    assert set(judged) == set(wanted)
    for name, stats in wanted.items():
        for field, value in zip(FIELDS, astuple(judged[name]), strict=True):
            tolerance = 0 if field == "count" else 2e-5 if "rot" in field else 1e-7
            assert value == pytest.approx(stats[field], rel=1e-6 if tolerance else 0, abs=tolerance), (name, field)


def test_by_hand() -> None:
    """Twice as fast is no fault, and neither is the name of the frame; a turn left out is one."""
    truth = straight()
    generated = truth.copy()
    generated[:, :3, :3] = truth[0, :3, :3]
    generated[:, :3, 3] *= 2
    found = action_accuracy(truth, generated, ["forward"] * 5 + ["look_left"] * 5)
    assert found.scale == pytest.approx(0.5)
    assert found.shape == "line"
    assert (found.truth_step_m, found.frozen_trans_m) == pytest.approx((0.5, 0.5))
    assert found.frozen_rot_deg == pytest.approx(1.0)
    assert found.overall is not None
    assert found.overall.rot_deg_mean == pytest.approx(1.0)
    assert set(found.groups) == {"translation", "rotation"}
    walked, looked = found.groups["translation"], found.groups["rotation"]
    assert astuple(walked) == pytest.approx((5, 0, 0, 0, 0), abs=1e-7)
    assert (looked.count, looked.rot_deg_mean, looked.rot_deg_median) == pytest.approx((5, 2, 2))
    # The step is right in the world, but seen from a camera that looks 0, 2, 4, 6, 8 degrees aside.
    assert looked.trans_mean == pytest.approx(np.mean(np.sin(np.radians(np.arange(0, 10, 2)) / 2)), abs=1e-7)
    assert found.actions["look_left"] == looked


def test_steps_are_there_for_error_bars() -> None:
    truth, generated, labels = walk(3)
    found = action_accuracy(truth, generated, labels)
    steps = found.steps
    assert steps is not None
    assert steps.index.tolist() == list(range(29))
    assert list(steps.label) == labels[:29]
    assert found.overall == steps.where(np.ones(29, bool))
    assert sum(stats.count for stats in found.groups.values()) == 29 == found.n_expected
    assert sum(stats.count for stats in found.actions.values()) == 29


@settings(max_examples=20, deadline=None)
@given(SEED)
def test_a_group_is_the_mean_of_its_actions(seed: int) -> None:
    truth, generated, labels = walk(seed)
    found = action_accuracy(truth, generated, labels)
    assert found.overall is not None
    for parts in (found.groups, found.actions):
        for field in ("trans_mean", "rot_deg_mean"):
            total = sum(stats.count * getattr(stats, field) for stats in parts.values())
            assert total / found.overall.count == pytest.approx(getattr(found.overall, field))


@settings(max_examples=20, deadline=None)
@given(SEED)
def test_labels_decide_nothing_but_the_groups(seed: int) -> None:
    truth, generated, labels = walk(seed)
    one, other = (action_accuracy(truth, generated, said) for said in (labels, labels[::-1]))
    assert one.overall == other.overall
    assert one.scale == other.scale


def test_gaps_are_counted_and_not_bridged() -> None:
    truth, generated, labels = walk(5)
    whole = action_accuracy(truth, generated, labels)
    generated[10] = np.nan
    truth[20, 0, 3] = np.inf
    found = action_accuracy(truth, generated, labels)
    assert found.dropped == (2, 4, 0)
    assert found.n_expected == 29
    assert found.overall is not None
    assert found.overall.count == 25
    assert found.steps is not None
    assert not {9, 10, 19, 20} & set(found.steps.index.tolist())
    assert found.overall.rot_deg_mean == pytest.approx(
        np.mean([whole.steps.rot_deg[i] for i in found.steps.index])  # type: ignore[union-attr]
    )


def test_outliers_are_counted() -> None:
    truth, generated, labels = walk(6)
    generated[15, :3, :3] = generated[15, :3, :3] @ np.diag([-1.0, 1.0, -1.0])
    truth[:, :3, :3] = generated[:, :3, :3]
    truth[15, :3, :3] = generated[15, :3, :3] @ np.diag([-1.0, 1.0, -1.0])
    found = action_accuracy(truth, generated, labels)
    assert found.dropped == (0, 0, 2)
    assert found.overall is not None
    assert found.overall.count == 27


def test_a_camera_that_does_not_move_scores_the_floor_and_says_so() -> None:
    truth, generated, labels = walk(7)
    found = action_accuracy(truth, np.tile(generated[4], (30, 1, 1)), labels)
    assert found.scale == 0
    assert found.shape == found.source_shape == "static"
    assert found.target_shape == "spatial"
    assert found.overall is not None
    assert found.overall.trans_mean == pytest.approx(found.frozen_trans_m)
    assert found.overall.rot_deg_mean == pytest.approx(found.frozen_rot_deg)
    assert found.truth_step_m == pytest.approx(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).mean())


def test_a_truth_that_does_not_move_says_so() -> None:
    truth, generated, labels = walk(7)
    truth[:, :3, 3] = truth[0, :3, 3]
    found = action_accuracy(truth, generated, labels)
    assert found.target_shape == found.shape == "static"
    assert found.source_shape == "spatial"
    assert (found.scale, found.truth_step_m, found.frozen_trans_m) == (0, 0, 0)
    assert found.overall is not None
    assert found.overall.rot_deg_mean > 0.1


@pytest.mark.parametrize(("poses", "labels", "why"), [(1, 97, "no step"), (MIN_STEPS, 97, "needs 8"), (97, 0, "no st")])
def test_too_little_is_no_result(poses: int, labels: int, why: str) -> None:
    truth, generated, said = walk(8, n=97)
    found = action_accuracy(truth, generated[:poses], said[:labels])
    assert found.overall is None
    assert why in found.reason
    assert found.n_expected == min(96, labels)
    assert isinstance(found, ActionAccuracy)
    assert not found.groups


def test_as_released_an_unknown_rotation_costs_its_two_steps_and_its_position_counts() -> None:
    truth, generated, labels = walk(7, n=40)
    whole = action_accuracy(truth, generated, labels)
    generated[12, :3, :3] = np.nan
    found = action_accuracy(truth, generated, labels, nan="raise")
    assert found.overall is not None
    assert (found.overall.count, found.n_expected) == (37, 39)
    assert found.scale == whole.scale, "all 40 positions are aligned"
    assert found.steps is not None
    assert whole.steps is not None
    kept = np.isin(whole.steps.index, found.steps.index)
    np.testing.assert_allclose(found.steps.trans, whole.steps.trans[kept])
    assert action_accuracy(truth, generated, labels).scale != whole.scale, "by default the whole pose is unknown"
    truth[20, 1, 3] = np.nan
    with pytest.raises(ShapeError, match="pose 20 is not finite"):
        action_accuracy(truth, generated, labels, nan="raise")


def test_all_unknown_is_no_result() -> None:
    truth, generated, labels = walk(9)
    found = action_accuracy(truth, np.full_like(generated, np.nan), labels)
    assert found.overall is None
    assert found.dropped.poses == 30
    assert "30 poses are not known" in found.reason


def test_refuses_what_is_no_trajectory() -> None:
    truth, generated, labels = walk(1)
    with pytest.raises(ShapeError, match="generated poses are"):
        action_accuracy(truth, generated[:, :3], labels)
    with pytest.raises(UnknownNameError, match="no action 'fly'"):
        action_accuracy(truth, generated, ["fly"] * 29)
    with pytest.raises(UsageError, match="nan is 'keep'"):
        action_accuracy(truth, generated, labels, nan="keep")  # type: ignore[arg-type]
