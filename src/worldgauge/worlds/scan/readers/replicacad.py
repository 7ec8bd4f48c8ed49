"""ReplicaCAD: `*.scene_instance.json`, a stage and the objects that stand in it, each a GLB file of its own.

Layout: habitat-sim 57ee494, as it reads it. Articulated objects are left out, and told.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError
from worldgauge.core.io import check_inside, read_json_object
from worldgauge.worlds.scan.mesh import Mesh, joined, ours, theirs
from worldgauge.worlds.scan.readers.gltf import plain_name, read_gltf

_MOST_OBJECTS = 10_000


def read_scene_instance(path: Path) -> Mesh:
    """Read a scene: its stage, and its objects where they stand.

    Args:
        path: The `*.scene_instance.json`, in `configs/scenes` of the data set.

    Returns:
        Triangles in our frame. Things are the objects, named by their templates.

    Raises:
        DataError: A file is damaged or is not there; the message names it.
        WorldError: One needs a package that is not installed.
    """
    content, root = read_json_object(path), _root(path)
    parts = [(_asset(root, "stages", _template(content.get("stage_instance"), path, "stage_instance")), np.eye(4), "")]
    for n, (one, where) in enumerate(_objects(content, path)):
        template = _template(one, path, where)
        asset = _asset(root, "objects", template)
        parts.append((asset, _matrix(one, path, f"object_instances[{n}]"), _category(template)))
    read: dict[Path, Mesh] = {}
    meshes, names = [], []
    for n, (asset, matrix, name) in enumerate(parts):
        if asset not in read:
            read[asset] = read_gltf(asset)
        mesh = read[asset]
        points = theirs(mesh.vertices, "y")
        if n and _is_centred(content, n - 1):
            points = points - (points.min(0) + points.max(0)) / 2
        meshes.append((mesh, ours(points @ matrix[:3, :3].T + matrix[:3, 3], "y"), n))
        names.append(name)
    notes = ["articulated objects are left out"] if content.get("articulated_object_instances") else []
    return joined(meshes, names, notes)


def assets_of(path: Path) -> tuple[Path, ...]:
    """Files that a scene is made of, each once, itself left out.

    Raises:
        DataError: As `read_scene_instance`.
    """
    content, root = read_json_object(path), _root(path)
    stage = _asset(root, "stages", _template(content.get("stage_instance"), path, "stage_instance"))
    objects = [_asset(root, "objects", _template(one, path, where)) for one, where in _objects(content, path)]
    return tuple(dict.fromkeys([stage, *objects]))


def _root(path: Path) -> Path:
    """The folder of the data set: that which holds `configs`."""
    return next((above.parent for above in path.resolve().parents if above.name == "configs"), path.resolve().parent)


def _objects(content: dict[str, Any], path: Path) -> list[tuple[dict[str, Any], str]]:
    listed = content.get("object_instances", [])
    if not isinstance(listed, list) or len(listed) > _MOST_OBJECTS or not all(isinstance(one, dict) for one in listed):
        raise DataError(f"{path}: object_instances is no list of at most {_MOST_OBJECTS} objects")
    return [(one, f"object_instances[{n}]") for n, one in enumerate(listed)]


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


def _category(template: str) -> str:
    return plain_name(template.split("/")[-1]).removeprefix("frl apartment ") or "object"


def _is_centred(content: dict[str, Any], n: int) -> bool:
    """Whether an object stands by the middle of its box instead of the origin of its file."""
    own = content["object_instances"][n].get("translation_origin", content.get("translation_origin", ""))
    return isinstance(own, str) and own.lower() == "com"


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
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    matrix[:3, :3] *= scale
    matrix[:3, 3] = numbers("translation", [0.0, 0.0, 0.0])
    return matrix
