"""Do the pictures move as the keys demand: errors by action, directions of steps, time until keys are answered."""

import itertools
import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from support.trajectories import pair
from support.vectors import cases
from worldgauge.core.errors import ShapeError, UnknownNameError, UsageError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.suites.mind.metrics.action_accuracy import (
    AFTER,
    BEFORE,
    GROUPS,
    LATEST,
    LEAST_LIKENESS,
    MIN_STEPS,
    ActionAccuracy,
    KeyAnswer,
    action_accuracy,
    camera_steps,
    group_of,
    key_answers,
    key_latency,
    keys_answered,
    labels_of,
    move_cosine,
    step_cosines,
    turn_cosine,
)

SEED = st.integers(0, 2**32 - 1)
FIELDS = ("count", "rpe_trans_mean", "rpe_trans_median", "rpe_rot_mean_deg", "rpe_rot_median_deg")
RECIPE = {
    **{"rot": 0.02, "tr": 0.08, "nrot": 0.005, "ntr": 0.01, "scale": 2.0, "g": [0.2, -0.4, 0.1, 3, -1, 2]},
    **{"mark": 10, "rows": 120, "p_key": 0.35},
}


def made(case):
    """Poses and labels of a case of mind_action_metric."""
    truth, generated, rng = pair(case)
    codes = rng.integers(0, 3, size=(case["mark"] + case["rows"], 4))
    codes = np.where(rng.random(size=codes.shape) < case["p_key"], codes, 0)
    for i in case.get("flip", []):
        generated[i, :3, :3] = generated[i, :3, :3] @ np.diag([-1, 1, -1])
    for i in case.get("nan", []):
        generated[i, :3, 3] = np.nan
    return truth, generated[: case.get("n_gen")], labels_of(codes[case["mark"] :][:97])


def walk(seed, n=30):
    return made({**RECIPE, "seed": seed, "n": n})


def straight(n=11):
    """A step of 0.5 m ahead a frame, turning by 2 degrees from the middle on."""
    yaw = np.radians(2.0) * np.maximum(np.arange(n) - n // 2, 0)
    return pose_from_yaw_pitch(np.outer(np.arange(n), [0.5, 0, 0]), yaw)


@pytest.mark.parametrize("case", cases("mind_action_metric", "cases"))
def test_released_results(case):
    truth, generated, labels = made(case)
    assert (len(labels), labels[:6]) == (case["n_labels"], case["first_labels"])
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
    judged = {"__overall__": found.overall, **found.groups, **{f"act:{k}": v for k, v in found.actions.items()}}
    assert set(judged) == set(wanted)
    for name, stats in wanted.items():
        for field, value in zip(FIELDS, astuple(judged[name]), strict=True):
            tolerance = 0 if field == "count" else 2e-5 if "rot" in field else 1e-7
            assert value == pytest.approx(stats[field], rel=1e-6 if tolerance else 0, abs=tolerance), (name, field)


def test_by_hand():
    """Twice as fast is no fault, and neither is the name of the frame; a turn left out is one."""
    truth = straight()
    generated = truth.copy()
    generated[:, :3, :3] = truth[0, :3, :3]
    generated[:, :3, 3] *= 2
    found = action_accuracy(truth, generated, ["forward"] * 5 + ["look_left"] * 5)
    assert (found.scale, found.shape) == (pytest.approx(0.5), "line")
    assert (found.truth_step_m, found.frozen_trans_m) == pytest.approx((0.5, 0.5))
    assert (found.frozen_rot_deg, found.overall.rot_deg_mean) == (pytest.approx(1.0), pytest.approx(1.0))
    assert set(found.groups) == {"translation", "rotation"}
    walked, looked = found.groups["translation"], found.groups["rotation"]
    assert astuple(walked) == pytest.approx((5, 0, 0, 0, 0), abs=1e-7)
    assert (looked.count, looked.rot_deg_mean, looked.rot_deg_median) == pytest.approx((5, 2, 2))
    # The step is right in the world, but seen from a camera that looks 0, 2, 4, 6, 8 degrees aside.
    assert looked.trans_mean == pytest.approx(np.mean(np.sin(np.radians(np.arange(0, 10, 2)) / 2)), abs=1e-7)
    assert found.actions["look_left"] == looked


def test_steps_are_there_for_error_bars():
    truth, generated, labels = walk(3)
    found = action_accuracy(truth, generated, labels)
    steps = found.steps
    assert (steps.index.tolist(), list(steps.label)) == (list(range(29)), labels[:29])
    assert found.overall == steps.where(np.ones(29, bool))
    assert sum(stats.count for stats in found.groups.values()) == 29 == found.n_expected
    assert sum(stats.count for stats in found.actions.values()) == 29


@settings(max_examples=20, deadline=None)
@given(SEED)
def test_a_group_is_the_mean_of_its_actions(seed):
    truth, generated, labels = walk(seed)
    found = action_accuracy(truth, generated, labels)
    for parts in (found.groups, found.actions):
        for field in ("trans_mean", "rot_deg_mean"):
            total = sum(stats.count * getattr(stats, field) for stats in parts.values())
            assert total / found.overall.count == pytest.approx(getattr(found.overall, field))


@settings(max_examples=20, deadline=None)
@given(SEED)
def test_labels_decide_nothing_but_the_groups(seed):
    truth, generated, labels = walk(seed)
    one, other = (action_accuracy(truth, generated, said) for said in (labels, labels[::-1]))
    assert (one.overall, one.scale) == (other.overall, other.scale)


def test_gaps_are_counted_and_not_bridged():
    truth, generated, labels = walk(5)
    whole = action_accuracy(truth, generated, labels)
    generated[10] = np.nan
    truth[20, 0, 3] = np.inf
    found = action_accuracy(truth, generated, labels)
    assert (found.dropped, found.n_expected, found.overall.count) == ((2, 4, 0), 29, 25)
    assert not {9, 10, 19, 20} & set(found.steps.index.tolist())
    assert found.overall.rot_deg_mean == pytest.approx(np.mean([whole.steps.rot_deg[i] for i in found.steps.index]))


def test_outliers_are_counted():
    truth, generated, labels = walk(6)
    generated[15, :3, :3] = generated[15, :3, :3] @ np.diag([-1.0, 1.0, -1.0])
    truth[:, :3, :3] = generated[:, :3, :3]
    truth[15, :3, :3] = generated[15, :3, :3] @ np.diag([-1.0, 1.0, -1.0])
    found = action_accuracy(truth, generated, labels)
    assert (found.dropped, found.overall.count) == ((0, 0, 2), 27)


def test_a_camera_that_does_not_move_scores_the_floor_and_says_so():
    truth, generated, labels = walk(7)
    found = action_accuracy(truth, np.tile(generated[4], (30, 1, 1)), labels)
    assert found.scale == 0
    assert found.shape == found.source_shape == "static"
    assert (found.target_shape, found.overall.trans_mean) == ("spatial", pytest.approx(found.frozen_trans_m))
    assert found.overall.rot_deg_mean == pytest.approx(found.frozen_rot_deg)
    assert found.truth_step_m == pytest.approx(np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).mean())


def test_a_truth_that_does_not_move_says_so():
    truth, generated, labels = walk(7)
    truth[:, :3, 3] = truth[0, :3, 3]
    found = action_accuracy(truth, generated, labels)
    assert found.target_shape == found.shape == "static"
    assert found.source_shape == "spatial"
    assert (found.scale, found.truth_step_m, found.frozen_trans_m) == (0, 0, 0)
    assert found.overall.rot_deg_mean > 0.1


@pytest.mark.parametrize(("poses", "labels", "why"), [(1, 97, "no step"), (MIN_STEPS, 97, "needs 8"), (97, 0, "no st")])
def test_too_little_is_no_result(poses, labels, why):
    truth, generated, said = walk(8, n=97)
    found = action_accuracy(truth, generated[:poses], said[:labels])
    assert found.overall is None
    assert why in found.reason
    assert found.n_expected == min(96, labels)
    assert isinstance(found, ActionAccuracy)
    assert not found.groups


def test_as_released_an_unknown_rotation_costs_its_two_steps_and_its_position_counts():
    truth, generated, labels = walk(7, n=40)
    whole = action_accuracy(truth, generated, labels)
    generated[12, :3, :3] = np.nan
    found = action_accuracy(truth, generated, labels, nan="raise")
    assert (found.overall.count, found.n_expected) == (37, 39)
    assert found.scale == whole.scale, "all 40 positions are aligned"
    kept = np.isin(whole.steps.index, found.steps.index)
    np.testing.assert_allclose(found.steps.trans, whole.steps.trans[kept])
    assert action_accuracy(truth, generated, labels).scale != whole.scale, "by default the whole pose is unknown"
    truth[20, 1, 3] = np.nan
    with pytest.raises(ShapeError, match="pose 20 is not finite"):
        action_accuracy(truth, generated, labels, nan="raise")


def test_all_unknown_is_no_result():
    truth, generated, labels = walk(9)
    found = action_accuracy(truth, np.full_like(generated, np.nan), labels)
    assert (found.overall, found.dropped.poses) == (None, 30)
    assert "30 poses are not known" in found.reason


def test_refuses_what_is_no_trajectory():
    truth, generated, labels = walk(1)
    with pytest.raises(ShapeError, match="generated poses are"):
        action_accuracy(truth, generated[:, :3], labels)
    with pytest.raises(UnknownNameError, match="no action 'fly'"):
        action_accuracy(truth, generated, ["fly"] * 29)
    with pytest.raises(UsageError, match="nan is 'keep'"):
        action_accuracy(truth, generated, labels, nan="keep")


EVERY = list(itertools.product(range(3), repeat=4))


@pytest.mark.parametrize("case", cases("mind_action_labels", "cases"))
def test_labels_and_groups_of_the_vector(case):
    (label,) = labels_of([[case[key] for key in ("ws", "ad", "ud", "lr")]])
    assert (label, group_of(label, "released")) == (case["label"], case["bucket_released"])
    assert group_of(label) == group_of(label, "keys") == case["bucket_recommended"]


def test_every_set_of_keys_has_a_label_of_its_own():
    labels = labels_of(EVERY)
    assert len(set(labels)) == len(EVERY) == 81
    assert (labels[0], labels[-1]) == ("no_op", "backward+right+look_down+look_right")
    assert {group_of(label) for label in labels} == set(GROUPS["keys"])
    # The released rotation group never holds anything (B2).
    assert {group_of(label, "released") for label in labels} == set(GROUPS["released"]) - {"rotation"}


def test_order_of_rows_is_kept():
    assert labels_of([[1, 0, 0, 0], [0, 0, 0, 2], [0, 0, 0, 0]]) == ["forward", "look_right", "no_op"]
    assert (labels_of(EVERY[::-1]), labels_of(np.zeros((0, 4), np.uint8))) == (labels_of(EVERY)[::-1], [])


def test_what_is_no_code_is_named():
    with pytest.raises(ShapeError, match=r"row 1: 'ud' is 3"):
        labels_of([[0, 0, 0, 0], [0, 0, 3, 0]])
    with pytest.raises(ShapeError, match=r"row 0: 'ws' is 0\.5"):
        labels_of([[0.5, 0, 0, 0]])
    with pytest.raises(ShapeError, match=r"\(n, 4\)"):
        labels_of([0, 1, 0, 0])
    with pytest.raises(UnknownNameError, match="Did you mean 'look_left'"):
        group_of("forward+look_lef")
    with pytest.raises(UsageError, match="no rule 'readme'"):
        group_of("forward", "readme")


def random_path(seed=0, n=30):
    """A camera that moves and turns at random."""
    rng = np.random.default_rng(seed)
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(np.cumsum(rng.normal(0, 0.05, (n, 3)), 0)).as_matrix()
    poses[:, :3, 3] = np.cumsum(rng.normal(0, 0.1, (n, 3)), 0)
    return poses


def straight_path(heading, step_m=0.1, n=5):
    """A camera that looks along x and moves along a heading."""
    along = step_m * np.arange(n)[:, None] * [math.cos(heading), math.sin(heading), 0.0]
    return pose_from_yaw_pitch(along, np.zeros(n))


def test_cosines_by_hand():
    true = straight_path(0.0)
    for heading in (0.0, math.pi / 3, math.pi / 2, math.pi):
        assert move_cosine(true, straight_path(heading, 0.7)) == pytest.approx(math.cos(heading))
    assert turn_cosine(true, true) is None
    left = pose_from_yaw_pitch(np.zeros((4, 3)), 0.02 * np.arange(4))
    assert turn_cosine(left, pose_from_yaw_pitch(np.zeros((4, 3)), 0.3 * np.arange(4))) == pytest.approx(1)
    assert turn_cosine(left, pose_from_yaw_pitch(np.zeros((4, 3)), -0.3 * np.arange(4))) == pytest.approx(-1)
    up = pose_from_yaw_pitch(np.zeros((4, 3)), np.zeros(4), 0.02 * np.arange(4))
    assert (turn_cosine(left, up), move_cosine(left, up)) == (pytest.approx(0, abs=0.02), None)


def test_steps_equal_those_of_scipy():
    poses = random_path(3)
    for k, step in enumerate(camera_steps(poses)):
        between = np.linalg.inv(poses[k]) @ poses[k + 1]
        np.testing.assert_allclose(step[:3], between[:3, 3], atol=1e-12)
        np.testing.assert_allclose(step[3:], Rotation.from_matrix(between[:3, :3]).as_rotvec(), atol=1e-12)


def test_speed_place_and_frame_of_the_world_do_not_count():
    true, shown = random_path(1), random_path(2)
    moved = shown.copy()
    moved[:, :3, 3] *= 7.5
    world = np.eye(4)
    world[:3, :3], world[:3, 3] = Rotation.from_rotvec([0.3, 1.0, -2.0]).as_matrix(), (5, 6, 7)
    for one, other in zip(step_cosines(true, shown), step_cosines(true, world @ moved), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_an_error_made_once_does_not_count_again():
    true, shown = random_path(1), random_path(1)
    jump = np.eye(4)
    jump[:3, :3], jump[:3, 3] = Rotation.from_rotvec([0, 0, 1.0]).as_matrix(), (3, 0, 0)
    shown[10:] = jump @ shown[10:]
    found = step_cosines(true, shown)
    assert (np.delete(found.move, 9), np.delete(found.turn, 9)) == (pytest.approx(1), pytest.approx(1))


def test_rest_gaps_and_nothing_at_all():
    true = random_path(1)
    still = np.tile(np.eye(4), (30, 1, 1))
    assert (move_cosine(true, still), turn_cosine(true, still), move_cosine(still, true)) == (0, 0, None)
    gap = true.copy()
    gap[5] = np.nan
    found = step_cosines(true, gap)
    assert (np.flatnonzero(np.isnan(found.move)).tolist(), move_cosine(true, gap)) == ([4, 5], pytest.approx(1))
    assert (move_cosine(true, np.full_like(true, np.nan)), move_cosine(true[:1], true[:1])) == (None, None)
    for wrong in (true[:-1], true[0], np.zeros((30, 3))):
        with pytest.raises(ShapeError):
            move_cosine(true, wrong)


FPS = 24.0


def held(seed, n):
    """Key codes of phases of 10 to 40 frames."""
    rng = np.random.default_rng(seed)
    rows = []
    while len(rows) < n:
        rows += [[*rng.integers(0, 3, 2).tolist(), 0, int(rng.integers(0, 3))]] * int(rng.integers(10, 40))
    return np.array(rows[:n], np.uint8)


def driven(keys, *, gain=1.0, delay=0, drift=0.0):
    """Poses of a camera that does what keys say; row i leads to frame i."""
    late = np.concatenate([np.zeros((delay, 4), np.uint8), keys])[: len(keys)].astype(float)
    sign = np.where(late == 2, -1.0, late)
    yaw = np.cumsum(gain * np.radians(1.0) * sign[:, 3] + drift)
    ahead, left = np.stack([np.cos(yaw), np.sin(yaw)], -1), np.stack([-np.sin(yaw), np.cos(yaw)], -1)
    xy = np.cumsum(gain * 0.08 * (sign[:, :1] * ahead + sign[:, 1:2] * left), 0)
    return pose_from_yaw_pitch(np.column_stack([xy, np.zeros(len(xy))]), yaw)


def test_one_change_by_hand():
    keys = np.zeros((100, 4), np.uint8)
    keys[30:, 0] = 1  # forward from row 30 on: step 29 is the first that moves
    found = key_answers(driven(keys), driven(keys, delay=5), keys)
    assert [(one.step, one.keys, one.frames) for one in found] == [(29, "walk", 5)]
    assert found[0].likeness == pytest.approx(1)
    assert key_latency(driven(keys), driven(keys, delay=5), keys, FPS) == pytest.approx(5 / 24)
    assert keys_answered(driven(keys), driven(keys, delay=5), keys) == 1


@pytest.mark.parametrize("delay", [0, 1, 7, LATEST])
def test_a_delay_is_found_exactly_whatever_gain_and_drift(delay):
    keys = held(2, 400)
    shown = driven(keys, gain=0.3, delay=delay, drift=0.004)
    found = key_answers(driven(keys), shown, keys)
    assert len(found) > 12
    assert {one.keys for one in found} == {"walk", "look"}
    assert {one.frames for one in found} == {delay}


def test_answers_equal_those_of_a_plain_search():
    keys = held(5, 200)
    rng = np.random.default_rng(1)
    shown = driven(keys, delay=3)
    shown[:, :3, 3] += rng.normal(0, 0.01, (200, 3))
    true, imagined = camera_steps(driven(keys)), camera_steps(shown)
    for one in key_answers(driven(keys), shown, keys):
        columns = slice(0, 3) if one.keys == "walk" else slice(3, 6)
        here = slice(one.step - BEFORE, one.step + AFTER)
        best = []
        for lag in range(LATEST + 1):
            a, b = true[here, columns], imagined[here.start + lag : here.stop + lag, columns]
            a, b = a - a.mean(0), b - b.mean(0)
            power = (a**2).sum() * (b**2).sum()
            best.append((a * b).sum() / np.sqrt(power) if power > 1e-20 else 0.0)
        assert one.likeness == pytest.approx(max(best))
        assert one.frames == (int(np.argmax(best)) if max(best) >= LEAST_LIKENESS else None)


def test_the_world_frame_and_size_of_the_imagined_path_do_not_count():
    keys = held(3, 300)
    shown = driven(keys, delay=4)
    moved = pose_from_yaw_pitch((3.0, 4.0, 5.0), 1.0) @ shown
    moved[:, :3, 3] *= 40
    assert [one[:3] for one in key_answers(driven(keys), moved, keys)] == [
        one[:3] for one in key_answers(driven(keys), shown, keys)
    ]


def test_rest_and_chance_do_not_answer():
    keys = held(4, 3000)
    true = driven(keys)
    assert keys_answered(true, np.tile(np.eye(4), (3000, 1, 1)), keys) == 0
    assert key_latency(true, np.tile(np.eye(4), (3000, 1, 1)), keys, FPS) is None
    rng = np.random.default_rng(0)
    noisy = pose_from_yaw_pitch(np.cumsum(rng.normal(0, 0.1, (3000, 3)), 0), np.cumsum(rng.normal(0, 0.02, 3000)))
    share = keys_answered(true, noisy, keys)
    assert share < 0.1


def test_what_cannot_be_judged_is_left_out():
    keys = held(2, 200)
    true = driven(keys)
    still = np.tile(np.eye(4), (200, 1, 1))
    assert key_answers(still, true, keys) == []  # a walker before a wall: nothing changes
    assert (keys_answered(still, true, keys), key_latency(still, true, keys, FPS)) == (None, None)
    gap = true.copy()
    gap[100] = np.nan
    near = [one.step for one in key_answers(true, gap, keys)]
    assert all(not one - BEFORE <= 100 <= one + AFTER + LATEST for one in near)
    assert near
    assert key_answers(true[:40], true[:40], keys[:40]) == []
    for shown, codes in ((true[:-1], keys), (true, keys[:-1]), (true, keys[:, :3])):
        with pytest.raises(ShapeError):
            key_answers(true, shown, codes)
    assert isinstance(key_answers(true, true, keys)[0], KeyAnswer)
