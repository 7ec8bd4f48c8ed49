"""Reading a list of blocks, layer by layer, back into the build: the inverse of `collect.build_words`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from worldgauge.worlds.blocks.blueprint import AIR, Blueprint, base_name

_LAYER = re.compile(r"^[ \t]*Layer[ \t]+(\d{1,4})[ \t]*:[ \t]*(.*)$", re.MULTILINE | re.IGNORECASE)
_PLACES = re.compile(r":\s*\[(\s*\(\s*\d{1,4}\s*,\s*\d{1,4}\s*\)[\s,]*(?:\(\s*\d{1,4}\s*,\s*\d{1,4}\s*\)[\s,]*)*)\]")
_EXTENTS = (
    re.compile(r"\b(\d{1,4})\s+layers?\b"),
    re.compile(r"\b(\d{1,4})\s+blocks?\s+(?:long|deep)\b"),
    re.compile(r"\b(\d{1,4})\s+blocks?\s+wide\b"),
)
_PLACE = re.compile(r"\(\s*(\d{1,4})\s*,\s*(\d{1,4})\s*\)")


class Listed(NamedTuple):
    """built: the build. unknown: names, sorted, that no material has; their places are air."""

    built: Blueprint
    unknown: tuple[str, ...]


def read_layers(text: str, materials: Sequence[str], most: tuple[int, int, int]) -> Listed | None:
    """The build that lines such as "Layer 1: stone: [(0,0), (0,1)], glass: [(2,1)]" list; None where none is listed.

    Layers count from 1, places are (x,z). A name is a material's whole text, else its base name. most: (height, depth,
    width); what lies beyond is left out. As large as its farthest block and its highest layer, or as what stands before
    the list says, if that is more: "3 layers, 4 blocks wide (x) and 2 blocks long (z)".
    """
    known = _numbers(materials)
    placed: list[tuple[int, int, int, int]] = []
    unknown: set[str] = set()
    height = 0
    for layer, name, places in _listed(text):
        if not 1 <= layer <= most[0]:
            continue
        height = max(height, layer)
        number = known.get(name.lower(), known.get(base_name(name)))
        if number is None:
            if name:
                unknown.add(name)
            continue
        placed += [(layer - 1, z, x, number) for x, z in places if z < most[1] and x < most[2]]
    if not placed:
        return None
    rows = np.array(placed)
    listed = (height, int(rows[:, 1].max()) + 1, int(rows[:, 2].max()) + 1)
    size = [max(pair) for pair in zip(listed, _extents(text, most), strict=True)]
    cells = np.full(size, AIR, np.int32)
    cells[rows[:, 0], rows[:, 1], rows[:, 2]] = rows[:, 3]
    return Listed(Blueprint(cells, tuple(materials)), tuple(sorted(unknown)))


def _numbers(materials: Sequence[str]) -> dict[str, int]:
    """Number of a material by its text, and of the first of each base name."""
    numbers: dict[str, int] = {}
    for number, name in enumerate(materials, 1):
        numbers.setdefault(base_name(name), number)
    return numbers | {name.strip().lower(): number for number, name in enumerate(materials, 1)}


def _listed(text: str) -> Iterator[tuple[int, str, list[tuple[int, int]]]]:
    """Layer, name and places (x, z) of each list; an empty name and no places for a layer without one."""
    for line in _LAYER.finditer(text):
        layer, rest, start = int(line[1]), line[2], 0
        for found in _PLACES.finditer(rest):
            name = rest[start : found.start()].strip(" \t,;.")
            yield layer, name, [(int(x), int(z)) for x, z in _PLACE.findall(found[1])]
            start = found.end()
        if not start:
            yield layer, "", []


def _extents(text: str, most: tuple[int, int, int]) -> list[int]:
    """Height, depth and width that are said before the first layer, the last of each; 0 where none is."""
    first = _LAYER.search(text)
    head = text[: first.start()] if first else ""
    found = [pattern.findall(head)[-1:] for pattern in _EXTENTS]
    return [min(int(number[0]), limit) if number else 0 for number, limit in zip(found, most, strict=True)]
