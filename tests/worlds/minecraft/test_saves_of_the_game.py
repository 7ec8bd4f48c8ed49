"""Region files that the game wrote, of twelve versions: cell by cell against another reader, and old ones refused.

The files come with the npm package prismarine-provider-anvil, and the other reader,
anvil-parser2, by `make test-minecraft`.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.worlds.minecraft.cells import AIR, state_text
from worldgauge.worlds.minecraft.regions import read_cells

pytestmark = pytest.mark.minecraft

HEIGHTS = {
    "1.16": (0, 255),
    "1.17.1": (0, 255),
    "1.18.2": (-64, 319),
    "1.19.4": (-64, 319),
    "1.20.6": (-64, 319),
    "1.21.1": (-64, 319),
}
OLD = ("1.8.9", "1.9", "1.11.2", "1.12.2", "1.13.2", "1.14.4")
CHUNKS = 6
"""Of each file; all of their cells are compared."""


def saved(packages: Path, version: str) -> Path:
    return packages / "node_modules/prismarine-provider-anvil/test/fixtures" / version


def chunks(folder: Path) -> list[tuple[int, int]]:
    """Places of the chunks that the only region file holds, by its table."""
    (path,) = folder.glob("r.*.mca")
    rx, rz = (int(part) for part in path.name.split(".")[1:3])
    table = struct.unpack(">1024I", path.read_bytes()[:4096])
    return [(32 * rx + place % 32, 32 * rz + place // 32) for place in np.flatnonzero(table)]


def box(cx: int, cz: int, low: int, high: int) -> Any:
    return (16 * cx, low, 16 * cz), (16 * cx + 15, high, 16 * cz + 15)


@pytest.mark.parametrize("version", HEIGHTS)
def test_every_cell_is_that_of_another_reader(version: str, packages: Path) -> None:
    anvil = pytest.importorskip("anvil")
    folder = saved(packages, version)
    low, high = HEIGHTS[version]
    (path,) = folder.glob("r.*.mca")
    region = anvil.Region.from_file(str(path))
    compared, kinds = 0, set()
    for cx, cz in chunks(folder):
        try:
            cells = read_cells(folder, box(cx, cz, low, high))
        except DataError as error:
            if "is unfinished" not in str(error):
                raise
            continue
        ours = np.array(cells.palette)[cells.index].transpose(1, 2, 0)
        theirs = texts(region.get_chunk(cx % 32, cz % 32), low, high)
        assert ours.tolist() == theirs.tolist(), (cx, cz)
        kinds |= set(cells.palette)
        if (compared := compared + 1) == CHUNKS:
            break
    assert compared == CHUNKS
    assert len(kinds) > 20


def texts(chunk: Any, low: int, high: int) -> Any:
    """States (y, z, x) of a chunk as the other reader has them."""
    found = np.full((high + 1 - low, 16, 16), AIR, object)
    for level in range(low // 16, (high + 1) // 16):
        section = chunk.get_section(level)
        if section is None or not ({"block_states", "Palette"} & set(section)):
            continue
        own = [text_of(block) for block in chunk.get_palette(section)]
        at = 16 * level - low
        if len(own) == 1:
            found[at : at + 16] = own[0]
        else:
            blocks = [text_of(block) for block in chunk.stream_blocks(section=section)]
            found[at : at + 16] = np.array(blocks, object).reshape(16, 16, 16)
    return found


def text_of(block: Any) -> str:
    return state_text(block.id, {key: value.value for key, value in block.properties.items()})


@pytest.mark.parametrize("version", OLD)
def test_versions_before_1_16_are_refused(version: str, packages: Path) -> None:
    folder = saved(packages, version)
    cx, cz = chunks(folder)[0]
    with pytest.raises(DataError, match=rf"chunk \({cx}, {cz}\) was saved before version 1\.16 of the game"):
        read_cells(folder, box(cx, cz, 0, 127))
