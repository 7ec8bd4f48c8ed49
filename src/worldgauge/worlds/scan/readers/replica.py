"""Replica: names of the things of `mesh_semantic.ply`, whose faces have `object_id`, from `info_semantic.json`.

Layout: habitat-sim 57ee494, as it reads it.
"""

from __future__ import annotations

from pathlib import Path

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError
from worldgauge.core.io import read_json_object
from worldgauge.worlds.scan.mesh import Mesh, named

TABLE = "info_semantic.json"
_MOST_THINGS = 65_535


def with_names(mesh: Mesh, path: Path) -> Mesh:
    """A mesh with the categories of its things.

    Args:
        mesh: The mesh, with their numbers.
        path: The `info_semantic.json`: classes (id, name) and objects (id, class_id).

    Returns:
        The mesh; things that no object names keep category 0.

    Raises:
        DataError: The table is damaged; the message names the part.
    """
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
    """A list of objects of a table.

    Raises:
        DataError: It is something else.
    """
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise DataError(f"{path}: {where} is no list of objects")
    return value


def number_of(row: dict[str, object], key: str, path: Path, where: str) -> int:
    """A whole number of a row, -1 and more.

    Raises:
        DataError: It is something else.
    """
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not -1 <= value < 2**31:
        raise DataError(f"{path}: {where}: {key} is {short(value)}, not a whole number")
    return value
