from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.glb import TRIANGLE, Glb, triangle
from support.places import TESTS
from support.scan_room import CATEGORIES, example_boxes, write_example
from worldgauge.core.errors import UnknownNameError, UsageError, WorldError
from worldgauge.core.geometry import Camera, Panorama, pose_from_yaw_pitch
from worldgauge.worlds import open_world
from worldgauge.worlds.indoor.camera import BoxScene, render
from worldgauge.worlds.scan import Scan, checking, prepared, sources
from worldgauge.worlds.scan.mesh import ours, theirs
from worldgauge.worlds.scan.prepared import ScanOptions
from worldgauge.worlds.scan.readers import read_mesh
from worldgauge.worlds.walking.geodesic import Geodesic

VECTORS = TESTS / "vectors" / "scan"
HOUSE = json.loads((VECTORS / "two_storeys.json").read_text())
EXAMPLE = Path(sources.__file__).parent / "examples" / "room.glb"


@pytest.fixture(scope="module")
def example() -> Scan:
    return Scan.of_file(EXAMPLE, ScanOptions())


def test_the_example_is_the_room_of_boxes(example: Scan) -> None:
    scene = BoxScene.of(example_boxes(), (0.0, 2.5))
    rng = np.random.default_rng(0)
    assert example.categories == CATEGORIES
    for camera in (Camera.from_horizontal_fov(160, 90, 90), Panorama(128, 64)):
        for _ in range(4):
            pose = pose_from_yaw_pitch([2.2, 1.4, 1.2], rng.uniform(-3, 3), rng.uniform(-0.4, 0.4))
            truth, view = render(scene, pose, camera), example.view(pose, camera)
            assert (np.abs(truth.depth - view.depth) <= 1e-3).mean() >= 0.999
            assert (truth.instance == view.instance).mean() >= 0.999
            assert (truth.category == view.category).mean() >= 0.999
            error = ((truth.rgb.astype(float) - view.rgb) ** 2).mean()
            assert 10 * np.log10(255**2 / error) > 24  # texels of 3 cm


def test_the_example_can_be_made_again(tmp_path: Path, example: Scan) -> None:
    write_example(tmp_path / "room.glb")
    again = Scan.of_file(tmp_path / "room.glb", ScanOptions())
    for name in ("corners", "rows", "instance", "category"):
        assert np.array_equal(getattr(again.prepared.scene, name), getattr(example.prepared.scene, name))


def test_things_and_floor(example: Scan) -> None:
    bed = example.landmarks[0]
    assert (bed.category, bed.instance) == ("bed", 1)
    assert np.allclose([bed.low, bed.high], [[0.1, 1.9, 0.0], [2.1, 2.9, 0.5]], atol=1e-5)
    # 12 m², less the bed and the bookcase; below the table and the chair nobody stands. A cell of 5 cm at each wall.
    assert example.floor.free.sum() * 0.05**2 == pytest.approx(12 - 2 - 0.315 - 0.6 - 0.16, abs=0.9)
    geodesic = Geodesic(example.floor)
    assert geodesic.stands([2.4, 1.4])
    assert not geodesic.stands([1.0, 2.4])
    assert geodesic.distance([0.5, 0.5], [2.3, 1.5]) == pytest.approx(np.hypot(1.8, 1.0))


def test_it_is_opened_from_its_facts() -> None:
    world = Scan("example/room")
    assert open_world(world.facts).facts == world.facts
    assert str(EXAMPLE.parent) not in str(world.facts)
    with pytest.raises(WorldError, match="storeys; there is none of number 3"):
        _ = Scan("example/room", storey=3).floor


def test_what_was_prepared_is_used_again(tmp_path: Path) -> None:
    first = Scan("example/room").prepared
    folder = tmp_path / "cache" / "scans" / first.digest
    assert folder.stat().st_mode & 0o777 == 0o700
    stamp = (folder / "rows.npy").stat().st_mtime_ns
    second = Scan("example/room").prepared
    assert (folder / "rows.npy").stat().st_mtime_ns == stamp
    assert all(np.array_equal(a, b) for a, b in zip(first.scene, second.scene, strict=True))
    assert prepared.forget() > 10_000
    assert not folder.exists()


def test_folders_are_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine" / "upstairs"
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLE, folder / "flat.glb")
    source = sources.add("mine", tmp_path / "mine")
    assert (source.kind, source.up) == ("files", "y")
    assert [one.key for one in sources.scenes_of(source)] == ["mine/upstairs/flat"]
    assert Scan("mine/upstairs/flat").facts.digest == Scan("example/room").facts.digest
    with pytest.raises(WorldError, match="is not in"):
        Scan("mine/cellar")
    sources.remove("mine")
    with pytest.raises(WorldError, match="worldgauge world add mine DIR"):
        Scan("mine/upstairs/flat")
    monkeypatch.setenv("WORLDGAUGE_SCENES", f"there={tmp_path / 'mine'}")
    assert Scan("there/upstairs/flat").landmarks
    with pytest.raises(UnknownNameError, match="folder of scans 'mine'"):
        sources.remove("mine")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no scan was found"):
        sources.add("empty", tmp_path / "empty")


@pytest.mark.parametrize(
    ("files", "kind", "keys"),
    [
        (["00800-AbC/AbC.basis.glb", "00800-AbC/AbC.glb", "00800-AbC/AbC.semantic.glb"], "hm3d", ["s/00800-AbC"]),
        (["17DR/17DR.glb", "17DR/17DR.house", "17DR/17DR_semantic.ply"], "mp3d", ["s/17DR"]),
        (["Ackermanville.glb", "Ackermanville.navmesh"], "gibson", ["s/Ackermanville"]),
        (["room_0/habitat/mesh_semantic.ply"], "replica", ["s/room_0"]),
    ],
)
def test_layouts_of_published_scans(tmp_path: Path, files: list[str], kind: str, keys: list[str]) -> None:
    for name in files:
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    source = sources.add("s", tmp_path / "data")
    assert (source.kind, source.up) == (kind, "z")
    assert [one.key for one in sources.scenes_of(source)] == keys
    assert os.path.basename(next(iter(sources.scenes_of(source))).geometry) == os.path.basename(files[0])
    assert source.terms


def test_a_check_finds_what_is_wrong(tmp_path: Path, example: Scan) -> None:
    found = checking.look_over(example)
    assert found.ok
    assert found.facts["things"] == 5
    assert found.facts["storeys_m"] == [0.0]
    assert found.facts["holes"] == 0
    sheet, plan = checking.contact_sheet(example, np.random.default_rng(0)), checking.plan_picture(example, 200)
    assert sheet.std() > 20
    assert plan.shape[1] == 200
    millimetres = checking.look_over(Scan.of_file(EXAMPLE, ScanOptions(scale=1000.0)))
    assert any("--scale 0.001" in line for line in millimetres.problems)
    one = triangle(np.array(TRIANGLE) * 5).write(tmp_path / "one.glb")
    assert any("no indoor floor" in line for line in checking.look_over(Scan.of_file(one, ScanOptions())).problems)


def test_a_scan_that_is_inside_out_is_told(tmp_path: Path) -> None:
    mesh, made = read_mesh(EXAMPLE), Glb()
    indices = made.array(mesh.triangles[:, ::-1].ravel(), "u4")
    made.mesh({"attributes": {"POSITION": made.array(theirs(mesh.vertices, "y"))}, "indices": indices})
    path = made.write(tmp_path / "flipped.glb")
    found = checking.look_over(Scan.of_file(path, ScanOptions()))
    assert any("seen from behind, and so not drawn: --two-sided" in line for line in found.problems)
    assert checking.look_over(Scan.of_file(path, ScanOptions(two_sided=True))).ok


def test_a_scan_without_its_textures_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    triangle(picture=b"\x89PNG\r\n\x1a\n" + bytes(40)).write(tmp_path / "data" / "bare.glb")
    sources.add("data", tmp_path / "data")
    with pytest.raises(WorldError, match=r"100% of it has no texture; .*images\[0\]"):
        Scan("data/bare")


@pytest.fixture
def house(tmp_path: Path) -> Scan:
    """Two storeys with stairs and a roof, and their published floor."""
    made = Glb()
    indices = made.array(np.array(HOUSE["triangles"]).ravel(), "u4")
    made.mesh({"attributes": {"POSITION": made.array(HOUSE["vertices"])}, "indices": indices})
    return Scan.of_file(made.write(tmp_path / "house.glb"), ScanOptions(), VECTORS / "two_storeys.navmesh")


def test_a_published_floor_must_lie_on_the_scan(house: Scan) -> None:
    found = checking.look_over(house)
    assert found.ok, found.problems
    assert found.facts["navmesh_m2"] == 124.7
    assert len(found.facts["storeys_m"]) == 2
    wrong = checking.look_over(Scan.of_file(EXAMPLE, ScanOptions(), VECTORS / "two_storeys.navmesh"))
    assert any("another scene" in line for line in wrong.problems)


def test_the_found_floor_gives_about_the_distances_of_the_published_one(house: Scan) -> None:
    ratios = []
    for storey, level in enumerate(house.heightfield.storeys):
        geodesic = Geodesic(house.heightfield.floor(storey))
        for case in HOUSE["paths"]:
            a, b = (ours(np.array([case[end]]), "y")[0] for end in ("start", "end"))
            near = abs(a[2] - level) < 0.5 and abs(b[2] - level) < 0.5
            if case["geodesic"] is None or not near or case["geodesic"] < 1.0:
                continue
            if math.isfinite(found := geodesic.distance(a[:2], b[:2])):
                ratios.append(found / case["geodesic"])
    assert len(ratios) > 10
    assert abs(float(np.median(ratios)) - 1) < 0.02


def test_a_file_that_changed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    shutil.copy(EXAMPLE, tmp_path / "mine" / "room.glb")
    sources.add("mine", tmp_path / "mine")
    facts = Scan("mine/room").facts
    assert open_world(facts).facts == facts
    changed = bytearray(EXAMPLE.read_bytes())
    changed[-8] ^= 1
    (tmp_path / "mine" / "room.glb").write_bytes(changed)
    open_world.__globals__["_open"].cache_clear()
    with pytest.raises(WorldError, match=r"the file .*room\.glb.* has changed since.*collect the data again"):
        open_world(facts)
    before = sources.digest_of_scene(sources.scene("mine/room"), version=1)
    with pytest.raises(WorldError, match="another version of worldgauge"):
        open_world(replace(facts, digest=before))


def test_a_file_that_is_replaced_by_one_of_its_size_and_time_is_another(tmp_path: Path) -> None:
    path, other = tmp_path / "a.glb", tmp_path / "b.glb"
    shutil.copy(EXAMPLE, path)
    other.write_bytes(EXAMPLE.read_bytes()[:-1] + b"\1")
    os.utime(path, ns=(10**18, 10**18))
    before = prepared.digest_of_scan(path, ScanOptions())
    os.utime(other, ns=(10**18, 10**18))
    os.replace(other, path)
    assert prepared.digest_of_scan(path, ScanOptions()) != before
