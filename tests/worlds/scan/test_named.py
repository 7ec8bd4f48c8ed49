"""Things and their names of Replica, ScanNet++ and ReplicaCAD, in small files of the same form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.glb import TRIANGLE, triangle
from worldgauge.core.errors import DataError
from worldgauge.worlds.scan.mesh import ours, theirs
from worldgauge.worlds.scan.prepared import ScanOptions, digest_of_scan
from worldgauge.worlds.scan.readers import files_beside, read_mesh
from worldgauge.worlds.scan.sources import add, scenes_of

INSTANCE = "apt_0.scene_instance.json"
HEAD = """ply
format ascii 1.0
element vertex 6
property float x
property float y
property float z
element face 2
property list uchar int vertex_indices
property int object_id
end_header
0 0 0
1 0 0
1 1 0
0 1 0
5 5 5
6 5 5
"""


def replica(folder: Path) -> Path:
    path = folder / "room_0" / "habitat" / "mesh_semantic.ply"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD + "4 0 1 2 3 7\n3 2 4 5 9\n")
    table = {
        "classes": [{"id": 20, "name": "chair"}, {"id": 3, "name": "wall-plug"}],
        "objects": [
            {"id": 7, "class_id": 20, "oriented_bbox": {}},
            {"id": 9, "class_id": 3},
            {"id": 11, "class_id": -1},
        ],
    }
    path.with_name("info_semantic.json").write_text(json.dumps(table))
    return path


def test_replica(tmp_path: Path) -> None:
    path = replica(tmp_path / "data")
    mesh = read_mesh(path, up="z")
    assert mesh.instance.tolist() == [7, 7, 9]
    assert [mesh.categories[n] for n in mesh.category] == ["chair", "chair", "wall plug"]
    (scene,) = scenes_of(add("replica", tmp_path / "data"))
    assert (scene.key, scene.up, scene.geometry) == ("replica/room_0", "z", path.resolve())


def scannetpp(folder: Path) -> Path:
    path = folder / "data" / "0a5c013435" / "scans" / "mesh_aligned_0.05.ply"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD + "4 0 1 2 3 0\n3 4 5 2 0\n")
    path.with_name("segments.json").write_text(json.dumps({"segIndices": [4, 4, 4, 4, 8, 8]}))
    groups = [
        {"id": 1, "objectId": 1, "label": "office chair", "segments": [4]},
        {"id": 2, "objectId": 2, "label": "monitor", "segments": [8, 15]},
    ]
    path.with_name("segments_anno.json").write_text(json.dumps({"segGroups": groups}))
    return path


def test_scannetpp(tmp_path: Path) -> None:
    path = scannetpp(tmp_path / "data")
    mesh = read_mesh(path, up="z")
    assert mesh.instance.tolist() == [1, 1, 2]
    assert [mesh.categories[n] for n in mesh.category] == ["office chair", "office chair", "monitor"]
    (scene,) = scenes_of(add("spp", tmp_path / "data"))
    assert (scene.key, scene.up) == ("spp/0a5c013435", "z")


def replicacad(folder: Path) -> Path:
    for kind, name, size in (("stages", "frl_apartment_stage", 4.0), ("objects", "frl_apartment_chair_01", 1.0)):
        (folder / kind).mkdir(parents=True)
        triangle(np.array(TRIANGLE) * size).write(folder / kind / f"{name}.glb")
        config = folder / "configs" / kind / f"{name}.{kind[:-1]}_config.json"
        config.parent.mkdir(parents=True)
        config.write_text(json.dumps({"render_asset": f"../../{kind}/{name}.glb"}))
    half, chair = float(np.sqrt(0.5)), "frl_apartment_chair_01"
    content = {
        "translation_origin": "asset_local",
        "stage_instance": {"template_name": "stages/frl_apartment_stage"},
        "object_instances": [
            {"template_name": f"objects/{chair}", "translation": [1, 2, 3], "rotation": [half, 0, half, 0]},
            {"template_name": chair, "translation_origin": "COM", "translation": [0, 0, 0]},
        ],
        "articulated_object_instances": [{"template_name": "fridge"}],
    }
    path = folder / "configs" / "scenes" / "apt_0.scene_instance.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
    return path


def test_replicacad(tmp_path: Path) -> None:
    path = replicacad(tmp_path / "data")
    mesh = read_mesh(path)
    assert mesh.instance.tolist() == [0, 1, 2]
    assert [mesh.categories[n] for n in mesh.category] == ["void", "chair", "chair"]
    assert "articulated objects are left out" in mesh.notes
    # y up in the file. A quarter turn about y takes x to -z.
    corners = theirs(mesh.vertices, "y").reshape(3, 3, 3)
    assert np.allclose(corners[1], [[1, 2, 3], [1, 2, 2], [1, 3, 3]])
    assert np.allclose(corners[2].min(0) + corners[2].max(0), 0)
    assert np.array_equal(ours(theirs(mesh.vertices, "y"), "y"), mesh.vertices)
    (scene,) = scenes_of(add("cad", tmp_path / "data"))
    assert (scene.key, scene.up) == ("cad/apt_0", "y")
    assert len(files_beside(path)) == 2


@pytest.mark.parametrize("made", [replica, scannetpp, replicacad])
def test_what_lies_beside_is_part_of_the_digest(tmp_path: Path, made: Callable[[Path], Path]) -> None:
    path = made(tmp_path / "data")
    before = digest_of_scan(path, ScanOptions("z"))
    beside = files_beside(path)[-1]
    beside.write_bytes(beside.read_bytes() + b" ")
    assert digest_of_scan(path, ScanOptions("z")) != before


def text(path: Path, old: str, new: str) -> None:
    held = path.read_text()
    assert old in held
    path.write_text(held.replace(old, new))


@pytest.mark.parametrize(
    ("made", "file", "old", "new", "words"),
    [
        (replica, "info_semantic.json", '"classes": [', '"klasses": [', "classes is no list of objects"),
        (replica, "info_semantic.json", '"class_id": 20', '"class_id": "a"', r"objects\[0\]: class_id is 'a'"),
        (replica, "info_semantic.json", '"name": "chair"', '"name": 4', r"classes\[0\]: name is 4"),
        (scannetpp, "segments.json", "[4, 4,", "[4,", "segIndices are 5, not 6 numbers"),
        (scannetpp, "segments.json", "[4, 4,", '["x", 4,', "segIndices are 6, not 6 numbers"),
        (scannetpp, "segments_anno.json", '"objectId": 2', '"objectId": 70000', r"segGroups\[1\]: objectId is 70000"),
        (scannetpp, "segments_anno.json", '"label": "monitor"', '"label": null', r"segGroups\[1\]: it has no label"),
        (replicacad, INSTANCE, '"rotation": [', '"rotation": [0, ', "rotation is .* not 4 numbers"),
        (replicacad, INSTANCE, "stages/frl_apartment_stage", "stages/none", "none.glb: is not there"),
        (replicacad, INSTANCE, "apartment_chair_01", "x/../../../../x", "is not there"),
    ],
)
def test_damage_is_one_line_that_names_the_file(
    tmp_path: Path, made: Callable[[Path], Path], file: str, old: str, new: str, words: str
) -> None:
    path = made(tmp_path / "data")
    text(path.with_name(file), old, new)
    with pytest.raises(DataError, match=words) as found:
        read_mesh(path)
    assert "\n" not in str(found.value)


def test_no_asset_outside_the_data_set_is_read(tmp_path: Path) -> None:
    path: Any = replicacad(tmp_path / "data")
    (tmp_path / "secret.glb").write_bytes((tmp_path / "data" / "stages" / "frl_apartment_stage.glb").read_bytes())
    config = tmp_path / "data" / "configs" / "stages" / "frl_apartment_stage.stage_config.json"
    text(config, "../../stages/frl_apartment_stage.glb", "../../../secret.glb")
    with pytest.raises(DataError, match="leads out of"):
        read_mesh(path)


def test_files_that_a_gltf_names(tmp_path: Path) -> None:
    made = triangle()
    made.bytes()
    (tmp_path / "a.bin").write_bytes(bytes(made.data))
    made.content["buffers"] = [{"byteLength": len(made.data), "uri": "a.bin"}]
    path = tmp_path / "a.gltf"
    path.write_text(json.dumps(made.content))
    before = digest_of_scan(path, ScanOptions())
    assert files_beside(path) == (tmp_path / "a.bin",)
    (tmp_path / "a.bin").write_bytes(bytes(made.data) + b"x")
    assert digest_of_scan(path, ScanOptions()) != before
