"""Similarities between sets of points: Umeyama's least-squares alignment."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray

Shape = Literal["static", "line", "plane", "spatial"]
"""What points span. Below "plane" the rotation of an alignment is not unique; with "static" its scale is 0."""

_FLAT = 1e-6
"""Share of the widest spread that counts as zero. 64 bits can just separate its square from 0."""


class Sim3(NamedTuple):
    """A similarity: p -> scale * rotation @ p + translation."""

    scale: float
    rotation: FloatArray
    translation: FloatArray

    def apply(self, points: ArrayLike) -> FloatArray:
        """Points (..., 3) moved by this similarity."""
        moved: FloatArray = self.scale * np.asarray(points, np.float64) @ self.rotation.T + self.translation
        return moved

    def inverse(self) -> Sim3:
        """The similarity that undoes this one."""
        rotation = self.rotation.T
        return Sim3(1 / self.scale, rotation, -(rotation @ self.translation) / self.scale)


class Alignment(NamedTuple):
    """A similarity of two point sets; the last of its `singular` values (3,) is negative when it mirrors."""

    sim: Sim3
    shape: Shape
    source: Shape
    target: Shape
    singular: FloatArray


def umeyama(source: ArrayLike, target: ArrayLike, *, regular: float = 0.0) -> Alignment:
    """Least-squares similarity that maps points onto others, whatever they span.

    Degenerate points are no error. They are marked in `shape`: where either set stands still the scale is 0, and every
    aligned point is the mean of `target`. The scale is a regression, so it also goes to 0 where the two sets have
    nothing in common.
    Source: Umeyama 1991, equations 34-43.

    Args:
        source: (n, 3) points, n >= 1.
        target: (n, 3) points, row by row paired with `source`.
        regular: Added to the variance of `source`, in square units.

    Returns:
        The alignment from source to target.

    Raises:
        ShapeError: Other shapes, or values that are not finite.

    Examples:
        >>> fit = umeyama([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[5, 0, 0], [7, 0, 0], [5, 2, 0]])
        >>> round(fit.sim.scale, 3), fit.shape
        (2.0, 'plane')
    """
    x, y = np.asarray(source, np.float64), np.asarray(target, np.float64)
    if x.shape != y.shape or x.ndim != 2 or x.shape[1] != 3 or len(x) == 0:
        raise ShapeError(f"umeyama needs two (n, 3) arrays with n >= 1, got {x.shape} and {y.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        mean_x, mean_y = x.mean(0), y.mean(0)
        x, y = x - mean_x, y - mean_y
        covariance = y.T @ x / len(x)
        covariance_x, covariance_y = x.T @ x / len(x), y.T @ y / len(y)
    if not all(np.isfinite(matrix).all() for matrix in (covariance, covariance_x, covariance_y)):
        raise ShapeError("umeyama got points that are not finite, or too large; drop them first")
    shapes = _shape(covariance_x, mean_x), _shape(covariance_y, mean_y)
    rotation, singular = nearest_rotation(covariance)
    # What is left of static points is rounding; dividing by it would give any scale.
    scale = 0.0 if "static" in shapes else float(singular.sum() / (np.trace(covariance_x) + regular))
    order = get_args(Shape)
    sim = Sim3(scale, rotation, mean_y - scale * rotation @ mean_x)
    return Alignment(sim, min(shapes, key=order.index), *shapes, singular)


def align(source: ArrayLike, target: ArrayLike, *, with_scale: bool) -> Sim3:
    """As `umeyama`, for points (n, 3), n >= 3, that define a rotation."""
    a, b = np.asarray(source, np.float64), np.asarray(target, np.float64)
    if a.shape != b.shape or a.ndim != 2 or a.shape[1] != 3 or len(a) < 3:
        raise ShapeError(f"align needs two (N, 3) arrays with N >= 3, got {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ShapeError("align got points that are not finite; drop or repair them first")
    fit = umeyama(a, b)
    if fit.shape == "static" or fit.singular[1] <= 1e-12 * max(fit.singular[0], np.finfo(float).tiny):
        raise ShapeError("align got points on one line: the rotation about that line is not defined")
    return fit.sim if with_scale else Sim3(1.0, fit.sim.rotation, b.mean(0) - fit.sim.rotation @ a.mean(0))


def nearest_rotation(matrix: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """The rotation most similar to a matrix (3, 3), and singular values (3,), the last one negative when it mirrors.

    Their sum is the trace of rotation^T matrix. Two values of 0 leave the rotation ambiguous.
    Source: Umeyama 1991, equations 39-43.
    """
    u, singular, vt = np.linalg.svd(np.asarray(matrix, np.float64))
    sign = np.array([1.0, 1.0, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    return (u * sign) @ vt, singular * sign


def _shape(covariance: FloatArray, mean: FloatArray) -> Shape:
    """What points with this covariance (3, 3) about `mean` (3,) span."""
    widths = np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[::-1], 0.0))
    # Far from the origin, rounding of the mean alone looks like a spread.
    rounding = 1e-14 * float(np.abs(mean).max())
    if widths[0] <= max(rounding, np.finfo(float).tiny):
        return "static"
    order: tuple[Shape, ...] = ("line", "plane", "spatial")
    return order[int((widths[1:] > max(_FLAT * widths[0], rounding)).sum())]
