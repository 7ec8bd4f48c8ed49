"""Changed and cut files: the same error type, never a crash, never a long wait or a large allocation."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import cv2
import numpy as np
import pytest

from support.glb import QUAD, triangle
from worldgauge.core.errors import WorldgaugeError
from worldgauge.worlds.scan.prepared import ScanOptions, prepare
from worldgauge.worlds.scan.readers import read_mesh


def test_a_picture_takes_no_more_memory_than_it_has_bytes(tmp_path: Path) -> None:
    # A part of a PNG that claims 2 GB took OpenCV 19 s and 2 GB.
    data = cv2.imencode(".png", np.zeros((8, 8, 3), np.uint8))[1].tobytes()
    made = triangle(QUAD, picture=data[:33] + struct.pack(">I", 2**31 - 1) + data[37:])
    mesh = read_mesh(made.write(tmp_path / "a.glb"))
    assert mesh.missing == (True,)
    assert "a part of 2147483647 bytes passes the end of the picture" in mesh.notes[0]


def test_a_mesh_without_a_good_triangle_names_its_file(tmp_path: Path) -> None:
    path = triangle(np.full((3, 3), np.nan, np.float32)).write(tmp_path / "void.glb")
    with pytest.raises(WorldgaugeError, match=r"void\.glb: 1 of 1 triangles are damaged"):
        prepare(path, ScanOptions())


def test_claims_of_size_allocate_nothing(tmp_path: Path) -> None:
    made = triangle(QUAD)
    made.content["accessors"][0] |= {"count": 199_999_999}
    path = made.write(tmp_path / "a.glb")
    picture = cv2.imencode(".png", np.zeros((2, 2, 3), np.uint8))[1].tobytes()
    wide = triangle(QUAD, picture=picture[:16] + struct.pack(">II", 16000, 16000) + picture[24:])
    other = wide.write(tmp_path / "b.glb")
    tracemalloc.start()
    with pytest.raises(WorldgaugeError):
        read_mesh(path)
    assert read_mesh(other).missing == (True,)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 5_000_000
