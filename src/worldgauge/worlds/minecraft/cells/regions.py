"""Worlds of the game on disk: a box of one is read, and cells are written as one, without the game and without Node.

    cells = read_cells(Path("saves/village"), ((0, 56, 0), (127, 103, 127)))
    write_world(Path("copy"), cells, "1.20.4")

Read are the layouts of 1.16 to 1.17 and of 1.18 and later, distinguished by the chunk; written are those of 1.16.5 and
1.20.4. Writing needs the extra 'structures'.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, UsageError
from worldgauge.core.io import write_file
from worldgauge.worlds.blocks.nbt import Fields, plain
from worldgauge.worlds.blocks.regions import CHUNKS, SIDE, read_chunk, region_bytes, region_name
from worldgauge.worlds.minecraft.cells.cells import AIR, MOST_COORDINATE, MOST_STATES, Cells
from worldgauge.worlds.minecraft.cells.chunks import (
    LAYOUTS,
    chunk_bytes,
    demand_inside,
    level_bytes,
    overlap,
    section_numbers,
    sections_of,
)

MOST_CELLS = 1 << 27

Corner = tuple[int, int, int]
Box = tuple[Corner, Corner]
"""Corners of smallest and of largest x, y and z, in game coordinates, both inside."""


def read_cells(world: Path, box: Box) -> Cells:
    """Read a box of a saved world; what the world does not keep of a chunk is air.

    Args:
        world: Its folder, the folder of its region files, or one file called r.X.Z.mca.
        box: The box, both corners included.

    Returns:
        Cells with names and states as saved.

    Raises:
        UsageError: The corners do not make a box.
        DataError: A chunk is missing, unfinished or damaged; the message names file and chunk.
    """
    low, high = check_box(box)
    index = np.zeros([b - a + 1 for a, b in zip(low, high, strict=True)], np.uint16)
    names: dict[str, int] = {AIR: 0}
    for cx in range(low[0] // SIDE, high[0] // SIDE + 1):
        for cz in range(low[2] // SIDE, high[2] // SIDE + 1):
            _take(read_chunk(world, cx, cz).fields, (cx, cz), low, index, names)
    return _used(low, list(names), index)


def write_world(folder: Path, cells: Cells, version: str = "1.16.5") -> None:
    """Write a new world: region files of the chunks that the cells touch, and level.dat; complete or not at all.

    Other cells of these chunks are air. Everything is lit by the sky; height maps are those of the highest block; the
    biome is plains; the spawn lies on top of the middle column. Same cells, same bytes. A server may write into the
    folder: give it a copy.

    Args:
        folder: The new folder.
        cells: Cells with complete states, since readers differ in the defaults of missing ones.
        version: One of LAYOUTS.

    Raises:
        UsageError: The folder exists, the version is unknown, or cells lie above or below its world.
        MissingExtraError: nbtlib is not installed.
        DataError: It cannot be written.
    """
    if version not in LAYOUTS:
        raise UsageError(f"worlds are written for {' and '.join(LAYOUTS)}, not for '{plain(version[:20])}'")
    layout = LAYOUTS[version]
    low, high = box_of(cells)
    demand_inside(low[1], high[1], version)
    chunks = [
        (cx, cz)
        for cz in range(low[2] // SIDE, high[2] // SIDE + 1)
        for cx in range(low[0] // SIDE, high[0] // SIDE + 1)
    ]
    with atomic_folder(folder) as part:
        for rx, rz in dict.fromkeys((cx // CHUNKS, cz // CHUNKS) for cx, cz in chunks):
            own = ((cx, cz) for cx, cz in chunks if (cx // CHUNKS, cz // CHUNKS) == (rx, rz))
            data = region_bytes((cx, cz, chunk_bytes(cells, cx, cz, layout)) for cx, cz in own)
            write_file(part / "region" / region_name(rx * CHUNKS, rz * CHUNKS), data)
        write_file(part / "level.dat", level_bytes(cells, version))


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Make a new folder that appears under its name only after the block has finished; after an error nothing is left.

    Raises:
        UsageError: The folder exists.
        DataError: It cannot be written.
    """
    if folder.exists():
        raise UsageError(f"{folder}: is there already; name a new folder")
    part = folder.with_name(f".{folder.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)  # what a killed process left
        yield part
        os.rename(part, folder)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def box_of(cells: Cells) -> Box:
    """The box that cells fill. Raises as `check_box`."""
    (x, y, z), (width, height, depth) = cells.origin, cells.size
    return check_box((cells.origin, (x + width - 1, y + height - 1, z + depth - 1)))


def check_box(box: Box) -> Box:
    """Return the box in whole numbers.

    Raises:
        UsageError: It is empty, far out or too large.
    """
    low, high = (_corner(place) for place in box)
    sides = [b - a + 1 for a, b in zip(low, high, strict=True)]
    if min(sides) < 1:
        raise UsageError(f"the box from {low} to {high} is empty: the first corner is that of smallest x, y and z")
    if sides[0] * sides[1] * sides[2] > MOST_CELLS:
        raise UsageError(f"the box from {low} to {high} has more than {MOST_CELLS} cells; mark a smaller one")
    return low, high


def _take(chunk: Fields, at: tuple[int, int], low: Corner, index: NDArray[np.uint16], names: dict[str, int]) -> None:
    """Put the part of a chunk that lies in the box into its cells."""
    for section in sections_of(chunk, at):
        corner = (SIDE * at[0], SIDE * section.level, SIDE * at[1])
        if not -SIDE < corner[1] - low[1] < index.shape[1]:
            continue
        numbers, own = section_numbers(section)
        if len(names) + len(own) > MOST_STATES:
            raise section.fields.error(section.palette, f"is one state too many: a box holds {MOST_STATES}")
        table = np.array([names.setdefault(name, len(names)) for name in own], np.uint16)
        inner, outer = overlap(corner, low, index.shape)
        index[outer] = table[numbers.transpose(2, 0, 1)[inner]]


def _used(origin: Corner, names: list[str], index: NDArray[np.uint16]) -> Cells:
    """Cells without the states that only lie outside the box."""
    counts = np.bincount(index.ravel(), minlength=len(names))
    kept = np.flatnonzero((counts > 0) | (np.arange(len(names)) == 0))
    table = np.zeros(len(names), np.uint16)
    table[kept] = np.arange(len(kept))
    return Cells(origin, tuple(names[number] for number in kept), table[index])


def _corner(place: Corner) -> Corner:
    if len(place) != 3 or not all(isinstance(one, (int, np.integer)) and abs(one) <= MOST_COORDINATE for one in place):
        raise UsageError(f"a corner is three whole numbers x, y, z within {MOST_COORDINATE}, got {str(place)[:60]}")
    x, y, z = place
    return int(x), int(y), int(z)
