"""Scans in batches against the processor's camera, on Warp's CPU device and on a GPU: materials, and the example."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from support.scan_tree import make_mp3d
from support.view_batches import DEVICES, assert_alike
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds.gpu.scenes import ScanBatch
from worldgauge.worlds.scan import Scan, sources
from worldgauge.worlds.scan.camera import render
from worldgauge.worlds.scan.clusters import ScanScene, scene_of
from worldgauge.worlds.scan.mesh import CLAMP, MIRROR, REPEAT, ScanMaterial, ScanMesh

pytest.importorskip("warp")

CAMERA = Camera.from_vertical_fov(64, 48, 70)
CAMERAS = pytest.mark.parametrize("camera", [CAMERA, Panorama(64, 32)], ids=["pinhole", "panorama"])
ROOM = np.array([4.0, 3.0, 2.5])


@pytest.fixture(scope="module", params=[True, False], ids=["colours of corners", "textures alone"])
def scene(request: pytest.FixtureRequest) -> ScanScene:
    """3,000 triangles, in a room's space, of all kinds of materials: holes, both sides, tints, wraps, odd sizes."""
    rng, count = np.random.default_rng(1), 3000
    pages = tuple(rng.integers(0, 256, (*size, 4), np.uint8) for size in ((64, 64), (37, 90), (128, 16)))
    wraps = ((REPEAT, REPEAT), (CLAMP, MIRROR), (MIRROR, CLAMP))
    kinds = product(range(-1, 3), (False, True), wraps, (0.0, 0.5), (False, True))
    materials = tuple(
        ScanMaterial(page, wrap, (*rng.uniform(0.3, 1, 3).tolist(), 1.0), two_sided, cutoff, nearest)
        for page, two_sided, wrap, cutoff, nearest in kinds
    )
    corners = rng.uniform(0, ROOM, (count, 1, 3)) + rng.normal(0, 0.15, (count, 3, 3))
    mesh = ScanMesh(
        corners.reshape(-1, 3),
        np.arange(3 * count, dtype=np.int32).reshape(-1, 3),
        rng.uniform(-2, 3, (3 * count, 2)),
        rng.integers(0, 256, (3 * count, 4), np.uint8) if request.param else None,
        rng.integers(0, len(materials), count).astype(np.int32),
        rng.integers(0, 200, count, np.uint16),
        rng.integers(0, 9, count, np.uint16),
        materials,
        pages,
    )
    return scene_of(mesh)[0]


def some_poses(count: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(0)
    places, turns = rng.uniform(0.2, ROOM - 0.2, (count, 3)), rng.uniform([-3.0, -1.2], [3.0, 1.2], (count, 2))
    return np.stack([pose_from_yaw_pitch(place, *turn) for place, turn in zip(places, turns, strict=True)])


@DEVICES
@CAMERAS
def test_a_batch_meets_what_the_cpu_meets(scene: ScanScene, camera: Camera | Panorama, device: str) -> None:
    poses = some_poses(20)
    got = ScanBatch(scene, device).views(poses, camera, position=True)
    assert_alike(got, [render(scene, pose, camera, position=True) for pose in poses], instances=150)


@DEVICES
@CAMERAS
def test_a_scan_sees_in_batches_what_it_sees_alone(camera: Camera | Panorama, device: str) -> None:
    scan, poses = Scan("example/room"), some_poses(20)
    got = scan.views(poses, camera, position=True, device=device)
    assert_alike(got, [scan.view(pose, camera, position=True) for pose in poses], instances=5)


def test_names_of_a_second_mesh_are_drawn_by_the_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("WORLDGAUGE_CONFIG", str(tmp_path / "config"))
    make_mp3d(tmp_path / "mp3d")
    (files,) = sources.scenes_of(sources.add("mp3d", tmp_path / "mp3d"))
    scan, poses = Scan(files.key), some_poses(4)
    assert scan.names is not None
    got = scan.views(poses, CAMERA, device="cpu")
    assert_alike(got, [scan.view(pose, CAMERA) for pose in poses], instances=2)
    with pytest.raises(UsageError, match="out is 'torch'; the labels of this scan"):
        scan.views(poses, CAMERA, device="cpu", out="torch")


def test_textures_beyond_what_warp_can_count_are_refused(scene: ScanScene) -> None:
    many = np.lib.stride_tricks.as_strided(scene.texels, shape=(2**31,), strides=(0,))
    with pytest.raises(UsageError, match=r"textures of 2147483648 texels are too large for a GPU"):
        ScanBatch(scene._replace(texels=many), "cpu")
