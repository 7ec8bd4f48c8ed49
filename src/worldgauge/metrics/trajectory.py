"""How far one camera trajectory strays from another: Sim(3) alignment, absolute and relative pose error.

    fit = umeyama(generated[:, :3, 3], truth[:, :3, 3])
    trans_m, rot_deg = relative_errors(truth, aligned(generated, fit.sim))

Poses are camera-to-world (n, 4, 4). Rotations of the alignment cancel in relative poses, so the relative error takes
nothing from it but the scale (specification mind, section 4.7).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray, Sim3, nearest_rotation, rotation_angle
from worldgauge.metrics import metrics

Shape = Literal["static", "line", "plane", "spatial"]
"""What a trajectory spans. Below "plane" the rotation of an alignment is one of many; with "static" its scale is 0."""

_SOURCE = "MIND, section 4.7 of the specification: umeyama_sim3, compute_rpe"
_REGULAR = 1e-12
"""Added to the variance, in square units, as released: it keeps the scale of a camera that does not move at 0."""
_FLAT = 1e-6
"""Of the widest spread: what counts as none. Squares of it are what 64 bits still tell from 0."""


class Alignment(NamedTuple):
    """A similarity that takes a generated trajectory to the true one.

    sim: generated point -> true point. shape: the lesser of the two that follow; source, target: what the generated
    and the true trajectory span.
    """

    sim: Sim3
    shape: Shape
    source: Shape
    target: Shape


def umeyama(source: ArrayLike, target: ArrayLike) -> Alignment:
    """Least-squares similarity of points `source` (n, 3) onto `target` (n, 3), n >= 1, whatever they span.

    Degenerate points are no error but a `shape`: where either stands still the scale is 0, and every aligned point is
    the mean of `target`. Scale is a regression: it also nears 0 where the two have nothing in common.
    Raises ShapeError for other shapes and values that are not finite. See `geometry.align` where degenerate points
    have to be refused.
    Source: MIND, section 4.7.5 of the specification; Umeyama 1991.
    """
    x, y = np.asarray(source, np.float64), np.asarray(target, np.float64)
    if x.shape != y.shape or x.ndim != 2 or x.shape[1] != 3 or len(x) == 0:
        raise ShapeError(f"umeyama needs two (n, 3) arrays with n >= 1, got {x.shape} and {y.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        mean_x, mean_y = x.mean(0), y.mean(0)
        x, y = x - mean_x, y - mean_y
        covariance = y.T @ x / len(x)
        of_x, of_y = x.T @ x / len(x), y.T @ y / len(y)
    if not all(np.isfinite(matrix).all() for matrix in (covariance, of_x, of_y)):
        raise ShapeError("umeyama got points that are not finite, or too large; drop them first")
    shapes = _shape(of_x, mean_x), _shape(of_y, mean_y)
    rotation, along = nearest_rotation(covariance)
    still = "static" in shapes
    # What is left of a static trajectory is rounding; dividing by it would give any scale.
    scale = 0.0 if still else float(along.sum() / (np.trace(of_x) + _REGULAR))
    order = get_args(Shape)
    sim = Sim3(scale, rotation, mean_y - scale * rotation @ mean_x)
    return Alignment(sim, min(shapes, key=order.index), *shapes)


def aligned(poses: ArrayLike, sim: Sim3) -> FloatArray:
    """Poses (n, 4, 4) moved by a similarity: centres scaled, turned and shifted, rotations turned only."""
    own = np.asarray(poses, np.float64)
    moved = own.copy()
    moved[..., :3, :3] = sim.rotation @ own[..., :3, :3]
    moved[..., :3, 3] = sim.apply(own[..., :3, 3])
    return moved


def relative_errors(truth: ArrayLike, generated: ArrayLike, delta: int = 1) -> tuple[FloatArray, FloatArray]:
    """Error of every step over `delta` frames: (n - delta,) in the unit of the poses, and (n - delta,) in degrees.

    E_i = (Q_i^-1 Q_{i+delta})^-1 (P_i^-1 P_{i+delta}) with Q of `truth` and P of `generated`, both (n, 4, 4) in one
    frame and unit; its translation's length and its angle. The angle is exact near 0, where the released arc cosine is
    off by up to 2e-5 degrees. NaN where a pose holds NaN. Empty where n <= delta.
    Raises ShapeError for other shapes, and for a `delta` below 1.
    Source: MIND, section 4.7.6 of the specification.
    """
    q, p = _poses(truth, generated)
    if delta < 1:
        raise ShapeError(f"a step over {delta} frames; delta is 1 or more")
    (turn_q, move_q), (turn_p, move_p) = (_steps(poses, delta) for poses in (q, p))
    # The length of E's translation: turning by dQ^-1 does not change it.
    trans: FloatArray = np.linalg.norm(move_p - move_q, axis=1)
    return trans, np.degrees(rotation_angle(np.swapaxes(turn_q, -1, -2) @ turn_p))


def absolute_errors(truth: ArrayLike, generated: ArrayLike) -> FloatArray:
    """Distance of the two camera centres at each frame (n,), in the unit of the poses (n, 4, 4).

    Raises ShapeError for other shapes.
    """
    q, p = _poses(truth, generated)
    distance: FloatArray = np.linalg.norm(p[:, :3, 3] - q[:, :3, 3], axis=1)
    return distance


@metrics.register("rpe_trans", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source=_SOURCE)
def rpe_trans(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Mean error of position per frame after Sim(3) alignment, poses (n, 4, 4); None for fewer than two.

    Metres of the truth. Speed is not judged, since a constant factor of it is removed. A camera that does not move
    scores the mean step of the truth, and so does one whose motion has nothing to do with it.
    """
    q, p = _poses(truth, generated)
    return None if len(q) < 2 else float(relative_errors(q, aligned(p, _fit(q, p).sim))[0].mean())


@metrics.register("rpe_rot_deg", unit="deg", better="lower", bounds=(0.0, 180.0), version=1, source=_SOURCE)
def rpe_rot_deg(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Mean error of rotation per frame in degrees, poses (n, 4, 4); None for fewer than two. Turning speed counts."""
    q, p = _poses(truth, generated)
    return None if len(q) < 2 else float(relative_errors(q, p)[1].mean())


@metrics.register("rpe_scale", unit="1", better="neither", bounds=(-math.inf, math.inf), version=1, source=_SOURCE)
def rpe_scale(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Scale that the alignment gave the generated poses (n, 4, 4); 0 where either stands still; None for none."""
    q, p = _poses(truth, generated)
    return None if len(q) == 0 else _fit(q, p).sim.scale


@metrics.register("ape_rmse", unit="m", better="lower", bounds=(0.0, math.inf), version=1, source=_SOURCE)
def ape_rmse(truth: ArrayLike, generated: ArrayLike) -> float | None:
    """Root mean square distance of camera centres after Sim(3) alignment, poses (n, 4, 4); None for none."""
    q, p = _poses(truth, generated)
    if len(q) == 0:
        return None
    return float(np.sqrt((absolute_errors(q, aligned(p, _fit(q, p).sim)) ** 2).mean()))


def _steps(poses: FloatArray, delta: int) -> tuple[FloatArray, FloatArray]:
    """Rotations (n - delta, 3, 3) and shifts (n - delta, 3) from each pose to the one `delta` later, seen from it.

    As `geometry.relative` says, at a third of its time: 4x4 products spend most of theirs on zeros and ones.
    """
    back = np.swapaxes(poses[:-delta, :3, :3], -1, -2)
    shift = poses[delta:, :3, 3] - poses[:-delta, :3, 3]
    return back @ poses[delta:, :3, :3], np.einsum("nij,nj->ni", back, shift)


def _fit(truth: FloatArray, generated: FloatArray) -> Alignment:
    return umeyama(generated[:, :3, 3], truth[:, :3, 3])


def _poses(truth: ArrayLike, generated: ArrayLike) -> tuple[FloatArray, FloatArray]:
    q, p = np.asarray(truth, np.float64), np.asarray(generated, np.float64)
    if q.shape != p.shape or q.ndim != 3 or q.shape[1:] != (4, 4):
        raise ShapeError(f"two trajectories (n, 4, 4) of one length are compared, got {q.shape} and {p.shape}")
    return q, p


def _shape(covariance: FloatArray, mean: FloatArray) -> Shape:
    """What points of this covariance (3, 3) round `mean` (3,) span."""
    widths = np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[::-1], 0.0))
    # Far from the origin, rounding of the mean alone looks like a spread.
    rounding = 1e-14 * float(np.abs(mean).max())
    if widths[0] <= max(rounding, np.finfo(float).tiny):
        return "static"
    order: tuple[Shape, ...] = ("line", "plane", "spatial")
    return order[int((widths[1:] > max(_FLAT * widths[0], rounding)).sum())]
