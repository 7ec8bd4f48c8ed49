from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.episode import WorldFacts
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds._export_meshes import village_patches
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.export import Exported, export_build, export_world
from worldgauge.worlds.scan import Scan
from worldgauge.worlds.scan.prepared import Reading
from worldgauge.worlds.voxel import Voxel
from worldgauge.worlds.voxel.blocks import block
from worldgauge.worlds.voxel.world import VoxelWorld
from worldgauge.worlds.walking.geodesic import Geodesic

FACTS = WorldFacts("voxel", {"kind": "plains", "seed": 1, "size": (160, 160, 56)})


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDGAUGE_CACHE", "off")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Exported]:
    path = tmp_path_factory.mktemp("export") / "village.glb"
    return path, export_world(FACTS, path)


def test_read_back_it_is_the_village(exported: tuple[Path, Exported]) -> None:
    village, scan = Voxel("plains", 1, (160, 160, 56)), Scan.of_file(exported[0], Reading())
    rng, geodesic = np.random.default_rng(0), Geodesic(village.floor)
    for camera, count in ((Camera.from_horizontal_fov(192, 108, 90), 5), (Panorama(192, 96), 2)):
        for _ in range(count):
            at = geodesic.random_point(rng)
            eye = [*at, village.floor.height_m[tuple(village.floor.cells_of(at))] + 1.6]
            pose = pose_from_yaw_pitch(eye, rng.uniform(-np.pi, np.pi), rng.uniform(-0.4, 0.2))
            truth, view = village.view(pose, camera), scan.view(pose, camera)
            # Beyond its range the village's camera sees sky, which no scan has.
            near = truth.depth < 80
            assert near.mean() > 0.2
            assert (np.abs(truth.depth[near] - view.depth[near]) > 1e-3).sum() <= 0.001 * near.sum()
            assert (truth.instance[near] != view.instance[near]).sum() <= 0.001 * near.sum()
            names = np.array(village.categories)[truth.category] == np.array(scan.categories)[view.category]
            assert (~names[near]).sum() <= 0.001 * near.sum()
            error = ((truth.rgb.astype(float) - view.rgb)[near] ** 2).mean()
            assert 10 * np.log10(255**2 / error) > 24  # its camera does not filter, ours does


def test_an_independent_reader_opens_a_village(exported: tuple[Path, Exported]) -> None:
    trimesh = pytest.importorskip("trimesh")
    path, made = exported
    scene = trimesh.load(path)
    assert sum(len(one.faces) for one in scene.geometry.values()) == made.triangles
    assert np.allclose(scene.bounds, [[-160, 0, -160], [0, scene.bounds[1, 1], 0]])
    nodes = {scene.graph[name][1] for name in scene.graph.nodes_geometry}
    assert len(nodes) == len(scene.geometry)
    assert made.things > 50
    assert all(one.visual.material.baseColorTexture is not None for one in scene.geometry.values())


def cells(*filled: tuple[tuple[int, int, int], str, int], shape: tuple[int, int, int] = (3, 3, 3)) -> VoxelWorld:
    states, instances = np.zeros(shape, np.uint8), np.zeros(shape, np.uint16)
    for place, name, number in filled:
        states[place], instances[place] = block(name), number
    return VoxelWorld("plains", 0, states, instances, (1, 1))


def area(world: VoxelWorld) -> float:
    total = 0.0
    for patch in village_patches(world)[0]:
        corners = patch.vertices[patch.triangles].astype(float)
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        total += float(np.linalg.norm(cross, axis=1).sum() / 2)
    return total


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
    world = cells(*filled)
    assert sum(len(patch.triangles) for patch in village_patches(world)[0]) == 2 * faces
    assert area(world) == pytest.approx(square_m, abs=1e-5)


def test_a_build_by_hand(tmp_path: Path) -> None:
    # A floor of 3 x 3 planks, and on its middle a pane of glass over a stone.
    rows = np.full((3, 3, 3), -1)
    rows[0], rows[1, 1, 1], rows[2, 1, 1] = 1, 2, 3
    build = Blueprint(rows.astype(np.int32), ("oak_planks", "stone", "glass"))
    made = export_build(build, tmp_path / "build.glb")
    assert made.things == 3
    scan = Scan.of_file(tmp_path / "build.glb", Reading())
    assert scan.categories == ("void", "glass", "oak planks", "stone")
    # x east, y north: the stone fills x 1..2, y -2..-1, z 1..2.
    view = scan.view(pose_from_yaw_pitch([1.5, -5.0, 1.5], np.pi / 2), Camera.from_horizontal_fov(65, 65, 60))
    assert view.depth[32, 32] == pytest.approx(3.0, abs=1e-5)
    assert scan.categories[view.category[32, 32]] == "stone"
    assert view.rgb[32, 32].tolist() == [round(0x7F * 0.86)] * 3
    down = scan.view(pose_from_yaw_pitch([0.5, -0.5, 3.0], 0.0, -np.pi / 2), Camera.from_horizontal_fov(9, 9, 20))
    assert down.depth[4, 4] == pytest.approx(2.0, abs=1e-5)
    trimesh = pytest.importorskip("trimesh")
    scene = trimesh.load(tmp_path / "build.glb")
    assert np.allclose(scene.extents, [3, 3, 3])
    glass = next(one for one in scene.geometry.values() if one.visual.material.alphaMode == "BLEND")
    assert glass.visual.material.baseColorFactor[3] == pytest.approx(85, abs=1)
