from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.worlds.scan.readers.ply import read_ply

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
