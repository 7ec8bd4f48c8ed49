import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import Camera, pose_from_yaw_pitch
from worldgauge.worlds.blocks import render as rendering
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.mesh import Mesh, mesh_of
from worldgauge.worlds.blocks.render import BACKGROUND, NEAR_M, SHADES, in_world, render, shades_of

CAMERA = Camera.from_vertical_fov(64, 48, 60.0)


def of(rows, *materials: str) -> Mesh:
    return mesh_of(Blueprint(np.array(rows), materials))


def by_rays(mesh: Mesh, pose: np.ndarray, camera: Camera) -> tuple[np.ndarray, np.ndarray]:
    """Colours (H, W, 3) of every pixel's middle ray against every face, and where two faces are all but as near."""
    rays = (camera.rays() @ pose[:3, :3].T).reshape(-1, 3)
    corners, shades = in_world(mesh.quads), shades_of(mesh)
    depth = np.full((len(mesh.quads), len(rays)), np.inf)
    for k, quad in enumerate(corners):
        normal = np.cross(quad[1] - quad[0], quad[2] - quad[0])
        if normal @ (pose[:3, 3] - quad[0]) <= 0 and not mesh.two_sided[k]:
            continue
        toward = rays @ normal
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (normal @ (quad[0] - pose[:3, 3])) / toward
        met = pose[:3, 3] + t[:, None] * rays
        inside = np.isfinite(t) & (t >= NEAR_M)
        signs = [((np.cross(quad[(i + 1) % 4] - quad[i], met - quad[i])) @ normal) for i in range(4)]
        inside &= np.all([sign >= 0 for sign in signs], 0)
        depth[k] = np.where(inside, t, np.inf)
    colours = np.tile(np.array(BACKGROUND, float), (len(rays), 1))
    doubtful = np.zeros(len(rays), bool)
    for ray in range(len(rays)):
        order = np.argsort(-depth[:, ray], kind="stable")
        order = order[np.isfinite(depth[order, ray])]
        doubtful[ray] = bool((np.diff(depth[order, ray]) > -1e-6).any())
        for k in order:
            a = mesh.colours[k, 3] / 255
            colours[ray] += a * (mesh.colours[k, :3] * shades[k] - colours[ray])
    shape = camera.height, camera.width
    return colours.reshape(*shape, 3), doubtful.reshape(shape)


@pytest.fixture
def plain(monkeypatch):
    """One point a pixel and no lines: what a ray through the pixel's middle meets."""
    monkeypatch.setattr(rendering, "SAMPLES", 1)
    monkeypatch.setattr(rendering, "LINE_STRENGTH", 0.0)


SCENES = {
    "opaque": ("stone", "oak_stairs[facing=east]", "oak_fence", "oak_slab[type=top]"),
    "mixed": ("glass", "red_stained_glass", "water", "short_grass", "oak_planks", "ice"),
}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("view", ["outside", "inside", "touching"])
def test_pictures_are_what_rays_meet(plain, scene, view):
    rng = np.random.default_rng(len(scene))
    cells = rng.choice(
        [-1, *range(1, len(SCENES[scene]) + 1)], (4, 4, 4), p=[0.6, *[0.4 / len(SCENES[scene])] * len(SCENES[scene])]
    )
    mesh = mesh_of(Blueprint(cells, SCENES[scene]))
    eye = {"outside": (9.3, -7.1, 6.2), "inside": (2.03, -1.98, 2.07), "touching": (4.02, -2.4, 1.3)}[view]
    yaw = {"outside": 2.5, "inside": 0.4, "touching": 2.9}[view]
    pose = pose_from_yaw_pitch(eye, yaw, -0.5 if view == "outside" else 0.1)
    drawn = render(mesh, pose, CAMERA).astype(int)
    expected, doubtful = by_rays(mesh, pose, CAMERA)
    wrong = (np.abs(drawn - expected) > 1.0).any(-1) & ~doubtful
    assert wrong.mean() < 0.002, "but for rays that graze an edge"
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 5


def test_corners_and_sides(plain):
    mesh = of([[[1]]], "stone")
    pose = pose_from_yaw_pitch((0.5, -6.0, 0.5), math.pi / 2)
    picture = render(mesh, pose, Camera.from_vertical_fov(101, 101, 30.0))
    rows, columns = np.nonzero((picture != BACKGROUND).any(-1))
    # The side at distance 5 is 1 m wide: half of it at 0.1 of the focal length.
    half = 0.1 * 50.5 / math.tan(math.radians(15))
    for found in (rows, columns):
        assert found.min() == math.ceil(50.5 - half - 0.5)
        assert found.max() == math.floor(50.5 + half - 0.5)
    # Sides are told apart by their brightness.
    mesh = of([[[1]]], "white_concrete")
    pose = pose_from_yaw_pitch((4.0, -5.0, 4.0), 3 * math.pi / 4, -0.6)
    seen = {tuple(colour) for colour in render(mesh, pose, CAMERA).reshape(-1, 3).tolist()} - {BACKGROUND}
    white = mesh.colours[0, :3]
    assert seen == {tuple(int(c * SHADES[side] + 0.5) for c in white) for side in ("x", "up", "z")}
    # Sheets are seen from both sides.
    mesh = of([[[1]]], "short_grass")
    camera = Camera.from_vertical_fov(21, 21, 20.0)
    front = render(mesh, pose_from_yaw_pitch((0.5, -5.0, 0.3), math.pi / 2), camera)
    back = render(mesh, pose_from_yaw_pitch((0.5, 4.0, 0.3), -math.pi / 2), camera)
    for picture in (front, back):
        assert (picture[12, 10] != BACKGROUND).any()


def test_lines_along_edges():
    mesh = of([[[1]]], "stone")
    pose = pose_from_yaw_pitch((0.4, -6.0, 0.7), math.pi / 2 + 0.03, -0.02)
    picture = render(mesh, pose, Camera.from_vertical_fov(200, 200, 20.0)).astype(int)
    row = picture[100, :, 0]
    face = np.bincount(row[np.abs(row - BACKGROUND[0]) > 60]).argmax()
    assert face == int(127 * SHADES["z"] + 0.5)
    line = row[row < face - 5]
    assert 2 <= len(line) <= 6, "a darker line at each end of the face"
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 8, "pixels between face and ground"
    assert line.min() >= face * (1 - rendering.LINE_STRENGTH) - 1
    # Lines fade on faces that are small in the picture.
    wall = of([[[1] * 20] * 1] * 20, "stone")
    pose = pose_from_yaw_pitch((10.0, -120.0, 10.0), math.pi / 2)
    picture = render(wall, pose, Camera.from_vertical_fov(96, 96, 12.0))
    seen = picture[(picture != BACKGROUND).any(-1)]
    assert seen.shape[0] > 3000
    inner = picture[40:56, 40:56, 0]
    assert np.ptp(inner.astype(int)) == 0


def test_translucent_faces_are_mixed_in_their_order(plain):
    mesh = of([[[1]], [[-1]], [[2]]], "red_concrete", "blue_stained_glass")
    pose = pose_from_yaw_pitch((0.5, -0.5, 9.0), math.pi / 2, -math.pi / 2)
    middle = render(mesh, pose, Camera.from_vertical_fov(9, 9, 5.0))[4, 4]
    glass = mesh.colours[mesh.colours[:, 3] < 255][0].astype(float)
    red = mesh.colours[mesh.colours[:, 3] == 255][0].astype(float)
    a = glass[3] / 255
    assert middle.tolist() == [int(v + 0.5) for v in a * glass[:3] + (1 - a) * red[:3]]
    # Many layers are mixed in their order whatever the order of the faces.
    dyes = ("red", "lime", "blue", "white", "black", "yellow")
    materials = tuple(f"{dye}_stained_glass" for dye in dyes)
    mesh = of([[[n + 1, -1] for n in range(len(dyes))]], *materials)
    pose = pose_from_yaw_pitch((0.5, -9.0, 0.5), math.pi / 2)
    camera = Camera.from_vertical_fov(9, 9, 2.0)
    colour = np.array(BACKGROUND, float)
    for dye in dyes:
        face = mesh.colours[
            [tuple(c[:3]) == tuple(of([[[1]]], f"{dye}_stained_glass").colours[0, :3]) for c in mesh.colours]
        ][0]
        colour += face[3] / 255 * (face[:3] * SHADES["z"] - colour)
    for order in (slice(None), slice(None, None, -1)):
        shuffled = Mesh(mesh.quads[order], mesh.colours[order], mesh.two_sided[order], mesh.block[order], mesh.names)
        assert np.abs(render(shuffled, pose, camera)[4, 4] - colour).max() <= 0.5 + 1e-9


def test_bytes_are_the_same_on_several_threads_and_in_any_bands(monkeypatch):
    rng = np.random.default_rng(5)
    mesh = mesh_of(Blueprint(rng.choice([-1, 1, 2], (6, 6, 6)), ("glass", "oak_stairs[facing=west]")))
    pose = pose_from_yaw_pitch((14.0, -14.0, 10.0), 2.3, -0.45)
    once = render(mesh, pose, CAMERA).tobytes()
    with ThreadPoolExecutor(2) as pool:
        assert {picture.tobytes() for picture in pool.map(lambda _: render(mesh, pose, CAMERA), range(4))} == {once}
    monkeypatch.setattr(rendering, "BAND_PX", 7)
    monkeypatch.setattr(rendering, "CHUNK", 50)
    assert render(mesh, pose, CAMERA).tobytes() == once


def test_nothing_is_only_background():
    picture = render(of([[[-1]]]), np.eye(4), CAMERA, background=(1, 2, 3))
    assert picture.shape == (48, 64, 3)
    assert (picture == (1, 2, 3)).all()
    behind = render(of([[[1]]], "stone"), pose_from_yaw_pitch((5.0, -0.5, 0.5), 0.0), CAMERA)
    assert (behind == BACKGROUND).all()


@pytest.mark.parametrize("pose", [np.eye(3), np.full((4, 4), np.nan), np.zeros((2, 4, 4))])
def test_poses_that_are_none_are_refused(pose):
    with pytest.raises(ShapeError, match="camera-to-world pose"):
        render(of([[[1]]], "stone"), pose, CAMERA)
