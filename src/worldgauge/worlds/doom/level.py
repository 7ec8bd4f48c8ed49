"""The geometry of a level: read from a WAD file, its floor to walk on, and what a level camera sees of it.

The engine's own depth has 8 bits, so depth and labels of walls, floors and ceilings are cast here.
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.worlds.voxel.world import EYE_HEIGHT_M
from worldgauge.worlds.walking.clearance import RADIUS_M
from worldgauge.worlds.walking.floor import FloorPlan

UNIT_M = EYE_HEIGHT_M / 41
"""Metres per unit of length: the engine's eye is as high as that of LoopNav's walker."""
SURFACES = ("sky", "floor", "ceiling", "wall", "door", "water")
"""Categories 1, 2, ... of what is cast."""
STEP, HEADROOM, BODY = 24, 56, 26
"""Highest step and height of the walker, and the room that half its diagonal takes on the grid, in units."""
_CELL = 4
_MOST_BYTES = 256 << 20
_MOST_CELLS = 1 << 24
_SKY = b"F_SKY1"
_LIQUIDS = ("NUKAGE", "FWATER", "SWATER", "LAVA", "BLOOD", "SLIME0")
_DOORS = (1, 26, 27, 28, 31, 32, 33, 34, 46, 61, 63, 90, 103, 117, 118)
"""Types of lines that open a door."""
_LEAVES = (39, 52, 97, 124)
"""Types of lines that end the level or teleport whoever crosses them."""
_SOLID = (*range(25, 34), *range(35, 38), *range(41, 58), 70, *range(73, 79), 85, 86, 2028, 2035)
"""Types of things that nobody walks through: trees, pillars, lamps, barrels."""
_TREE = 54
_NONE = 0xFFFF
_TABLES = {
    "THINGS": "<i2, <i2, <u2, <u2, <u2",
    "LINEDEFS": "<u2, <u2, <u2, <u2, <u2, <u2, <u2",
    "SIDEDEFS": "<i2, <i2, S8, S8, S8, <u2",
    "VERTEXES": "<i2, <i2",
    "SECTORS": "<i2, <i2, S8, S8, <i2, <i2, <i2",
}


class DoomLevel(NamedTuple):
    """The geometry of a level, in its units.

    `lines` (n, 6): both ends, and the sectors to the right and left, -1 for none. `heights` (s, 2): floor and ceiling.
    `sky`, `liquid`: of the sectors. `doors`: of the lines. `blocking`: lines that no walker passes.
    `things` (t, 3): place and radius of the solid ones.
    """

    lines: FloatArray
    heights: FloatArray
    sky: NDArray[np.bool_]
    liquid: NDArray[np.bool_]
    doors: NDArray[np.bool_]
    blocking: NDArray[np.bool_]
    things: FloatArray


@lru_cache(maxsize=2)
def read_level(wad: Path, name: str) -> DoomLevel:
    """Read a level of a WAD file. Raises DataError for a file that is damaged, or without the level."""
    try:
        if wad.stat().st_size > _MOST_BYTES:
            raise ValueError(f"more than {_MOST_BYTES >> 20} MB")
        return _level(_tables(wad.read_bytes(), name))
    except (OSError, ValueError, IndexError, struct.error) as error:
        raise DataError(f"{wad}: level {name} cannot be read ({error}); install the package again") from error


def _tables(data: bytes, name: str) -> dict[str, NDArray[Any]]:
    """The tables of a level as they are stored."""
    kind, count, start = struct.unpack_from("<4sii", data)
    if kind not in (b"IWAD", b"PWAD") or count < 0 or not 12 <= start <= len(data) - 16 * count:
        raise ValueError("no WAD")
    lumps = [struct.unpack_from("<ii8s", data, start + 16 * k) for k in range(count)]
    names = [text.rstrip(b"\0").decode("ascii", "replace") for _, _, text in lumps]
    at = names.index(name.upper())
    tables = {}
    for lump, form in _TABLES.items():
        place, size, _ = lumps[names.index(lump, at, at + 11)]  # a level has ten lumps
        row = np.dtype(form)
        if place < 0 or size <= 0 or place + size > len(data) or size % row.itemsize:
            raise ValueError(f"{lump} does not fit")
        tables[lump] = np.frombuffer(data, row, size // row.itemsize, place)
    return tables


def _level(tables: dict[str, NDArray[Any]]) -> DoomLevel:
    lines, sides, sectors = (tables[name] for name in ("LINEDEFS", "SIDEDEFS", "SECTORS"))
    ends = np.stack([tables["VERTEXES"]["f0"], tables["VERTEXES"]["f1"]], 1).astype(np.float64)
    heights = np.stack([sectors["f0"], sectors["f1"]], 1).astype(np.float64)
    owners = np.append(sides["f5"].astype(np.int64), -1)  # the last one stands for no side
    if owners.max() >= len(sectors):
        raise IndexError("a side of no sector")
    right, left = (owners[np.where(lines[side] == _NONE, -1, lines[side].astype(np.int64))] for side in ("f5", "f6"))
    things = tables["THINGS"][np.isin(tables["THINGS"]["f3"], _SOLID)]
    low, high = heights[right], heights[left]
    opening = np.minimum(low[:, 1], high[:, 1]) - np.maximum(low[:, 0], high[:, 0])
    solid = (lines["f2"] & 1).astype(bool) | (left < 0) | np.isin(lines["f3"], _LEAVES)
    return DoomLevel(
        np.column_stack([ends[lines["f0"]], ends[lines["f1"]], right, left]),
        heights,
        sectors["f3"] == _SKY,
        np.array([str(text, "ascii", "replace").startswith(_LIQUIDS) for text in sectors["f2"]]),
        np.isin(lines["f3"], _DOORS),
        solid | (np.abs(low[:, 0] - high[:, 0]) > STEP) | (opening < HEADROOM),
        np.stack([things["f0"], things["f1"], np.where(things["f3"] == _TREE, 32, 16)], 1).astype(np.float64),
    )


def sectors_at(level: DoomLevel, y: float, xs: FloatArray) -> NDArray[np.int64]:
    """The sectors under points of one row; -1 outside the level."""
    # A line has its right sector behind it, as x grows, if it goes up, else its left one.
    x1, y1, x2, y2, right, left = level.lines.T
    crossing = np.flatnonzero((y1 > y) != (y2 > y))
    at = x1[crossing] + (y - y1[crossing]) * (x2 - x1)[crossing] / (y2 - y1)[crossing]
    order = np.argsort(at, kind="stable")
    behind = np.where((y2 > y1)[crossing], right[crossing], left[crossing]).astype(np.int64)[order]
    return np.append(behind, -1)[np.searchsorted(at[order], xs, side="right") - 1]  # the last: before all lines


def floor_of(level: DoomLevel) -> FloorPlan:
    """Where the middle of a walker can be, less the room that planners leave."""
    ends = level.lines[:, :4].reshape(-1, 2)
    low, high = ends.min(0) - 64, ends.max(0) + 64
    shape = np.ceil((high - low) / _CELL).astype(int)
    if shape.prod() > _MOST_CELLS:
        raise DataError(f"a level of {shape[0]} x {shape[1]} cells is too large to walk in; take another one")
    centres = [low[axis] + (np.arange(shape[axis]) + 0.5) * _CELL for axis in (0, 1)]
    # A tenth of a unit keeps rows off the vertices, which have whole coordinates.
    sectors = np.stack([sectors_at(level, y + 0.1, centres[0]) for y in centres[1]], 1)
    free = (sectors >= 0) & (level.heights[:, 1] - level.heights[:, 0] >= HEADROOM)[sectors]
    for x1, y1, x2, y2 in level.lines[level.blocking, :4]:
        steps = np.linspace(0, 1, 2 + int(math.hypot(x2 - x1, y2 - y1) / (_CELL / 2)))[:, None]
        cells = np.floor((np.array([x1, y1]) + steps * np.array([x2 - x1, y2 - y1]) - low) / _CELL).astype(int)
        free[cells[:, 0], cells[:, 1]] = False
    for x, y, radius in level.things:
        near = np.hypot(centres[0][:, None] - x, centres[1] - y) < radius
        free[near] = False
    height = (level.heights[sectors, 0] * UNIT_M).astype(np.float32)
    whole = FloorPlan(free, height, (float(low[0]) * UNIT_M, float(low[1]) * UNIT_M), _CELL * UNIT_M)
    return FloorPlan(whole.clearance_m >= BODY * UNIT_M - RADIUS_M, height, whole.origin, whole.cell_m)


def cast(level: DoomLevel, heights: FloatArray, eye: FloatArray, yaw: float, camera: Camera) -> tuple[FloatArray, Any]:
    """What a level camera sees: depth (H, W) in units, infinite in the sky, and numbers (H, W) of SURFACES, from 1.

    Args:
        level: The level.
        heights: (s, 2) floor and ceiling of its sectors at this moment, in units.
        eye: (3,) place of the camera, in units.
        yaw: Heading, radians.
        camera: Size and focal lengths.
    """
    (sector,) = sectors_at(level, float(eye[1]), np.array([eye[0]]))
    numbers = (camera.fx, camera.fy, camera.cx, camera.cy)
    depth = np.full((camera.height, camera.width), np.inf)
    surface = np.zeros(depth.shape, np.uint16)
    _cast(level.lines, heights, level.sky, level.liquid, level.doors, tuple(eye), yaw, sector, numbers, depth, surface)
    return depth, surface


@njit(cache=True, nogil=True)
def _cast(lines, heights, sky, liquid, doors, eye, yaw, sector, camera, depth, surface):  # type: ignore[no-untyped-def]
    """Column by column: the lines that a ray meets, the nearest first, from sector to sector; see `cast`."""
    fx, fy, cx, cy = camera
    rows, columns = depth.shape
    x, y, z = eye
    ahead_x, ahead_y = math.cos(yaw), math.sin(yaw)
    far, met = np.empty(len(lines)), np.empty(len(lines), np.int64)
    for column in range(columns):
        u = (column + 0.5 - cx) / fx
        dx, dy = ahead_x + u * ahead_y, ahead_y - u * ahead_x
        n = 0
        for i in range(len(lines)):
            ex, ey = lines[i, 2] - lines[i, 0], lines[i, 3] - lines[i, 1]
            across = dx * ey - dy * ex
            if abs(across) < 1e-12:
                continue
            px, py = lines[i, 0] - x, lines[i, 1] - y
            t, along = (px * ey - py * ex) / across, (px * dy - py * dx) / across
            if t > 1e-6 and 0.0 <= along <= 1.0:
                far[n], met[n] = t, i
                n += 1
        here, top, bottom = sector, 0, rows - 1
        for k in np.argsort(far[:n], kind="mergesort"):
            i, t = met[k], far[k]
            right, left = int(lines[i, 4]), int(lines[i, 5])
            if here < 0 or top > bottom:
                break
            if here != right and here != left:
                continue
            floor, ceiling = heights[here, 0], heights[here, 1]
            while bottom >= top:
                slope = (cy - bottom - 0.5) / fy
                if slope >= 0 or (floor - z) / slope > t:
                    break
                depth[bottom, column], surface[bottom, column] = (floor - z) / slope, 6 if liquid[here] else 2
                bottom -= 1
            while top <= bottom:
                slope = (cy - top - 0.5) / fy
                if slope <= 0 or (ceiling - z) / slope > t:
                    break
                if sky[here]:
                    surface[top, column] = 1
                else:
                    depth[top, column], surface[top, column] = (ceiling - z) / slope, 3
                top += 1
            wall = 5 if doors[i] else 4
            beyond = left if here == right else right
            while bottom >= top and (beyond < 0 or z + (cy - bottom - 0.5) / fy * t < heights[beyond, 0]):
                depth[bottom, column], surface[bottom, column] = t, wall
                bottom -= 1
            while top <= bottom and z + (cy - top - 0.5) / fy * t > heights[beyond, 1]:
                if sky[here] and sky[beyond]:
                    surface[top, column] = 1
                else:
                    depth[top, column], surface[top, column] = t, wall
                top += 1
            here = beyond
