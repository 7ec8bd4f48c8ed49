"""A room as a headset stores it: 3 by 4 m, with a picture on a wall, and a table that is stored as a plane too."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Entity = dict[str, Any]
_HALF = 0.5**0.5
UPRIGHT, TURNED = (0.0, 0.0, 0.0, 1.0), (-_HALF, 0.0, 0.0, _HALF)
"""Of a plane that lies flat; and of one that stands, or a box whose depth goes up. Quaternions x, y, z, w."""


def _patch(low: ArrayLike, along: ArrayLike, across: ArrayLike, parts: int) -> NDArray[np.float64]:
    """Triangles (2 parts², 3, 3) of a rectangle, which face along `along` x `across`."""
    low, along, across = (np.asarray(one, np.float64) for one in (low, along, across))
    found = []
    for i in range(parts):
        for j in range(parts):
            a, b, c, d = (
                low + along * x / parts + across * y / parts
                for x, y in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1))
            )
            found += [[a, b, c], [a, c, d]]
    return np.array(found)


PARTS = 20
SURFACES = {
    "floor": _patch([0, 0, 0], [0, 0, 4], [3, 0, 0], PARTS),
    "ceiling": _patch([0, 2.5, 0], [3, 0, 0], [0, 0, 4], PARTS),
    "wall behind": _patch([0, 0, 0], [3, 0, 0], [0, 2.5, 0], PARTS),
    "wall ahead": _patch([0, 0, 4], [0, 2.5, 0], [3, 0, 0], PARTS),
    "wall left": _patch([0, 0, 0], [0, 2.5, 0], [0, 0, 4], PARTS),
    "wall right": _patch([3, 0, 0], [0, 0, 4], [0, 2.5, 0], PARTS),
    "table": _patch([1, 0.7, 3], [0, 0, 0.8], [1, 0, 0], 4),
}
"""Triangles (T, 3, 3) by surface, in the file's frame: metres, y up."""


def entity(label: str, at: ArrayLike, turn: tuple[float, ...], low: ArrayLike, size: ArrayLike) -> Entity:
    """A labelled plane (two numbers) or box (three), in its own frame."""
    low, size = np.asarray(low, float).tolist(), np.asarray(size, float).tolist()
    bounds = {
        "offset": dict(zip("xyz", low, strict=False)),
        "extent": dict(zip(("width", "height", "depth"), size, strict=False)),
    }
    return {
        "uuid": f"{label} {at}",
        "semanticLabel_META": label,
        "locatable_META": located(at, turn),
        f"bounded{len(low)}D_META": bounds,
    }


def located(at: ArrayLike, turn: tuple[float, ...]) -> Entity:
    """Where a part is. Numbers that are zero are left out, as in the published files."""
    place = {name: value for name, value in zip("xyz", np.asarray(at, float).tolist(), strict=True) if value}
    return {"position": place, "orientation": dict(zip("xyzw", turn, strict=True))}


def mesh(triangles: NDArray[np.float64]) -> Entity:
    """The mesh of a room."""
    corners, indices = np.unique(triangles.reshape(-1, 3).astype("<f4"), axis=0, return_inverse=True)
    held = {"vertices": corners.tobytes(), "indices": indices.astype("<u4").tobytes()}
    texts = {name: base64.b64encode(data).decode() for name, data in held.items()}
    return {"semanticLabel_META": "GLOBAL_MESH", "locatable_META": {}, "triangleMesh_META": texts}


def captured_room() -> Entity:
    """The content of its file."""
    return {
        "type": "scene",
        "version": 1,
        "spatialEntities": [
            entity("WALL_FACE", [1.5, 1.25, 0], TURNED, [-1.5, -1.25], [3, 2.5]),
            entity("FLOOR", [1.5, 0.04, 2], UPRIGHT, [-1.5, -2], [3, 4]),
            entity("TABLE", [1.5, 0.7, 3.4], UPRIGHT, [-0.5, -0.4], [1, 0.8]),
            entity("WALL_ART", [1.5, 1.5, 0.02], TURNED, [-0.4, -0.4], [0.8, 0.8]),
            entity("TABLE", [1.5, 0.7, 3.4], TURNED, [-0.5, -0.4, -0.7], [1, 0.8, 0.7]),
            mesh(np.concatenate(list(SURFACES.values()))),
        ],
    }


def captured_bytes(room: Entity | None = None) -> bytes:
    """Its file."""
    return json.dumps(captured_room() if room is None else room).encode()
