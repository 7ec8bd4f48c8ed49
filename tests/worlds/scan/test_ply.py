from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.worlds.scan.ply import read_ply

HEADER = """ply
format {form} 1.0
comment made by hand
element vertex 4
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face {faces}
property list uchar int vertex_indices
property int object_id
end_header
"""
PLACES = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]


def packed(order: str, faces: list[list[int]]) -> bytes:
    rows = b"".join(struct.pack(order + "fff3B", *place, 10, 20, 30 + n) for n, place in enumerate(PLACES))
    rows += b"".join(struct.pack(f"{order}B{len(face)}ii", len(face), *face, 5 + n) for n, face in enumerate(faces))
    return rows


@pytest.mark.parametrize("form", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("faces", [[[0, 1, 2, 3]], [[0, 1, 2], [0, 2, 3]], [[0, 1, 2], [0, 1, 2, 3]]])
def test_all_three_forms(tmp_path: Path, form: str, faces: list[list[int]]) -> None:
    head = HEADER.format(form=form, faces=len(faces)).encode()
    if form == "ascii":
        rows = [f"{x} {y} {z} 10 20 {30 + n}" for n, (x, y, z) in enumerate(PLACES)]
        rows += [f"{len(face)} {' '.join(map(str, face))} {5 + n}" for n, face in enumerate(faces)]
        body = "\n".join(rows).encode() + b"\n"
    else:
        body = packed("<" if "little" in form else ">", faces)
    path = tmp_path / "a.ply"
    path.write_bytes(head + body)
    mesh = read_ply(path, up="z")
    fans = [([face[0], *face[n : n + 2]], 5 + k) for k, face in enumerate(faces) for n in range(1, len(face) - 1)]
    assert mesh.triangles.tolist() == [triangle for triangle, _ in fans]
    assert mesh.instance.tolist() == [number for _, number in fans]
    assert mesh.vertices.tolist() == [[y, -x, z] for x, y, z in PLACES]
    assert mesh.colours is not None
    assert mesh.colours[2].tolist() == [10, 20, 32, 255]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data[:-3], "pass the end of the file"),
        (lambda data: data.replace(b"vertex 4", b"vertex 99999999999"), "pass the limit"),
        (lambda data: data.replace(b"vertex 4", b"vertex 4000000"), "pass the end of the file"),
        (lambda data: data.replace(b"property float x", b"property quad x"), "is not understood"),
        (lambda data: data.replace(b"ply\n", b"plx\n"), "no PLY file"),
        (lambda data: data.replace(b"vertex_indices", b"other_indices."), "has no faces"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, change: object, words: str) -> None:
    path = tmp_path / "a.ply"
    data = HEADER.format(form="binary_little_endian", faces=1).encode() + packed("<", [[0, 1, 2]])
    path.write_bytes(change(data))  # type: ignore[operator]
    with pytest.raises(DataError, match=words) as found:
        read_ply(path)
    assert "\n" not in str(found.value)


def test_corners_that_are_not_there_are_left_to_be_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    data = HEADER.format(form="binary_little_endian", faces=2).encode() + packed("<", [[0, 1, 2], [0, 1, 77]])
    path.write_bytes(data)
    assert np.array_equal(read_ply(path).triangles, [[0, 1, 2], [0, 1, -1]])


FORMS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
KINDS = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "float": "f", "double": "d"}
Row = list[tuple[str, Any]]
"""Properties of a row: each type, or "list" and a type, with its value."""


def ply(form: str, vertices: list[Row], faces: list[Row], names: dict[str, list[str]], comment: str = "") -> bytes:
    """A file of rows whose lists have lengths of type uchar."""
    head = f"ply\r\nformat {form} 1.0\r\ncomment {comment}\r\n"
    body: list[bytes] = []
    for element, rows in (("vertex", vertices), ("face", faces)):
        head += f"element {element} {len(rows)}\r\n"
        for name, (kind, _) in zip(names[element], rows[0], strict=True):
            head += f"property {kind.replace('list', 'list uchar')} {name}\r\n"
        for row in rows:
            values = [(kind.split()[-1], value if "list" in kind else [value], "list" in kind) for kind, value in row]
            if form == "ascii":
                line = [str(v) for _, held, is_list in values for v in ([len(held)] if is_list else []) + held]
                body.append((" ".join(line) + "\r\n").encode())
                continue
            for kind, held, is_list in values:
                body.append(struct.pack("B", len(held)) if is_list else b"")
                body.append(struct.pack(f"{FORMS[form]}{len(held)}{KINDS[kind]}", *held))
    return head.encode() + b"end_header\r\n" + b"".join(body)


def coloured(form: str, kind: str, values: list[float], names: str = "red green blue", **more: str) -> bytes:
    """A square whose vertices have one colour, before their places."""
    vertices = [[*((kind, v) for v in values), *(("float", float(v)) for v in place)] for place in PLACES]
    faces: list[Row] = [[("list int", [0, 1, 2, 3])]]
    return ply(form, vertices, faces, {"vertex": [*names.split(), *"xyz"], "face": ["vertex_indices"]}, **more)


COLOURS = {
    "uchar": ([0, 128, 64], [0, 128, 64]),
    "uchar dark": ([1, 0, 1], [1, 0, 1]),
    "ushort": ([65535, 32896, 257], [255, 128, 1]),
    "int": ([0, 200, 1], [0, 200, 1]),
    "uint": ([255, 1, 0], [255, 1, 0]),
    "short": ([0, 255, 9], [0, 255, 9]),
    "char": ([0, 127, 9], [0, 127, 9]),
    "float": ([0.0, 1.0, 0.5], [0, 255, 128]),
    "double": ([0.2, 0.0, 1.0000001], [51, 0, 255]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "values", "right"), [(kind, *both) for kind, both in COLOURS.items()], ids=COLOURS)
@pytest.mark.parametrize("names", ["red green blue", "r g b", "diffuse_red diffuse_green diffuse_blue"])
def test_colours_are_read_by_their_declared_type(
    tmp_path: Path, form: str, kind: str, values: list[float], right: list[int], names: str
) -> None:
    path = tmp_path / "a.ply"
    path.write_bytes(coloured(form, kind.split()[0], values, names))
    mesh = read_ply(path)
    assert mesh.colours is not None
    assert mesh.colours.tolist() == [[*right, 255]] * 4
    assert not mesh.notes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "value"),
    [("float", 200.0), ("double", 1.5), ("float", -0.5), ("float", np.nan), ("int", 65535), ("char", -1)],
)
def test_colours_that_their_type_cannot_have_are_refused(tmp_path: Path, form: str, kind: str, value: float) -> None:
    path = tmp_path / "a.ply"
    path.write_bytes(coloured(form, kind, [0, value, 1]))
    with pytest.raises(DataError, match=r"'green' is .*write them as uchar"):
        read_ply(path)


OTHER_COLOURS = "R G B", "f_dc_0 f_dc_1 f_dc_2", "Red Green Blue", "intensity gray Luminance"


def test_what_is_left_out_of_colours_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    for data, said in (
        (coloured("ascii", "ushort", [200, 3, 0]), "nearly black"),
        (coloured("ascii", "uchar", [1, 2, 3, 9], "red green blue alpha"), "opacity"),
        (coloured("ascii", "uchar", [1, 2, 3], comment="TextureFile a.png"), "textures"),
        *((coloured("ascii", "float", [0.1, 0.2, 0.3], names), "colours in the fields") for names in OTHER_COLOURS),
    ):
        path.write_bytes(data)
        (note,) = read_ply(path).notes
        assert said in note
    path.write_bytes(coloured("ascii", "uchar", [1, 2, 3, 255], "red green blue alpha", comment="von Ångström"))
    assert not read_ply(path).notes


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("faces", [[[0, 1, 2], [0, 2, 3]], [[0, 1, 2], [0, 1, 2, 3]]])
def test_colours_of_faces_after_other_lists_as_trimesh_reads_them(
    tmp_path: Path, form: str, faces: list[list[int]]
) -> None:
    import trimesh

    rows = [
        [("list float", [0.0, 0.5] * len(face)), ("uchar", 7), ("list int", face)]
        + [("uchar", value) for value in (255 * n, 128, 1, 255)]
        for n, face in enumerate(faces)
    ]
    names = {"vertex": [*"zyx"], "face": ["weights", "flags", "vertex_indices", "red", "green", "blue", "alpha"]}
    path = tmp_path / "a.ply"
    path.write_bytes(ply(form, [[("double", float(v)) for v in place[::-1]] for place in PLACES], rows, names))
    mesh = read_ply(path)
    assert mesh.colours is not None
    corners = mesh.colours[mesh.triangles]
    fans = [(k, (face[0], *face[n : n + 2])) for k, face in enumerate(faces) for n in range(1, len(face) - 1)]
    for n, (k, places) in enumerate(fans):
        assert corners[n].tolist() == [[255 * k, 128, 1, 255]] * 3
        x, y, z = np.array([PLACES[place] for place in places]).T
        assert mesh.vertices[mesh.triangles[n]].tolist() == np.stack([y, -x, z], -1).tolist()
    if len(faces[1]) == 3:
        whole = trimesh.load(path, process=False)
        assert whole.visual.face_colors.tolist() == corners[:, 0].tolist()


@pytest.mark.parametrize(
    ("name", "right"),
    [("text_red_zero", (0, 128, 64)), ("ushort_colours", (255, 128, 1)), ("face_colours", (255, 0, 0))],
)
def test_files_of_others(name: str, right: tuple[int, int, int]) -> None:
    mesh = read_ply(Path(__file__).parents[2] / f"cases/ply_{name}.ply")
    assert mesh.colours is not None
    assert set(map(tuple, mesh.colours.tolist())) == {(*right, 255)}


def test_faces_of_corners_that_are_not_there_may_have_colours(tmp_path: Path) -> None:
    rows = [
        [("list int", face), *(("uchar", v) for v in (255, n, 0))] for n, face in enumerate([[0, 1, 2], [0, 1, 77]])
    ]
    path = tmp_path / "a.ply"
    vertices = [[("float", float(v)) for v in place] for place in PLACES]
    path.write_bytes(
        ply("ascii", vertices, rows, {"vertex": [*"xyz"], "face": ["vertex_index", "red", "green", "blue"]})
    )
    mesh = read_ply(path)
    assert mesh.triangles[1, 2] == -1
    assert (mesh.triangles[0] >= 0).all()
    assert mesh.colours is not None
    assert mesh.colours[mesh.triangles[1, 0]].tolist() == [255, 1, 0, 255]


def test_long_numbers_of_a_text_keep_their_exponent(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    head, body = coloured("ascii", "uchar", [1, 2, 3]).split(b"end_header")
    data = head + b"end_header" + body.replace(b"1.0", b"1.23456789012345678901234567890123e-01")
    path.write_bytes(data)
    assert np.abs(read_ply(path).vertices).max() == pytest.approx(0.123456789)
    path.write_bytes(data.replace(b"e-01", b"0" * 60))
    with pytest.raises(DataError, match="no number"):
        read_ply(path)
