"""Kernels of geodesic distances: Dijkstra on a grid, by steps or any-angle lines, and lines of sight."""

from __future__ import annotations

import numpy as np
from numba import njit

# A binary heap of numbers by key, in two arrays; the least key comes first.


@njit(cache=True, nogil=True)
def push(keys, held, size, key, number):  # type: ignore[no-untyped-def]
    """Put a number in. `keys`: (N,) float64; N is more than `size`. `held`: (N,) numbers."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if keys[above] <= key:
            break
        keys[at], held[at] = keys[above], held[above]
        at = above
    keys[at], held[at] = key, number
    return size + 1


@njit(cache=True, nogil=True)
def pop(keys, held, size):  # type: ignore[no-untyped-def]
    """Take the first out; there must be one."""
    size -= 1
    key, moved = keys[size], held[size]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], held[at] = keys[child], held[child]
        at = child
    keys[at], held[at] = key, moved
    return size


_DX = (1, -1, 0, 0, 1, 1, -1, -1)
_DY = (0, 0, 1, -1, 1, -1, 1, -1)


@njit(cache=True, nogil=True)
def sees(free, ax, ay, bx, by):  # type: ignore[no-untyped-def]
    """Whether all cells that a line touches are free; points are in cells, fractional."""
    nx, ny = free.shape
    x, y = int(np.floor(ax)), int(np.floor(ay))
    last_x, last_y = int(np.floor(bx)), int(np.floor(by))
    if x < 0 or y < 0 or x >= nx or y >= ny or not free[x, y]:
        return False
    dx, dy = bx - ax, by - ay
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    wide_x, wide_y = (abs(1 / dx) if dx != 0 else np.inf), (abs(1 / dy) if dy != 0 else np.inf)
    tx = ((x + 1 - ax) if dx > 0 else (ax - x)) * wide_x if dx != 0 else np.inf
    ty = ((y + 1 - ay) if dy > 0 else (ay - y)) * wide_y if dy != 0 else np.inf
    while x != last_x or y != last_y:
        if abs(tx - ty) < 1e-9:
            # Through a corner: the cells next to it are touched too.
            u, v = x + step_x, y + step_y
            if u < 0 or v < 0 or u >= nx or v >= ny or not (free[u, y] and free[x, v]):
                return False
            x, y = u, v
            tx += wide_x
            ty += wide_y
        elif tx < ty:
            x += step_x
            tx += wide_x
        else:
            y += step_y
            ty += wide_y
        if x < 0 or y < 0 or x >= nx or y >= ny or not free[x, y]:
            return False
        if min(tx, ty) > 1 + wide_x + wide_y:
            break
    return True


@njit(cache=True, nogil=True)
def spread(free, first_x, first_y, bent):  # type: ignore[no-untyped-def]
    """Shortest paths from every free cell to one cell: lengths (X, Y) in cells, infinite for no path, and next cells
    (X, Y). Without `bent`, paths are steps to 8 neighbours; a diagonal step needs both adjacent cells. With it, they
    are lines between centres (Theta*; Nash et al., 2007), and next is x * Y + y of the first line's end, -1 for
    none."""
    nx, ny = free.shape
    towards = np.full((nx, ny), -1, np.int32)
    towards[first_x, first_y] = first_x * ny + first_y
    far = np.full((nx, ny), np.inf)
    diagonal = np.sqrt(2.0)
    # A binary heap with stale entries: every cell enters at most once for each of its neighbours.
    keys = np.empty(8 * nx * ny + 1, np.float64)
    cells = np.empty(8 * nx * ny + 1, np.int32)
    keys[0], cells[0] = 0.0, first_x * ny + first_y
    far[first_x, first_y] = 0.0
    size = 1
    while size > 0:
        price, cell = keys[0], cells[0]
        size = pop(keys, cells, size)
        x, y = cell // ny, cell % ny
        if price > far[x, y]:
            continue
        for k in range(8):
            u, v = x + _DX[k], y + _DY[k]
            if u < 0 or v < 0 or u >= nx or v >= ny or not free[u, v]:
                continue
            if k >= 4 and not (free[u, y] and free[x, v]):
                continue
            reach, through = price + (diagonal if k >= 4 else 1.0), cell
            if bent:
                # Past this cell, straight to where its own way leads, wherever that can be seen from the neighbour.
                px, py = towards[x, y] // ny, towards[x, y] % ny
                past = far[px, py] + np.hypot(u - px, v - py)
                if past >= far[u, v]:
                    continue
                if sees(free, u + 0.5, v + 0.5, px + 0.5, py + 0.5):
                    reach, through = past, towards[x, y]
            if reach >= far[u, v]:
                continue
            far[u, v], towards[u, v] = reach, through
            size = push(keys, cells, size, reach, u * ny + v)
    return far, towards


@njit(cache=True, nogil=True)
def shortest(free, points):  # type: ignore[no-untyped-def]
    """The shortest polyline from the first to the last of `points` (n, 2), in cells, of lines that are free.
    Row numbers increase along it. Such lines must exist."""
    n = len(points)
    price = np.full(n, np.inf)
    before = np.full(n, -1, np.int64)
    price[0] = 0.0
    for j in range(1, n):
        for i in range(j - 1, -1, -1):
            length = price[i] + np.hypot(points[j, 0] - points[i, 0], points[j, 1] - points[i, 1])
            if length >= price[j] - 1e-9:
                continue
            if sees(free, points[i, 0], points[i, 1], points[j, 0], points[j, 1]):
                price[j], before[j] = length, i
    rows = np.empty(n, np.int64)
    k, at = 0, n - 1
    while at >= 0:
        rows[k] = at
        k += 1
        at = before[at]
    return rows[:k][::-1].copy()
