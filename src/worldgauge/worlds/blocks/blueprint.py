"""Blueprints: builds as three-dimensional matrices of blocks, their names, and how hard they are.

A matrix is indexed [y][z][x]: height (up), depth (+z is south), width (+x is east); cell [0][0][0], the pivot, is the
corner of smallest x, y and z. Air is -1; block k is the k-th of the materials (MineAnyBuild, section 3.2).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError

AIR = -1
AIR_NAMES = frozenset({"air", "cave_air", "void_air", "structure_void"})
Cells = NDArray[np.int32]
Tier = Literal["easy", "medium", "hard"]

BIAS = 0.4
"""B of the difficulty factor (section 3.4)."""
EASY_MOST, HARD_LEAST = 1.8, 3.8
"""Mean 2.8 less and plus one standard deviation (section 3.4)."""


class Size(NamedTuple):
    """Extent of a build in blocks: width along x, height along y, depth along z."""

    width: int
    height: int
    depth: int


@dataclass(frozen=True, eq=False)
class Blueprint:
    """A build. cells: (height, depth, width) int32, -1 for air. materials: block k is entry k - 1.

    A material is "name" or "name[key=value,...]", as `material` writes it. Equal when all cells hold the same block.
    Raises ShapeError for a matrix that has not three axes, and for numbers that no material has.
    """

    cells: Cells
    materials: tuple[str, ...]

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
        """A blueprint of nested lists [y][z][x], all layers and rows of one length. Raises ShapeError.

        unknown: what becomes of numbers that no material has.
        """
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
        """Its extent in blocks."""
        height, depth, width = self.cells.shape
        return Size(width, height, depth)

    @property
    def blocks(self) -> int:
        """Number of cells that are not air."""
        return int(self.solid.sum())

    @property
    def solid(self) -> NDArray[np.bool_]:
        """(height, depth, width), where a block is; materials that are called a kind of air are none."""
        air = [number for number, name in enumerate(self.materials, 1) if base_name(name) in AIR_NAMES]
        filled: NDArray[np.bool_] = ~np.isin(self.cells, [AIR, *air])
        return filled

    @property
    def mapping(self) -> dict[str, int]:
        """What an agent is shown: air first, then each material with its number."""
        return {"air": AIR, **{name: number for number, name in enumerate(self.materials, 1)}}

    @property
    def digest(self) -> str:
        """SHA-256 of cells and materials."""
        head = json.dumps([list(self.cells.shape), list(self.materials)]).encode()
        return hashlib.sha256(head + self.cells.astype("<i4").tobytes()).hexdigest()

    def rows(self) -> list[list[list[int]]]:
        """Nested lists [y][z][x]."""
        rows: list[list[list[int]]] = self.cells.tolist()
        return rows

    def counts(self) -> dict[str, int]:
        """Blocks of each material that is used, in the order of the materials; those of one text together."""
        found: Counter[str] = Counter()
        amounts = np.bincount(np.maximum(self.cells, 0).ravel(), minlength=len(self.materials) + 1)[1:]
        for name, amount in zip(self.materials, amounts.tolist(), strict=True):
            if amount and base_name(name) not in AIR_NAMES:
                found[name] += amount
        return dict(found)

    def named(self) -> NDArray[np.str_]:
        """(height, depth, width) of the materials' texts, "air" for air."""
        return np.array(["air", *self.materials])[np.maximum(self.cells, 0)]

    def names_only(self) -> Blueprint:
        """The same without block states: materials of one base name become one, in the order they first come."""
        names = [base_name(name) for name in self.materials]
        kept = list(dict.fromkeys(names))
        table = np.array([AIR, *(kept.index(name) + 1 for name in names)], np.int32)
        return Blueprint(table[np.maximum(self.cells, 0)], tuple(kept))

    def trimmed(self) -> Blueprint:
        """Cut to the smallest box that holds all blocks; itself when there is none."""
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
    """The blueprint of (height, depth, width) numbers of `names`, counted from 0 and all in range.

    Materials come in the order of first sight, x outermost, then y, then z; names that are equal become one; kinds of
    air are air.
    """
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
    """A material's text: name without the game's namespace, then its states with sorted keys.

    Booleans are true and false; a state of None is not said.
    """
    plain = name.strip().lower().removeprefix("minecraft:")
    said = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in (states or {}).items()
        if value is not None
    }
    return f"{plain}[{','.join(f'{key}={said[key]}' for key in sorted(said))}]" if said else plain


def states_of(text: str) -> tuple[str, dict[str, str]]:
    """Name without namespace, and states, of a material's text; what is no key=value is left out."""
    name, _, rest = text.strip().partition("[")
    pairs = (part.split("=", 1) for part in rest.removesuffix("]").split(",") if "=" in part)
    return material(name), {key.strip(): value.strip() for key, value in pairs}


def base_name(text: str) -> str:
    """A material's name as matching compares it: lower case, without states and namespace, the game's or another."""
    return text.partition("[")[0].rpartition(":")[2].strip().lower()


def shared_blocks(truth: Blueprint, built: Blueprint) -> int:
    """M, the blocks of `truth` whose base name `built` has at the same place from the pivot (section 3.3)."""
    box = tuple(slice(0, min(a, b)) for a, b in zip(truth.cells.shape, built.cells.shape, strict=True))
    names = {name: number for number, name in enumerate(dict.fromkeys(map(base_name, truth.materials)), 1)}
    mine = np.array([0, *(names[base_name(name)] for name in truth.materials)])
    theirs = np.array([-1, *(names.get(base_name(name), -1) for name in built.materials)])
    same = mine[np.maximum(truth.cells[box], 0)] == theirs[np.maximum(built.cells[box], 0)]
    return int((same & truth.solid[box]).sum())


def difficulty_factor(blocks: int | None, size: Sequence[int | None]) -> float | None:
    """log10(N + N H + W H D) - 0.4, to one decimal; None when a number is missing or the logarithm has none.

    blocks: N. size: width, height, depth. The paper prints the natural logarithm; only the decimal one of its code fits
    its tiers (section 3.4).
    """
    width, height, depth = size
    if blocks is None or width is None or height is None or depth is None:
        return None
    volume = blocks + blocks * height + width * height * depth
    return round(math.log10(volume) - BIAS, 1) if volume > 0 else None


def tier_of(factor: float) -> Tier:
    """Easy up to 1.8, hard from 3.8, by the rounded factor."""
    return "easy" if factor <= EASY_MOST else "hard" if factor >= HARD_LEAST else "medium"


def _whole_numbers(cells: NDArray[Any]) -> NDArray[Any]:
    """The array itself. Raises ShapeError for texts, fractions and the like, which a cast would bend into numbers."""
    found = np.asarray(cells)
    if found.size and found.dtype.kind not in "iu":
        raise ShapeError(f"a blueprint is whole numbers in layers and rows of one length, got {found.dtype}")
    return found
