"""How far one camera trajectory is from another: Sim(3) alignment, absolute and relative pose error.

    fit = fit_points(generated[:, :3, 3], truth[:, :3, 3])
    trans_m, rot_deg = relative_errors(truth, aligned(generated, fit.sim))

Poses are camera-to-world (n, 4, 4). The rotation of the alignment cancels in relative poses, so the relative error only
depends on its scale.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, rotation_angle
from worldgauge.core.umeyama import Alignment, Sim3, umeyama
from worldgauge.metrics._registry import metric

_SOURCE = "MIND, section 3.5; released scorer"
_REGULAR = 1e-12
"""Added to the variance, in square units, as released: it keeps the scale of a camera that does not move at 0."""


def fit_points(source: ArrayLike, target: ArrayLike) -> Alignment:
    """Fit generated camera centres to the true ones with `umeyama`, regularised as MIND released it.

    Source: MIND, released scorer.

    Args:
        source: (n, 3) generated camera centres.
        target: (n, 3) true camera centres.

    Returns:
        The alignment from source to target.

    Raises:
        ShapeError: Other shapes, or values that are not finite.

    Examples:
        >>> fit = fit_points([[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [2, 0, 0], [2, 2, 0]])
        >>> round(fit.sim.scale, 6), fit.shape
        (2.0, 'plane')
    """
    return umeyama(source, target, regular=_REGULAR)


def aligned(poses: ArrayLike, sim: Sim3) -> FloatArray:
    """Move poses by a similarity: centres are scaled, rotated and shifted, rotations are only rotated.

    Args:
        poses: (n, 4, 4) camera-to-world.
        sim: The similarity.

    Returns:
        The moved poses (n, 4, 4).

    Examples:
        >>> poses = np.tile(np.eye(4), (3, 1, 1))
        >>> poses[:, :3, 3] = [[2, 2, 2], [4, 2, 2], [4, 4, 2]]
        >>> fit = fit_points(poses[:, :3, 3], poses[:, :3, 3] / 2)
        >>> aligned(poses, fit.sim)[:, :3, 3].round(6).tolist()
        [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [2.0, 2.0, 1.0]]
    """
    own = np.asarray(poses, np.float64)
    moved = own.copy()
    moved[..., :3, :3] = sim.rotation @ own[..., :3, :3]
    moved[..., :3, 3] = sim.apply(own[..., :3, 3])
    return moved


def relative_errors(truth: ArrayLike, generated: ArrayLike, delta: int = 1) -> tuple[FloatArray, FloatArray]:
    """Relative pose error (RPE) of every step over `delta` frames.

    E_i = (Q_i^-1 Q_{i+delta})^-1 (P_i^-1 P_{i+delta}) with Q of `truth` and P of `generated`. The errors are the length
    of its translation and its angle. The angle is exact near 0, where the released arc cosine is off by up to 2e-5
    degrees.
    Source: MIND, released scorer.

    Args:
        truth: (n, 4, 4) camera-to-world.
        generated: (n, 4, 4) camera-to-world, in the same frame and unit.
        delta: Frames from the start to the end of a step.

    Returns:
        (n - delta,) errors in the unit of the poses, and (n - delta,) in degrees. NaN where a pose holds NaN. Empty
        when n <= delta.

    Raises:
        ShapeError: Other shapes, or a `delta` below 1.

    Examples:
        >>> truth = np.tile(np.eye(4), (3, 1, 1))
        >>> truth[:, 0, 3] = [0, 1, 2]
        >>> generated = truth.copy()
        >>> generated[2, 0, 3] = 4  # the second step is 3 m, not 1 m
        >>> metres, degrees = relative_errors(truth, generated)
        >>> metres.round(6).tolist(), degrees.round(6).tolist()
        ([0.0, 2.0], [0.0, 0.0])
    """
    q, p = _poses(truth, generated)
    if delta < 1:
        raise ShapeError(f"a step over {delta} frames; delta is 1 or more")
    (turn_q, move_q), (turn_p, move_p) = (_steps(poses, delta) for poses in (q, p))
    # The length of E's translation: turning by dQ^-1 does not change it.
    trans: FloatArray = np.linalg.norm(move_p - move_q, axis=1)
    return trans, np.degrees(rotation_angle(np.swapaxes(turn_q, -1, -2) @ turn_p))


def absolute_errors(truth: ArrayLike, generated: ArrayLike) -> FloatArray:
    """Distance of the two camera centres at each frame.

    Args:
        truth: (n, 4, 4) camera-to-world.
        generated: (n, 4, 4) camera-to-world, in the same frame and unit.

    Returns:
        (n,) distances in the unit of the poses.

    Raises:
        ShapeError: Other shapes.

    Examples:
        >>> truth = np.tile(np.eye(4), (3, 1, 1))
        >>> truth[:, 0, 3] = [0, 1, 2]
        >>> generated = truth.copy()
        >>> generated[2, 1, 3] = 3
        >>> absolute_errors(truth, generated).tolist()
        [0.0, 0.0, 3.0]
    """
    q, p = _poses(truth, generated)
    distance: FloatArray = np.linalg.norm(p[:, :3, 3] - q[:, :3, 3], axis=1)
    return distance


@metric("rpe_trans", unit="m", better="lower", bounds=(0.0, math.inf), source=_SOURCE)
def rpe_trans(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Mean translation error of each one-frame step after Sim(3) alignment.

    Speed is not judged, because the alignment removes a constant factor. A camera that does not move scores the mean
    step of the truth, and so does one whose motion has nothing in common with it.

    Args:
        truth: (n, 4, 4) camera-to-world, metres.
        generated: (n, 4, 4) camera-to-world, any scale.

    Returns:
        The error in metres of the truth; None for fewer than two poses.

    Raises:
        ShapeError: Other shapes, or values that are not finite.

    Examples:
        >>> truth = np.tile(np.eye(4), (3, 1, 1))
        >>> truth[:, 0, 3] = [0, 1, 2]
        >>> faster, still = truth.copy(), truth.copy()
        >>> faster[:, 0, 3], still[:, 0, 3] = [0, 5, 10], 0
        >>> round(rpe_trans(truth, faster), 6), round(rpe_trans(truth, still), 6)
        (0.0, 1.0)
    """
    q, p = _poses(truth, generated)
    return None if len(q) < 2 else float(relative_errors(q, aligned(p, _fit(q, p).sim))[0].mean())


@metric("rpe_rot_deg", unit="deg", better="lower", bounds=(0.0, 180.0), source=_SOURCE)
def rpe_rot_deg(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Mean rotation error of each one-frame step. The speed of turning counts.

    Args:
        truth: (n, 4, 4) camera-to-world.
        generated: (n, 4, 4) camera-to-world.

    Returns:
        The error in degrees, 0 to 180; None for fewer than two poses.

    Raises:
        ShapeError: Other shapes.

    Examples:
        >>> truth = np.tile(np.eye(4), (3, 1, 1))
        >>> generated = truth.copy()
        >>> generated[1:, :3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  # one step turns by 90 degrees
        >>> round(rpe_rot_deg(truth, generated), 6)
        45.0
    """
    q, p = _poses(truth, generated)
    return None if len(q) < 2 else float(relative_errors(q, p)[1].mean())


@metric("rpe_scale", unit="1", better="neither", bounds=(-math.inf, math.inf), source=_SOURCE)
def rpe_scale(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Scale that the alignment gives the generated poses.

    Args:
        truth: (n, 4, 4) camera-to-world, metres.
        generated: (n, 4, 4) camera-to-world, any scale.

    Returns:
        The scale; 0 where either camera stands still, None for no poses.

    Raises:
        ShapeError: Other shapes, or values that are not finite.

    Examples:
        >>> truth = np.tile(np.eye(4), (3, 1, 1))
        >>> truth[:, 0, 3] = [0, 1, 2]
        >>> generated = truth.copy()
        >>> generated[:, 0, 3] = [0, 2, 4]
        >>> round(rpe_scale(truth, generated), 6)
        0.5
    """
    q, p = _poses(truth, generated)
    return None if len(q) == 0 else _fit(q, p).sim.scale


@metric("ape_rmse", unit="m", better="lower", bounds=(0.0, math.inf), source=_SOURCE)
def ape_rmse(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Root mean square distance of the camera centres after Sim(3) alignment.

    Args:
        truth: (n, 4, 4) camera-to-world, metres.
        generated: (n, 4, 4) camera-to-world, any scale.

    Returns:
        The distance in metres of the truth; None for no poses.

    Raises:
        ShapeError: Other shapes, or values that are not finite.

    Examples:
        >>> truth = np.tile(np.eye(4), (3, 1, 1))
        >>> truth[:, 0, 3] = [0, 1, 2]
        >>> still = np.tile(np.eye(4), (3, 1, 1))
        >>> round(ape_rmse(truth, still), 3)  # 1, 0 and 1 m from the mean place
        0.816
    """
    q, p = _poses(truth, generated)
    if len(q) == 0:
        return None
    return float(np.sqrt((absolute_errors(q, aligned(p, _fit(q, p).sim)) ** 2).mean()))


@metric("ape_whole", unit="1", better="lower", bounds=(0.0, math.inf), source=_SOURCE)
def ape_whole(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Root mean square of |Q^-1 P - I| (Frobenius) after Sim(3) alignment: place and direction in one number.

    It adds squared metres to 4 (1 - cos) of the angle, so it means something only beside numbers of the same kind; the
    field's tools call it the absolute error of the full transformation.

    Args:
        truth: Q, (n, 4, 4) camera-to-world, metres.
        generated: P, (n, 4, 4) camera-to-world, any scale.

    Returns:
        The error; None for no poses.

    Raises:
        ShapeError: Other shapes, or values that are not finite.

    Examples:
        >>> truth = np.tile(np.eye(4), (4, 1, 1))
        >>> truth[:, :3, 3] = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
        >>> turned = truth.copy()
        >>> turned[:, :3, :3] = np.diag([-1, 1, -1])  # same places, half a turn
        >>> round(ape_whole(truth, truth), 3), round(ape_whole(truth, turned) ** 2, 3)
        (0.0, 8.0)
    """
    q, p = _poses(truth, generated)
    if len(q) == 0:
        return None
    p = aligned(p, _fit(q, p).sim)
    # |R - I|^2 = 6 - 2 tr R, and turning by Q^-1 does not change the length of a shift.
    turned = 6 - 2 * np.einsum("nij,nij->n", q[:, :3, :3], p[:, :3, :3])
    return float(np.sqrt((np.maximum(turned, 0) + absolute_errors(q, p) ** 2).mean()))


def _steps(poses: FloatArray, delta: int) -> tuple[FloatArray, FloatArray]:
    """Rotations (n - delta, 3, 3) and shifts (n - delta, 3) from each pose to the one `delta` later, in its frame.
    `geometry.relative` in a third of the time: 4x4 products spend most of it on zeros and ones."""
    back = np.swapaxes(poses[:-delta, :3, :3], -1, -2)
    shift = poses[delta:, :3, 3] - poses[:-delta, :3, 3]
    return back @ poses[delta:, :3, :3], np.einsum("nij,nj->ni", back, shift)


def _fit(truth: FloatArray, generated: FloatArray) -> Alignment:
    return fit_points(generated[:, :3, 3], truth[:, :3, 3])


def _poses(truth: ArrayLike, generated: ArrayLike) -> tuple[FloatArray, FloatArray]:
    q, p = np.asarray(truth, np.float64), np.asarray(generated, np.float64)
    if q.shape != p.shape or q.ndim != 3 or q.shape[1:] != (4, 4):
        raise ShapeError(f"two trajectories (n, 4, 4) of one length are compared, got {q.shape} and {p.shape}")
    return q, p
