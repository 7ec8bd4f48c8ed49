"""Structure files, parts of saved worlds, and stored cells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from fuzz.format import Format
from support import nbt_bytes as nbt
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.structure_files import NbtLimits, read_region_box, read_structure

BUILD = Blueprint.of([[[1, 2, -1], [3, -1, 1]], [[-1, 2, 2], [1, 1, 3]]], ["stone", "oak_slab[type=top]", "jigsaw"])
REGIONS = {"r": nbt.litematic_region(BUILD), "s": nbt.litematic_region(BUILD, (3, 0, 0), (-1, 1, -1))}
ROOTS = {
    "a.nbt": nbt.root(nbt.structure(BUILD)),
    "a.schem": nbt.root(nbt.schematic(BUILD), "Schematic"),
    "a.litematic": nbt.root(nbt.litematic(REGIONS)),
}


def _make(name: str) -> Callable[[Path], object]:
    return lambda folder: nbt.put(folder / name, ROOTS[name])


def _read(folder: Path) -> None:
    _check(read_structure(next(folder.iterdir())).blueprint)


def _make_region(folder: Path) -> None:
    sections = [nbt.section(0, {(1, 1, 1): "stone", (2, 1, 1): "glass"})]
    (folder / "r.0.0.mca").write_bytes(nbt.region_file({(0, 0): nbt.chunk(0, 0, sections)}))


def _read_region(folder: Path) -> None:
    _check(read_region_box(folder / "r.0.0.mca", (0, 0, 0), (3, 3, 3)))


def _check(build: Blueprint) -> None:
    assert build.cells.size <= NbtLimits().most_cells
    assert np.isin(build.cells, [-1, *range(1, len(build.materials) + 1)]).all()


FORMATS = (
    *(Format(name.removeprefix("a."), _make(name), _read, weight=0.7) for name in ROOTS),
    Format("region", _make_region, _read_region, weight=0.7),
)
