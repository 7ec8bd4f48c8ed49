"""Polycubes: equality up to rotation, chirality and symmetry.

Cells are whole numbers (n, 3), in any order; figures are compared up to translation.
"""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError

Cells = NDArray[np.int64]

_WIDEST = 1 << 20
"""Most cells of a figure along an axis: positions in its box are encoded as one 64-bit number."""


def canonical(cells: ArrayLike) -> Cells:
    """Return the canonical form (n, 3) of a figure: the least of its 24 sorted lists of cells.

    Each is moved so that its lowest corner is at the origin.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    ordered, side = _turned(as_cells(cells))
    least = ordered[np.lexsort(ordered.T[::-1])[0]]
    return np.stack([least // side**2, least // side % side, least % side], axis=1)


def same_by_rotation(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether one figure can be turned into the other.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    return np.array_equal(canonical(first), canonical(second))


def is_chiral(cells: ArrayLike) -> bool:
    """Whether no turn maps the figure onto its mirror image.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    return not same_by_rotation(cells, mirrored(cells, 0))


def symmetry_order(cells: ArrayLike) -> int:
    """Count the rotations of 24 that leave the figure unchanged, 1 to 24.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    ordered, _ = _turned(as_cells(cells))
    return int((ordered == ordered[0]).all(axis=1).sum())


def is_connected(cells: ArrayLike) -> bool:
    """Whether all cells are connected through shared faces.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    waiting = set(map(tuple, as_cells(cells).tolist()))
    reached = [waiting.pop()]
    while reached:
        x, y, z = reached.pop()
        near = {(x - 1, y, z), (x + 1, y, z), (x, y - 1, z), (x, y + 1, z), (x, y, z - 1), (x, y, z + 1)} & waiting
        waiting -= near
        reached += near
    return not waiting


def is_usable(cells: ArrayLike) -> bool:
    """Whether a figure suits questions about mental rotation: connected, chiral, and without symmetry.

    A figure that a turn maps onto itself would look the same from two sides.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    return is_connected(cells) and symmetry_order(cells) == 1 and is_chiral(cells)


def mirrored(cells: ArrayLike, axis: int) -> Cells:
    """Return the figure with one coordinate negated; another axis gives the same, turned.

    Args:
        cells: (n, 3).
        axis: 0, 1 or 2.

    Returns:
        (n, 3).

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    flipped = as_cells(cells).copy()
    flipped[:, axis] *= -1
    return flipped


def normalised(cells: ArrayLike) -> Cells:
    """Return cells (n, 3) sorted, the lowest corner at the origin.

    Raises:
        ShapeError: If cells are invalid, see `as_cells`.
    """
    found = as_cells(cells)
    found -= found.min(axis=0)
    return found


def as_cells(cells: ArrayLike) -> Cells:
    """Return cells (n, 3) int64, each once, sorted by the first, second, third coordinate.

    Raises:
        ShapeError: If the list is empty, not (n, 3) whole numbers, or a figure is too large.
    """
    given: NDArray[Any] = np.asarray(cells)
    if given.ndim != 2 or given.shape[1] != 3 or not len(given) or given.dtype.kind not in "iu":
        raise ShapeError(f"a figure is cells (n, 3) of whole numbers, at least one; got {given.shape} {given.dtype}")
    far = (given >= _WIDEST) | (given <= -_WIDEST)
    if far.any():
        raise ShapeError(f"cell {given[far.any(axis=1).argmax()].tolist()} lies too far out")
    found: Cells = given.astype(np.int64)[np.lexsort(given.T[::-1])]
    found = found[np.concatenate([[True], (np.diff(found, axis=0) != 0).any(axis=1)])]
    return found


def _rotations() -> NDArray[np.int64]:
    found = []
    for order, signs in product(permutations(range(3)), product((1, -1), repeat=3)):
        turn = np.zeros((3, 3), np.int64)
        turn[range(3), order] = signs
        if round(np.linalg.det(turn)) == 1:
            found.append(turn)
    return np.array(found)


ROTATIONS = _rotations()
"""The turns of a cube, (24, 3, 3): signed permutation matrices of determinant 1, the identity first."""


def _turned(cells: Cells) -> tuple[NDArray[np.int64], int]:
    """Places (24, n) of the cells after each rotation as ascending numbers, and the base they are written in."""
    turned = np.einsum("rij,nj->rni", ROTATIONS, cells)
    turned -= turned.min(axis=1, keepdims=True)
    side = int(turned.max()) + 1
    return np.sort(turned @ np.array([side**2, side, 1]), axis=1), side
