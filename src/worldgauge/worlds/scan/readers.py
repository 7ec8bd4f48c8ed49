"""Readers of scans by the endings of their files; and the layouts of ReplicaCAD, Replica, ScanNet++ and headsets.

Each gives a `ScanMesh`, or one line that names the file and the part. ReplicaCAD and Replica are read as habitat-sim
57ee494 reads them; ScanNet++ as the tools of the data set describe it, since none of its files was at hand; rooms of
headsets as the npm package @iwer/sem 2.4.0 reads them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import rotation_of_quaternion
from worldgauge.core.io import check_inside, parse_json, read_bytes, read_json_object
from worldgauge.worlds.scan.gltf import linked_files, plain_name, read_gltf
from worldgauge.worlds.scan.mesh import ScanMaterial, ScanMesh, Up, joined, named, ours, theirs
from worldgauge.worlds.scan.ply import read_ply

ENDINGS = (".glb", ".gltf", ".ply")
SCENE_ENDING = ".scene_instance.json"
"""Of a file that lists the stage and the objects of a scene, as ReplicaCAD's do."""


def read_mesh(path: Path, *, up: Up = "y") -> ScanMesh:
    """Read a scan by the ending of its name, with the names of things from files beside it."""
    if path.suffix.lower() in (".glb", ".gltf"):
        return read_gltf(path, up=up)
    if path.suffix.lower() == ".ply":
        mesh = read_ply(path, up=up)
        beside = _tables(path)
        if len(beside) == 1:
            return with_replica_names(mesh, *beside)
        return with_scannetpp_names(mesh, *beside) if beside else mesh
    if path.name.endswith(SCENE_ENDING):
        return read_scene_instance(path)
    if path.suffix.lower() == ".json":
        return read_capture(path, up=up)
    raise DataError(f"{path}: scans are .glb, .gltf, .ply, .scene_instance.json or captured .json files")


def files_beside(path: Path) -> tuple[Path, ...]:
    """Files that `read_mesh` reads besides the one that is named, in a fixed order."""
    if path.suffix.lower() == ".gltf":
        return linked_files(path)
    if path.name.endswith(SCENE_ENDING):
        return assets_of(path)
    return _tables(path) if path.suffix.lower() == ".ply" else ()


def _tables(path: Path) -> tuple[Path, ...]:
    """Tables of names beside a PLY: one of Replica, two of ScanNet++."""
    table = path.with_name(REPLICA_TABLE)
    if path.name == "mesh_semantic.ply" and table.is_file():
        return (table,)
    both = tuple(path.with_name(name) for name in SCANNETPP_TABLES)
    return both if all(one.is_file() for one in both) else ()


_MOST_OBJECTS = 10_000


def read_scene_instance(path: Path) -> ScanMesh:
    """Read a scene: its stage and its objects, which are named by their templates."""
    content = read_json_object(path)
    stage, *objects = _assets(content, path)
    parts = [(stage, np.eye(4), "")]
    for n, (one, asset) in enumerate(zip(_objects(content, path), objects, strict=True)):
        name = plain_name(one["template_name"].split("/")[-1]).removeprefix("frl apartment ") or "object"
        parts.append((asset, _matrix(one, path, f"object_instances[{n}]"), name))
    read: dict[Path, ScanMesh] = {}
    meshes, names = [], []
    for n, (asset, matrix, name) in enumerate(parts):
        if asset not in read:
            read[asset] = read_gltf(asset)
        mesh = read[asset]
        points = theirs(mesh.vertices, "y")
        own = content["object_instances"][n - 1] if n else {"translation_origin": ""}
        origin = own.get("translation_origin", content.get("translation_origin", ""))
        if isinstance(origin, str) and origin.lower() == "com":  # stands by the middle of its box
            points = points - (points.min(0) + points.max(0)) / 2
        meshes.append((mesh, ours(points @ matrix[:3, :3].T + matrix[:3, 3], "y"), n))
        names.append(name)
    notes = ["articulated objects are left out"] if content.get("articulated_object_instances") else []
    return joined(meshes, names, notes)


def assets_of(path: Path) -> tuple[Path, ...]:
    """Files that a scene is made of, each once, itself left out."""
    return tuple(dict.fromkeys(_assets(read_json_object(path), path)))


def _assets(content: dict[str, Any], path: Path) -> list[Path]:
    """Files of the stage and of each object. The data set is the folder that holds `configs`."""
    whole = path.resolve()
    root = next((above.parent for above in whole.parents if above.name == "configs"), whole.parent)
    assets = [_asset(root, "stages", _template(content.get("stage_instance"), path, "stage_instance"))]
    for n, one in enumerate(_objects(content, path)):
        assets.append(_asset(root, "objects", _template(one, path, f"object_instances[{n}]")))
    return assets


def _objects(content: dict[str, Any], path: Path) -> list[dict[str, Any]]:
    listed = content.get("object_instances", [])
    if not isinstance(listed, list) or len(listed) > _MOST_OBJECTS or not all(isinstance(one, dict) for one in listed):
        raise DataError(f"{path}: object_instances is no list of at most {_MOST_OBJECTS} objects")
    return listed


def _template(one: Any, path: Path, where: str) -> str:
    name = one.get("template_name") if isinstance(one, dict) else None
    if not isinstance(name, str) or not name or len(name) > 200:
        raise DataError(f"{path}: {where}: template_name is {short(name)}, not the name of a template")
    return name


def _asset(root: Path, kind: str, template: str) -> Path:
    """The GLB of a template, as its config tells, else of its own name. Only files of the data set are read."""
    name = template.split("/")[-1]
    config = check_inside(root / "configs" / kind / f"{name}.{kind[:-1]}_config.json", root)
    if config.is_file():
        asset = read_json_object(config).get("render_asset")
        if not isinstance(asset, str) or not asset.endswith((".glb", ".gltf")):
            raise DataError(f"{config}: render_asset is {short(asset)}, not a .glb or .gltf file")
        found = check_inside(config.parent / asset, root)
    else:
        found = check_inside(root / kind / f"{name}.glb", root)
    if not found.is_file():
        raise DataError(f"{found}: is not there; it is a part of the scene")
    return found


def _matrix(one: dict[str, Any], path: Path, where: str) -> NDArray[np.float64]:
    def numbers(key: str, default: list[float]) -> NDArray[np.float64]:
        value = one.get(key, default)
        fits = isinstance(value, list) and len(value) == len(default)
        if not fits or not all(type(v) in (int, float) and abs(v) < 1e6 for v in value):
            raise DataError(f"{path}: {where}: {key} is {short(value)}, not {len(default)} numbers")
        return np.array(value, np.float64)

    rotation = numbers("rotation", [1.0, 0.0, 0.0, 0.0])
    length = float(np.sqrt((rotation * rotation).sum()))
    if length < 1e-6:
        raise DataError(f"{path}: {where}: rotation is zero")
    w, x, y, z = rotation / length
    scale = one.get("uniform_scale", 1.0)
    if type(scale) not in (int, float) or not 0 < scale < 1e3:
        raise DataError(f"{path}: {where}: uniform_scale is {short(scale)}, not a number from 0 to 1000")
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_of_quaternion([x, y, z, w]) * scale
    matrix[:3, 3] = numbers("translation", [0.0, 0.0, 0.0])
    return matrix


REPLICA_TABLE = "info_semantic.json"
_MOST_THINGS = 65_535


def with_replica_names(mesh: ScanMesh, path: Path) -> ScanMesh:
    """A mesh with the categories of its things."""
    content = read_json_object(path)
    classes = {}
    for n, one in enumerate(rows_of(content.get("classes"), path, "classes")):
        name = one.get("name")
        if not isinstance(name, str):
            raise DataError(f"{path}: classes[{n}]: name is {short(name)}, not text")
        classes[number_of(one, "id", path, f"classes[{n}]")] = name
    things = {}
    for n, one in enumerate(rows_of(content.get("objects"), path, "objects")):
        kind = number_of(one, "class_id", path, f"objects[{n}]")
        things[number_of(one, "id", path, f"objects[{n}]")] = classes.get(kind, "")
    return named(mesh, {number: name for number, name in things.items() if 0 < number <= _MOST_THINGS})


def rows_of(value: object, path: Path, where: str) -> list[dict[str, object]]:
    """A list of objects of a table."""
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise DataError(f"{path}: {where} is no list of objects")
    return value


def number_of(row: dict[str, object], key: str, path: Path, where: str) -> int:
    """A whole number of a row, -1 and more."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value < 2**31:
        raise DataError(f"{path}: {where}: {key} is {short(value)}, not a whole number")
    return value


SCANNETPP_TABLES = "segments.json", "segments_anno.json"
_MOST_BYTES = 2**30


def with_scannetpp_names(mesh: ScanMesh, segments: Path, names: Path) -> ScanMesh:
    """A mesh with its things: a triangle belongs to the thing of its first corner."""
    content = _content(segments)
    held = content.get("segIndices")
    try:
        segment = np.asarray(held, np.float64)
    except (TypeError, ValueError):
        segment = np.zeros(0)
    if segment.shape != (len(mesh.vertices),) or not (np.abs(segment) < 2**31).all():
        count = len(held) if isinstance(held, list) else short(held)
        raise DataError(
            f"{segments}: segIndices are {count}, not {len(mesh.vertices)} numbers, one a vertex of the mesh"
        )
    things: dict[int, str] = {}
    number = np.zeros(len(mesh.vertices), np.uint16)
    own = segment.astype(np.int64)
    for n, group in enumerate(rows_of(_content(names).get("segGroups"), names, "segGroups")):
        where = f"segGroups[{n}]"
        key = "objectId" if "objectId" in group else "id"
        thing, label, parts = number_of(group, key, names, where), group.get("label"), group.get("segments")
        if not 0 <= thing <= _MOST_THINGS:
            raise DataError(f"{names}: {where}: {key} is {thing}, not 0 to {_MOST_THINGS}")
        if not isinstance(label, str) or not isinstance(parts, list) or not all(type(one) is int for one in parts):
            raise DataError(f"{names}: {where}: it has no label, or no list of segments")
        if thing == 0:
            continue
        things[thing] = label
        number[np.isin(own, [one for one in parts if abs(one) < 2**31])] = thing
    first = np.clip(mesh.triangles[:, 0], 0, len(number) - 1)
    return named(replace(mesh, instance=number[first]), things)


def _content(path: Path, most_bytes: int = _MOST_BYTES) -> dict[str, object]:
    content = parse_json(read_bytes(path, most_bytes), str(path))
    if not isinstance(content, dict):
        raise DataError(f"{path}: it holds {short(content)}, not an object")
    return content


_MOST_CAPTURE_BYTES = 2**25
_MOST_ENTITIES = 1000
_HEAD_BYTES = 256
_MOST_M = 1e4
_OFF_M, _OFF_PLANE_M = 0.03, 0.1
"""How far off its bounds, and off its plane, a triangle of a thing may lie; meshes of headsets bend by that much."""
_FLAT = ("FLOOR", "CEILING")
_CAPTURE_NAMES = {"COUCH": "sofa", "SCREEN": "tv monitor", "STORAGE": "cabinet", "WALL_ART": "picture"}
"""Labels that other scans call something else."""


def is_capture(path: Path) -> bool:
    """Whether a file begins as a room that a headset captured."""
    try:
        with path.open("rb") as file:
            return path.suffix == ".json" and b'"spatialEntities"' in file.read(_HEAD_BYTES)
    except OSError:
        return False


def read_capture(path: Path, *, up: Up = "y") -> ScanMesh:
    """Read a room that a headset captured: a mesh, and labelled boxes and planes, which name the triangles in them.

    Floor and ceiling come first, then boxes, then planes, small ones first. A label that has boxes needs no planes:
    headsets store the top of a table as well. Surfaces have no colours, so their direction gives them one.
    """
    rows = rows_of(_content(path, _MOST_CAPTURE_BYTES).get("spatialEntities"), path, "spatialEntities")
    if len(rows) > _MOST_ENTITIES:
        raise DataError(f"{path}: {len(rows)} spatialEntities pass the limit of {_MOST_ENTITIES}")
    meshes = [_captured(row, path, f"spatialEntities[{n}]") for n, row in enumerate(rows) if "triangleMesh_META" in row]
    corners = np.concatenate([np.zeros((0, 3, 3)), *meshes])
    if not len(corners):
        raise DataError(f"{path}: no spatialEntities have a triangleMesh_META with triangles")
    boxed = {str(row.get("semanticLabel_META")) for row in rows if "bounded3D_META" in row}
    things = []
    for n, row in enumerate(rows):
        label, where = row.get("semanticLabel_META"), f"spatialEntities[{n}]"
        kind = next((key for key in ("bounded3D_META", "bounded2D_META") if key in row), "")
        is_plane = kind == "bounded2D_META"
        if not kind or not isinstance(label, str) or (is_plane and label in boxed):
            continue
        low = _numbers(row[kind], "offset", "xy" if is_plane else "xyz", path, where)
        size = _numbers(row[kind], "extent", ("width", "height", "depth")[: len(low)], path, where)
        rank = label not in _FLAT, is_plane, float(np.prod(size))
        if is_plane:  # it lies in x and z of its own frame
            low, size = np.insert(low, 1, _OFF_M - _OFF_PLANE_M), np.insert(size, 1, 2 * (_OFF_PLANE_M - _OFF_M))
        things.append((rank, n + 1, label, low - _OFF_M, low + size + _OFF_M, *_placed(row, path, where)))
    centres, instance = corners.mean(1), np.zeros(len(corners), np.uint16)
    for _, number, _, low, high, turn, place in sorted(things, key=lambda thing: thing[:2]):
        own = (centres - place) @ turn
        instance[((own > low) & (own < high)).all(1) & (instance == 0)] = number
    points = ours(corners.reshape(-1, 3), up)
    a, b, c = np.moveaxis(points.reshape(-1, 3, 3), 1, 0)
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.sqrt((normal * normal).sum(1, keepdims=True)), 1e-12)
    colours = np.full((len(normal), 4), 255, np.uint8)
    colours[:, :3] = np.rint(128 + 100 * normal)
    none = np.zeros(len(corners), np.int32)
    mesh = ScanMesh(
        points,
        np.arange(len(points), dtype=np.int32).reshape(-1, 3),
        np.zeros((len(points), 2)),
        np.repeat(colours, 3, axis=0),
        none,
        instance,
        none.astype(np.uint16),
        (ScanMaterial(),),
        (),
        notes=("the file has no colours: the direction of a surface gives its colour",),
    )
    return named(mesh, {number: _captured_name(label) for _, number, label, *_ in things})


def _captured_name(label: str) -> str:
    return _CAPTURE_NAMES.get(label) or label.lower().removesuffix("_face").removesuffix("_frame")


def _captured(row: dict[str, object], path: Path, where: str) -> NDArray[np.float64]:
    """Corners (T, 3, 3) of the triangles of a mesh."""
    part = row["triangleMesh_META"]
    arrays = []
    for key, kind in (("vertices", "<f4"), ("indices", "<u4")):
        text = part.get(key) if isinstance(part, dict) else None
        try:
            arrays.append(np.frombuffer(base64.b64decode(text or "", validate=True), kind).reshape(-1, 3))
        except (TypeError, ValueError) as error:
            raise DataError(f"{path}: {where}: {key} are not threes of 4-byte numbers in base64") from error
    vertices, indices = arrays
    if not np.isfinite(vertices).all() or np.abs(vertices).max(initial=0) > _MOST_M:
        raise DataError(f"{path}: {where}: vertices hold numbers that are not finite, or beyond {_MOST_M:g} m")
    if len(indices) and indices.max() >= len(vertices):
        raise DataError(f"{path}: {where}: indices name vertex {indices.max()}, and there are {len(vertices)}")
    turn, place = _placed(row, path, where)
    triangles: NDArray[np.float64] = (vertices.astype(np.float64) @ turn.T + place)[indices]
    return triangles


def _placed(row: dict[str, object], path: Path, where: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rotation (3, 3) and place (3,) of a part of a captured room."""
    held = row.get("locatable_META")
    turn = _numbers(
        {"orientation": {"w": 1.0}, **held} if isinstance(held, dict) else held, "orientation", "xyzw", path, where
    )
    length = float(np.sqrt((turn * turn).sum()))
    if length < 1e-6:
        raise DataError(f"{path}: {where}: orientation is zero")
    return rotation_of_quaternion(turn / length), _numbers(held, "position", "xyz", path, where)


def _numbers(held: object, key: str, names: Iterable[str], path: Path, where: str) -> NDArray[np.float64]:
    """Numbers by name of a part of a captured room; those that are zero may be left out."""
    own = held.get(key, {}) if isinstance(held, dict) else None
    found: list[Any] = [own.get(name, 0.0) for name in names] if isinstance(own, dict) else [None]
    if not all(type(one) in (int, float) and abs(one) < _MOST_M for one in found):
        raise DataError(f"{path}: {where}: {key} is {short(own)}, not numbers below {_MOST_M:g}")
    return np.array(found, np.float64)
