"""Bundle adjustment: derivatives against finite differences, the minimum against scipy's, and what it leaves alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from worldgauge.perception.decoders._views import (
    PointScene,
    Sightings,
    adjust,
    cost_of,
    jacobians,
    rotation_of,
    squared_errors,
)

FOCAL = 380.0


def world(frames: int = 6, points: int = 40, noise_px: float = 0.3, seed: int = 0) -> tuple[PointScene, Sightings]:
    """A walk ahead through a cloud of points, and what is seen of it."""
    rng = np.random.default_rng(seed)
    rotations = rotation_of(rng.normal(0, 0.05, (frames, 3)))
    translations = np.concatenate([rng.normal(0, 0.1, (frames, 2)), -np.linspace(0, 2, frames)[:, None]], 1)
    rotations[0], translations[0] = np.eye(3), 0.0
    scene = PointScene(rotations, translations, rng.uniform([-3, -2, 4], [3, 2, 9], (points, 3)), FOCAL)
    frame, point = np.nonzero(rng.random((frames, points)) < 0.8)
    exact = Sightings(frame, point, np.zeros((len(frame), 2)))
    xy = jacobians(scene, exact)[0]
    return scene, replace(exact, xy=xy + rng.normal(0, noise_px, xy.shape))


def shaken(scene: PointScene, amount: float = 1.0) -> PointScene:
    rng = np.random.default_rng(1)
    turn = rng.normal(0, 0.01 * amount, (len(scene.rotations), 3))
    shift = rng.normal(0, 0.03 * amount, scene.translations.shape)
    turn[0], shift[0] = 0.0, 0.0
    return PointScene(
        rotation_of(turn) @ scene.rotations,
        scene.translations + shift,
        scene.points + rng.normal(0, 0.1 * amount, scene.points.shape),
        scene.focal,
    )


def test_rotations_are_scipys_and_adjustment_finds_the_truth() -> None:
    vectors = np.concatenate([np.random.default_rng(0).normal(0, 1.5, (50, 3)), np.zeros((1, 3)), [[1e-9, 0, 0]]])
    assert rotation_of(vectors) == pytest.approx(Rotation.from_rotvec(vectors).as_matrix(), abs=1e-12)
    scene, seen = world(noise_px=0.0)
    found = adjust(replace(shaken(scene), focal=350.0), seen, iterations=100, focal_prior=(350.0, 10.0), tolerance=0.0)
    size = np.linalg.norm(found.centres[-1]) / np.linalg.norm(scene.centres[-1])
    assert found.centres / size == pytest.approx(scene.centres, abs=1e-4)
    assert found.focal == pytest.approx(FOCAL, rel=1e-4)
    scene, seen = world()
    start = shaken(scene)
    once = adjust(start, seen, iterations=50, tolerance=1e-10)
    larger = replace(start, translations=7 * start.translations, points=7 * start.points)
    assert adjust(larger, seen, iterations=50, tolerance=1e-10).centres / 7 == pytest.approx(once.centres, abs=5e-3)
    order = np.random.default_rng(0).permutation(len(seen.frame))
    mixed = Sightings(seen.frame[order], seen.point[order], seen.xy[order])
    assert adjust(start, mixed, iterations=50, tolerance=1e-10).centres == pytest.approx(once.centres, abs=1e-3)


def test_jacobians_are_the_finite_differences() -> None:
    scene, seen = world(noise_px=3.0)
    _, by_camera, by_point, by_focal = jacobians(scene, seen)
    step = 1e-6

    def difference(plus: PointScene, minus: PointScene) -> np.ndarray:
        return (jacobians(plus, seen)[0] - jacobians(minus, seen)[0]) / (2 * step)

    for axis in range(3):
        vector = step * np.eye(3)[axis]
        turned = [replace(scene, rotations=rotation_of(sign * vector) @ scene.rotations) for sign in (1, -1)]
        assert difference(*turned) == pytest.approx(by_camera[..., axis], rel=1e-5, abs=1e-4)
        shifted = [replace(scene, translations=scene.translations + sign * vector) for sign in (1, -1)]
        assert difference(*shifted) == pytest.approx(by_camera[..., 3 + axis], rel=1e-5, abs=1e-4)
        moved = [replace(scene, points=scene.points + sign * vector) for sign in (1, -1)]
        assert difference(*moved) == pytest.approx(by_point[..., axis], rel=1e-5, abs=1e-4)
    zoomed = [replace(scene, focal=scene.focal * np.exp(sign * step)) for sign in (1, -1)]
    assert difference(*zoomed) == pytest.approx(by_focal, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("loss_px", [None, 1.0])
@pytest.mark.parametrize("focal_prior", [None, (400.0, 0.1)])
def test_minimum_is_the_one_that_scipy_finds(loss_px: float | None, focal_prior: tuple[float, float] | None) -> None:
    scene, seen = world(frames=4, points=24)
    rng = np.random.default_rng(3)
    seen.xy[rng.integers(len(seen.xy), size=3)] += rng.normal(0, 10, (3, 2))
    # Near enough that both slide into the same minimum: a robust loss has several.
    start = replace(shaken(scene, amount=0.2), focal=FOCAL if focal_prior is None else 390.0)
    frames, points = len(scene.rotations), len(scene.points)
    free = 6 * (frames - 1)

    def unpacked(values: np.ndarray) -> PointScene:
        cameras = values[:free].reshape(-1, 6)
        turn = np.concatenate([np.zeros((1, 3)), cameras[:, :3]])
        shift = np.concatenate([np.zeros((1, 3)), cameras[:, 3:]])
        focal = start.focal if focal_prior is None else start.focal * np.exp(values[-1])
        return PointScene(
            Rotation.from_rotvec(turn).as_matrix() @ start.rotations,
            start.translations + shift,
            start.points + values[free : free + 3 * points].reshape(-1, 3),
            focal,
        )

    def residuals(values: np.ndarray) -> np.ndarray:
        there = unpacked(values)
        flat = jacobians(there, seen)[0]
        if loss_px is not None:
            squared = (flat**2).sum(1, keepdims=True)
            flat = flat * np.sqrt(loss_px**2 * np.log1p(squared / loss_px**2) / np.maximum(squared, 1e-300))
        prior = [] if focal_prior is None else [np.log(there.focal / focal_prior[0]) / focal_prior[1]]
        return np.concatenate([flat.ravel(), prior])

    theirs = least_squares(residuals, np.zeros(free + 3 * points + (focal_prior is not None)), x_scale="jac")
    ours = adjust(start, seen, iterations=200, loss_px=loss_px, focal_prior=focal_prior, tolerance=1e-12)
    assert cost_of(ours, seen, loss_px=loss_px, focal_prior=focal_prior) == pytest.approx(theirs.cost, rel=1e-5)
    best = unpacked(theirs.x)
    size = np.linalg.norm(ours.centres[-1]) / np.linalg.norm(best.centres[-1])
    assert ours.centres / size == pytest.approx(best.centres, abs=2e-3)
    assert ours.focal == pytest.approx(best.focal, rel=1e-3)


def test_adjustment_keeps_its_gauge_and_charges_points_behind() -> None:
    scene, seen = world()
    found = adjust(shaken(scene), seen)
    assert (found.rotations[0] == np.eye(3)).all()
    assert (found.translations[0] == 0).all()
    assert found.focal == FOCAL
    behind = scene.points.copy()
    behind[0, 2] = -5.0
    wrong = replace(scene, points=behind)
    _, valid = squared_errors(wrong, seen)
    assert (~valid).sum() == (seen.point == 0).sum() > 0
    assert cost_of(wrong, seen) > cost_of(scene, seen)
    assert np.isfinite(adjust(wrong, seen).centres).all()
