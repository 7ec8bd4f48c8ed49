"""Kernels of ways over places on all storeys: neighbours, room to stand, lines of sight, Dijkstra by any-angle lines.

A place is a cell and a height. Its four neighbours lie along +x, -x, +y, -y; -1 where none can be stepped to.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from worldgauge.worlds.walking._heap import pop, push


@njit(cache=True, nogil=True, error_model="numpy")
def neighbours(begin, floor, ceiling, shape, climb, head, link):  # type: ignore[no-untyped-def]
    """The nearest in height of the places that can be stepped to in each direction.

    Args:
        begin: (K + 1,) where the places of each column begin.
        floor: (N,) heights.
        ceiling: (N,) heights of what is above.
        shape: Columns along x and y.
        climb: Height of a step.
        head: Head room.
        link: Output (N, 4) int32.
    """
    nx, ny = shape
    for i in range(nx):
        for j in range(ny):
            c = i * ny + j
            for way in range(4):
                u, v = i + (1, -1, 0, 0)[way], j + (0, 0, 1, -1)[way]
                for p in range(begin[c], begin[c + 1]):
                    link[p, way] = -1
                    if u < 0 or v < 0 or u >= nx or v >= ny:
                        continue
                    best, o = np.inf, u * ny + v
                    for q in range(begin[o], begin[o + 1]):
                        off = abs(floor[p] - floor[q])
                        room = min(ceiling[p], ceiling[q]) - max(floor[p], floor[q])
                        if off <= climb and room >= head and off < best:
                            best, link[p, way] = off, q


@njit(cache=True, nogil=True, error_model="numpy")
def beside(link, p, way, across):  # type: ignore[no-untyped-def]
    """The place in the diagonal direction of two sides, where both sides are there and lead to it; else -1."""
    one, other = link[p, way], link[p, across]
    if one < 0 or other < 0:
        return -1
    found = link[one, across]
    return found if found >= 0 and found == link[other, way] else -1


@njit(cache=True, nogil=True, error_model="numpy")
def roomy(link, kept):  # type: ignore[no-untyped-def]
    """Whether all eight neighbours of each place are there: 10 cm of clearance with cells of 5 cm."""
    for p in range(len(link)):
        kept[p] = True
        for way in range(2):
            for across in range(2, 4):
                kept[p] &= beside(link, p, way, across) >= 0


@njit(cache=True, nogil=True, error_model="numpy")
def cut(link, kept):  # type: ignore[no-untyped-def]
    """Take neighbours away that are not kept."""
    for p in range(len(link)):
        for way in range(4):
            if link[p, way] >= 0 and not (kept[p] and kept[link[p, way]]):
                link[p, way] = -1


@njit(cache=True, nogil=True, error_model="numpy")
def follow(link, place, ax, ay, bx, by):  # type: ignore[no-untyped-def]
    """The place at the end of a line that goes from neighbour to neighbour; -1 where it is interrupted.

    Args:
        link: (N, 4) neighbours.
        place: The place of the first point.
        ax: x of the first point, in cells, fractional.
        ay: y of the first point.
        bx: x of the second point.
        by: y of the second point.
    """
    x, y = int(np.floor(ax)), int(np.floor(ay))
    last_x, last_y = int(np.floor(bx)), int(np.floor(by))
    dx, dy = bx - ax, by - ay
    step_x, step_y = (1 if dx > 0 else -1), (1 if dy > 0 else -1)
    way_x, way_y = (0 if dx > 0 else 1), (2 if dy > 0 else 3)
    wide_x, wide_y = (abs(1 / dx) if dx != 0 else np.inf), (abs(1 / dy) if dy != 0 else np.inf)
    tx = ((x + 1 - ax) if dx > 0 else (ax - x)) * wide_x if dx != 0 else np.inf
    ty = ((y + 1 - ay) if dy > 0 else (ay - y)) * wide_y if dy != 0 else np.inf
    for _ in range(abs(last_x - x) + abs(last_y - y) + 2):
        if x == last_x and y == last_y:
            break
        if abs(tx - ty) < 1e-9:
            place = beside(link, place, way_x, way_y)
            x, y = x + step_x, y + step_y
            tx += wide_x
            ty += wide_y
        elif tx < ty:
            place = link[place, way_x]
            x += step_x
            tx += wide_x
        else:
            place = link[place, way_y]
            y += step_y
            ty += wide_y
        if place < 0:
            return -1
    return place if x == last_x and y == last_y else -1


@njit(cache=True, nogil=True, error_model="numpy")
def spread(link, cell, height, ny, goal):  # type: ignore[no-untyped-def]
    """Shortest ways from every place to one, of lines between centres that see each other (Theta*; Nash et al., 2007).

    Args:
        link: (N, 4) neighbours.
        cell: (N,) x * ny + y of each place.
        height: (N,) in cells.
        ny: Cells along y.
        goal: The place.

    Returns:
        (N,) lengths in cells, infinite where there is no way; (N,) int32 places in which the first line of each ends.
    """
    n = len(link)
    towards = np.full(n, -1, np.int32)
    far = np.full(n, np.inf)
    keys = np.empty(8 * n + 1, np.float64)
    held = np.empty(8 * n + 1, np.int32)
    keys[0], held[0] = 0.0, goal
    far[goal], towards[goal] = 0.0, goal
    size = 1
    while size > 0:
        price, p = keys[0], held[0]
        size = pop(keys, held, size)
        if price > far[p]:
            continue
        for k in range(8):
            q = link[p, k] if k < 4 else beside(link, p, (k - 4) // 2, 2 + (k - 4) % 2)
            if q < 0:
                continue
            # Past this place, straight to where its own way leads, wherever that can be seen from the neighbour.
            past = towards[p]
            reach, through = _apart(cell, height, ny, q, past) + far[past], past
            if reach >= far[q]:
                continue
            x, y = cell[q] // ny + 0.5, cell[q] % ny + 0.5
            if follow(link, q, x, y, cell[past] // ny + 0.5, cell[past] % ny + 0.5) != past:
                reach, through = price + _apart(cell, height, ny, p, q), p
            if reach >= far[q]:
                continue
            far[q], towards[q] = reach, through
            size = push(keys, held, size, reach, q)
    return far, towards


@njit(cache=True, nogil=True, error_model="numpy")
def shortest(link, points, places):  # type: ignore[no-untyped-def]
    """The shortest polyline from the first to the last of some points whose lines are not interrupted.

    Args:
        link: (N, 4) neighbours.
        points: (n, 3), in cells; a way over them in their order must exist.
        places: (n,) the place of each.

    Returns:
        Row numbers of its points.
    """
    n = len(points)
    price = np.full(n, np.inf)
    before = np.full(n, -1, np.int64)
    price[0] = 0.0
    for j in range(1, n):
        for i in range(j - 1, -1, -1):
            off = points[j] - points[i]
            length = price[i] + np.sqrt((off * off).sum())
            if length >= price[j] - 1e-9:
                continue
            if follow(link, places[i], points[i, 0], points[i, 1], points[j, 0], points[j, 1]) == places[j]:
                price[j], before[j] = length, i
    rows = np.empty(n, np.int64)
    k, at = 0, n - 1
    while at >= 0:
        rows[k] = at
        k += 1
        at = before[at]
    return rows[:k][::-1].copy()


@njit(cache=True, nogil=True, error_model="numpy")
def _apart(cell, height, ny, p, q):  # type: ignore[no-untyped-def]
    dx, dy = cell[p] // ny - cell[q] // ny, cell[p] % ny - cell[q] % ny
    dz = height[p] - height[q]
    return np.sqrt(dx * dx + dy * dy + dz * dz)
