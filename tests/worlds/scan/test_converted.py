"""Files that real tools made of the example room; see `support.converted_rooms`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from support.places import TESTS
from support.scan_room import write_example
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.core.image import Image
from worldgauge.worlds import View
from worldgauge.worlds.scan._document import Document
from worldgauge.worlds.scan.camera import render
from worldgauge.worlds.scan.clusters import scene_of
from worldgauge.worlds.scan.gltf import read_gltf

FOLDER = TESTS / "vectors" / "scan" / "converted"
PACKAGES = {"meshopt": "meshoptimizer", "draco": "DracoPy", "basis": "opengl_basisu", "ktx2": "opengl_basisu"}


def views_of(path: Path) -> list[View]:
    scene, _ = scene_of(read_gltf(path))
    poses = [pose_from_yaw_pitch([2.2, 1.4, 1.2], yaw, -0.2) for yaw in (0.0, 1.6, 3.1, -1.6)]
    return [render(scene, pose, Camera.from_horizontal_fov(192, 108, 90)) for pose in poses]


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> list[View]:
    path = tmp_path_factory.mktemp("room") / "room.glb"
    write_example(path, texel_m=0.06, quality=None)
    return views_of(path)


def psnr(a: Image, b: Image) -> float:
    return float(10 * np.log10(255**2 / max(((a.astype(float) - b) ** 2).mean(), 1e-9)))


@pytest.mark.parametrize(
    ("name", "extension", "depth_m", "colour_db"),
    [
        ("webp", "EXT_texture_webp", 0.0, 30),
        # 14 bits over 4.2 m, and 12 over the texture.
        ("quantize", "KHR_mesh_quantization", 2e-3, 28),
        ("draco", "KHR_draco_mesh_compression", 2e-3, 28),
        ("meshopt", "EXT_meshopt_compression", 2e-3, 28),
        ("plain-basis", "GOOGLE_texture_basis", 0.0, 31),
        ("flipped-basis", "GOOGLE_texture_basis", 0.0, 31),
        ("etc1s-ktx2", "KHR_texture_basisu", 0.0, 31),
        ("uastc-ktx2", "KHR_texture_basisu", 0.0, 40),
    ],
)
def test_converted_rooms_look_the_same(
    truth: list[View], name: str, extension: str, depth_m: float, colour_db: float
) -> None:
    for part, package in PACKAGES.items():
        if part in name:
            pytest.importorskip(package)
    path = FOLDER / f"{name}.glb"
    assert extension in Document(path).extensions("extensionsRequired")
    for expected, view in zip(truth, views_of(path), strict=True):
        near = np.abs(expected.depth - view.depth) <= depth_m + 1e-6
        assert near.mean() >= 0.995
        assert (expected.instance == view.instance).mean() >= 0.995
        assert psnr(expected.rgb, view.rgb) >= colour_db
