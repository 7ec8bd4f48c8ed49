"""A mesh laid out for the kernels: triangles by place in clusters, one row each, and textures in all sizes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import WorldError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.scan.mesh import ScanMesh

CLUSTER = 64
"""Most triangles of a cluster."""
_CELL_M = 0.31
_MOST_LOST = 0.01
_SPREAD = (
    *((32, 0x1F00000000FFFF), (16, 0x1F0000FF0000FF), (8, 0x100F00F00F00F00F)),
    *((4, 0x10C30C30C30C30C3), (2, 0x1249249249249249)),
)
"""Share of damaged triangles beyond which a scan is refused."""


class ScanScene(NamedTuple):
    """What the kernels read. T triangles, C clusters, M materials, L levels of textures.

    Attributes:
        corners: (T, 9) metres, x y z of three corners, counter-clockwise.
        rows: (T, 16): normal; u, v at the first corner and their gradients, in texels; texels a metre; first corner; 0.
        tints: (T, 12): R, G, B at the first corner and their gradients; no rows if no vertex has a colour.
        cones: (C, 4), axis and sine of the half angle of the normals; 2 if it cannot be culled.
        looks: (M, 11): first level or -1, number of levels, wrap of columns and rows, two-sided, cutoff of opacity
            (0 for none), factor R, G, B (0 to 255), nearest, whether the factor tints.
    """

    corners: NDArray[np.float32]
    rows: NDArray[np.float32]
    tints: NDArray[np.float32]
    material: NDArray[np.int32]
    instance: NDArray[np.uint16]
    category: NDArray[np.uint16]
    first: NDArray[np.int64]  # (C + 1,), where clusters begin
    spheres: NDArray[np.float64]  # (C, 4), centre and radius
    cones: NDArray[np.float64]
    looks: NDArray[np.int64]
    levels: NDArray[np.int64]  # (L, 3): first texel, width, height
    texels: NDArray[np.uint32]  # (N,), RGBA from the lowest byte


Scene = ScanScene  # kernels that an earlier version compiled and cached look it up by this name


def scene_of(mesh: ScanMesh, *, two_sided: bool = False) -> tuple[ScanScene, int]:
    """Lay out a mesh, with all triangles seen from behind if `two_sided`; also the number of damaged triangles."""
    sound, good = _useful(mesh)
    lost = len(sound) - int(sound.sum())
    if lost > _MOST_LOST * len(sound):
        raise WorldError(f"{lost} of {len(sound)} triangles are damaged: not finite, or of corners that are not there")
    if not good.any():
        raise WorldError(f"none of its {len(good)} triangles has an area; is its unit right (--scale)?")
    corners = mesh.vertices[mesh.triangles[good]].astype(np.float32)
    order, keys = _order(corners)
    corners = corners[order]
    triangles, material = mesh.triangles[good][order], mesh.material[good][order]
    levels, texels, held = _levels(mesh.pages)
    looks = _looks(mesh, held, two_sided)
    rows = _rows(corners, mesh.uv[triangles], material, looks, levels)
    first = _cut(keys[order])
    normal = rows[:, :3].astype(np.float64)
    closed = looks[material, 4] == 0
    scene = ScanScene(
        np.ascontiguousarray(corners.reshape(-1, 9)),
        rows,
        _tints(corners, mesh, triangles),
        np.ascontiguousarray(material, np.int32),
        np.ascontiguousarray(mesh.instance[good][order]),
        np.ascontiguousarray(mesh.category[good][order]),
        first,
        *_bounds(corners.astype(np.float64), normal, closed, first),
        looks,
        levels,
        texels,
    )
    for values in scene:
        values.flags.writeable = False  # as those that are mapped from a file: one version of each kernel is compiled
    return scene, lost


def part_of(scene: ScanScene, kept: NDArray[np.bool_]) -> ScanScene:
    """The scene with some of its triangles (T,) only; at least one."""
    chosen = np.flatnonzero(kept)
    starts = np.arange(0, len(chosen), CLUSTER)
    first = np.append(starts, len(chosen)).astype(np.int64)
    names = ("corners", "rows", "material", "instance", "category", *(("tints",) if len(scene.tints) else ()))
    part = scene._replace(first=first, **{name: getattr(scene, name)[chosen] for name in names})
    corners, normal = part.corners.astype(np.float64).reshape(-1, 3, 3), part.rows[:, :3].astype(np.float64)
    spheres, cones = _bounds(corners, normal, part.looks[part.material, 4] == 0, first)
    part = part._replace(spheres=spheres, cones=cones)
    for values in part:
        values.flags.writeable = False
    return part


def boxes_of(scene: ScanScene, numbers: NDArray[np.uint16]) -> dict[int, tuple[FloatArray, FloatArray]]:
    """Least and greatest corner (3,), metres, of the triangles of each number (T,)."""
    corners, order = scene.corners.astype(np.float64).reshape(-1, 3, 3), np.argsort(numbers, kind="stable")
    own, first = np.unique(numbers[order], return_index=True)
    low = np.minimum.reduceat(corners[order].min(1), first)
    high = np.maximum.reduceat(corners[order].max(1), first)
    return {int(number): (low[k], high[k]) for k, number in enumerate(own)}


def _useful(mesh: ScanMesh) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Triangles that are not damaged; and those of them with an area: exporters leave others by the thousand."""
    inside: NDArray[np.bool_] = np.all((mesh.triangles >= 0) & (mesh.triangles < len(mesh.vertices)), axis=1)
    held = np.where(inside[:, None], mesh.triangles, 0)
    points = mesh.vertices[held]
    with np.errstate(invalid="ignore", over="ignore"):
        finite: NDArray[np.bool_] = inside & np.all(np.abs(points) < 1e6, axis=(1, 2))
        corners = np.where(finite[:, None, None], points, 0.0).astype(np.float32).astype(np.float64)
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return finite, finite & ((cross * cross).sum(1) > 1e-24)


def _order(corners: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order of triangles by cell along a Morton curve and by the way that they face; and the keys."""
    centre = corners.astype(np.float64).mean(1)
    cell = np.floor((centre - centre.min(0)) / _CELL_M).astype(np.int64)
    cell = np.minimum(cell, 2**20 - 1)
    code = np.zeros(len(cell), np.int64)
    for axis, value in enumerate(cell.T):  # 20-bit numbers; two empty bits between each and the next
        for shift, mask in _SPREAD:
            value = (value | value << shift) & mask
        code |= value << axis
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.abs(normal).argmax(1)
    facing = 2 * axis + (normal[np.arange(len(normal)), axis] > 0)
    key = code * 6 + facing
    return np.argsort(key, kind="stable"), key


def _cut(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where clusters begin: at each new key, and after CLUSTER triangles of one."""
    new = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    lengths = np.diff(np.append(new, len(keys)))
    parts = -(-lengths // CLUSTER)
    starts = np.repeat(new, parts) + CLUSTER * (np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts))
    return np.append(starts, len(keys)).astype(np.int64)


def _bounds(
    corners: NDArray[np.float64], normal: NDArray[np.float64], closed: NDArray[np.bool_], first: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Spheres and cones of clusters."""
    starts, count = first[:-1], np.diff(first)
    low, high = np.minimum.reduceat(corners.min(1), starts), np.maximum.reduceat(corners.max(1), starts)
    centre = (low + high) / 2
    own = np.repeat(np.arange(len(starts)), count)
    far = np.sqrt(((corners - centre[own][:, None]) ** 2).sum(-1).max(1))
    radius = np.maximum.reduceat(far, starts) * (1 + 1e-9) + 1e-9
    axis = np.add.reduceat(normal, starts)
    length = np.sqrt((axis * axis).sum(1, keepdims=True))
    axis = axis / np.maximum(length, 1e-12)
    least = np.minimum.reduceat((normal * axis[own]).sum(1), starts)
    culled = (least > 0.1) & (length[:, 0] > 1e-6) & np.logical_and.reduceat(closed, starts)
    sine = np.where(culled, np.sqrt(np.maximum(1 - least * least, 0)) + 1e-6, 2.0)
    return np.concatenate([centre, radius[:, None]], 1), np.concatenate([axis, sine[:, None]], 1)


def _rows(
    corners: NDArray[np.float32],
    uv: NDArray[np.float64],
    material: NDArray[np.int32],
    looks: NDArray[np.int64],
    levels: NDArray[np.int64],
) -> NDArray[np.float32]:
    size = np.ones((len(looks), 2))
    textured = looks[:, 0] >= 0
    size[textured] = levels[looks[textured, 0], 1:3]
    texel = np.nan_to_num(uv, nan=0.0, posinf=0.0, neginf=0.0).clip(-1e4, 1e4) * size[material][:, None]
    # Whole repeats are of no account, and small numbers keep their digits.
    texel -= np.floor(texel[:, :1] / size[material][:, None] / 2) * 2 * size[material][:, None]
    normal, gradient = _gradients(corners.astype(np.float64), texel)
    lengths = np.sqrt((gradient * gradient).sum(-1))
    rows = np.zeros((len(corners), 16), np.float32)
    rows[:, :3] = normal
    rows[:, 3], rows[:, 4:7] = texel[:, 0, 0], gradient[:, 0]
    rows[:, 7], rows[:, 8:11] = texel[:, 0, 1], gradient[:, 1]
    rows[:, 11] = np.sqrt(lengths[:, 0] * lengths[:, 1])
    rows[:, 12:15] = corners[:, 0]
    return rows


def _tints(corners: NDArray[np.float32], mesh: ScanMesh, triangles: NDArray[np.int32]) -> NDArray[np.float32]:
    """Colours of the corners as affine functions of place; opacity is left."""
    if mesh.colours is None:
        return np.zeros((0, 12), np.float32)
    colours = mesh.colours[triangles][..., :3].astype(np.float64)
    _, gradient = _gradients(corners.astype(np.float64), colours)
    return np.ascontiguousarray(
        np.concatenate([colours[:, 0, :, None], gradient], -1).reshape(-1, 12).astype(np.float32)
    )


def _gradients(
    corners: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Unit normals (T, 3), and gradients (T, n, 3) in the plane of values (T, 3, n) at the corners."""
    ab, ac = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    cross = np.cross(ab, ac)
    square = np.maximum((cross * cross).sum(1), 1e-30)
    along, across = np.cross(ac, cross) / square[:, None], np.cross(cross, ab) / square[:, None]
    # d value = (value b - value a) along + (value c - value a) across; `along` is 1 at b and 0 at c.
    gradient = (values[:, 1] - values[:, 0])[..., None] * along[:, None]
    gradient += (values[:, 2] - values[:, 0])[..., None] * across[:, None]
    return cross / np.sqrt(square)[:, None], gradient


def _looks(mesh: ScanMesh, held: list[tuple[int, int]], two_sided: bool) -> NDArray[np.int64]:
    looks = np.zeros((len(mesh.materials), 11), np.int64)
    for n, material in enumerate(mesh.materials):
        first, count = held[material.page] if material.page >= 0 else (-1, 0)
        cutoff = material.cutoff / max(material.factor[3], 1e-6)
        factor = [_encoded(one) for one in material.factor[:3]]
        looks[n] = (
            *(first, count, *material.wrap, int(two_sided or material.two_sided)),
            *(min(int(np.ceil(cutoff * 255)), 256), *factor, int(material.nearest), int(factor != [255, 255, 255])),
        )
    return looks


def _encoded(linear: float) -> int:
    """A linear brightness as a byte of sRGB (IEC 61966-2-1)."""
    curved = 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
    return round(255 * min(max(curved, 0.0), 1.0))


def _levels(
    pages: tuple[NDArray[np.uint8], ...],
) -> tuple[NDArray[np.int64], NDArray[np.uint32], list[tuple[int, int]]]:
    """Table of levels, all texels, and first level and number of levels of each page."""
    table: list[tuple[int, int, int]] = []
    held, parts, at = [], [], 0
    for page in pages:
        level, first = np.ascontiguousarray(page, np.uint8), len(table)
        while True:
            table.append((at, level.shape[1], level.shape[0]))
            parts.append(level.view("<u4").reshape(-1))
            at += parts[-1].size
            if max(level.shape[:2]) == 1:
                break
            level = _halved(level)
        held.append((first, len(table) - first))
    texels = np.concatenate(parts).astype(np.uint32, copy=False) if parts else np.zeros(1, np.uint32)
    return np.array(table, np.int64).reshape(-1, 3), texels, held


@njit(cache=True, nogil=True, error_model="numpy")
def _halved(level):  # type: ignore[no-untyped-def]
    """Mean of 2 x 2 texels each; the last row or column of an odd number is part of no mean."""
    high, wide = max(level.shape[0] // 2, 1), max(level.shape[1] // 2, 1)
    half = np.empty((high, wide, 4), np.uint8)
    for y in range(high):
        y0, y1 = min(2 * y, level.shape[0] - 1), min(2 * y + 1, level.shape[0] - 1)
        for x in range(wide):
            x0, x1 = min(2 * x, level.shape[1] - 1), min(2 * x + 1, level.shape[1] - 1)
            for c in range(4):
                total = np.int64(level[y0, x0, c]) + level[y0, x1, c] + level[y1, x0, c] + level[y1, x1, c]
                half[y, x, c] = (total + 2) // 4
    return half
