"""Readers of scans: each gives a `Mesh`, or one line that names the file and the part."""

from __future__ import annotations

from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.worlds.scan.mesh import Mesh, Up


def read_mesh(path: Path, *, up: Up = "y") -> Mesh:
    """Read a scan by the ending of its name.

    Args:
        path: A .glb, .gltf or .ply file.
        up: The axis that points up in it.

    Returns:
        Its triangles in our frame.

    Raises:
        DataError: The file is of another kind, damaged, or cannot be read.
        WorldError: It needs a package that is not installed.
    """
    if path.suffix.lower() in (".glb", ".gltf"):
        from worldgauge.worlds.scan.readers.gltf import read_gltf

        return read_gltf(path, up=up)
    if path.suffix.lower() == ".ply":
        from worldgauge.worlds.scan.readers.ply import read_ply

        return read_ply(path, up=up)
    raise DataError(f"{path}: scans are .glb, .gltf or .ply files")
