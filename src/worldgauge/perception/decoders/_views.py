"""Geometry of few views: relative pose of two, pose from known points, points from known poses, turns alone.

Pixels are counted from the image centre; poses here are world-to-camera, x -> R x + t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray

LOSS_PX = 1.0
"""Residual, in pixels, at which the loss has halved a point's weight."""
_NEAREST = 1e-6
_BEHIND = 1e8
"""Squared pixels charged for a point behind its camera: more than any in front of it."""


@dataclass(frozen=True)
class PointScene:
    """Cameras (world to camera) and points of one reconstruction, in its own unit."""

    rotations: FloatArray  # (F, 3, 3)
    translations: FloatArray  # (F, 3)
    points: FloatArray  # (P, 3)
    focal: float

    @property
    def centres(self) -> FloatArray:
        """(F, 3): where the cameras are."""
        centres: FloatArray = -np.einsum("fji,fj->fi", self.rotations, self.translations)
        return centres


@dataclass(frozen=True)
class Sightings:
    """Points that cameras see, each at most once per frame."""

    frame: NDArray[np.int64]  # (M,)
    point: NDArray[np.int64]  # (M,)
    xy: FloatArray  # (M, 2), pixels from the image centre


def adjust(
    scene: PointScene,
    seen: Sightings,
    *,
    iterations: int = 15,
    loss_px: float | None = LOSS_PX,
    focal_prior: tuple[float, float] | None = None,
    tolerance: float = 1e-5,
) -> PointScene:
    """Adjust a scene to what was seen. The first camera stays; the overall scale is free."""
    damping, cost = 1e-4, cost_of(scene, seen, loss_px=loss_px, focal_prior=focal_prior)
    for _ in range(iterations):
        system = _Normal(scene, seen, loss_px, focal_prior)
        while damping < 1e8:
            candidate = system.stepped(damping)
            new = cost_of(candidate, seen, loss_px=loss_px, focal_prior=focal_prior)
            if new < cost:
                break
            damping *= 8
        else:
            return scene
        gain, scene, cost = cost - new, candidate, new
        damping = max(damping / 8, 1e-9)
        if gain <= tolerance * cost:
            break
    return scene


def cost_of(
    scene: PointScene,
    seen: Sightings,
    *,
    loss_px: float | None = LOSS_PX,
    focal_prior: tuple[float, float] | None = None,
) -> float:
    """Compute what `adjust` minimises: half the sum of squared residuals under the loss, and of the focal prior."""
    squared, valid = squared_errors(scene, seen)
    squared = np.where(valid, squared, _BEHIND)
    robust = squared if loss_px is None else loss_px**2 * np.log1p(squared / loss_px**2)
    prior = 0.0 if focal_prior is None else (np.log(scene.focal / focal_prior[0]) / focal_prior[1]) ** 2
    return float(0.5 * robust.sum() + 0.5 * prior)


def squared_errors(scene: PointScene, seen: Sightings) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Squared reprojection errors (M,), pixels squared, and whether each point is in front of the camera (M,)."""
    local = _local(scene, seen)
    valid = local[:, 2] > _NEAREST
    depth = np.where(valid, local[:, 2], 1.0)
    difference = scene.focal * local[:, :2] / depth[:, None] - seen.xy
    return (difference**2).sum(1), valid


def jacobians(scene: PointScene, seen: Sightings) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Residuals (M, 2), and derivatives by camera (M, 2, 6), point (M, 2, 3) and logarithm of the focal length (M, 2).
    A camera moves by a rotation vector w and a shift d: x -> exp(w) (R X) + t + d, in that order of columns."""
    local = _local(scene, seen)
    depth = np.maximum(local[:, 2], _NEAREST)
    flat = local[:, :2] / depth[:, None]
    by_local = np.zeros((len(local), 2, 3))
    by_local[:, 0, 0] = by_local[:, 1, 1] = scene.focal / depth
    by_local[:, :, 2] = -scene.focal * flat / depth[:, None]
    turned = local - scene.translations[seen.frame]
    by_camera = np.concatenate([np.cross(turned[:, None], by_local), by_local], axis=2)
    by_point = by_local @ scene.rotations[seen.frame]
    return scene.focal * flat - seen.xy, by_camera, by_point, scene.focal * flat


def rotation_of(vectors: FloatArray) -> FloatArray:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3), radians (Rodrigues)."""
    angle = np.linalg.norm(vectors, axis=-1)[..., None, None]
    x, y, z = np.moveaxis(vectors, -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).reshape(*vectors.shape, 3)
    # np.sinc has the pi in it; both factors are smooth at zero.
    first, second = np.sinc(angle / np.pi), 0.5 * np.sinc(angle / (2 * np.pi)) ** 2
    rotations: FloatArray = np.eye(3) + first * skew + second * (skew @ skew)
    return rotations


class _Normal:
    """The normal equations at one scene, in blocks: cameras (and focal), points, and what couples them."""

    def __init__(
        self, scene: PointScene, seen: Sightings, loss_px: float | None, focal_prior: tuple[float, float] | None
    ) -> None:
        self.scene = scene
        frames, points = len(scene.rotations), len(scene.points)
        residual, by_camera, by_point, by_focal = jacobians(scene, seen)
        squared, valid = squared_errors(scene, seen)
        weight = valid / (1 + squared / loss_px**2) if loss_px else valid.astype(float)
        weighted_camera, weighted_point = by_camera * weight[:, None, None], by_point * weight[:, None, None]

        self.size = 6 * frames + 1
        self.cameras = np.zeros((self.size, self.size))
        self.camera_side = np.zeros(self.size)
        blocks = _summed(seen.frame, np.swapaxes(weighted_camera, 1, 2) @ by_camera, frames)
        for k in range(frames):
            self.cameras[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = blocks[k]
        self.camera_side[:-1] = _summed(seen.frame, _dot(weighted_camera, residual), frames).ravel()
        self.cameras[:-1, -1] = _summed(seen.frame, _dot(weighted_camera, by_focal), frames).ravel()
        self.cameras[-1, :-1] = self.cameras[:-1, -1]
        self.cameras[-1, -1] = (weight[:, None] * by_focal**2).sum()
        self.camera_side[-1] = (weight[:, None] * by_focal * residual).sum()
        if focal_prior is not None:
            self.cameras[-1, -1] += focal_prior[1] ** -2
            self.camera_side[-1] += np.log(scene.focal / focal_prior[0]) / focal_prior[1] ** 2

        self.points = _summed(seen.point, np.swapaxes(weighted_point, 1, 2) @ by_point, points)
        self.point_side = _summed(seen.point, _dot(weighted_point, residual), points)
        coupling = np.zeros((points, frames, 6, 3))
        coupling[seen.point, seen.frame] = np.swapaxes(by_camera, 1, 2) @ weighted_point
        focal_row = _summed(seen.point, _dot(weighted_point, by_focal), points)[:, None]
        self.coupling = np.concatenate([coupling.reshape(points, 6 * frames, 3), focal_row], axis=1)
        # The first camera is what the others are measured from.
        self.free = np.arange(6, self.size if focal_prior is not None else self.size - 1)

    def stepped(self, damping: float) -> PointScene:
        """The scene after one damped step."""
        diagonal = np.arange(3)
        points = self.points.copy()
        points[:, diagonal, diagonal] += damping * self.points[:, diagonal, diagonal] + 1e-9
        inverse = np.linalg.inv(points)
        free = self.free
        cameras = self.cameras[np.ix_(free, free)]
        cameras[np.diag_indices(len(free))] += damping * np.diag(cameras) + 1e-9
        coupling = self.coupling[:, free]
        carried = coupling @ inverse
        count = len(free)
        flat_carried = carried.transpose(1, 0, 2).reshape(count, -1)
        flat_coupling = coupling.transpose(1, 0, 2).reshape(count, -1)
        system = cameras - flat_carried @ flat_coupling.T
        side = self.camera_side[free] - flat_carried @ self.point_side.ravel()
        try:
            step = np.zeros(self.size)
            step[free] = -np.linalg.solve(system, side)
        except np.linalg.LinAlgError:
            return self.scene
        moved = -np.einsum("pij,pj->pi", inverse, self.point_side + np.einsum("pci,c->pi", self.coupling, step))
        by_frame = step[:-1].reshape(-1, 6)
        scene = self.scene
        turn = rotation_of(by_frame[:, :3])
        return replace(
            scene,
            rotations=turn @ scene.rotations,
            translations=scene.translations + by_frame[:, 3:],
            points=scene.points + moved,
            focal=float(scene.focal * np.exp(np.clip(step[-1], -0.5, 0.5))),
        )


def _local(scene: PointScene, seen: Sightings) -> FloatArray:
    """Sighted points (M, 3) in the frames of their cameras."""
    turned = np.einsum("mij,mj->mi", scene.rotations[seen.frame], scene.points[seen.point])
    local: FloatArray = turned + scene.translations[seen.frame]
    return local


def _dot(jacobian: FloatArray, residual: FloatArray) -> FloatArray:
    product: FloatArray = np.einsum("mki,mk->mi", jacobian, residual)
    return product


def _summed(index: NDArray[np.int64], values: FloatArray, count: int) -> FloatArray:
    """Sums of the rows of `values` (M, ...) that share an index: (count, ...)."""
    columns = values.reshape(len(values), -1).T
    sums = [np.bincount(index, weights=column, minlength=count).astype(np.float64) for column in columns]
    return np.stack(sums, axis=-1).reshape(count, *values.shape[1:])


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


class PlacedView(NamedTuple):
    """Pose of a view, and which of the points (n,) agree with it."""

    rotation: FloatArray
    translation: FloatArray
    agree: NDArray[np.bool_]


def two_views(a: FloatArray, b: FloatArray, focal: float, agree_px: float = AGREE_PX) -> Pair | None:
    """Estimate the relative pose of two views (five points, RANSAC) from points (n, 2), pixels from image centre."""
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
) -> PlacedView | None:
    """Estimate the pose of a view from points (n, 3) and where they are seen (n, 2), pixels from the image centre."""
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
        index = np.arange(len(points))
        scene = PointScene(rotation[None], translation[None], points, focal)
        squared, valid = squared_errors(scene, Sightings(np.zeros_like(index), index, xy))
        agree = valid & (squared < agree_px**2)
        chosen = np.flatnonzero(agree)
        if len(chosen) < max(least, share * len(points)):
            return None
    return PlacedView(rotation, translation, agree)


def refined(
    rotation: FloatArray, translation: FloatArray, points: FloatArray, xy: FloatArray, focal: float, rounds: int = 8
) -> tuple[FloatArray, FloatArray]:
    """Refine a pose (world to camera) by Gauss-Newton, Cauchy loss of 1 px; `xy` is pixels from the image centre."""
    index = np.arange(len(points))
    seen = Sightings(np.zeros_like(index), index, xy)
    for _ in range(rounds):
        scene = PointScene(rotation[None], translation[None], points, focal)
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
    """Triangulate points by least squares of the distances to their rays; `xy` (K, P, 2) is pixels from the image
    centre. Returns points (P, 3); their widest angle between the first ray and another, degrees; and their largest
    reprojection error, pixels, infinite for a point behind a camera that sees it."""
    centres = -np.einsum("kji,kj->ki", rotations, translations)
    rays = np.einsum("kpi,kij->kpj", bearings(np.where(seen[..., None], xy, 0), focal), rotations)
    across = (np.eye(3) - rays[..., :, None] * rays[..., None, :]) * seen[..., None, None]
    normal = across.sum(0) + 1e-12 * np.eye(3)
    points = np.linalg.solve(normal, np.einsum("kpij,kj->pi", across, centres)[..., None])[..., 0]
    first = rays[seen.argmax(0), np.arange(seen.shape[1])]
    cosine = np.where(seen, (rays * first).sum(-1), 1.0).min(0)
    frame, point = np.nonzero(seen)
    squared, valid = squared_errors(
        PointScene(rotations, translations, points, focal), Sightings(frame, point, xy[frame, point])
    )
    worst = np.zeros(len(points))
    np.maximum.at(worst, point, np.where(valid, np.sqrt(squared), np.inf))
    return points, np.degrees(np.arccos(np.clip(cosine, -1, 1))), worst


def turn_between(a: FloatArray, b: FloatArray, focal: float, rounds: int = 10) -> tuple[FloatArray, float]:
    """Estimate robustly the rotation from `a` to `b` (n, 2), from the image centre, and the median error, in pixels."""
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
    """Convert pixels (..., 2) from the image centre to unit rays (..., 3)."""
    rays = np.concatenate([xy / focal, np.ones((*xy.shape[:-1], 1))], axis=-1)
    unit: FloatArray = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    return unit
