"""Homes in batches against the processor's camera, on Warp's CPU device and on a GPU, and every pattern of surfaces."""

from __future__ import annotations

import numpy as np
import pytest

from support.view_batches import DEVICES, assert_alike
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds.gpu.scenes import BoxBatch
from worldgauge.worlds.indoor import Home
from worldgauge.worlds.indoor.boxes import PATTERNS, Box, Boxes, Paint
from worldgauge.worlds.indoor.camera import BoxScene, light_of, render

pytest.importorskip("warp")

CAMERA = Camera.from_vertical_fov(64, 48, 70)


@pytest.fixture(scope="module")
def home() -> Home:
    return Home(seed=5)


def some_poses(home: Home, count: int = 30) -> np.ndarray:
    """In and above its rooms, also within furniture; the last one outside."""
    rng = np.random.default_rng(0)
    low, high = home.scene.boxes.bounds[:, :3].min(0), home.scene.boxes.bounds[:, 3:].max(0)
    places = rng.uniform([*low[:2], 0.2], [*high[:2], 2.4], (count, 3))
    places[-1] = low - 3.0
    turns = rng.uniform([-3.0, -1.0], [3.0, 1.0], (count, 2))
    turns[-1] = 0.8, 0.3
    return np.stack([pose_from_yaw_pitch(place, *turn) for place, turn in zip(places, turns, strict=True)])


@DEVICES
@pytest.mark.parametrize("camera", [CAMERA, Panorama(64, 32)], ids=["pinhole", "panorama"])
def test_a_batch_sees_what_the_cpu_sees(home: Home, camera: Camera | Panorama, device: str) -> None:
    poses = some_poses(home)
    got = home.views(poses, camera, position=True, device=device)
    assert_alike(got, [home.view(pose, camera, position=True) for pose in poses], instances=20)


@DEVICES
def test_tensors_hold_the_same(home: Home, device: str) -> None:
    torch = pytest.importorskip("torch")
    poses = some_poses(home, 3)
    plain = home.views(poses, CAMERA, device=device)
    tensors = home.views(poses, CAMERA, device=device, out="torch")
    assert (plain.position, tensors.position) == (None, None)
    assert tensors.instance.dtype == torch.uint16
    for name in ("rgb", "depth", "category", "instance"):
        assert getattr(tensors, name).device.type == device
        assert np.array_equal(getattr(tensors, name).cpu().numpy(), getattr(plain, name))


@DEVICES
@pytest.mark.parametrize("contrast", [0.5, 1.5])
def test_every_surface_has_the_cpu_s_colours_near_and_far_and_at_a_slant(contrast: float, device: str) -> None:
    colours = [((200, 90, 40), (30, 60, 120)), ((90, 141, 77), (210, 200, 190)), ((128, 130, 133), (12, 12, 90))]
    boxes = [
        Box((2.5 * k, 4.0 + row, 0.1), (2.5 * k + 2.0, 4.4 + row, 2.2), 1, k, Paint(pattern, *pair, 0.21, contrast))
        for k, pattern in enumerate(PATTERNS)
        for row, pair in zip((0.0, 6.0, 12.0), colours, strict=True)
    ]
    ground = Box((-2.0, -2.0, -0.2), (55.0, 20.0, 0.0), 2, 999, Paint("planks", (150, 110, 70)))
    light = light_of(np.random.default_rng(0).random((1140, 440)) < 0.1)
    scene = BoxScene.of(Boxes.of([*boxes, ground], seed=3), (0.0, 2.6), light)
    places = [(x, y, 1.2) for x in np.arange(0.5, 50.0, 2.5) for y in (0.0, 3.2, 9.0)]
    poses = np.stack([pose_from_yaw_pitch(p, np.pi / 2 + turn, -0.2) for p in places for turn in (-0.6, 0.0, 0.9)])
    got = BoxBatch(scene, device).views(poses, CAMERA)
    assert_alike(got, [render(scene, pose, CAMERA) for pose in poses], instances=len(PATTERNS))
