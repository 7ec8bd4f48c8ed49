"""Homes, villages and builds as textured faces: what `export` writes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.worlds._glb import Pages, Patch
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.mesh import mesh_of
from worldgauge.worlds.blocks.render import in_world, shades_of
from worldgauge.worlds.indoor import _paint
from worldgauge.worlds.indoor._paint import BoxLooks
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

PAGE_PX = 2048
GUTTER_PX = 2
_FAR_M = 1e4
"""How far in front of a face its painter stands: all its rays meet the face at right angles, to 1 in 1000."""


def home_patches(
    looks: BoxLooks, categories: tuple[str, ...], texel_m: float, quality: int | None
) -> tuple[list[Patch], Pages]:
    """Mesh boxes: each face not inside another box, with texels of `texel_m`, or larger if a page is too small."""
    bounds = looks.bounds
    faces = _seen_faces(bounds)
    spans = np.array([[bounds[n, 3 + axis] - bounds[n, axis] for axis in _flat(side)] for n, side in faces])
    size = np.clip(np.ceil(spans / texel_m), 2, PAGE_PX - 2 * GUTTER_PX).astype(int)
    shelves = _Shelves()
    held: dict[tuple[int, int, int], list[_Face]] = {}
    # Tall faces first, so that a shelf holds faces of about its height.
    for k in np.lexsort((np.arange(len(faces)), -size[:, 0], -size[:, 1])):
        (n, side), (wide, high) = faces[k], (int(s) for s in size[k])
        page, left, top = shelves.place(wide + 2 * GUTTER_PX, high + 2 * GUTTER_PX)
        part = shelves.pages[page][top : top + high + 2 * GUTTER_PX, left : left + wide + 2 * GUTTER_PX]
        part[:] = _painted(looks, n, side, wide, high)
        face = _Face(_corners(bounds[n], side), left + GUTTER_PX, top + GUTTER_PX, wide, high)
        held.setdefault((int(looks.instance[n]), int(looks.category[n]), page), []).append(face)
    images = shelves.images()
    patches = []
    for (instance, category, page), own in sorted(held.items()):
        high, wide = images[page].shape[:2]
        uv = []
        for face in own:
            along = face.corners[1]
            # Rows go down, v goes up.
            uv.append(np.stack([face.left + along[:, 0] * face.wide, face.top + (1 - along[:, 1]) * face.high], -1))
        corners = np.concatenate([face.corners[0] for face in own])
        patches.append(_patch(instance, categories[category], page, corners, np.concatenate(uv) / [wide, high]))
    return patches, Pages(images, quality)


class _Face(NamedTuple):
    """One face: its corners (4, 3) counter-clockwise with (u, v) of each, and where its texels lie on the page."""

    corners: tuple[FloatArray, NDArray[np.int64]]
    left: int
    top: int
    wide: int
    high: int


class _Shelves:
    """Pages of texels, filled from the upper left in rows."""

    def __init__(self) -> None:
        self.pages: list[Image] = []
        self._used: list[int] = []
        self._top = self._left = self._height = 0

    def place(self, wide: int, high: int) -> tuple[int, int, int]:
        """Room for a face: page, left and top."""
        if self.pages and self._left + wide > PAGE_PX:
            self._left, self._top, self._height = 0, self._top + self._height, 0
        if not self.pages or self._top + high > PAGE_PX:
            self.pages.append(np.zeros((PAGE_PX, PAGE_PX, 3), np.uint8))
            self._used.append(0)
            self._left = self._top = self._height = 0
        at = len(self.pages) - 1, self._left, self._top
        self._left += wide
        self._height = max(self._height, high)
        self._used[-1] = max(self._used[-1], self._top + high)
        return at

    def images(self) -> tuple[Image, ...]:
        """The pages, cut below what is used."""
        return tuple(page[: -(-used // 4) * 4] for page, used in zip(self.pages, self._used, strict=True))


def _patch(
    instance: int, category: str, page: int, corners: FloatArray, uv: FloatArray, two_sided: bool = False, **more: float
) -> Patch:
    """A patch of rectangles whose corners (4n, 3) follow each other, in two triangles each."""
    halves = np.array([[0, 1, 2], [0, 2, 3]]) + 4 * np.arange(len(corners) // 4)[:, None, None]
    single, triangles = corners.astype(np.float32), halves.reshape(-1, 3).astype(np.uint32)
    return Patch(instance, category, page, single, uv.astype(np.float32), triangles, two_sided, **more)


def _flat(side: int) -> tuple[int, int]:
    """Axes along u and v of a face; see `_paint`."""
    return ((1, 2), (0, 2), (0, 1))[side // 2]


def _corners(bounds: FloatArray, side: int) -> tuple[FloatArray, NDArray[np.int64]]:
    """Corners (4, 3) counter-clockwise seen from outside, and which end of u and v (4, 2) each is."""
    axis, (along, up) = side // 2, _flat(side)
    ends = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    if (side % 2 == 1) != (axis == 1):
        ends = ends[::-1]
    corners = np.empty((4, 3))
    corners[:, axis] = bounds[axis + 3 * (side % 2 == 0)]
    corners[:, along] = bounds[along + 3 * ends[:, 0]]
    corners[:, up] = bounds[up + 3 * ends[:, 1]]
    return corners, ends


def _seen_faces(bounds: FloatArray) -> list[tuple[int, int]]:
    """Faces (box, side) that no single other box hides. Of faces in one place the first box's is drawn."""
    low, high = bounds[:, :3], bounds[:, 3:]
    faces = []
    for n in range(len(bounds)):
        for side in range(6):
            axis, flat = side // 2, list(_flat(side))
            covers = (low[:, flat] <= low[n, flat]).all(1) & (high[:, flat] >= high[n, flat]).all(1)
            if side % 2 == 0:
                plane = high[n, axis]
                hides = (low[:, axis] <= plane) & (high[:, axis] > plane)
                same = high[:, axis] == plane
            else:
                plane = low[n, axis]
                hides = (high[:, axis] >= plane) & (low[:, axis] < plane)
                same = low[:, axis] == plane
            hides |= same & (np.arange(len(bounds)) < n)
            if not (covers & hides).any():
                faces.append((n, side))
    return faces


def _painted(looks: BoxLooks, n: int, side: int, wide: int, high: int) -> Image:
    """Texels of a face with its gutter, (high + 2 * GUTTER_PX, wide + 2 * GUTTER_PX, 3)."""
    bounds, axis, (along, up) = looks.bounds[n], side // 2, _flat(side)
    texel = (bounds[3 + along] - bounds[along]) / wide, (bounds[3 + up] - bounds[up]) / high
    columns = np.clip(np.arange(-GUTTER_PX, wide + GUTTER_PX), 0, wide - 1)
    rows = np.clip(np.arange(-GUTTER_PX, high + GUTTER_PX), 0, high - 1)
    place = np.empty((len(rows), len(columns), 3))
    place[..., axis] = bounds[axis + 3 * (side % 2 == 0)]
    place[..., along] = bounds[along] + (columns + 0.5) * texel[0]
    place[..., up] = (bounds[3 + up] - (rows + 0.5) * texel[1])[:, None]
    origin = (bounds[:3] + bounds[3:]) / 2
    origin[axis] = place[0, 0, axis] + (_FAR_M if side % 2 == 0 else -_FAR_M)
    rays = np.ascontiguousarray((place - origin).reshape(-1, 3))
    count = len(rays)
    rgb, ids = np.empty((count, 3), np.uint8), np.empty((2, count), np.uint16)
    met = np.ones(count), np.full(count, n, np.int32), np.full(count, side, np.uint8)
    _paint.paint(looks, origin, np.eye(3), rays, max(texel), *met, rgb, ids[0], ids[1])
    return rgb.reshape(len(rows), len(columns), 3)


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
    a and b are the two axes of the world that lie in the plane, in their order."""

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


def village_patches(world: VoxelWorld) -> tuple[list[Patch], Pages]:
    """Mesh of a village: what its camera can meet, with the light that the camera gives each side. No sky."""
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
    patches = []
    for corners_of, found in ((_rectangles, rows), (_crosses, flowers)):
        for own in _grouped(found):
            tile, _, instance, category = own[0, :4].tolist()
            two_sided = corners_of is _crosses
            patches.append(_patch(instance, CATEGORIES[category], tile, *corners_of(own), two_sided))
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


_COLUMNS = 64
_SQUARE_PX = 4
"""Side of a colour on its page: wide enough that no filter reaches the next one in the middle."""


def build_patches(blueprint: Blueprint) -> tuple[list[Patch], Pages]:
    """Mesh a build in the colours and light of its pictures: patches by kind and material, and a page of colours."""
    mesh = mesh_of(blueprint)
    names = sorted(set(mesh.names))
    kind = np.array([names.index(name) for name in mesh.names], np.int64)[mesh.block]
    rgb = np.rint(mesh.colours[:, :3] * shades_of(mesh)[:, None]).astype(np.uint8)
    colours, own = np.unique(rgb, axis=0, return_inverse=True)
    own = own.reshape(-1)
    height = -(-max(len(colours), 1) // _COLUMNS)
    squares = np.zeros((height * _COLUMNS, 3), np.uint8)
    squares[: len(colours)] = colours
    page = squares.reshape(height, _COLUMNS, 3).repeat(_SQUARE_PX, 0).repeat(_SQUARE_PX, 1)
    row, column = np.divmod(own, _COLUMNS)
    middle = np.stack([(column + 0.5) / _COLUMNS, (row + 0.5) / height], -1)
    corners = in_world(mesh.quads)
    patches = []
    for number, opacity, two_sided in np.unique(
        np.stack([kind, mesh.colours[:, 3], mesh.two_sided], 1).astype(np.int64), axis=0
    ).tolist():
        faces = np.flatnonzero((kind == number) & (mesh.colours[:, 3] == opacity) & (mesh.two_sided == two_sided))
        name, quads = names[number].replace("_", " "), corners[faces].reshape(-1, 3)
        uv = middle[faces].repeat(4, 0)
        patches.append(_patch(number + 1, name, 0, quads, uv, bool(two_sided), opacity=opacity / 255))
    return patches, Pages((page,), quality=None, nearest=True)
