"""Alignment and pose errors: by hand, released numbers, other implementations, invariances, the degenerate."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from support.trajectories import pair, perturbed, trajectory
from support.vectors import cases
from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import pose_from_yaw_pitch
from worldgauge.core.umeyama import Sim3, align
from worldgauge.metrics import trajectory as module
from worldgauge.metrics.trajectory import (
    absolute_errors,
    aligned,
    ape_rmse,
    ape_whole,
    fit_points,
    relative_errors,
    rpe_rot_deg,
    rpe_scale,
    rpe_trans,
)

SEED = st.integers(0, 2**32 - 1)
TURN = st.tuples(*[st.floats(-3, 3)] * 3)
SHIFT = st.tuples(*[st.floats(-50, 50)] * 3)
NOISY = {"nrot": 0.01, "ntr": 0.02, "scale": 1.7, "g": [0.2, -0.4, 0.1, 3, -1, 2]}


def noisy_pair(seed: int, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = trajectory(rng, n, 0.02, 0.08)
    return truth, perturbed(rng, truth, NOISY)


def similarity(turn: tuple[float, ...], shift: tuple[float, ...], scale: float = 1.0) -> Sim3:
    return Sim3(scale, Rotation.from_rotvec(turn).as_matrix(), np.array(shift))


def still(n: int) -> np.ndarray:
    return np.tile(pose_from_yaw_pitch([7.1, -3.3, 1.7], 0.3, 0.1), (n, 1, 1))


def clouds(case: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Of a case of mind_umeyama; without noise `t` is the shift that went in, with noise the one that came out of 0."""
    rng = np.random.default_rng(case["seed"])
    x = np.cumsum(rng.normal(size=(case["n"], 3)), axis=0)
    if case["shape"] == "line":
        x = np.outer(np.arange(case["n"]), case["dir"])
    elif case["shape"] == "plane":
        x[:, 1] = 0
    elif case["shape"] == "static":
        x[:] = x[0]
    shift = np.zeros(3) if case["noise"] or case.get("mirror") else np.array(case["t"])
    y = case["scale"] * x @ Rotation.from_rotvec(case["rv"]).as_matrix().T + shift
    if case.get("mirror"):
        y[:, 2] *= -1
    return x, y + rng.normal(size=y.shape) * case["noise"]


@pytest.mark.parametrize("case", cases("mind_umeyama", "cases"))
def test_released_alignments(case: dict[str, Any]) -> None:
    x, y = clouds(case)
    fit = fit_points(x, y)
    assert fit.sim.scale == pytest.approx(case["scale_out"], rel=1e-8, abs=1e-12)
    assert np.linalg.det(fit.sim.rotation) == pytest.approx(1.0)
    residual = np.sqrt(((fit.sim.apply(x) - y) ** 2).sum(1).mean())
    assert residual == pytest.approx(case["residual_rms"], rel=1e-8, abs=1e-8)
    if "R" in case:
        np.testing.assert_allclose(fit.sim.rotation, case["R"], atol=1e-8)
    # Three points never span more than a plane.
    assert fit.source == {"walk": "spatial" if len(x) > 3 else "plane"}.get(case["shape"], case["shape"])


@pytest.mark.parametrize("case", cases("mind_rpe", "cases"))
def test_released_relative_errors(case: dict[str, Any]) -> None:
    truth, generated, _ = pair(case)
    np.testing.assert_allclose(truth[-1, :3, 3], case["gt_last_centre"], atol=1e-8)
    generated = generated[: case.get("n_gen")]
    truth = truth[: len(generated)]
    assert len(truth) == case["n_used"]
    np.testing.assert_allclose(generated[-1, :3, 3], case["gen_last_centre"], atol=1e-8)
    fit = fit_points(generated[:, :3, 3], truth[:, :3, 3])
    assert fit.sim.scale == pytest.approx(case["scale_out"], rel=1e-8, abs=1e-12)
    trans, rot = relative_errors(truth, aligned(generated, fit.sim), case["delta"])
    np.testing.assert_allclose(trans, case["trans_err"], atol=1e-7)
    np.testing.assert_allclose(rot, case["rot_err_deg"], atol=2e-5)
    if case["delta"] == 1 and "trans_mean" in case:
        assert rpe_trans(truth, generated) == pytest.approx(case["trans_mean"], abs=1e-7)
        assert rpe_rot_deg(truth, generated) == pytest.approx(case["rot_mean_deg"], abs=2e-5)
        assert rpe_scale(truth, generated) == pytest.approx(case["scale_out"], rel=1e-8, abs=1e-12)


def test_by_hand() -> None:
    """A square walked at double size, with one turn of 90 degrees that the truth does not have."""
    yaws = np.zeros(5)
    square = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0)], float)
    truth = pose_from_yaw_pitch(square, yaws)
    turned = pose_from_yaw_pitch(2 * square + 5, np.array([0, 0, np.pi / 2, np.pi / 2, np.pi / 2]))
    assert rpe_scale(truth, turned) == pytest.approx(0.5)
    assert ape_rmse(truth, turned) == pytest.approx(0, abs=1e-9)
    trans, rot = relative_errors(truth, aligned(turned, fit_points(turned[:, :3, 3], square).sim))
    np.testing.assert_allclose(rot, [0, 90, 0, 0], atol=1e-9)
    # Steps of one metre seen from a camera that looks aside: the diagonal of a square.
    np.testing.assert_allclose(trans, [0, 0, 2**0.5, 2**0.5], atol=1e-9)
    assert rpe_rot_deg(truth, turned) == pytest.approx(22.5)
    assert rpe_trans(truth, turned) == pytest.approx(2**0.5 / 2)


@settings(max_examples=10, deadline=None)
@given(SEED)
def test_alignment_is_where_an_optimiser_ends(seed: int) -> None:
    truth, generated = noisy_pair(seed, 15)
    x, y = generated[:, :3, 3], truth[:, :3, 3]

    def residual(of: np.ndarray) -> np.ndarray:
        return (np.exp(of[0]) * x @ Rotation.from_rotvec(of[1:4]).as_matrix().T + of[4:] - y).ravel()

    fit = fit_points(x, y).sim
    near = [np.log(fit.scale) + 0.05, *(Rotation.from_matrix(fit.rotation).as_rotvec() + 0.03), *fit.translation]
    found = least_squares(residual, near, xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    assert np.exp(found[0]) == pytest.approx(fit.scale, rel=1e-6)
    np.testing.assert_allclose(Rotation.from_rotvec(found[1:4]).as_matrix(), fit.rotation, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(SEED, st.integers(1, 7))
def test_relative_errors_against_a_loop(seed: int, delta: int) -> None:
    truth, generated = noisy_pair(seed, 20)
    trans, rot = relative_errors(truth, generated, delta)
    assert len(trans) == len(rot) == 20 - delta
    for i in range(20 - delta):
        dq = np.linalg.inv(truth[i]) @ truth[i + delta]
        dp = np.linalg.inv(generated[i]) @ generated[i + delta]
        error = np.linalg.inv(dq) @ dp
        assert trans[i] == pytest.approx(np.linalg.norm(error[:3, 3]))
        assert rot[i] == pytest.approx(np.degrees(Rotation.from_matrix(error[:3, :3]).magnitude()))


@settings(max_examples=25, deadline=None)
@given(SEED, TURN, SHIFT, st.floats(0.05, 20), TURN, SHIFT)
def test_frame_and_size_of_a_trajectory_do_not_count(
    seed: int, turn: tuple[float, ...], shift: tuple[float, ...], scale: float, other: tuple[float, ...], by: Any
) -> None:
    truth, generated = noisy_pair(seed)
    before = [one(truth, generated) for one in (rpe_trans, rpe_rot_deg, ape_rmse, ape_whole)]
    moved = aligned(generated, similarity(turn, shift, scale))
    both = aligned(truth, similarity(other, by)), aligned(moved, similarity(other, by))
    for q, p in ((truth, moved), both):
        assert [one(q, p) for one in (rpe_trans, rpe_rot_deg, ape_rmse, ape_whole)] == pytest.approx(before, rel=1e-6)
    assert rpe_scale(truth, moved) == pytest.approx(rpe_scale(truth, generated) / scale, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(SEED, TURN, SHIFT, st.floats(0.05, 20))
def test_a_moved_copy_is_found_again(
    seed: int, turn: tuple[float, ...], shift: tuple[float, ...], scale: float
) -> None:
    truth, _ = noisy_pair(seed)
    hidden = similarity(turn, shift, scale)
    fit = fit_points(aligned(truth, hidden)[:, :3, 3], truth[:, :3, 3])
    assert fit.sim.scale == pytest.approx(1 / scale)
    np.testing.assert_allclose(fit.sim.rotation, hidden.rotation.T, atol=1e-7)
    assert rpe_trans(truth, aligned(truth, hidden)) == pytest.approx(0, abs=1e-8)


@given(SEED)
def test_same_as_the_alignment_that_refuses(seed: int) -> None:
    truth, generated = noisy_pair(seed)
    ours, strict = (
        f(generated[:, :3, 3], truth[:, :3, 3]) for f in (fit_points, lambda a, b: align(a, b, with_scale=1))
    )
    assert ours.sim.scale == pytest.approx(strict.scale)
    np.testing.assert_allclose(ours.sim.rotation, strict.rotation, atol=1e-9)


@given(SEED)
def test_order_of_points_does_not_count_for_the_alignment(seed: int) -> None:
    truth, generated = noisy_pair(seed)
    order = np.random.default_rng(seed).permutation(len(truth))
    one, other = (fit_points(generated[i, :3, 3], truth[i, :3, 3]) for i in (slice(None), order))
    assert one.sim.scale == pytest.approx(other.sim.scale)
    np.testing.assert_allclose(one.sim.rotation, other.sim.rotation, atol=1e-9)


def test_small_turns_are_exact() -> None:
    """Where the arc cosine gives 0 or 1e-6."""
    yaw = np.linspace(0, 1e-8, 5)
    truth, turned = pose_from_yaw_pitch(np.zeros((5, 3)), 0 * yaw), pose_from_yaw_pitch(np.zeros((5, 3)), yaw)
    assert rpe_rot_deg(truth, turned) == pytest.approx(np.degrees(1e-8) / 4, rel=1e-6)


@pytest.mark.parametrize("which", ["generated", "truth", "both"])
def test_standing_still_is_a_shape_and_never_a_good_fit(which: str) -> None:
    truth, generated = noisy_pair(3)
    step = np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).mean()
    truth = truth if which == "generated" else still(len(truth))
    generated = generated if which == "truth" else still(len(truth))
    fit = fit_points(generated[:, :3, 3], truth[:, :3, 3])
    assert fit.shape == "static"
    assert fit.sim.scale == 0
    assert (fit.source == "static") == (which != "truth")
    assert (fit.target == "static") == (which != "generated")
    # The error is the mean true step: that of a camera that does not move.
    assert rpe_trans(truth, generated) == pytest.approx(step if which == "generated" else 0, abs=1e-12)


def test_lines_and_unrelated_motion() -> None:
    # A straight line keeps its scale.
    line = np.outer(np.arange(30.0), [0.3, -0.1, 0.2]) + 100
    bent = np.random.default_rng(0).normal(size=(30, 3)) + 2 * line
    fit = fit_points(line, bent)
    assert fit.shape == fit.source == "line"
    assert fit.target == "spatial"
    assert fit.sim.scale == pytest.approx(2, rel=0.1)
    assert fit_points(line, 3 * line).sim.scale == pytest.approx(3)
    with pytest.raises(ShapeError, match="on one line"):
        align(line, bent, with_scale=True)
    # Unrelated motion gets the score of none.
    rng = np.random.default_rng(8)
    truth, other = trajectory(rng, 3000, 0.5, 0.1), trajectory(rng, 3000, 0.5, 0.1)
    # A bounded walk of its own: two random ones always look alike to some degree.
    truth[:, :3, 3] = 0.3 * rng.normal(size=(3000, 3))
    floor = np.linalg.norm(np.diff(truth[:, :3, 3], axis=0), axis=1).mean()
    assert abs(rpe_scale(truth, other) or 0.0) < 0.01
    assert rpe_trans(truth, other) == pytest.approx(floor, rel=0.01)


def test_whole_poses_by_hand_and_by_plain_matrices() -> None:
    # Centres agree, so nothing is aligned away; every camera is turned by 90 degrees: 4 (1 - cos 90) = 4.
    truth = trajectory(np.random.default_rng(1), 12, 0.1, 0.3)
    turned = truth.copy()
    turned[:, :3, :3] = truth[:, :3, :3] @ Rotation.from_rotvec([0, 0, np.pi / 2]).as_matrix()
    assert ape_whole(truth, turned) == pytest.approx(2.0)
    assert ape_whole(truth, truth) == pytest.approx(0, abs=1e-6)
    truth, generated = noisy_pair(5)
    moved = aligned(generated, fit_points(generated[:, :3, 3], truth[:, :3, 3]).sim)
    errors = [np.linalg.norm(np.linalg.inv(q) @ p - np.eye(4)) ** 2 for q, p in zip(truth, moved, strict=True)]
    assert ape_whole(truth, generated) == pytest.approx(np.sqrt(np.mean(errors)))
    assert ape_whole(still(1), still(1)) == pytest.approx(0, abs=1e-6)
    assert ape_whole(np.zeros((0, 4, 4)), np.zeros((0, 4, 4))) is None
    with pytest.raises(ShapeError, match="of one length"):
        ape_whole(still(2), still(3))


def test_too_few_poses_and_wrong_shapes() -> None:
    # One pose and none.
    one = still(1)
    assert (rpe_trans(one, one), rpe_rot_deg(one, one)) == (None, None)
    assert rpe_scale(one, one) == 0
    assert ape_rmse(one, one) == 0
    none = np.zeros((0, 4, 4))
    assert (rpe_trans(none, none), rpe_scale(none, none), ape_rmse(none, none)) == (None, None, None)
    assert len(relative_errors(still(3), still(3), 3)[0]) == 0
    # Refuses what is no pair.
    with pytest.raises(ShapeError, match="of one length"):
        relative_errors(still(3), still(4))
    with pytest.raises(ShapeError, match="of one length"):
        absolute_errors(np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(ShapeError, match="delta is 1 or more"):
        relative_errors(still(3), still(3), 0)
    with pytest.raises(ShapeError, match="n >= 1"):
        fit_points(np.zeros((0, 3)), np.zeros((0, 3)))
    for bad in (np.nan, np.inf, 1e200):
        with pytest.raises(ShapeError, match="not finite"):
            fit_points([[0, 0, 0], [1, 0, 0], [bad, 0, 0]], np.eye(3))


def test_unknown_poses_stay_unknown() -> None:
    truth, generated = noisy_pair(1, 10)
    generated[4] = np.nan
    trans, rot = relative_errors(truth, generated)
    assert np.isnan(trans).nonzero()[0].tolist() == np.isnan(rot).nonzero()[0].tolist() == [3, 4]
    assert module.absolute_errors(truth, generated)[[3, 5]].max() < 100
