"""Our renderer against others: Embree for geometry, OpenGL for colour. Both are of the tests' environment only."""

from __future__ import annotations

import numpy as np
import pytest

from support.opengl import OpenGl, context
from support.scan_room import write_example
from worldgauge.core.geometry import Camera, FloatArray, Panorama, pose_from_yaw_pitch
from worldgauge.worlds.scan.camera import grid_of, render
from worldgauge.worlds.scan.clusters import ScanScene, scene_of
from worldgauge.worlds.scan.gltf import read_gltf
from worldgauge.worlds.scan.mesh import ScanMesh


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> ScanMesh:
    path = tmp_path_factory.mktemp("room") / "room.glb"
    write_example(path, texel_m=0.01, quality=None)
    return read_gltf(path)


@pytest.fixture(scope="module")
def scene(mesh: ScanMesh) -> ScanScene:
    return scene_of(mesh)[0]


def poses(count: int) -> list[FloatArray]:
    rng = np.random.default_rng(1)
    return [
        pose_from_yaw_pitch(rng.uniform([2.3, 0.3, 0.9], [3.4, 1.7, 2.2]), rng.uniform(-3, 3), rng.uniform(-1, 0.6))
        for _ in range(count)
    ]


@pytest.mark.parametrize("camera", [Camera(160, 90, 90.0, 84.0, 70.0, 50.0), Panorama(128, 64)])
def test_depth_is_that_of_embree(scene: ScanScene, camera: Camera | Panorama) -> None:
    rtcore = pytest.importorskip("embreex.rtcore_scene")
    from embreex.mesh_construction import TriangleMesh

    embree = rtcore.EmbreeScene()
    TriangleMesh(embree, np.ascontiguousarray(scene.corners.reshape(-1, 3, 3)))
    off = total = 0
    for pose in poses(4):
        view = render(scene, pose, camera)
        rays = rays_of(camera) @ pose[:3, :3].T
        found = embree.run(
            np.tile(pose[:3, 3].astype(np.float32), (len(rays), 1)), rays.astype(np.float32), output=True
        )
        assert (found["primID"] >= 0).all()
        assert np.isfinite(view.depth).all()
        away = np.abs(found["tfar"] - view.depth.reshape(-1))
        assert np.median(away) < 1e-6
        off += int((away > 1e-3).sum())
        total += len(rays)
    # Embree's rays are of single precision, and do not pass edges as ours do.
    assert off <= 1e-4 * total


def rays_of(camera: Camera | Panorama) -> FloatArray:
    """Rays (N, 3) in the camera's frame whose parameter is our depth."""
    grid = grid_of(camera)
    if not isinstance(camera, Panorama):
        return np.asarray(camera.rays().reshape(-1, 3))
    (sa, ca), (se, ce) = grid.across.T, grid.down.T
    rays = [ce[:, None] * sa, np.broadcast_to(-se[:, None], (len(ce), len(sa))), ce[:, None] * ca]
    return np.stack(rays, -1).reshape(-1, 3)


def test_colour_is_that_of_opengl(mesh: ScanMesh, scene: ScanScene) -> None:
    gl = OpenGl(context(), mesh)
    camera = Camera.from_horizontal_fov(512, 288, 90)
    near = far = total = 0
    for pose in poses(4):
        ours, theirs = render(scene, pose, camera).rgb.astype(int), gl.draw(pose, camera).astype(int)
        away = np.abs(ours - theirs).max(-1)
        near, far, total = near + int((away <= 2).sum()), far + int((away > 8).sum()), total + away.size
    assert near >= 0.95 * total, near / total
    assert far <= 0.02 * total, far / total


def test_a_panorama_and_a_pinhole_agree_to_the_bit_where_their_rays_are_one(scene: ScanScene) -> None:
    # The middle of an odd size looks straight ahead in both; pixels are of one size there.
    around = Panorama(129, 65)
    ahead = Camera(33, 33, 129 / (2 * np.pi), 129 / (2 * np.pi), 16.5, 16.5)
    seen = 0
    for pose in poses(60):
        one, other = render(scene, pose, around, position=True), render(scene, pose, ahead, position=True)
        assert one.depth[32, 64].tobytes() == other.depth[16, 16].tobytes()
        assert one.instance[32, 64] == other.instance[16, 16]
        assert one.category[32, 64] == other.category[16, 16]
        assert one.position is not None
        assert other.position is not None
        assert one.position[32, 64].tobytes() == other.position[16, 16].tobytes()
        seen += bool((one.rgb[32, 64] == other.rgb[16, 16]).all())
    # Pixels on an edge average further rays, which are not common.
    assert seen > 45
