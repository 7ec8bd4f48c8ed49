"""Schematics of Litematica (`.litematic`): several regions, each with a palette and bit-packed numbers."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.worlds.blocks.blueprint import AIR_NAMES, Cells, first_seen
from worldgauge.worlds.blocks.nbt import Fields, Limits, check_numbers, material_of
from worldgauge.worlds.blocks.structure_files.palette import Build, Final, check_box, final_of, settled

MOST_COORDINATE = 1 << 26
LEAST_BITS = 2


def read_litematic(root: Fields, limits: Limits) -> Build:
    """The build of all regions, in the smallest box around them.

    Args:
        root: Content of the file.
        limits: Limits on its size.

    Returns:
        The build.

    Raises:
        DataError: For a damaged file, and where two regions differ in a cell.
    """
    every = root.compound("Regions")
    if not every.tags:
        raise root.error("Regions", "is empty")
    regions = [_region(every.compound(name), limits) for name in every.tags]
    low = np.min([region.low for region in regions], axis=0)
    high = np.max([np.add(region.low, region.size) for region in regions], axis=0)
    width, height, depth = size = [int(side) for side in high - low]
    check_box(size, root, "Regions", limits)
    if sum(math.prod(region.size) for region in regions) > limits.most_cells:
        raise root.error("Regions", f"have more than the limit of {limits.most_cells} cells in all; split the build")
    cells, warnings = np.zeros((height, depth, width), np.int32), list[str]()
    known: dict[str, int] = {}
    for region in regions:
        inner, own, more = _cells(region)
        warnings += more
        x, y, z = (int(at) for at in np.subtract(region.low, low))
        spot = cells[y : y + inner.shape[0], z : z + inner.shape[1], x : x + inner.shape[2]]
        table = [0 if name in AIR_NAMES else known.setdefault(name, 1 + len(known)) for name in own]
        numbers = np.array(table, np.int32)[inner]
        if ((spot > 0) & (numbers > 0) & (spot != numbers)).any():
            raise region.fields.error("Position", "lets the region lie over another that has other blocks there")
        np.maximum(spot, numbers, out=spot)
    facts: dict[str, Any] = root.facts("Version", "MinecraftDataVersion")
    if "MinecraftDataVersion" in facts:
        facts["DataVersion"] = facts.pop("MinecraftDataVersion")
    if "Metadata" in root:
        facts |= root.compound("Metadata").facts("Name", "Author")
    return Build(first_seen(cells, ["air", *known]), facts | {"regions": len(regions)}, tuple(warnings))


def spread(words: NDArray[np.uint64], bits: int, count: int) -> NDArray[np.int64]:
    """Unpack numbers from 64-bit words, lowest bits first, across the limits of words.

    Args:
        words: The words.
        bits: Bits per number.
        count: Number of numbers.

    Returns:
        (count,) int64.
    """
    starts = np.arange(count, dtype=np.uint64) * np.uint64(bits)
    word, shift = (starts >> np.uint64(6)).astype(np.int64), starts & np.uint64(63)
    found = words[word] >> shift
    split = shift + np.uint64(bits) > 64
    found[split] |= words[word[split] + 1] << (np.uint64(64) - shift[split])
    return (found & np.uint64((1 << bits) - 1)).astype(np.int64)


class _Region(NamedTuple):
    fields: Fields
    low: tuple[int, int, int]
    size: tuple[int, int, int]


def _region(fields: Fields, limits: Limits) -> _Region:
    at, size = (fields.corner(key, MOST_COORDINATE) for key in ("Position", "Size"))
    sides = (abs(size[0]), abs(size[1]), abs(size[2]))
    check_box(sides, fields, "Size", limits)
    x, y, z = (place + min(0, side + 1) for place, side in zip(at, size, strict=True))
    return _Region(fields, (x, y, z), sides)


def _cells(region: _Region) -> tuple[Cells, list[str], tuple[str, ...]]:
    fields, (width, height, depth) = region.fields, region.size
    names = [material_of(entry) for entry in fields.compounds("BlockStatePalette")]
    bits = max(LEAST_BITS, (len(names) - 1).bit_length())
    words = fields.array("BlockStates", 8).view(np.uint64)
    count = width * height * depth
    needed = -(-count * bits // 64)
    if len(words) != needed:
        raise fields.error("BlockStates", f"has {len(words)} words, not {needed} for {count} cells of {bits} bits")
    numbers = spread(words, bits, count)
    check_numbers(numbers, len(names), fields, "BlockStates")
    finals = []
    for one in fields.compounds("TileEntities", needed=False):
        if (final := final_of(one)) is not None:
            x, y, z = (one.whole(axis, -(2**31), 2**31 - 1) for axis in "xyz")
            finals.append(Final((x, y, z), final))
    return settled(numbers.astype(np.int32).reshape(height, depth, width), names, finals)
