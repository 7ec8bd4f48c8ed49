from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from support.glb import QUAD, TRIANGLE, Glb, triangle
from worldgauge.core.errors import DataError
from worldgauge.worlds.scan import gltf
from worldgauge.worlds.scan.gltf import plain_name, read_gltf
from worldgauge.worlds.scan.mesh import CLAMP, MIRROR, REPEAT, ScanMesh, ours

PICTURE = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
"""RGB."""
PNG = cv2.imencode(".png", PICTURE[..., ::-1])[1].tobytes()


def read(made: Glb, folder: Path, **options: Any) -> ScanMesh:
    return read_gltf(made.write(folder / "file.glb"), **options)


def corners(mesh: ScanMesh) -> np.ndarray[Any, Any]:
    return mesh.vertices[mesh.triangles]


def test_axes(tmp_path: Path) -> None:
    made = triangle([[1, 2, 3], [4, 5, 6], [7, 8, 10]])
    assert np.array_equal(read(made, tmp_path).vertices[0], [-3, -1, 2])
    assert np.array_equal(read(made, tmp_path, up="z").vertices[0], [2, -1, 3])
    for up in ("y", "z"):
        axes = ours(np.eye(3), up)  # type: ignore[arg-type]
        assert np.linalg.det(axes) == pytest.approx(1)


@pytest.mark.parametrize("kind", ["u1", "u2", "u4"])
def test_indices(tmp_path: Path, kind: str) -> None:
    made = Glb()
    made.mesh({"attributes": {"POSITION": made.array(QUAD)}, "indices": made.array([0, 1, 2, 0, 2, 3], kind)})
    assert read(made, tmp_path).triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(("mode", "expected"), [(5, [[0, 1, 2], [2, 1, 3]]), (6, [[0, 1, 2], [0, 2, 3]])])
def test_strips_and_fans(tmp_path: Path, mode: int, expected: list[list[int]]) -> None:
    assert read(triangle(QUAD, mode=mode), tmp_path).triangles.tolist() == expected


def test_stride_and_sparse(tmp_path: Path) -> None:
    made = Glb()
    rows = np.zeros((3, 5), "<f4")
    rows[:, :3] = TRIANGLE
    view = made.view(rows.tobytes(), byteStride=20)
    sparse = {
        "count": 1,
        "indices": {"bufferView": made.view(np.array([1], "<u2").tobytes()), "componentType": 5123},
        "values": {"bufferView": made.view(np.array([[9, 0, 0]], "<f4").tobytes())},
    }
    part = {"bufferView": view, "componentType": 5126, "count": 3, "type": "VEC3", "sparse": sparse}
    made.mesh({"attributes": {"POSITION": made.add("accessors", part)}})
    assert read(made, tmp_path).vertices.tolist() == [[0, 0, 0], [0, -9, 0], [0, 0, 1]]


def test_nodes_move_turn_scale_and_mirror(tmp_path: Path) -> None:
    made = triangle()
    half = float(np.sqrt(0.5))
    made.content["nodes"] = [
        {"children": [1], "translation": [10, 0, 0]},
        {"mesh": 0, "rotation": [0, 0, half, half], "scale": [2, 1, 1]},
        {"mesh": 0, "matrix": [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]},
    ]
    made.content["scenes"][0]["nodes"] = [0, 2]
    mesh = read(made, tmp_path)
    # Scaled along x, turned by 90 degrees about z, moved: (1, 0, 0) -> (10, 2, 0) in the file's axes.
    assert np.allclose(mesh.vertices[1], ours(np.array([[10.0, 2.0, 0.0]]), "y")[0])
    normals = [np.cross(c[1] - c[0], c[2] - c[0]) for c in corners(mesh)]
    # Both still face +z of the file, though one was mirrored.
    assert all(np.allclose(normal / np.linalg.norm(normal), [-1, 0, 0]) for normal in normals)


def test_quantized_coordinates(tmp_path: Path) -> None:
    made = Glb()
    positions = made.array(np.array(TRIANGLE) * 1000, "i2")
    uv = made.array([[0, 0], [255, 0], [0, 128]], "u1", normalized=True)
    made.content["extensionsRequired"] = ["KHR_mesh_quantization"]
    made.mesh({"attributes": {"POSITION": positions, "TEXCOORD_0": uv}}, scale=[0.001] * 3)
    mesh = read(made, tmp_path)
    assert np.allclose(mesh.vertices[1], [0, -1, 0])
    assert np.allclose(mesh.uv, [[0, 0], [1, 0], [0, 128 / 255]])


def test_textures_and_their_transform(tmp_path: Path) -> None:
    made = Glb()
    made.content["samplers"] = [{"wrapS": 33071, "wrapT": 33648, "magFilter": 9728}]
    material = made.image(PNG, sampler=0)
    moved = {"offset": [0.5, 0.0], "rotation": np.pi / 2, "scale": [2.0, 1.0], "texCoord": 1}
    used = made.content["materials"][material]
    used["pbrMetallicRoughness"]["baseColorTexture"]["extensions"] = {"KHR_texture_transform": moved}
    used |= {"doubleSided": True, "alphaMode": "MASK", "alphaCutoff": 0.25}
    names = {"POSITION": made.array(TRIANGLE), "TEXCOORD_1": made.array([[0, 0], [1, 0], [0, 1]])}
    made.mesh({"attributes": names, "material": material})
    mesh = read(made, tmp_path)
    assert np.array_equal(mesh.pages[0][..., :3], PICTURE)
    found = mesh.materials[0]
    assert (found.wrap, found.nearest, found.two_sided, found.cutoff) == ((CLAMP, MIRROR), True, True, 0.25)
    # The matrix of KHR_texture_transform: translation * rotation * scale.
    assert np.allclose(mesh.uv, [[0.5, 0], [0.5, -2], [1.5, 0]])


def test_colours_of_vertices_are_linear(tmp_path: Path) -> None:
    made = Glb()
    colours = made.array([[0, 0, 0], [0.21404114, 1, 0.0], [1, 1, 1]])
    made.mesh({"attributes": {"POSITION": made.array(TRIANGLE), "COLOR_0": colours}})
    mesh = read(made, tmp_path)
    assert mesh.colours is not None
    assert mesh.colours.tolist() == [[0, 0, 0, 255], [128, 255, 0, 255], [255] * 4]


def test_things_are_nodes(tmp_path: Path) -> None:
    made = Glb()
    for name in ("Chair_02.001", "", "Sofa"):
        made.mesh({"attributes": {"POSITION": made.array(TRIANGLE)}}, **({"name": name} if name else {}))
    mesh = read(made, tmp_path)
    assert mesh.instance.tolist() == [1, 0, 3]
    assert [mesh.categories[n] for n in mesh.category] == ["chair", "void", "sofa"]
    made.content["nodes"][2]["extras"] = {"instance": 7, "category": "couch"}
    mesh = read(made, tmp_path)
    assert mesh.instance.tolist() == [0, 0, 7]
    assert [mesh.categories[n] for n in mesh.category] == ["void", "void", "couch"]
    assert plain_name("TV-Stand 12") == "tv stand"


@pytest.mark.parametrize("ending", ["data", "beside"])
def test_json_with_other_buffers(tmp_path: Path, ending: str) -> None:
    made = triangle()
    made.bytes()
    held = bytes(made.data)
    uri = "data:application/octet-stream;base64," + base64.b64encode(held).decode() if ending == "data" else "a b.bin"
    made.content["buffers"] = [{"byteLength": len(held), "uri": uri.replace(" ", "%20")}]
    (tmp_path / "a b.bin").write_bytes(held)
    path = tmp_path / "file.gltf"
    path.write_text(json.dumps(made.content))
    assert read_gltf(path).vertices[1].tolist() == [0, -1, 0]


def test_a_texture_that_cannot_be_read_is_drawn_as_checks(tmp_path: Path) -> None:
    mesh = read(triangle(picture=PNG[:40]), tmp_path)
    assert mesh.missing == (True,)
    assert "magenta" in mesh.notes[0]
    assert "images[0]" in mesh.notes[0]
    assert {tuple(one) for one in mesh.pages[0].reshape(-1, 4).tolist()} == {(255, 0, 255, 255), (128, 128, 128, 255)}


def test_wraps_default_to_repeat(tmp_path: Path) -> None:
    assert read(triangle(picture=PNG), tmp_path).materials[0].wrap == (REPEAT, REPEAT)


def test_an_extension_that_is_required_is_named(tmp_path: Path) -> None:
    made = triangle()
    made.content["extensionsRequired"] = ["VENDOR_magic"]
    with pytest.raises(DataError, match=r"file\.glb: .*extension 'VENDOR_magic'"):
        read(made, tmp_path)


def test_many_textures_together_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Glb()
    for _ in range(3):
        made.mesh({"attributes": {"POSITION": made.array(TRIANGLE)}, "material": made.image(PNG)})
    monkeypatch.setattr(gltf, "_MOST_TEXELS", 2 * 16)
    with pytest.raises(DataError, match="more than 32 texels; WORLDGAUGE_SCAN_TEXTURE_PX=2048"):
        read(made, tmp_path)


def linking(uri: str, index: int = 0) -> Glb:
    """A triangle whose texture is a file beside it."""
    made = triangle(material=0)
    made.content["images"] = [{"uri": uri}]
    made.content["textures"] = [{"source": 0}]
    made.content["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": index}}}]
    return made


def changed(part: str, value: dict[str, Any]) -> Glb:
    """A triangle with another first item of a list, or another part, of its document."""
    made = triangle()
    held = made.content[part]
    (held[0] if isinstance(held, list) else held).update(value)
    return made


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (changed("accessors", {"count": 10**9}), r"accessors\[0\]: count is 1000000000"),
        (changed("accessors", {"count": 4}), r"accessors\[0\]: 4 elements of 12 bytes pass the end"),
        (changed("bufferViews", {"byteOffset": 8}), r"bufferViews\[0\]: bytes 8 to 44 pass the end"),
        (changed("nodes", {"children": [0]}), r"nodes\[0\] is its own ancestor"),
        (changed("asset", {"version": "1.0"}), r"version '1.0' is not 2.0"),
        (linking("../../etc/passwd", 3), r"there is no textures\[3\]"),
    ],
)
def test_damage_is_one_line_that_names_the_part(tmp_path: Path, made: Glb, words: str) -> None:
    with pytest.raises(DataError, match=words) as found:
        read(made, tmp_path)
    assert "\n" not in str(found.value)
    assert "file.glb" in str(found.value)


@pytest.mark.parametrize(
    "uri", ["../secret.png", "/etc/passwd", "file:///etc/passwd", "https://x.example/a.png", "a\0b"]
)
def test_no_file_outside_the_folder_is_read(tmp_path: Path, uri: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.png").write_bytes(PNG)
    mesh = read(linking(uri), inner)
    assert mesh.missing == (True,)
    assert "leaves the folder" in mesh.notes[0]
