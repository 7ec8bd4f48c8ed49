"""The point store: one point a cell, drawn where the camera says."""

import numpy as np
import pytest

from worldgauge.core.geometry import Camera, invert, pose_from_yaw_pitch
from worldgauge.models.baselines.memory import PointStore, splat

CAMERA = Camera.from_vertical_fov(64, 48, 75.0)
POSE = pose_from_yaw_pitch((3.0, -2.0, 1.6), 0.3)


def wall(depth_m: float) -> tuple[np.ndarray, np.ndarray]:
    v, u = np.mgrid[:48, :64]
    image = np.stack([4 * u, 5 * v, 255 - 2 * u - 2 * v], -1).astype(np.uint8)
    return image, np.full((48, 64), depth_m, np.float32)


@pytest.mark.parametrize("depth_m", [0.5, 2.0, 30.0])
def test_a_wall_is_drawn_again_from_the_same_pose(depth_m: float) -> None:
    image, depth = wall(depth_m)
    store = PointStore()
    store.add(image, depth, CAMERA, POSE)
    again = splat(store, CAMERA, invert(POSE), np.zeros_like(image))
    assert (again.sum(-1) > 0).mean() > 0.99, "no cracks"
    assert np.abs(again.astype(int) - image).mean() < 6


def test_points_are_stored_once_and_hide_each_other() -> None:
    # The same frame twice adds nothing.
    image, depth = wall(2.0)
    store = PointStore()
    store.add(image, depth, CAMERA, POSE)
    count = store.count
    store.add(image, depth, CAMERA, POSE)
    assert store.count == count > 0
    # The sky is not stored.
    image, depth = wall(2.0)
    depth[:] = np.inf
    store = PointStore()
    store.add(image, depth, CAMERA, POSE)
    assert store.count == 0
    # Near hides far.
    store = PointStore()
    red, blue = (np.full((48, 64, 3), c, np.uint8) for c in ((255, 0, 0), (0, 0, 255)))
    store.add(blue, np.full((48, 64), 9.0, np.float32), CAMERA, POSE)
    store.add(red, np.full((48, 64), 2.0, np.float32), CAMERA, POSE)
    assert (splat(store, CAMERA, invert(POSE), np.zeros_like(red)) == (255, 0, 0)).all()


def test_the_store_grows_past_its_first_capacity() -> None:
    rng = np.random.default_rng(1)
    camera = Camera.from_vertical_fov(640, 360, 75.0)
    image = rng.integers(0, 256, (360, 640, 3), dtype=np.uint8)
    store = PointStore()
    for step in range(3):
        depth = rng.uniform(2, 20, (360, 640)).astype(np.float32)
        store.add(image, depth, camera, pose_from_yaw_pitch((100.0 * step, 0.0, 0.0), 0.0))
    assert store.count > 300_000
    assert np.isfinite(store.positions[: store.count]).all()
    assert (store.sizes[: store.count] >= 1 / 16).all()
