"""Readers of scans: each gives a `Mesh`, or one line that names the file and the part."""

from __future__ import annotations

from pathlib import Path

from worldgauge.core.errors import DataError
from worldgauge.worlds.scan.mesh import Mesh, Up

ENDINGS = (".glb", ".gltf", ".ply")
SCENE_ENDING = ".scene_instance.json"
"""Of a file that lists the stage and the objects of a scene, as ReplicaCAD's do."""


def read_mesh(path: Path, *, up: Up = "y") -> Mesh:
    """Read a scan by the ending of its name, with the names of things that lie beside it.

    Args:
        path: A .glb, .gltf, .ply or .scene_instance.json file.
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
        from worldgauge.worlds.scan.readers import replica, scannetpp
        from worldgauge.worlds.scan.readers.ply import read_ply

        mesh = read_ply(path, up=up)
        beside = _tables(path)
        if len(beside) == 1:
            return replica.with_names(mesh, *beside)
        return scannetpp.with_names(mesh, *beside) if beside else mesh
    if path.name.endswith(SCENE_ENDING):
        from worldgauge.worlds.scan.readers.replicacad import read_scene_instance

        return read_scene_instance(path)
    raise DataError(f"{path}: scans are .glb, .gltf, .ply or .scene_instance.json files")


def files_beside(path: Path) -> tuple[Path, ...]:
    """Files that `read_mesh` reads besides the one that is named, in a fixed order.

    Args:
        path: A file of a scan.

    Raises:
        DataError: The file names another one that is not there.
    """
    if path.suffix.lower() == ".gltf":
        from worldgauge.worlds.scan.readers.gltf import linked_files

        return linked_files(path)
    if path.name.endswith(SCENE_ENDING):
        from worldgauge.worlds.scan.readers.replicacad import assets_of

        return assets_of(path)
    return _tables(path) if path.suffix.lower() == ".ply" else ()


def _tables(path: Path) -> tuple[Path, ...]:
    """Tables of names beside a PLY: one of Replica, two of ScanNet++."""
    from worldgauge.worlds.scan.readers import replica, scannetpp

    table = path.with_name(replica.TABLE)
    if path.name == "mesh_semantic.ply" and table.is_file():
        return (table,)
    both = tuple(path.with_name(name) for name in scannetpp.TABLES)
    return both if all(one.is_file() for one in both) else ()
