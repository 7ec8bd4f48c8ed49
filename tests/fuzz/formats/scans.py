"""Files of scanned rooms: meshes, navmeshes, tables of names, and what the encoders of other tools wrote."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np

from fuzz.format import Format
from support.captured_room import captured_bytes
from support.glb import QUAD, Glb
from support.places import TESTS
from worldgauge.core.errors import WorldgaugeError
from worldgauge.core.io import read_text
from worldgauge.worlds.scan import readers as readers_of_tables
from worldgauge.worlds.scan.mesh import ScanMaterial, ScanMesh
from worldgauge.worlds.scan.navmesh import NavMesh
from worldgauge.worlds.scan.readers import read_mesh
from worldgauge.worlds.scan.semantics import hm3d_table, house_table

VECTORS = TESTS / "vectors" / "scan"
PLAIN = ScanMesh(
    np.zeros((3, 3)),
    np.zeros((1, 3), np.int32),
    np.zeros((3, 2)),
    None,
    np.zeros(1, np.int32),
    np.full(1, 7, np.uint16),
    np.zeros(1, np.uint16),
    (ScanMaterial(),),
    (),
)


def glb() -> bytes:
    made = Glb()
    png = cv2.imencode(".png", np.full((8, 8, 3), 77, np.uint8))[1].tobytes()
    names = {"POSITION": made.array(QUAD), "TEXCOORD_0": made.array([[0, 0], [1, 0], [1, 1], [0, 1]])}
    part = {"attributes": names, "indices": made.array([0, 1, 2, 0, 2, 3], "u2"), "material": made.image(png)}
    made.mesh(part, name="thing", extras={"instance": 3, "category": "chair"})
    return made.bytes()


def posed() -> bytes:
    """Instances, a skin and a morph target."""
    made = Glb()
    here = {"POSITION": made.array(QUAD), "JOINTS_0": made.array([[0, 1, 0, 0]] * 4, "u1")}
    here["WEIGHTS_0"] = made.array([[0.5, 0.25, 0, 0]] * 4)
    made.mesh({"attributes": here, "mode": 6, "targets": [{"POSITION": made.array(QUAD)}]}, skin=0, weights=[0.5])
    attributes = {"TRANSLATION": made.array([[1, 0, 0], [0, 1, 0]]), "ROTATION": made.array([[0, 0, 0, 127]] * 2, "i1")}
    made.mesh(
        {"attributes": {"POSITION": made.array(QUAD)}, "mode": 6},
        extensions={"EXT_mesh_gpu_instancing": {"attributes": attributes}},
    )
    view = made.view(np.eye(4, dtype="<f4").tobytes() * 2)
    held = {"bufferView": view, "componentType": 5126, "count": 2, "type": "MAT4"}
    made.add("skins", {"joints": [0, 1], "inverseBindMatrices": made.add("accessors", held)})
    return made.bytes()


def coloured() -> bytes:
    """Colours of faces after two lists."""
    head = (
        b"ply\nformat binary_big_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        b"element face 2\nproperty list uchar float weights\nproperty list uchar int vertex_indices\n"
        b"property ushort red\nproperty float green\nproperty int blue\nend_header\n"
    )
    face = struct.pack(">BffB3iHfi", 2, 0.5, 1.0, 3, 0, 1, 2, 65535, 0.5, 255)
    return head + struct.pack(">9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + face + face


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
    "posed.glb": posed(),
    "coloured.ply": coloured(),
    "a.ply": ply("binary_little_endian"),
    "text.ply": ply("ascii"),
    "two_storeys.navmesh": (VECTORS / "two_storeys.navmesh").read_bytes(),
    "a.semantic.txt": b'HM3D Semantic Annotations\n1,A0B1C2,"chair, red",0\r\n2,FFFFFF,"wall",1\n3,000000,"lamp",0\n',
    "a.house": b"ASCII 1.1\nC 0 5 chair#x 7 chair 5 a b\nO 0 1 0 1 2 3\nO 7 -1 -1 1 2 3\nR 0 0\n",
    "info_semantic.json": b'{"classes": [{"id": 2, "name": "chair"}], "objects": [{"id": 7, "class_id": 2}]}',
    "room.json": captured_bytes(),
}
CONVERTED = {
    path.name: path.read_bytes() for path in sorted((VECTORS / "converted").glob("*.glb")) if path.stem != "plain-basis"
}


def walked(path: Path) -> object:
    """A navmesh, on which something is looked up."""
    floor = NavMesh.read(path)
    return floor.slide([0.5, 0.5, 0.1], [0.7, 0.5, 0.1]), floor.distance([2.0, 2.0, 0.1], [5.0, 2.0, 3.0])


def read(path: Path) -> object:
    """What is made of a file, by the ending of its name."""
    readers: dict[str, Callable[[Path], object]] = {
        ".navmesh": walked,
        ".txt": lambda path: hm3d_table(read_text(path), path),
        ".house": lambda path: house_table(read_text(path), path),
        "info_semantic.json": lambda path: readers_of_tables.with_replica_names(PLAIN, path),
    }
    try:
        return readers.get(path.name, readers.get(path.suffix, read_mesh))(path)
    except WorldgaugeError as error:
        if path.name not in str(error):
            raise AssertionError("an error that does not name the file") from error
        raise


NEEDS = {"draco": "DracoPy", "meshopt": "meshoptimizer"}
NEEDS |= dict.fromkeys(("etc1s-ktx2", "flipped-basis", "uastc-ktx2"), "opengl_basisu")
"""Package that a file of another tool is read with."""


def _format(name: str, data: bytes, weight: float) -> Format:
    needs = NEEDS.get(name.removesuffix(".glb"))
    return Format(
        name,
        lambda folder: (folder / name).write_bytes(data),
        lambda folder: read(folder / name),
        weight=weight,
        needs=(needs,) if needs else (),
    )


FORMATS = (
    *(_format(name, data, 0.5) for name, data in FILES.items()),
    *(_format(name, data, 0.3) for name, data in CONVERTED.items()),
)
