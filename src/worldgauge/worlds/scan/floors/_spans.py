"""Kernels of the heightfield: triangles cut into columns, columns merged into spans, spans joined into islands."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def pieces(triangles, steep, origin, cell, shape):  # type: ignore[no-untyped-def]
    """Cut triangles into what lies over each cell.

    Args:
        triangles: (T, 9) metres.
        steep: Least z of the normal of a walkable triangle.
        origin: (2,) metres of the lower corner of cell (0, 0).
        cell: Side of a cell in metres.
        shape: Cells along x and y.

    Returns:
        (N,) int64, the cell of each piece; (N,) float32, lowest and highest z; (N,) uint8, whether it can be walked on.
    """
    nx, ny = shape
    count = 0
    column, flats = np.empty(2 * len(triangles), np.int64), np.empty(2 * len(triangles), np.uint8)
    low, high = np.empty(2 * len(triangles), np.float32), np.empty(2 * len(triangles), np.float32)
    strip, part = np.empty((8, 3)), np.empty((8, 3))
    rest, cut = np.empty((8, 3)), np.empty((8, 3))
    for t in range(len(triangles)):
        for n in range(3):
            for axis in range(3):
                strip[n, axis] = triangles[t, 3 * n + axis]
        ux, uy, uz = strip[1, 0] - strip[0, 0], strip[1, 1] - strip[0, 1], strip[1, 2] - strip[0, 2]
        vx, vy, vz = strip[2, 0] - strip[0, 0], strip[2, 1] - strip[0, 1], strip[2, 2] - strip[0, 2]
        cx, cy, cz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        flat = np.uint8(cz >= steep * np.sqrt(cx * cx + cy * cy + cz * cz))
        y0 = min(min(strip[0, 1], strip[1, 1]), strip[2, 1])
        y1 = max(max(strip[0, 1], strip[1, 1]), strip[2, 1])
        j0 = max(int(np.floor((y0 - origin[1]) / cell)), 0)
        j1 = min(int(np.floor((y1 - origin[1]) / cell)), ny - 1)
        left = 3
        for j in range(j0, j1 + 1):
            # What lies below the upper border of this row, and the rest.
            kept = left
            if j < j1:
                kept, left = _split(strip, left, 1, origin[1] + (j + 1) * cell, part, rest)
                strip, rest = rest, strip
            else:
                part, strip = strip, part
            if kept < 3:
                continue
            x0, x1 = part[0, 0], part[0, 0]
            for n in range(1, kept):
                x0, x1 = min(x0, part[n, 0]), max(x1, part[n, 0])
            i0 = max(int(np.floor((x0 - origin[0]) / cell)), 0)
            i1 = min(int(np.floor((x1 - origin[0]) / cell)), nx - 1)
            for i in range(i0, i1 + 1):
                held = kept
                if i < i1:
                    held, kept = _split(part, kept, 0, origin[0] + (i + 1) * cell, cut, rest)
                    part, rest = rest, part
                else:
                    cut, part = part, cut
                if held < 3:
                    continue
                bottom, top = cut[0, 2], cut[0, 2]
                for n in range(1, held):
                    bottom, top = min(bottom, cut[n, 2]), max(top, cut[n, 2])
                if count == len(column):
                    column, flats = np.append(column, column), np.append(flats, flats)
                    low, high = np.append(low, low), np.append(high, high)
                column[count], low[count], high[count], flats[count] = i * ny + j, bottom, top, flat
                count += 1
    return column[:count], low[:count], high[:count], flats[:count]


@njit(cache=True, nogil=True, error_model="numpy")
def _split(points, count, axis, value, below, above):  # type: ignore[no-untyped-def]
    """Cut a convex polygon at a plane; returns how many corners either side has."""
    low, high = 0, 0
    for n in range(count):
        m = n + 1 if n + 1 < count else 0
        a, b = points[n, axis] - value, points[m, axis] - value
        if a <= 0.0:
            below[low] = points[n]
            low += 1
        if a >= 0.0:
            above[high] = points[n]
            high += 1
        if (a < 0.0 and b > 0.0) or (a > 0.0 and b < 0.0):
            s = a / (a - b)
            for k in range(3):
                cross = points[n, k] + s * (points[m, k] - points[n, k])
                below[low, k] = cross
                above[high, k] = cross
            low += 1
            high += 1
    return low, high


@njit(cache=True, nogil=True, error_model="numpy")
def merge(first, low, high, walkable, joint, head, climb, floor, ceiling, begin):  # type: ignore[no-untyped-def]
    """Merge the pieces of each column, sorted by lower end, and keep the tops on which a walker has head room.

    Args:
        first: (K + 1,) where the pieces of each column begin.
        low: (N,) lower ends, rising within a column.
        high: (N,) upper ends.
        walkable: (N,) whether a piece can be walked on.
        joint: Gap in metres up to which pieces are one.
        head: Head room that a walker needs.
        climb: Height that a walker climbs; a low thing on a floor is a part of it.
        floor: Output (N,) float32, z of each top that is kept.
        ceiling: Output (N,) float32, z of what is above; infinite for nothing.
        begin: Output (K + 1,) where the tops of each column begin.

    Returns:
        Number of tops.
    """
    count = 0
    for c in range(len(first) - 1):
        begin[c] = count
        n, end = first[c], first[c + 1]
        under = -np.inf
        while n < end:
            top, flat, walk_top = high[n], walkable[n], high[n] if walkable[n] else -np.inf
            n += 1
            while n < end and low[n] <= top + joint:
                if walkable[n]:
                    walk_top = max(walk_top, high[n])
                top = max(top, high[n])
                n += 1
            # The top is walked on if what can be walked on reaches it, or lies a climb below it.
            flat = walk_top >= top - 0.02
            if not flat and walk_top > -np.inf and top - walk_top <= climb:
                flat = True
            if not flat and top - under <= climb:
                flat = True
            roof = low[n] if n < end else np.inf
            if flat and roof - top >= head:
                floor[count], ceiling[count] = top, roof
                count += 1
            if flat:
                under = top
    begin[len(first) - 1] = count
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def join(begin, floor, shape, climb, head, ceiling, parent):  # type: ignore[no-untyped-def]
    """Join tops of neighbouring columns that a walker can step between: the island of each into `parent` (N,)."""
    nx, ny = shape
    for n in range(len(parent)):
        parent[n] = n
    for i in range(nx):
        for j in range(ny):
            c = i * ny + j
            for way in range(2):
                if (way == 0 and i + 1 >= nx) or (way == 1 and j + 1 >= ny):
                    continue
                o = c + ny if way == 0 else c + 1
                for p in range(begin[c], begin[c + 1]):
                    for q in range(begin[o], begin[o + 1]):
                        if abs(floor[p] - floor[q]) > climb:
                            continue
                        if min(ceiling[p], ceiling[q]) - max(floor[p], floor[q]) < head:
                            continue
                        _unite(parent, p, q)
    for n in range(len(parent)):
        parent[n] = _root(parent, n)


@njit(cache=True, nogil=True, error_model="numpy")
def _root(parent, n):  # type: ignore[no-untyped-def]
    while parent[n] != n:
        parent[n] = parent[parent[n]]
        n = parent[n]
    return n


@njit(cache=True, nogil=True, error_model="numpy")
def _unite(parent, p, q):  # type: ignore[no-untyped-def]
    p, q = _root(parent, p), _root(parent, q)
    if p < q:
        parent[q] = p
    else:
        parent[p] = q
