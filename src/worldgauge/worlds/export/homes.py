"""Homes as meshes: the faces of their boxes, with the texture that our own kernel paints at each texel's place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image
from worldgauge.worlds.export.glb import Pages, Patch
from worldgauge.worlds.indoor import _paint
from worldgauge.worlds.indoor._paint import Looks

PAGE_PX = 2048
GUTTER_PX = 2
_FAR_M = 1e4
"""How far in front of a face its painter stands: all its rays meet the face at right angles, to 1 in 1000."""


def patches_of(
    looks: Looks, categories: tuple[str, ...], texel_m: float, quality: int | None
) -> tuple[list[Patch], Pages]:
    """Mesh of boxes: every face that is not inside another box, two triangles each.

    Args:
        looks: The boxes and what they are painted with.
        categories: Names of categories.
        texel_m: Side of a texel in metres. Faces that would pass a texture page have larger ones.
        quality: Of the pictures; see `Pages`.

    Returns:
        Patches, one for each thing and page, and the pages.
    """
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
    patches = [
        _patch(own, instance, categories[category], page, images[page])
        for (instance, category, page), own in sorted(held.items())
    ]
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


def _patch(faces: list[_Face], instance: int, category: str, page: int, image: Image) -> Patch:
    high, wide = image.shape[:2]
    uv = []
    for face in faces:
        along = face.corners[1]
        # Rows go down, v goes up.
        uv.append(np.stack([face.left + along[:, 0] * face.wide, face.top + (1 - along[:, 1]) * face.high], -1))
    triangles = np.array([[0, 1, 2], [0, 2, 3]]) + 4 * np.arange(len(faces))[:, None, None]
    return Patch(
        instance,
        category,
        page,
        np.concatenate([face.corners[0] for face in faces]).astype(np.float32),
        (np.concatenate(uv) / [wide, high]).astype(np.float32),
        triangles.reshape(-1, 3).astype(np.uint32),
    )


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


def _painted(looks: Looks, n: int, side: int, wide: int, high: int) -> Image:
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
