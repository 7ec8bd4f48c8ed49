"""Changed and cut files: the same error type, never a crash, never a long wait or a large allocation."""

from __future__ import annotations

import io
import resource
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from support.glb import QUAD, Glb
from support.places import TESTS
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.io import read_text
from worldgauge.worlds.scan.floors.navmesh import NavMesh
from worldgauge.worlds.scan.mesh import Material, Mesh
from worldgauge.worlds.scan.readers import read_mesh, replica
from worldgauge.worlds.scan.semantics import hm3d_table, house_table

VECTORS = TESTS / "vectors" / "scan"
LONGEST_S, MOST_MB = 2.0, 500
"""Of processor time a file, and of memory that reading adds."""


PLAIN = Mesh(
    np.zeros((3, 3)),
    np.zeros((1, 3), np.int32),
    np.zeros((3, 2)),
    None,
    np.zeros(1, np.int32),
    np.full(1, 7, np.uint16),
    np.zeros(1, np.uint16),
    (Material(),),
    (),
)


def glb() -> bytes:
    made = Glb()
    png = cv2.imencode(".png", np.full((8, 8, 3), 77, np.uint8))[1].tobytes()
    names = {"POSITION": made.array(QUAD), "TEXCOORD_0": made.array([[0, 0], [1, 0], [1, 1], [0, 1]])}
    part = {"attributes": names, "indices": made.array([0, 1, 2, 0, 2, 3], "u2"), "material": made.image(png)}
    made.mesh(part, name="thing", extras={"instance": 3, "category": "chair"})
    return made.bytes()


def ply(form: str) -> bytes:
    head = (
        f"ply\nformat {form} 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        "element face 2\nproperty list uchar int vertex_indices\nend_header\n"
    ).encode()
    if form == "ascii":
        return head + b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n4 0 1 2 0\n"
    return head + struct.pack("<9fB3iB4i", 0, 0, 0, 1, 0, 0, 0, 1, 0, 3, 0, 1, 2, 4, 0, 1, 2, 0)


FILES: dict[str, bytes] = {
    "a.glb": glb(),
    "a.ply": ply("binary_little_endian"),
    "text.ply": ply("ascii"),
    "two_storeys.navmesh": (VECTORS / "two_storeys.navmesh").read_bytes(),
    "a.semantic.txt": b'HM3D Semantic Annotations\n1,A0B1C2,"chair, red",0\r\n2,FFFFFF,"wall",1\n3,000000,"lamp",0\n',
    "a.house": b"ASCII 1.1\nC 0 5 chair#x 7 chair 5 a b\nO 0 1 0 1 2 3\nO 7 -1 -1 1 2 3\nR 0 0\n",
    "info_semantic.json": b'{"classes": [{"id": 2, "name": "chair"}], "objects": [{"id": 7, "class_id": 2}]}',
}
CONVERTED = {
    path.name: path.read_bytes() for path in sorted((VECTORS / "converted").glob("*.glb")) if path.stem != "plain-basis"
}


def read(path: Path) -> object:
    """What is made of a file, by the ending of its name."""
    readers: dict[str, Callable[[Path], object]] = {
        ".navmesh": NavMesh.read,
        ".txt": lambda path: hm3d_table(read_text(path), path),
        ".house": lambda path: house_table(read_text(path), path),
        ".json": lambda path: replica.with_names(PLAIN, path),
    }
    return readers.get(path.suffix, read_mesh)(path)


def changed(data: bytes, rng: np.random.Generator) -> bytes:
    """A file with a few bytes changed, cut out, doubled, or cut off."""
    held = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(held)))
        match int(rng.integers(6)):
            case 0:
                held[at] = int(rng.integers(256))
            case 1:
                held[at] ^= 1 << int(rng.integers(8))
            case 2:
                held = held[: max(at, 1)]
            case 3:
                held[at : at + 4] = struct.pack("<I", int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1])))
            case 4:
                held[at:at] = held[at : at + int(rng.integers(1, 40))]
            case 5:
                # Digits of JSON and headers.
                digits = [n for n, byte in enumerate(held) if 48 <= byte <= 57]
                if digits:
                    held[digits[int(rng.integers(len(digits)))]] = int(rng.integers(45, 58))
    return bytes(held)


def attack(name: str, data: bytes, count: int, folder: Path) -> None:
    """Read `count` changed files; each can be made again from its number alone."""
    path = folder / name
    refused, before = 0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(count):
        path.write_bytes(changed(data, np.random.default_rng([len(data), number])))
        start = time.process_time()
        try:
            read(path)
        except WorldgaugeError as error:
            refused += 1
            message = str(error)
        else:
            message = name
        assert "\n" not in message, number
        assert name in message, number
        assert time.process_time() - start < LONGEST_S, number
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1024 * MOST_MB, number
    assert refused > count // 30


@pytest.mark.parametrize("name", FILES)
def test_untouched_files_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert read(tmp_path / name)


@pytest.mark.parametrize("name", FILES)
def test_changed_files(tmp_path: Path, name: str) -> None:
    attack(name, FILES[name], 200, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_many_changed_files(tmp_path: Path, name: str) -> None:
    attack(name, FILES[name], 20_000, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVERTED)
def test_many_changed_files_of_others_tools(tmp_path: Path, name: str) -> None:
    for package in ("DracoPy", "meshoptimizer", "opengl_basisu"):
        pytest.importorskip(package)
    attack(name, CONVERTED[name], 3_000, tmp_path)


def test_a_picture_takes_no_more_memory_than_it_has_bytes(tmp_path: Path) -> None:
    # A part of a PNG that claims 2 GB took OpenCV 19 s and 2 GB.
    data = cv2.imencode(".png", np.zeros((8, 8, 3), np.uint8))[1].tobytes()
    made = Glb()
    made.mesh(
        {
            "attributes": {"POSITION": made.array(QUAD)},
            "material": made.image(data[:33] + struct.pack(">I", 2**31 - 1) + data[37:]),
        }
    )
    (tmp_path / "a.glb").write_bytes(made.bytes())
    mesh = read_mesh(tmp_path / "a.glb")
    assert mesh.missing == (True,)
    assert "a part of 2147483647 bytes passes the end of the picture" in mesh.notes[0]


def test_claims_of_size_allocate_nothing(tmp_path: Path) -> None:
    made = Glb()
    made.mesh({"attributes": {"POSITION": made.array(QUAD)}})
    made.content["accessors"][0] |= {"count": 199_999_999}
    path = tmp_path / "a.glb"
    path.write_bytes(made.bytes())
    picture = io.BytesIO(cv2.imencode(".png", np.zeros((2, 2, 3), np.uint8))[1].tobytes()).getvalue()
    wide = picture[:16] + struct.pack(">II", 16000, 16000) + picture[24:]
    textured = Glb()
    textured.mesh({"attributes": {"POSITION": textured.array(QUAD)}, "material": textured.image(wide)})
    (tmp_path / "b.glb").write_bytes(textured.bytes())
    tracemalloc.start()
    with pytest.raises(WorldgaugeError):
        read_mesh(path)
    assert read_mesh(tmp_path / "b.glb").missing == (True,)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 5_000_000
