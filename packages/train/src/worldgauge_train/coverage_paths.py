"""Kernels of shortest paths between many points: corners, lines of sight, and sums of lengths."""

from __future__ import annotations

import numpy as np
from numba import njit

from worldgauge.worlds.walking._geodesic import sees

_INSET = 1e-4
"""In cells; a point on the border of a cell would be in two."""


@njit(cache=True, nogil=True)
def corners(free):  # type: ignore[no-untyped-def]
    """Return points (k, 2) in cells where a shortest path in `free` (X, Y) bool may bend: at convex corners."""
    nx, ny = free.shape
    found = np.empty((4 * nx * ny, 2))
    k = 0
    for x in range(nx):
        for y in range(ny):
            if not free[x, y]:
                continue
            for dx in (-1, 1):
                for dy in (-1, 1):
                    u, v = x + dx, y + dy
                    if u < 0 or v < 0 or u >= nx or v >= ny:
                        continue
                    if free[u, y] and free[x, v] and not free[u, v]:
                        found[k, 0] = x + (1 - _INSET if dx > 0 else _INSET)
                        found[k, 1] = y + (1 - _INSET if dy > 0 else _INSET)
                        k += 1
    return found[:k].copy()


@njit(cache=True, nogil=True)
def sight(free, a, b):  # type: ignore[no-untyped-def]
    """Return (n, m), lengths in cells of the lines between points (n, 2) and (m, 2); infinite if obstructed."""
    lengths = np.full((len(a), len(b)), np.inf)
    for i in range(len(a)):
        for j in range(len(b)):
            if sees(free, a[i, 0], a[i, 1], b[j, 0], b[j, 1]):
                lengths[i, j] = np.hypot(a[i, 0] - b[j, 0], a[i, 1] - b[j, 1])
    return lengths


@njit(cache=True, nogil=True)
def between(lines):  # type: ignore[no-untyped-def]
    """Return (k, k), lengths of the shortest paths over `lines` (k, k): Dijkstra from each."""
    k = len(lines)
    ends = np.empty((k, k), np.int32)
    counts = np.zeros(k, np.int64)
    for i in range(k):
        for j in range(k):
            if i != j and lines[i, j] < np.inf:
                ends[i, counts[i]] = j
                counts[i] += 1
    far = np.full((k, k), np.inf)
    for first in range(k):
        row = far[first]
        done = np.zeros(k, np.bool_)
        row[first] = 0.0
        while True:
            here, least = -1, np.inf
            for j in range(k):
                if not done[j] and row[j] < least:
                    here, least = j, row[j]
            if here < 0:
                break
            done[here] = True
            for n in range(counts[here]):
                j = ends[here, n]
                length = least + lines[here, j]
                if length < row[j]:
                    row[j] = length
    return far


@njit(cache=True, nogil=True)
def joined(start, lines, far):  # type: ignore[no-untyped-def]
    """Return (n, m), the smaller of `start` (n, m) and the least, over k, of lines (n, k) plus far (k, m)."""
    least = start.copy()
    for i in range(len(lines)):
        row = least[i]
        for k in range(lines.shape[1]):
            length = lines[i, k]
            if length < np.inf:
                for j in range(len(row)):
                    if length + far[k, j] < row[j]:
                        row[j] = length + far[k, j]
    return least
