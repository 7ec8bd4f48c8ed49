"""ScanNet++: things of a mesh by `segments.json`, the segment of each vertex, and `segments_anno.json`, their names.

Layout: as the tools of the data set describe it; none of its files was at hand.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError
from worldgauge.core.io import parse_json, read_bytes
from worldgauge.worlds.scan.mesh import Mesh, named
from worldgauge.worlds.scan.readers.replica import number_of, rows_of

TABLES = "segments.json", "segments_anno.json"
_MOST_BYTES = 2**30
_MOST_THINGS = 65_535


def with_names(mesh: Mesh, segments: Path, names: Path) -> Mesh:
    """A mesh with its things: a triangle belongs to the thing of its first corner.

    Args:
        mesh: The mesh.
        segments: The `segments.json`: segIndices, a number for each vertex.
        names: The `segments_anno.json`: segGroups, each with objectId or id, label and segments.

    Returns:
        The mesh with instances and categories.

    Raises:
        DataError: A table is damaged, or that of another mesh; the message names the part.
    """
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


def _content(path: Path) -> dict[str, object]:
    content = parse_json(read_bytes(path, _MOST_BYTES), str(path))
    if not isinstance(content, dict):
        raise DataError(f"{path}: it holds {short(content)}, not an object")
    return content
