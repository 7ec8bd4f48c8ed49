"""Bipartite matching: the largest number of valid pairs, and the cheapest complete assignment."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray

_S = TypeVar("_S", bound=np.generic)


def maximum_matching(valid: ArrayLike) -> int:
    """Size of a maximum bipartite matching; no costs are involved.

    Uses augmenting paths (Kuhn), so the result is the true maximum in any order of rows and columns.

    Args:
        valid: (m, n) bool, the pairs that are allowed.

    Returns:
        The number of matched pairs.
    """
    return int(_augment(_matrix(valid, np.bool_)))


def assignment(cost: ArrayLike) -> NDArray[np.int64]:
    """Complete assignment of rows to columns with the least total cost.

    Hungarian method with potentials, O(min(m, n)^2 max(m, n)).

    Args:
        cost: (m, n) finite costs.

    Returns:
        (m,) int64: the column of each row, -1 for none (m > n).

    Raises:
        ShapeError: A cost is not finite.
    """
    matrix = _matrix(cost, np.float64)
    if not np.isfinite(matrix).all():
        raise ShapeError("assignment got costs that are not finite")
    if len(matrix) <= matrix.shape[1]:
        columns: NDArray[np.int64] = _assign(matrix)
        return columns
    rows = _assign(np.ascontiguousarray(matrix.T))
    columns = np.full(len(matrix), -1, np.int64)
    columns[rows] = np.arange(len(rows))
    return columns


def closest_maximum_matching(distance: ArrayLike, limit: float) -> NDArray[np.int64]:
    """Of all maximum matchings of the pairs closer than `limit`, the one with the least total distance.

    A pair that is too far costs more than all valid pairs together, so distance never outweighs the number of pairs.

    Args:
        distance: (m, n) distances, not negative.
        limit: Pairs must be strictly closer than this, in the same unit.

    Returns:
        (m,) int64: the column of each row, -1 for none.
    """
    matrix = _matrix(distance, np.float64)
    valid = matrix < limit
    columns = assignment(np.where(valid, matrix, limit * (min(matrix.shape) + 1) + 1.0))
    matched = columns >= 0
    matched[matched] = valid[np.flatnonzero(matched), columns[matched]]
    return np.where(matched, columns, -1)


def padded_cost_matches(distance: ArrayLike, limit: float) -> int:
    """Number of valid pairs in the assignment of the released LoopNav script (parity option, not the maximum).

    A pair at `limit` or farther costs limit + largest distance + 1, and the total cost is minimised. That constant does
    not outweigh two long valid pairs, so a valid pair can be lost.

    Args:
        distance: (m, n) distances, not negative.
        limit: Pairs must be strictly closer than this, in the same unit.

    Returns:
        The number of valid pairs.
    """
    matrix = _matrix(distance, np.float64)
    if matrix.size == 0:
        return 0
    columns = assignment(np.where(matrix < limit, matrix, limit + matrix.max() + 1.0))
    rows = np.flatnonzero(columns >= 0)
    return int((matrix[rows, columns[rows]] < limit).sum())


def _matrix(values: ArrayLike, dtype: type[_S]) -> NDArray[_S]:
    matrix: NDArray[_S] = np.ascontiguousarray(values, dtype)
    if matrix.ndim != 2:
        raise ShapeError(f"matching needs an (m, n) array, got shape {matrix.shape}")
    return matrix


@njit(cache=True, nogil=True)
def _augment(valid: NDArray[np.bool_]) -> int:
    """Kuhn's method; the search for an augmenting path keeps its own stack."""
    m, n = valid.shape
    row_of = np.full(n, -1, np.int64)
    stack = np.empty(m, np.int64)
    at = np.empty(m, np.int64)
    matched = 0
    for start in range(m):
        seen = np.zeros(n, np.bool_)
        depth = 0
        stack[0] = start
        at[0] = 0
        while depth >= 0:
            row, column = stack[depth], at[depth]
            if column == n:
                depth -= 1
                continue
            at[depth] = column + 1
            if not valid[row, column] or seen[column]:
                continue
            seen[column] = True
            if row_of[column] < 0:
                for level in range(depth, -1, -1):
                    row_of[at[level] - 1] = stack[level]
                matched += 1
                break
            depth += 1
            stack[depth] = row_of[column]
            at[depth] = 0
    return matched


@njit(cache=True, nogil=True)
def _assign(cost: FloatArray) -> NDArray[np.int64]:
    """Column of every row for m <= n; column n is the root from which a row enters."""
    m, n = cost.shape
    potential_row, potential_column = np.zeros(m), np.zeros(n + 1)
    row_of = np.full(n + 1, -1, np.int64)
    for start in range(m):
        row_of[n] = start
        column = n
        slack = np.full(n, np.inf)
        previous = np.full(n, n, np.int64)
        done = np.zeros(n + 1, np.bool_)
        while row_of[column] >= 0:
            done[column] = True
            row, delta, nearest = row_of[column], np.inf, n
            for j in range(n):
                if done[j]:
                    continue
                reduced = cost[row, j] - potential_row[row] - potential_column[j]
                if reduced < slack[j]:
                    slack[j], previous[j] = reduced, column
                if slack[j] < delta:
                    delta, nearest = slack[j], j
            for j in range(n + 1):
                if done[j]:
                    potential_row[row_of[j]] += delta
                    potential_column[j] -= delta
                elif j < n:
                    slack[j] -= delta
            column = nearest
        while column != n:
            row_of[column] = row_of[previous[column]]
            column = previous[column]
    columns = np.full(m, -1, np.int64)
    for j in range(n):
        if row_of[j] >= 0:
            columns[row_of[j]] = j
    return columns
