"""Geometry of few views: relative pose of two, pose from known points, points from known poses, turns alone.

Pixels are counted from the image centre; poses here are world-to-camera, x -> R x + t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.perception.decoders.bundle import Scene, Sightings, jacobians, rotation_of, squared_errors

_SEED = 7
AGREE_PX = 4.0
"""How far a point may be seen from where it should be."""
_EPIPOLAR = 0.4
"""Of that, across an epipolar line."""
_MOST_DRAWS = 200
"""Enough where 60 % of the points agree, and fewer are not asked for."""
_MIN_AGREEING, _MIN_SHARE = 12, 0.4


class Pair(NamedTuple):
    """A second view seen from the first, with a baseline of length 1; median parallax of the points that agree."""

    rotation: FloatArray
    translation: FloatArray
    parallax_deg: float


class Placed(NamedTuple):
    """Pose of a view, and which of the points (n,) agree with it."""

    rotation: FloatArray
    translation: FloatArray
    agree: NDArray[np.bool_]


def two_views(a: FloatArray, b: FloatArray, focal: float, agree_px: float = AGREE_PX) -> Pair | None:
    """Estimate the relative pose of two views (five points, RANSAC).

    Args:
        a: Points (n, 2) in the first view, pixels from the image centre.
        b: The same points in the second view.
        focal: Focal length, pixels.
        agree_px: Largest epipolar error of an inlier, pixels.

    Returns:
        The pose; None where most points do not agree.
    """
    import cv2

    cv2.setRNGSeed(_SEED)
    essential, agree = cv2.findEssentialMat(
        a / focal,
        b / focal,
        np.eye(3),
        method=cv2.RANSAC,
        prob=0.9999,
        threshold=_EPIPOLAR * agree_px / focal,
        maxIters=_MOST_DRAWS,
    )
    if essential is None or essential.shape != (3, 3) or agree.sum() < max(30, 0.6 * len(a)):
        return None
    chosen = agree.ravel() > 0
    a, b = a[chosen], b[chosen]
    front, turn, shift, _ = cv2.recoverPose(essential, a / focal, b / focal, np.eye(3))
    rotation, translation = np.asarray(turn, np.float64), np.asarray(shift, np.float64).ravel()
    if front < 0.8 * len(a):
        return None
    rays = bearings(a, focal), bearings(b, focal) @ rotation
    cosine = np.clip((rays[0] * rays[1]).sum(1), -1, 1)
    return Pair(rotation, translation, float(np.degrees(np.median(np.arccos(cosine)))))


def place(
    points: FloatArray,
    xy: FloatArray,
    focal: float,
    *,
    agree_px: float = AGREE_PX,
    least: int = _MIN_AGREEING,
    share: float = _MIN_SHARE,
) -> Placed | None:
    """Estimate the pose of a view from known points.

    Args:
        points: (n, 3).
        xy: Where they are seen (n, 2), pixels from the image centre.
        focal: Focal length, pixels.
        agree_px: Largest reprojection error of an inlier, pixels.
        least: Smallest number of inliers.
        share: Smallest share of inliers.

    Returns:
        The pose; None with too few inliers.
    """
    import cv2

    if len(points) < least:
        return None
    cv2.setRNGSeed(_SEED)
    found, turn, shift, inliers = cv2.solvePnPRansac(
        points,
        xy / focal,
        np.eye(3),
        None,
        iterationsCount=2000,
        reprojectionError=agree_px / focal,
        confidence=0.9999,
        flags=cv2.SOLVEPNP_AP3P,
    )
    if not found or inliers is None or len(inliers) < max(least, share * len(points)):
        return None
    rotation, translation = rotation_of(np.asarray(turn, np.float64).ravel()), np.asarray(shift, np.float64).ravel()
    chosen = np.asarray(inliers).ravel()
    for _ in range(2):
        rotation, translation = refined(rotation, translation, points[chosen], xy[chosen], focal)
        agree = _agreeing(rotation, translation, points, xy, focal, agree_px)
        chosen = np.flatnonzero(agree)
        if len(chosen) < max(least, share * len(points)):
            return None
    return Placed(rotation, translation, agree)


def refined(
    rotation: FloatArray, translation: FloatArray, points: FloatArray, xy: FloatArray, focal: float, rounds: int = 8
) -> tuple[FloatArray, FloatArray]:
    """Refine a pose by Gauss-Newton under a Cauchy loss of 1 px.

    Args:
        rotation: (3, 3), world to camera.
        translation: (3,).
        points: (n, 3).
        xy: Where they are seen (n, 2), pixels from the image centre.
        focal: Focal length, pixels.
        rounds: Number of steps.

    Returns:
        Rotation and translation.
    """
    index = np.arange(len(points))
    seen = Sightings(np.zeros_like(index), index, xy)
    for _ in range(rounds):
        scene = Scene(rotation[None], translation[None], points, focal)
        residual, by_camera, _, _ = jacobians(scene, seen)
        squared, valid = squared_errors(scene, seen)
        weighted = by_camera * (valid / (1 + squared))[:, None, None]
        normal = np.einsum("mki,mkj->ij", weighted, by_camera) + 1e-9 * np.eye(6)
        step = -np.linalg.solve(normal, np.einsum("mki,mk->i", weighted, residual))
        rotation, translation = rotation_of(step[:3]) @ rotation, translation + step[3:]
        if np.abs(step).max() < 1e-8:
            break
    return rotation, translation


def triangulate(
    xy: FloatArray, seen: NDArray[np.bool_], rotations: FloatArray, translations: FloatArray, focal: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Triangulate points by least squares of the distances to their rays.

    Args:
        xy: (K, P, 2) pixels from the image centre.
        seen: (K, P) bool.
        rotations: (K, 3, 3), world to camera.
        translations: (K, 3).
        focal: Focal length, pixels.

    Returns:
        Points (P, 3); their widest angle between the first ray and another, degrees; and their largest reprojection
        error, pixels, infinite for a point behind a camera that sees it.
    """
    centres = -np.einsum("kji,kj->ki", rotations, translations)
    rays = np.einsum("kpi,kij->kpj", bearings(np.where(seen[..., None], xy, 0), focal), rotations)
    across = (np.eye(3) - rays[..., :, None] * rays[..., None, :]) * seen[..., None, None]
    normal = across.sum(0) + 1e-12 * np.eye(3)
    points = np.linalg.solve(normal, np.einsum("kpij,kj->pi", across, centres)[..., None])[..., 0]
    first = rays[seen.argmax(0), np.arange(seen.shape[1])]
    cosine = np.where(seen, (rays * first).sum(-1), 1.0).min(0)
    frame, point = np.nonzero(seen)
    squared, valid = squared_errors(
        Scene(rotations, translations, points, focal), Sightings(frame, point, xy[frame, point])
    )
    worst = np.zeros(len(points))
    np.maximum.at(worst, point, np.where(valid, np.sqrt(squared), np.inf))
    return points, np.degrees(np.arccos(np.clip(cosine, -1, 1))), worst


def turn_between(a: FloatArray, b: FloatArray, focal: float, rounds: int = 10) -> tuple[FloatArray, float]:
    """Estimate the rotation between two views robustly.

    Args:
        a: Points (n, 2) in the first view, pixels from the image centre.
        b: The same points in the second view.
        focal: Focal length, pixels.
        rounds: Number of reweighted steps.

    Returns:
        Rotation (3, 3) that takes bearings of `a` to those of `b`, and the median error it leaves, pixels.
    """
    from_a, to_b = bearings(a, focal), bearings(b, focal)
    weight = np.ones(len(a))
    rotation, error = np.eye(3), np.full(len(a), np.inf)
    for _ in range(rounds):
        u, _, vt = np.linalg.svd((to_b * weight[:, None]).T @ from_a)
        rotation = (u * [1, 1, np.sign(np.linalg.det(u @ vt))]) @ vt
        turned = from_a @ rotation.T
        error = np.linalg.norm(focal * turned[:, :2] / np.maximum(turned[:, 2:], 0.05) - b, axis=1)
        weight = 1 / (1 + error**2)
    return rotation, float(np.median(error))


def bearings(xy: FloatArray, focal: float) -> FloatArray:
    """Convert pixels (..., 2) from the image centre to unit rays (..., 3).

    Args:
        xy: Pixels.
        focal: Focal length, pixels.
    """
    rays = np.concatenate([xy / focal, np.ones((*xy.shape[:-1], 1))], axis=-1)
    unit: FloatArray = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    return unit


def _agreeing(
    rotation: FloatArray, translation: FloatArray, points: FloatArray, xy: FloatArray, focal: float, agree_px: float
) -> NDArray[np.bool_]:
    index = np.arange(len(points))
    scene = Scene(rotation[None], translation[None], points, focal)
    squared, valid = squared_errors(scene, Sightings(np.zeros_like(index), index, xy))
    return valid & (squared < agree_px**2)
