"""Blueprints: builds as three-dimensional matrices of blocks, the names of their materials, and their difficulty.

A matrix is indexed [y][z][x]: height (up), depth (+z is south), width (+x is east). Cell [0][0][0], the pivot, is the
corner with the smallest x, y and z. Air is -1; block k is the k-th of the materials (MineAnyBuild, section 3.2).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.io import digest_of

AIR = -1
AIR_NAMES = frozenset({"air", "cave_air", "void_air", "structure_void"})
Cells = NDArray[np.int32]
Tier = Literal["easy", "medium", "hard"]

BIAS = 0.4
"""B of the difficulty factor (section 3.4)."""
EASY_MOST, HARD_LEAST = 1.8, 3.8
"""Mean 2.8 less and plus one standard deviation (section 3.4)."""


class Size(NamedTuple):
    """Extent of a build in blocks."""

    width: int  # along x
    height: int  # along y
    depth: int  # along z


@dataclass(frozen=True, eq=False)
class Blueprint:
    """A build. Two are equal when all cells hold the same block."""

    cells: Cells  # (height, depth, width) int32, -1 for air
    materials: tuple[str, ...]  # block k is entry k - 1, as `material` writes it

    def __post_init__(self) -> None:
        cells = _whole_numbers(self.cells)
        if cells.ndim != 3:
            raise ShapeError(f"a blueprint has three axes [y][z][x], got {cells.ndim}")
        # Before the numbers are made smaller: 2**32 + 1 would become 1.
        wrong = (cells != AIR) & ((cells < 1) | (cells > len(self.materials)))
        if wrong.any():
            y, z, x = np.argwhere(wrong)[0]
            raise ShapeError(
                f"cell [{y}][{z}][{x}] holds {cells[y, z, x]}; give -1 for air, or 1 to {len(self.materials)}"
            )
        object.__setattr__(self, "cells", np.ascontiguousarray(cells, np.int32))
        object.__setattr__(self, "materials", tuple(self.materials))

    @classmethod
    def of(
        cls,
        rows: Sequence[Sequence[Sequence[int]]],
        materials: Sequence[str],
        *,
        unknown: Literal["refuse", "air"] = "refuse",
    ) -> Blueprint:
        """Make a blueprint from nested lists."""
        try:
            cells = _whole_numbers(np.array(rows))
        except ValueError as error:
            raise ShapeError(f"a blueprint is whole numbers in layers and rows of one length: {error}") from None
        if unknown == "air":
            cells[(cells < 1) | (cells > len(materials))] = AIR
        return cls(cells, tuple(materials))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Blueprint):
            return NotImplemented
        return self.cells.shape == other.cells.shape and bool((self.named() == other.named()).all())

    __hash__ = None  # type: ignore[assignment]

    @property
    def size(self) -> Size:
        """Extent in blocks."""
        height, depth, width = self.cells.shape
        return Size(width, height, depth)

    @property
    def blocks(self) -> int:
        """Number of cells that are not air."""
        return int(self.solid.sum())

    @property
    def solid(self) -> NDArray[np.bool_]:
        """(height, depth, width) bool, whether a cell holds a block. Materials that are kinds of air do not count."""
        air = [number for number, name in enumerate(self.materials, 1) if base_name(name) in AIR_NAMES]
        filled: NDArray[np.bool_] = ~np.isin(self.cells, [AIR, *air])
        return filled

    @property
    def mapping(self) -> dict[str, int]:
        """Numbers by material as an agent sees them: air first, then each material."""
        return {"air": AIR, **{name: number for number, name in enumerate(self.materials, 1)}}

    @property
    def digest(self) -> str:
        """SHA-256 of cells and materials."""
        head = json.dumps([list(self.cells.shape), list(self.materials)]).encode()
        return digest_of(head + self.cells.astype("<i4").tobytes())

    def rows(self) -> list[list[list[int]]]:
        """Nested lists [y][z][x]."""
        rows: list[list[list[int]]] = self.cells.tolist()
        return rows

    def counts(self) -> dict[str, int]:
        """Number of blocks of each used material, in their order. Materials with equal text are added up."""
        found: Counter[str] = Counter()
        amounts = np.bincount(np.maximum(self.cells, 0).ravel(), minlength=len(self.materials) + 1)[1:]
        for name, amount in zip(self.materials, amounts.tolist(), strict=True):
            if amount and base_name(name) not in AIR_NAMES:
                found[name] += amount
        return dict(found)

    def named(self) -> NDArray[np.str_]:
        """(height, depth, width) texts of the materials, "air" for air."""
        return np.array(["air", *self.materials])[np.maximum(self.cells, 0)]

    def names_only(self) -> Blueprint:
        """The build without block states; materials with the same base name become one."""
        names = [base_name(name) for name in self.materials]
        kept = list(dict.fromkeys(names))
        table = np.array([AIR, *(kept.index(name) + 1 for name in names)], np.int32)
        return Blueprint(table[np.maximum(self.cells, 0)], tuple(kept))

    def trimmed(self) -> Blueprint:
        """The build cut to the smallest box that holds all blocks; unchanged when there is none."""
        solid = self.solid
        if not solid.any():
            return self
        cut = tuple(
            slice(int(found[0]), int(found[-1]) + 1)
            for axis in range(3)
            if len(found := np.flatnonzero(solid.any(axis=tuple(other for other in range(3) if other != axis))))
        )
        return Blueprint(self.cells[cut], self.materials)


def first_seen(cells: Cells, names: Sequence[str]) -> Blueprint:
    """Make a blueprint from `cells` (height, depth, width), indices into `names`. Kinds of air become air.
    Materials are in the order in which they occur, with x outermost, then y, then z."""
    flat = cells.transpose(2, 0, 1).ravel()
    first = np.full(len(names), flat.size, np.int64)
    first[flat[::-1]] = np.arange(flat.size - 1, -1, -1)  # of equal places the last write stays: the first sight
    table = np.full(len(names), AIR, np.int32)
    numbers: dict[str, int] = {}
    for entry in np.argsort(first, kind="stable"):
        if first[entry] < flat.size and base_name(names[entry]) not in AIR_NAMES:
            table[entry] = numbers.setdefault(names[entry], len(numbers) + 1)
    return Blueprint(table[cells], tuple(numbers))


def material(name: str, states: Mapping[str, Any] | None = None) -> str:
    """Write a material: its name without the game's namespace, then its states by key. None leaves a state out."""
    plain = name.strip().lower().removeprefix("minecraft:")
    said = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in (states or {}).items()
        if value is not None
    }
    return f"{plain}[{','.join(f'{key}={said[key]}' for key in sorted(said))}]" if said else plain


def states_of(text: str) -> tuple[str, dict[str, str]]:
    """Name without namespace, and states, of a material's text. Parts that are not key=value are left out."""
    name, _, rest = text.strip().partition("[")
    pairs = (part.split("=", 1) for part in rest.removesuffix("]").split(",") if "=" in part)
    return material(name), {key.strip(): value.strip() for key, value in pairs}


def base_name(text: str) -> str:
    """A material's name for comparisons: lower case, without states and any namespace."""
    return text.partition("[")[0].rpartition(":")[2].strip().lower()


def shared_blocks(truth: Blueprint, built: Blueprint) -> int:
    """Count blocks with the same base name at the same place: M of MineAnyBuild, section 3.3."""
    box = tuple(slice(0, min(a, b)) for a, b in zip(truth.cells.shape, built.cells.shape, strict=True))
    names = {name: number for number, name in enumerate(dict.fromkeys(map(base_name, truth.materials)), 1)}
    mine = np.array([0, *(names[base_name(name)] for name in truth.materials)])
    theirs = np.array([-1, *(names.get(base_name(name), -1) for name in built.materials)])
    same = mine[np.maximum(truth.cells[box], 0)] == theirs[np.maximum(built.cells[box], 0)]
    return int((same & truth.solid[box]).sum())


def difficulty_factor(blocks: int | None, size: Sequence[int | None]) -> float | None:
    """log10(N + N H + W H D) - 0.4, to one decimal (section 3.4); None when a number is missing.
    The paper prints the natural logarithm, but only the decimal one of its code fits its tiers."""
    width, height, depth = size
    if blocks is None or width is None or height is None or depth is None:
        return None
    volume = blocks + blocks * height + width * height * depth
    return round(math.log10(volume) - BIAS, 1) if volume > 0 else None


def tier_of(factor: float) -> Tier:
    """Tier of a rounded factor: easy up to 1.8, hard from 3.8."""
    return "easy" if factor <= EASY_MOST else "hard" if factor >= HARD_LEAST else "medium"


def _whole_numbers(cells: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself if it holds whole numbers; a cast would change texts and fractions silently."""
    found = np.asarray(cells)
    if found.size and found.dtype.kind not in "iu":
        raise ShapeError(f"a blueprint is whole numbers in layers and rows of one length, got {found.dtype}")
    return found
