"""Names of things in scans of HM3D and Matterport3D: a mesh of its own whose faces or texels are numbers, and a table.

HM3D: `.semantic.glb`, textures of flat colours, and `.semantic.txt`, rows of number, colour, name, region.
Matterport3D: `_semantic.ply`, `object_id` of faces, and `.house`, a table of objects, categories and regions.
Layouts: habitat-sim 57ee494, as it reads them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import Camera, FloatArray, Panorama
from worldgauge.core.io import read_text
from worldgauge.worlds.scan.camera import texels_at, texels_met
from worldgauge.worlds.scan.clusters import ScanScene, boxes_of, part_of
from worldgauge.worlds.scan.mesh import Up
from worldgauge.worlds.scan.prepared import Prepared, ScanOptions, prepare
from worldgauge.worlds.walking.floor import Landmark

_HM3D_HEADER = "HM3D Semantic Annotations"
_MP3D_HEADER = "ASCII 1.1"
_MOST_THINGS = 65_535
"""Numbers of things are uint16."""
_MOST_BYTES = 64 * 2**20
_OFF_M = 1.0
"""How far the borders of the mesh of names may lie off those of the scan."""
VOID = "void"


@dataclass(frozen=True)
class Name:
    """A row of a table of names."""

    category: str
    region: int | None = None  # number of the region that it is in, if known
    colour: int | None = None  # R + 256 G + 65536 B of its texels; None if faces have numbers


@dataclass(frozen=True)
class Region:
    """A room, or what the annotators took for one, with the corners of its things in metres."""

    number: int
    low: tuple[float, float, float]
    high: tuple[float, float, float]


class Names:
    """Things of a scan, by number."""

    def __init__(self, prepared: Prepared, table: Mapping[int, Name]) -> None:
        self._prepared, self._table = prepared, table
        self.categories: tuple[str, ...] = (VOID, *dict.fromkeys(one.category for one in table.values()))
        place = {category: number for number, category in enumerate(self.categories)}
        self._category = np.zeros(_MOST_THINGS + 1, np.uint16)
        for number, one in table.items():
            self._category[number] = place[one.category]
        coloured = sorted((one.colour, number) for number, one in table.items() if one.colour is not None)
        self._colours = np.array([colour for colour, _ in coloured], np.int64)
        self._numbers = np.array([number for _, number in coloured], np.uint16)

    def labels(self, pose: FloatArray, camera: Camera | Panorama) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
        """Category, index into `categories`, and number of the thing in each pixel (H, W); 0 where nothing is named."""
        hit, texels = texels_met(self._prepared.scene, pose, camera)
        if len(self._colours):
            instance = self._numbers_of(texels)
        else:
            instance = np.where(hit >= 0, self._prepared.scene.instance[np.maximum(hit, 0)], 0).astype(np.uint16)
        return self._category[instance], instance

    @cached_property
    def boxes(self) -> Mapping[int, tuple[FloatArray, FloatArray]]:
        """Least and greatest corner (3,) of the triangles of each thing that is named; metres."""
        boxes = boxes_of(self._prepared.scene, self._own)
        return {number: box for number, box in boxes.items() if number > 0 and number in self._table}

    def part(self, number: int) -> ScanScene:
        """The triangles of one thing."""
        return part_of(self._prepared.scene, self._own == number)

    @cached_property
    def _own(self) -> NDArray[np.uint16]:
        """(T,) number of the thing that each triangle is of."""
        scene = self._prepared.scene
        if not len(self._colours):
            return scene.instance
        corners = scene.corners.astype(np.float64).reshape(-1, 3, 3)
        return self._numbers_of(texels_at(scene, np.arange(len(corners), dtype=np.int32), corners.mean(1)))

    @cached_property
    def landmarks(self) -> tuple[Landmark, ...]:
        """Things by number."""
        return tuple(
            Landmark(self._table[number].category, number, _tuple(low), _tuple(high))
            for number, (low, high) in self.boxes.items()
        )

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """Regions by number, each as large as its things together."""
        own: dict[int, list[tuple[FloatArray, FloatArray]]] = {}
        for number, box in self.boxes.items():
            region = self._table[number].region
            if region is not None and region >= 0:
                own.setdefault(region, []).append(box)
        return tuple(
            Region(
                number,
                _tuple(np.min([low for low, _ in own[number]], axis=0)),
                _tuple(np.max([high for _, high in own[number]], axis=0)),
            )
            for number in sorted(own)
        )

    def check_fits(self, path: Path, low: FloatArray, high: FloatArray) -> None:
        """Check that their mesh lies where the scan does, whose least and greatest corner (3,) are given."""
        corners = self._prepared.scene.corners.reshape(-1, 3)
        off = max(np.abs(corners.min(0) - low).max(), np.abs(corners.max(0) - high).max())
        if off > _OFF_M:
            raise DataError(f"{path}: lies {off:.1f} m off the scan: it is that of another scene, or of another axis")

    def _numbers_of(self, texels: NDArray[np.uint32]) -> NDArray[np.uint16]:
        code = (texels & 0xFFFFFF).astype(np.int64)
        place = np.minimum(np.searchsorted(self._colours, code), len(self._colours) - 1)
        found: NDArray[np.uint16] = np.where(self._colours[place] == code, self._numbers[place], 0).astype(np.uint16)
        return found


def read_names(mesh: Path, table: Path, up: Up) -> Names:
    """Read the things of a scan."""
    text = read_text(table, _MOST_BYTES)
    found = house_table(text, table) if table.suffix == ".house" else hm3d_table(text, table)
    return Names(prepare(mesh, ScanOptions(up)), found)


def hm3d_table(text: str, path: Path) -> dict[int, Name]:
    """Rows of a `.semantic.txt`: number, colour in hex, name in quotes, region."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != _HM3D_HEADER:
        raise DataError(f"{path}: does not begin with '{_HM3D_HEADER}'")
    found: dict[int, Name] = {}
    colours: dict[int, int] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        row = next(csv.reader([line], skipinitialspace=True), [])
        if len(row) != 4 or not re.fullmatch(r"[0-9A-Fa-f]{6}", row[1].strip()):
            raise DataError(f'{path}: line {number} is {line[:60]!r}; a row is 12,A0B1C2,"name",3')
        own = _whole(row[0], path, number)
        red, green, blue = bytes.fromhex(row[1].strip())
        colour = red | green << 8 | blue << 16
        if own in found or colour in colours:
            raise DataError(f"{path}: line {number} has the number or the colour of an earlier line")
        found[own] = Name(_words(row[2]), _whole(row[3], path, number), colour)
        colours[colour] = own
    return found


def house_table(text: str, path: Path) -> dict[int, Name]:
    """Objects of a `.house`: lines O (number, region, category, ...) and C (number, ..., name, ..., mpcat40)."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != _MP3D_HEADER:
        raise DataError(f"{path}: does not begin with '{_MP3D_HEADER}'")
    categories: dict[int, str] = {-1: "unknown"}
    objects: dict[int, tuple[int, int, int]] = {}
    for number, line in enumerate(lines[1:], 2):
        row = line.split()
        kind, least = (row[0], {"C": 6, "O": 4}.get(row[0])) if row else ("", None)
        if least is None:
            continue
        if len(row) < least:
            raise DataError(f"{path}: line {number} has {len(row)} fields; a line {kind} has more")
        if kind == "C":
            categories[_whole(row[1], path, number, -1)] = _words(row[5])
        else:
            own = _whole(row[1], path, number)
            if own in objects:
                raise DataError(f"{path}: line {number} has the number {own} of an earlier object")
            objects[own] = _whole(row[2], path, number, -1), _whole(row[3], path, number, -1), number
    found = {}
    for own, (region, category, number) in objects.items():
        if category not in categories:
            raise DataError(f"{path}: line {number} names category {category}, which is not there")
        found[own] = Name(categories[category], None if region < 0 else region)
    return found


def _words(name: str) -> str:
    """A category in words: Matterport3D writes blanks as # and _."""
    return " ".join(re.sub(r"[#_]", " ", name).split())[:100] or "unknown"


def _whole(text: str, path: Path, line: int, low: int = 0) -> int:
    digits = text.strip()  # of more kinds of blanks than int() knows
    if not re.fullmatch(r"-?[0-9]{1,9}", digits) or not low <= int(digits) <= _MOST_THINGS:
        raise DataError(f"{path}: line {line} has {text[:30]!r} where a number from {low} to {_MOST_THINGS} must be")
    return int(digits)


def _tuple(point: FloatArray) -> tuple[float, float, float]:
    return float(point[0]), float(point[1]), float(point[2])
