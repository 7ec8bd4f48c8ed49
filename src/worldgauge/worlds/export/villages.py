"""Villages as meshes: faces of cells that can be seen, merged where they look alike, and a texture for each tile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.export.glb import Pages, Patch
from worldgauge.worlds.voxel.blocks import (
    CATEGORIES,
    CATEGORY_OF,
    LIQUID,
    LIQUID_TOP,
    SHAPE_OF,
    SHAPES,
    STATES,
    boxes_of,
)
from worldgauge.worlds.voxel.textures import FACE_GROUP, SHADES, TEXELS, TEXTURE_OF
from worldgauge.worlds.voxel.world import VoxelWorld

UNITS = 16
"""Of a cell's side: all boxes have whole sixteenths."""
_OUTSIDE = 255
_PLANT = 6
_PLANT_REACH = np.sqrt(0.125)
"""Half the extent along x of a diagonal plane one metre wide."""
_STEPS = ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1))
_WAYS = (
    # u and v of each side as sign and axis: rows of a tile go down.
    ((1, 1), (-1, 2)), ((-1, 1), (-1, 2)), ((-1, 0), (-1, 2)), ((1, 0), (-1, 2)), ((1, 0), (-1, 1)), ((1, 0), (1, 1)),
)  # fmt: skip
_ARMS = (0, 2, 1, 3)
"""Sides of the four arms of a pane: east, north, west, south."""


class _Faces(NamedTuple):
    """Rectangles, a row each, in sixteenths: tile, side, instance, category, plane, a0, a1, b0, b1.

    a and b are the two axes of the world that lie in the plane, in their order.
    """

    rows: list[NDArray[np.int64]]

    def add(self, tile: int, side: int, labels: NDArray[np.int64], plane: NDArray[np.int64], rectangle: object) -> None:
        """Faces of one tile and side: labels (n, 2), plane (n,), rectangle (n, 4)."""
        count = len(plane)
        head = np.tile(np.array([tile, side]), (count, 1))
        self.rows.append(np.concatenate([head, labels, plane[:, None], np.asarray(rectangle)], 1))


class _Table:
    """What a state is, by its index; 255 stands for what lies outside of the world."""

    def __init__(self) -> None:
        clear = (TEXELS[..., 3] == 0).any(axis=(1, 2))
        shape = np.array([SHAPES[number] for number in SHAPE_OF])
        cube = np.concatenate([shape == "cube", np.zeros(256 - len(shape), bool)])
        solid = np.zeros(256, bool)
        solid[: len(shape)] = ~clear[TEXTURE_OF].any(axis=1)
        self.opaque, self.fused = cube & solid, cube
        self.joins = np.concatenate([np.isin(shape, ("cube", "pane")), np.zeros(256 - len(shape), bool)])
        self.liquid = np.concatenate([LIQUID, np.zeros(256 - len(shape), bool)])


def patches_of(world: VoxelWorld) -> tuple[list[Patch], Pages]:
    """Mesh of a village: what its camera can meet, with the light that the camera gives each side. No sky.

    Args:
        world: The village.

    Returns:
        Patches, one for each thing, category and tile; and the tiles, 16 x 16 RGBA.
    """
    table, faces, plants = _Table(), _Faces([]), _Faces([])
    states = np.pad(world.states, 1, constant_values=_OUTSIDE)
    tiles: dict[tuple[int, int], int] = {}
    for state in np.unique(world.states).tolist():
        cells = np.argwhere(world.states == state)
        labels = np.stack([world.instances[tuple(cells.T)], np.full(len(cells), CATEGORY_OF[state])], 1).astype(int)
        if SHAPES[SHAPE_OF[state]] == "cross":
            tile = tiles.setdefault((int(TEXTURE_OF[state, FACE_GROUP[_PLANT]]), _PLANT), len(tiles))
            plants.add(tile, _PLANT, labels, np.zeros(len(cells), int), np.pad(cells, ((0, 0), (0, 1))))
            continue
        _add_boxes(faces, tiles, table, states, state, cells, labels)
    rows = _merged(np.concatenate(faces.rows)) if faces.rows else np.zeros((0, 9), np.int64)
    flowers = np.concatenate(plants.rows) if plants.rows else np.zeros((0, 9), np.int64)
    images = tuple(_tile(texture, face) for texture, face in tiles)
    patches = [_patch(own, flat=flat) for flat, found in ((True, rows), (False, flowers)) for own in _grouped(found)]
    return sorted(patches, key=lambda patch: (patch.instance, patch.category, patch.page)), Pages(
        images, quality=None, nearest=True, repeat=True
    )


def _add_boxes(
    faces: _Faces,
    tiles: dict[tuple[int, int], int],
    table: _Table,
    states: NDArray[np.uint8],
    state: int,
    cells: NDArray[np.int64],
    labels: NDArray[np.int64],
) -> None:
    def beside(at: NDArray[np.int64], step: tuple[int, int, int]) -> NDArray[np.uint8]:
        found: NDArray[np.uint8] = states[tuple((at + 1 + np.array(step)).T)]
        return found

    liquid = bool(table.liquid[state])
    is_pane = SHAPES[SHAPE_OF[state]] == "pane"
    for part, box in enumerate(boxes_of(state)):
        chosen = np.ones(len(cells), bool)
        if is_pane and part > 0:
            chosen = table.joins[beside(cells, _STEPS[_ARMS[part - 1]])]
        # A liquid under a liquid fills its cell.
        deep = table.liquid[beside(cells, _STEPS[4])] if liquid else np.zeros(len(cells), bool)
        for top, where in ((box[5], chosen & ~deep), (1.0, chosen & deep)):
            here, own = cells[where], labels[where]
            if not len(here):
                continue
            bounds = np.round(np.array([*box[:5], top]) * UNITS).astype(int)
            for side, step in enumerate(_STEPS):
                axis, high = side // 2, side % 2 == 0
                local = int(bounds[axis + 3 * high])
                seen = np.ones(len(here), bool)
                if local == (UNITS if high else 0):
                    near = beside(here, step)
                    seen = ~table.opaque[near] & ~(table.fused[state] & (near == state))
                    if liquid:
                        taller = table.liquid[beside(here + np.array(step), _STEPS[4])] if axis < 2 else True
                        seen &= ~(table.liquid[near] & ((top <= LIQUID_TOP) | taller))
                if not seen.any():
                    continue
                flat = [other for other in range(3) if other != axis]
                start = here[seen] * UNITS
                ends = [start[:, other] + bounds[other + 3 * last] for other in flat for last in range(2)]
                tile = tiles.setdefault((int(TEXTURE_OF[state, FACE_GROUP[side]]), side), len(tiles))
                faces.add(tile, side, own[seen], start[:, axis] + local, np.stack(ends, 1))


def _merged(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rectangles joined with those of their kind that share a whole edge: first along a, then along b."""
    for start, stop, across in ((5, 6, (7, 8)), (7, 8, (5, 6))):
        same = [0, 1, 2, 3, 4, *across]
        rows = rows[np.lexsort([rows[:, column] for column in (start, *reversed(same))])]
        new = np.ones(len(rows), bool)
        new[1:] = (rows[1:, same] != rows[:-1, same]).any(1) | (rows[1:, start] != rows[:-1, stop])
        first = np.flatnonzero(new)
        joined = rows[first]
        joined[:, stop] = rows[np.append(first[1:], len(rows)) - 1, stop]
        rows = joined
    return rows


def _grouped(rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Rows by thing, category and tile."""
    if not len(rows):
        return []
    rows = rows[np.lexsort([rows[:, column] for column in (1, 0, 3, 2)])]
    cuts = np.flatnonzero((rows[1:, [2, 3, 0]] != rows[:-1, [2, 3, 0]]).any(1)) + 1
    return np.split(rows, cuts)


def _patch(rows: NDArray[np.int64], *, flat: bool) -> Patch:
    vertices, uv = _rectangles(rows) if flat else _crosses(rows)
    count = len(vertices) // 4
    triangles = np.array([[0, 1, 2], [0, 2, 3]]) + 4 * np.arange(count)[:, None, None]
    return Patch(
        int(rows[0, 2]),
        CATEGORIES[int(rows[0, 3])],
        int(rows[0, 0]),
        vertices.astype(np.float32),
        uv.astype(np.float32),
        triangles.reshape(-1, 3).astype(np.uint32),
        two_sided=not flat,
    )


def _rectangles(rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Corners (4n, 3), metres, counter-clockwise seen from outside; and uv (4n, 2). All rows are of one side."""
    side = int(rows[0, 1])
    axis = side // 2
    flat = [other for other in range(3) if other != axis]
    order = ((0, 0), (1, 0), (1, 1), (0, 1))
    # (a, b) turns counter-clockwise about +x and +z, and the other way about +y.
    if (side % 2 == 1) != (axis == 1):
        order = order[::-1]
    corners = np.empty((len(rows), 4, 3))
    corners[..., axis] = rows[:, 4:5] / UNITS
    for n, (a, b) in enumerate(order):
        corners[:, n, flat[0]], corners[:, n, flat[1]] = rows[:, 5 + a] / UNITS, rows[:, 7 + b] / UNITS
    uv = np.stack([sign * corners[..., way] for sign, way in _WAYS[side]], -1)
    # Tiles repeat by the metre: whole metres are of no account.
    uv -= np.floor(uv.min(axis=1, keepdims=True))
    return corners.reshape(-1, 3), uv.reshape(-1, 2)


def _crosses(rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The two diagonal planes of each plant; `plane` and a rectangle hold 0 and the cell."""
    cells = rows[:, 5:8].astype(float)
    low, high = 0.5 - _PLANT_REACH, 0.5 + _PLANT_REACH
    planes = [
        [(low, start, 0), (high, stop, 0), (high, stop, 1), (low, start, 1)]
        for start, stop in ((low, high), (high, low))
    ]
    corners = cells[:, None, None] + np.array(planes)
    uv = np.tile(np.array([[0.0, 1], [1, 1], [1, 0], [0, 0]]), (2 * len(cells), 1))
    return corners.reshape(-1, 3), uv


def _tile(texture: int, face: int) -> NDArray[np.uint8]:
    """A tile in the light of its side. Clear texels take the mean colour of the others, for those who blur it."""
    tile = TEXELS[texture].copy()
    rgb: NDArray[np.uint8] = np.rint(tile[..., :3] * SHADES[face]).astype(np.uint8)
    clear = tile[..., 3] == 0
    if clear.any() and not clear.all():
        rgb[clear] = np.rint(rgb[~clear].mean(axis=0))
    if not clear.any():
        return rgb
    return np.concatenate([rgb, np.where(clear, 0, 255).astype(np.uint8)[..., None]], -1)


assert len(STATES) < _OUTSIDE
