"""Homes, villages and builds as GLB files: read back by our own scans, and by trimesh."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.errors import UsageError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds import open_world
from worldgauge.worlds._export_meshes import village_patches
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.export import GlbSummary, export_build, export_starter, export_world
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.scan.prepared import ScanOptions
from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.geodesic import Geodesic

HOME = WorldFacts("indoor", {"seed": 1})
VILLAGE = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})


class Exported(NamedTuple):
    world: Any
    path: Path
    summary: GlbSummary
    scan: Scan


@pytest.fixture(autouse=True, scope="module")
def _no_cache() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLDGAUGE_CACHE", "off")
        yield


def exported(facts: WorldFacts, path: Path) -> Exported:
    summary = export_world(facts, path, texel_m=0.012)
    return Exported(open_world(facts), path, summary, Scan.of_file(path, ScanOptions()))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return exported(HOME, tmp_path_factory.mktemp("export") / "home.glb")


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    return exported(VILLAGE, tmp_path_factory.mktemp("export") / "village.glb")


# The village's camera sees sky beyond its range, which no scan has, and does not filter its texels.
@pytest.mark.parametrize(
    ("name", "height", "eye_m", "pitch", "off", "psnr"),
    [("home", 108, 1.2, 0.4, 1e-4, 27), ("village", 96, 1.6, 0.2, 1e-3, 24)],
)
def test_read_back_it_is_the_world(
    name: str, height: int, eye_m: float, pitch: float, off: float, psnr: float, request: pytest.FixtureRequest
) -> None:
    world, _, _, scan = request.getfixturevalue(name)
    rng, geodesic = np.random.default_rng(0), Geodesic(world.floor)
    for camera, count in ((Camera.from_horizontal_fov(192, 108, 90), 5), (Panorama(192, height), 2)):
        for _ in range(count):
            at = geodesic.random_point(rng)
            eye = [*at, world.floor.height_at(at) + eye_m]
            pose = pose_from_yaw_pitch(eye, rng.uniform(-np.pi, np.pi), rng.uniform(-0.4, pitch))
            truth, view = world.view(pose, camera), scan.view(pose, camera)
            near = truth.depth < 80
            most = max(off * near.sum(), 2 if name == "home" else 0)
            assert near.mean() > 0.2
            assert (np.abs(truth.depth[near] - view.depth[near]) > 1e-3).sum() <= most
            assert (truth.instance[near] != view.instance[near]).sum() <= most
            names = np.array(world.categories)[truth.category] == np.array(scan.categories)[view.category]
            assert (~names[near]).sum() <= most
            error = ((truth.rgb.astype(float) - view.rgb)[near] ** 2).mean()
            assert 10 * np.log10(255**2 / error) > psnr


@pytest.mark.parametrize("name", ["home", "village"])
def test_an_independent_reader_opens_it(name: str, request: pytest.FixtureRequest) -> None:
    trimesh = pytest.importorskip("trimesh")
    _, path, summary, scan = request.getfixturevalue(name)
    scene = trimesh.load(path)
    assert sum(len(one.faces) for one in scene.geometry.values()) == summary.triangles
    corners = scan.prepared.scene.corners.reshape(-1, 3).astype(float)
    low, high = corners.min(0), corners.max(0)
    # y up: x there is minus our y, z there is minus our x.
    assert np.allclose(scene.bounds, [[-high[1], low[2], -high[0]], [-low[1], high[2], -low[0]]], atol=1e-5)
    assert all(one.visual.material.baseColorTexture is not None for one in scene.geometry.values())
    if name == "village":
        assert np.allclose([low[:2], high[:2], [low[2], 0]], [[0, 0], [160, 160], [0, 0]])
        assert len({scene.graph[node][1] for node in scene.graph.nodes_geometry}) == len(scene.geometry)
        assert summary.things > 50


def test_its_floor_and_things_are_those_of_the_home(home: Exported) -> None:
    theirs, ours = Geodesic(home.world.floor).main.sum(), Geodesic(home.scan.floor).main.sum()
    assert ours == pytest.approx(theirs, rel=0.06)
    known = {one.instance: one for one in home.world.landmarks}
    for thing in home.scan.landmarks:
        assert thing.category == known[thing.instance].category
    # What lies wholly inside another thing has no face to be seen.
    assert len(home.scan.landmarks) >= 0.95 * len(known)


def test_z_up(tmp_path: Path, home: Exported) -> None:
    export_world(HOME, tmp_path / "z.glb", texel_m=0.1, quality=None, up="z")
    again = Scan.of_file(tmp_path / "z.glb", ScanOptions("z"))
    one, other = (np.unique(each.prepared.scene.corners, axis=0) for each in (again, home.scan))
    assert np.array_equal(one, other)


@pytest.mark.slow
def test_the_scans_to_begin_with(tmp_path: Path) -> None:
    made = export_starter(tmp_path)
    assert [path.name for path in made] == ["home-1.glb", "home-2.glb"]
    assert sum(path.stat().st_size for path in made) < 8_000_000
    for path, one in made.items():
        scan = Scan.of_file(path, ScanOptions())
        assert len(scan.landmarks) == one.things > 30
        assert scan.heightfield.storeys


@pytest.mark.parametrize(
    ("facts", "options", "words"),
    [
        (WorldFacts("tabletop", {}), {}, "cannot be exported; these can: indoor, voxel"),
        (HOME, {"texel_m": 0.0}, "a texel is 0.001 to 1 m"),
        (HOME, {"quality": 0}, "quality is 1 to 100"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, facts: WorldFacts, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        export_world(facts, tmp_path / "a.glb", **options)


@pytest.mark.parametrize(
    ("filled", "faces", "square_m"),
    [
        ([((1, 1, 1), "stone", 0)], 6, 6.0),
        # Two of one kind are one box; of two things, two boxes without the wall between.
        ([((1, 1, 1), "stone", 0), ((2, 1, 1), "stone", 0)], 6, 10.0),
        ([((1, 1, 1), "stone", 1), ((2, 1, 1), "stone", 2)], 10, 10.0),
        # A cube hides what stands on it; a slab does not hide the cube.
        ([((1, 1, 0), "stone", 0), ((1, 1, 1), "oak_slab", 1)], 6 + 5, 6.0 + 3.0),
        ([((1, 1, 1), "poppy", 1)], 2, 2.0),
        # A pool two deep: no surface between.
        ([((1, 1, 0), "water", 1), ((1, 1, 1), "water", 1)], 6, 2.0 + 4 * 1.875),
    ],
)
def test_faces_by_hand(filled: list[tuple[tuple[int, int, int], str, int]], faces: int, square_m: float) -> None:
    states, instances = np.zeros((3, 3, 3), np.uint8), np.zeros((3, 3, 3), np.uint16)
    for place, name, number in filled:
        states[place], instances[place] = block(name), number
    patches = village_patches(VoxelWorld("plains", 0, states, instances, (1, 1)))[0]
    corners = np.concatenate([patch.vertices[patch.triangles].astype(float) for patch in patches])
    assert len(corners) == 2 * faces
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.linalg.norm(cross, axis=1).sum() / 2 == pytest.approx(square_m, abs=1e-5)


def test_a_build_by_hand(tmp_path: Path) -> None:
    # A floor of 3 x 3 planks, and on its middle a pane of glass over a stone.
    rows = np.full((3, 3, 3), -1)
    rows[0], rows[1, 1, 1], rows[2, 1, 1] = 1, 2, 3
    build = Blueprint(rows.astype(np.int32), ("oak_planks", "stone", "glass"))
    assert export_build(build, tmp_path / "build.glb").things == 3
    scan = Scan.of_file(tmp_path / "build.glb", ScanOptions())
    assert scan.categories == ("void", "glass", "oak planks", "stone")
    # x east, y north: the stone fills x 1..2, y -2..-1, z 1..2.
    view = scan.view(pose_from_yaw_pitch([1.5, -5.0, 1.5], np.pi / 2), Camera.from_horizontal_fov(65, 65, 60))
    assert view.depth[32, 32] == pytest.approx(3.0, abs=1e-5)
    assert scan.categories[view.category[32, 32]] == "stone"
    assert view.rgb[32, 32].tolist() == [round(0x7F * 0.86)] * 3
    down = scan.view(pose_from_yaw_pitch([0.5, -0.5, 3.0], 0.0, -np.pi / 2), Camera.from_horizontal_fov(9, 9, 20))
    assert down.depth[4, 4] == pytest.approx(2.0, abs=1e-5)
    scene = pytest.importorskip("trimesh").load(tmp_path / "build.glb")
    assert np.allclose(scene.extents, [3, 3, 3])
    glass = next(one for one in scene.geometry.values() if one.visual.material.alphaMode == "BLEND")
    assert glass.visual.material.baseColorFactor[3] == pytest.approx(85, abs=1)
