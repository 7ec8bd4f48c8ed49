from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError, WorldError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, pose_from_yaw_pitch
from worldgauge.worlds import worlds
from worldgauge.worlds.scan._cover import wrapped
from worldgauge.worlds.scan.camera import grid_of, render
from worldgauge.worlds.scan.clusters import ScanScene, scene_of
from worldgauge.worlds.scan.mesh import CLAMP, MIRROR, REPEAT, ScanMaterial, ScanMesh

CAMERA = Camera(640, 360, 320.0, 320.0, 320.0, 180.0)
LOW, HIGH = np.zeros(3), np.array([4.0, 3.0, 2.5])


def mesh_of(corners: NDArray[Any], **more: Any) -> ScanMesh:
    """Triangles (T, 3, 3) without looks."""
    count = len(corners)
    plain: dict[str, Any] = {
        "uv": np.zeros((3 * count, 2)),
        "colours": None,
        "material": np.zeros(count, np.int32),
        "instance": np.zeros(count, np.uint16),
        "category": np.zeros(count, np.uint16),
        "materials": (ScanMaterial(),),
        "pages": (),
    }
    triangles = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    return ScanMesh(np.asarray(corners, np.float64).reshape(-1, 3), triangles, **{**plain, **more})


def room() -> ScanMesh:
    """4 x 3 x 2.5 m of 12 triangles that face inwards, each wall with 64 x 64 texels: red counts columns along the
    first free axis, green rows from the top of the second; blue is the wall.
    """
    corners, uv, instance, pages, materials = [], [], [], [], []
    for axis in range(3):
        along, up = [n for n in range(3) if n != axis]
        for end in range(2):
            quad, flat = np.zeros((4, 3)), np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
            quad[:, axis] = HIGH[axis] if end else LOW[axis]
            quad[:, along], quad[:, up] = flat[:, 0] * HIGH[along], flat[:, 1] * HIGH[up]
            coordinates = np.stack([flat[:, 0], 1 - flat[:, 1]], -1)
            if (np.cross(quad[1] - quad[0], quad[2] - quad[0])[axis] > 0) == bool(end):
                quad, coordinates = quad[::-1], coordinates[::-1]
            corners += [quad[[0, 1, 2]], quad[[0, 2, 3]]]
            uv += [coordinates[[0, 1, 2]], coordinates[[0, 2, 3]]]
            page = np.zeros((64, 64, 4), np.uint8)
            page[..., 0], page[..., 1] = 4 * np.arange(64), 4 * np.arange(64)[:, None]
            page[..., 2], page[..., 3] = 40 * len(pages), 255
            materials.append(ScanMaterial(page=len(pages), wrap=(CLAMP, CLAMP)))
            instance += [len(pages) + 1] * 2
            pages.append(page)
    numbers = np.array(instance, np.uint16)
    return mesh_of(
        np.array(corners),
        uv=np.concatenate(uv),
        material=numbers.astype(np.int32) - 1,
        instance=numbers,
        materials=tuple(materials),
        pages=tuple(pages),
    )


@pytest.fixture(scope="module")
def box() -> ScanScene:
    return scene_of(room())[0]


def random_pose(rng: np.random.Generator, low: Any = LOW + 0.2, high: Any = HIGH - 0.2) -> FloatArray:
    return pose_from_yaw_pitch(rng.uniform(low, high), rng.uniform(-np.pi, np.pi), rng.uniform(-1.4, 1.4))


def test_a_room_by_hand(box: ScanScene) -> None:
    view = render(box, pose_from_yaw_pitch([1, 1, 1], 0.0), CAMERA, position=True)
    # The far wall is 3 m away, from 1 m right to 2 m left and from 1 m below to 1.5 m above the eye: columns 106.67 to
    # 426.67 and rows 20 to 286.67.
    assert np.allclose(view.depth[20:286, 107:426], 3.0, atol=1e-6)
    assert (view.instance[20:286, 107:426] == 2).all()
    rows = np.arange(290, 360)
    assert np.allclose(view.depth[290:, 320], 320 / (rows + 0.5 - 180), atol=1e-5)
    assert view.position is not None
    assert np.allclose(view.position[290:, 320, 2], 0, atol=1e-6)
    # Texel colours: u along y from 0 to 3 m, v down from 2.5 m; 3 m * 64 / (2.5 m ...) texels a pixel are below one.
    for v, u in ((50, 200), (100, 320), (180, 400), (250, 420)):
        _, y, z = 4, 1 - (u + 0.5 - 320) / 320 * 3, 1 - (v + 0.5 - 180) / 320 * 3
        expected = 4 * (y / 3 * 64 - 0.5), 4 * ((1 - z / 2.5) * 64 - 0.5), 40
        assert np.allclose(view.rgb[v, u], expected, atol=1.01)


def test_a_panorama_by_hand(box: ScanScene) -> None:
    view = render(box, pose_from_yaw_pitch([1, 1, 1], 0.0), Panorama(720, 360))
    rows, columns = np.array([150, 180, 200]), np.array([360, 375, 345])
    elevation, azimuth = (0.5 - (rows + 0.5) / 360) * np.pi, ((columns + 0.5) / 720 - 0.5) * 2 * np.pi
    assert np.allclose(view.depth[rows, columns], 3 / (np.cos(elevation) * np.cos(azimuth)), rtol=1e-6)
    assert view.depth[-1].max() == pytest.approx(1 / np.cos(np.pi / 720), rel=1e-6)
    assert view.depth[0].max() == pytest.approx(1.5 / np.cos(np.pi / 720), rel=1e-6)
    assert np.isfinite(view.depth).all()


def test_the_next_level_of_a_texture() -> None:
    page = np.zeros((64, 64, 4), np.uint8)
    page[::2, ::2, 0], page[1::2, 1::2, 1], page[..., 3] = 200, 100, 255
    quad = np.array([[2, 1, -1], [2, -1, -1], [2, -1, 1], [2, 1, 1]], float)
    uv = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], float)
    triangles = quad[[[0, 1, 2], [0, 2, 3]]]
    mesh = mesh_of(triangles, uv=uv[[0, 1, 2, 0, 2, 3]], materials=(ScanMaterial(page=0),), pages=(page,))
    # 32 pixels over 64 texels: exactly two to one, so the second level alone, whose texels are all equal.
    camera = Camera(32, 32, 32.0, 32.0, 16.0, 16.0)
    view = render(scene_of(mesh)[0], np.array(pose_from_yaw_pitch([0, 0, 0], 0.0)), camera)
    assert (view.rgb[10:22, 10:22] == [50, 25, 0]).all()


@pytest.mark.parametrize(("wrap", "expected"), [(REPEAT, [3, 0, 3, 0]), (CLAMP, [0, 0, 3, 3]), (MIRROR, [0, 0, 3, 3])])
def test_wraps(wrap: int, expected: list[int]) -> None:
    assert [wrapped(i, 4, wrap) for i in (-1, 0, 3, 4)] == expected
    assert wrapped(-2, 4, MIRROR) == 1


def ray_cast(corners: FloatArray, origin: FloatArray, rays: FloatArray) -> FloatArray:
    """Nearest hit of each ray from the front, by Moeller and Trumbore (1997)."""
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    best = np.full(len(rays), np.inf)
    for n, ray in enumerate(rays):
        p = np.cross(ray, ac)
        det = (ab * p).sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = origin - a
            u = (s * p).sum(1) / det
            q = np.cross(s, ab)
            v, t = (q @ ray) / det, (q * ac).sum(1) / det
            met = (det > 0) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0)
        best[n] = np.where(met, t, np.inf).min()
    return best


@pytest.mark.parametrize("camera", [Camera(48, 36, 30.0, 26.0, 20.0, 19.5), Panorama(64, 32)])
def test_against_a_ray_caster(camera: Camera | Panorama) -> None:
    rng = np.random.default_rng(5)
    middle = rng.uniform(-3, 3, (400, 1, 3))
    corners = (middle + rng.normal(0, rng.choice([0.1, 1.0, 8.0], (400, 1, 1)), (400, 3, 3))).astype(np.float32)
    scene = scene_of(mesh_of(corners))[0]
    for seed in range(3):
        pose = random_pose(np.random.default_rng(seed), -np.ones(3), np.ones(3))
        view = render(scene, pose, camera)
        grid = grid_of(camera)
        if isinstance(camera, Panorama):
            (sa, ca), (se, ce) = grid.across.T, grid.down.T
            rays = np.stack([ce[:, None] * sa, np.broadcast_to(-se[:, None], (32, 64)), ce[:, None] * ca], -1)
        else:
            rays = camera.rays()
        truth = ray_cast(corners.astype(np.float64), pose[:3, 3], rays.reshape(-1, 3) @ pose[:3, :3].T)
        near = np.isclose(view.depth.ravel(), truth, rtol=1e-5) | (np.isinf(truth) & np.isinf(view.depth.ravel()))
        # A ray through an edge may go either way.
        assert (~near).sum() <= 1


def ball(rng: np.random.Generator, count: int) -> NDArray[Any]:
    """A closed surface of triangles around the origin that face inwards."""
    from scipy.spatial import ConvexHull

    points = rng.normal(size=(count, 3))
    points = (points / np.linalg.norm(points, axis=1, keepdims=True) * [3, 2, 1.5]).astype(np.float32).astype(float)
    corners = points[ConvexHull(points).simplices]
    outward = (np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) * corners.mean(1)).sum(1) > 0
    corners[outward] = corners[outward][:, ::-1]
    return np.asarray(corners)


@pytest.mark.parametrize("count", [8, 2000])
def test_closed_surfaces_have_no_holes(count: int) -> None:
    rng = np.random.default_rng(count)
    scene = scene_of(mesh_of(ball(rng, count)))[0]
    cameras: list[Camera | Panorama] = [Camera.from_horizontal_fov(96, 64, 100), Panorama(96, 48)]
    inside = 0.2 if count == 8 else 0.7
    for _ in range(50):
        pose = random_pose(rng, -np.full(3, inside / 4), np.full(3, inside / 4))
        for camera in cameras:
            assert np.isfinite(render(scene, pose, camera).depth).all()


def test_positions_reproject(box: ScanScene) -> None:
    camera = Camera(80, 60, 50.0, 44.0, 35.5, 31.0)
    for cam in (camera, camera.resized(160, 90), camera.cropped(40, 30)):
        pose = random_pose(np.random.default_rng(3))
        view = render(box, pose, cam, position=True)
        assert view.position is not None
        inverse = np.linalg.inv(pose)
        pixels, depth = cam.project(view.position.astype(np.float64) @ inverse[:3, :3].T + inverse[:3, 3])
        v, u = np.indices(view.depth.shape)
        assert np.abs(pixels - np.stack([u + 0.5, v + 0.5], -1)).max() < 0.01
        assert np.allclose(depth, view.depth, rtol=1e-5)


def test_triangles_are_seen_from_their_front_only() -> None:
    corners = np.array([[[2, 2, -2], [2, -2, -2], [2, 0, 3]]], float)
    pose = pose_from_yaw_pitch([0, 0, 0], 0.0)
    camera = Camera.from_horizontal_fov(16, 16, 60)
    for turned, two_sided, seen in ((False, False, True), (True, False, False), (True, True, True)):
        mesh = mesh_of(corners[:, ::-1] if turned else corners)
        view = render(scene_of(mesh, two_sided=two_sided)[0], pose, camera)
        assert np.isfinite(view.depth[8, 8]) == seen
    mesh = replace(mesh_of(corners[:, ::-1]), materials=(ScanMaterial(two_sided=True),))
    assert np.isfinite(render(scene_of(mesh)[0], pose, camera).depth[8, 8])


def test_texels_that_are_not_opaque_are_holes() -> None:
    page = np.full((2, 2, 4), 255, np.uint8)
    page[:, 0, 3] = 0
    corners = np.array([[[2, 2, -2], [2, -2, -2], [2, -2, 2]], [[2, 2, -2], [2, -2, 2], [2, 2, 2]]], float)
    uv = np.array([[0, 1], [1, 1], [1, 0], [0, 1], [1, 0], [0, 0]], float)
    look = ScanMaterial(page=0, wrap=(CLAMP, CLAMP), cutoff=0.5)
    view = render(
        scene_of(mesh_of(corners, uv=uv, materials=(look,), pages=(page,)))[0],
        pose_from_yaw_pitch([0, 0, 0], 0.0),
        Camera.from_horizontal_fov(16, 16, 80),
    )
    assert np.isinf(view.depth[4:12, :8]).all()
    assert np.isfinite(view.depth[4:12, 8:]).all()


def test_colours_of_vertices_and_factors() -> None:
    corners = np.array([[[2, 2, -2], [2, -2, -2], [2, 0, 3]]], float)
    colours = np.full((3, 4), 255, np.uint8)
    colours[:, 1] = 100
    mesh = mesh_of(corners, colours=colours, materials=(ScanMaterial(factor=(1.0, 1.0, 0.0, 1.0)),))
    view = render(scene_of(mesh)[0], pose_from_yaw_pitch([0, 0, 0], 0.0), Camera.from_horizontal_fov(16, 16, 60))
    assert view.rgb[8, 8].tolist() == [255, 100, 0]


def test_damaged_triangles_are_counted_and_many_are_refused() -> None:
    corners = np.tile(np.array([[[2, 2, -2], [2, -2, -2], [2, 0, 3]]], float), (300, 1, 1))
    corners[7, 1, 2] = np.nan
    scene, lost = scene_of(mesh_of(corners))
    assert (lost, len(scene.corners)) == (1, 299)
    corners[:5] = np.inf
    with pytest.raises(WorldError, match="6 of 300 triangles are damaged"):
        scene_of(mesh_of(corners))


@pytest.mark.parametrize("flat", ["one place", "one line", "tiny"])
def test_triangles_without_area_are_no_damage(flat: str) -> None:
    corners = np.tile(np.array([[[2, 2, -2], [2, -2, -2], [2, 0, 3]]], float), (300, 1, 1))
    corners[:200] = {"one place": 1.0, "one line": np.arange(3)[:, None], "tiny": corners[0] * 1e-9}[flat]
    scene, lost = scene_of(mesh_of(corners))
    assert (lost, len(scene.corners)) == (0, 100)
    corners[200:204] = np.nan
    with pytest.raises(WorldError, match="4 of 300 triangles are damaged"):
        scene_of(mesh_of(corners))
    with pytest.raises(WorldError, match="none of its 200 triangles has an area"):
        scene_of(mesh_of(corners[:200]))


def views() -> list[bytes]:
    world = worlds.get("scan")(scene="example/room")
    poses = [pose_from_yaw_pitch([1.5, 1.0 + 0.1 * n, 1.2], 1.3 * n, -0.2) for n in range(3)]
    cameras = (Camera.from_horizontal_fov(64, 48, 90), Panorama(64, 32))
    seen = [world.view(pose, camera) for pose in poses for camera in cameras]
    return [b"".join(np.ascontiguousarray(one).tobytes() for one in (v.rgb, v.depth, v.instance)) for v in seen]


def digest() -> str:
    return hashlib.sha256(b"".join(views())).hexdigest()


def test_the_bits_are_those_of_every_machine(box: ScanScene) -> None:
    # Rotations of whole fifths, so that no library's sine is asked.
    turn = np.array([[3, 0, 4], [-4, 0, 3], [0, -5, 0]]) / 5
    sha = hashlib.sha256()
    for eye in ([1.0, 1.0, 1.0], [3.5, 0.5, 2.0], [0.25, 2.75, 0.5]):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = turn, eye
        for camera in (Camera(64, 48, 40.0, 38.0, 30.0, 25.0), Panorama(64, 32)):
            view = render(box, pose, camera)
            for values in (view.rgb, view.depth, view.instance):
                sha.update(np.ascontiguousarray(values).tobytes())
    assert sha.hexdigest() == "6e81b3861c0375c23591f0a3cf45e4c21a8c58c9b12cdc9320b7cbfeb8aa4b73"


def test_colour_is_smooth_along_edges_and_labels_are_not() -> None:
    low = np.array([[[2, 4, -4], [2, -4, -4], [2, -4, -1]], [[2, 4, -4], [2, -4, -1], [2, 4, 1]]], float)
    high = np.array([[[3, 6, -6], [3, -6, -6], [3, -6, 6]], [[3, 6, -6], [3, -6, 6], [3, 6, 6]]], float)
    corners, numbers = np.concatenate([low, high]), np.array([1, 1, 2, 2], np.uint16)
    looks = ScanMaterial(factor=(1.0, 1.0, 1.0, 1.0)), ScanMaterial(factor=(0.0, 0.0, 0.0, 1.0))
    mesh = mesh_of(corners, instance=numbers, material=numbers.astype(np.int32) - 1, materials=looks)
    view = render(scene_of(mesh)[0], pose_from_yaw_pitch([0, 0, 0], 0.0), Camera.from_horizontal_fov(64, 64, 60))
    edge = (view.rgb[..., 0] > 0) & (view.rgb[..., 0] < 255)
    # Thirds of white; one pixel or two a column, along the edge only.
    assert {*view.rgb[edge][:, 0].tolist()} == {85, 170}
    assert 30 <= edge.sum() <= 128
    beside = np.abs(np.diff(view.instance.astype(int), axis=0)) > 0
    assert (edge[:-1] | edge[1:])[beside].mean() > 0.5
    assert {*np.unique(view.instance).tolist()} == {1, 2}
    assert np.isin(view.depth, np.array([2, 3], np.float32)).all()


def test_the_same_bits_in_any_number_of_threads() -> None:
    here = views()
    with ThreadPoolExecutor(8) as pool:
        assert all(one == here for one in pool.map(lambda _: views(), range(8)))


@pytest.mark.slow
def test_the_same_bits_on_any_processor() -> None:
    code = f"import runpy; print(runpy.run_path({__file__!r})['digest']())"
    generic = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+sse2"}
    made = subprocess.run([sys.executable, "-c", code], env=generic, capture_output=True, text=True, check=True)
    assert made.stdout.strip() == digest()


def test_poses_are_checked(box: ScanScene) -> None:
    with pytest.raises(ShapeError, match="finite"):
        render(box, np.full((4, 4), np.nan), CAMERA)
