"""Changed and cut files: the same error type, never a crash, never a long wait or a large allocation."""

from __future__ import annotations

import io
import struct
import tracemalloc
from pathlib import Path

import cv2
import numpy as np
import pytest

from support.glb import QUAD, Glb
from worldgauge.core.errors import WorldgaugeError
from worldgauge.worlds.scan.prepared import Reading, prepare
from worldgauge.worlds.scan.readers import read_mesh


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


def test_a_mesh_without_a_good_triangle_names_its_file(tmp_path: Path) -> None:
    made = Glb()
    made.mesh({"attributes": {"POSITION": made.array(np.full((3, 3), np.nan, np.float32))}})
    (tmp_path / "void.glb").write_bytes(made.bytes())
    with pytest.raises(WorldgaugeError, match=r"void\.glb: 1 of 1 triangles are damaged"):
        prepare(tmp_path / "void.glb", Reading())


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
