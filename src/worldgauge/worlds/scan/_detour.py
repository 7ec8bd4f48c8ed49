"""Kernels of Detour's queries. Points are (x, y, z) with y up, as in its files; areas are those of x and z.

Rules after Recast and Detour (Mononen), from their formats and behaviour; written anew.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.walking._geodesic import pop, push

MOST_CORNERS = 6
_NEAR_M = (2.0, 4.0, 2.0)
"""How far a point may lie from its polygon, along x, up, and z."""
_HEURISTIC = 0.999
_MOST_POLYGONS = 256
_MOST_VISITS = 48
_EQUAL = (1.0 / 16384.0) ** 2
_INVALID_M = 0.001
_BEFORE_M = 0.001
"""How far before a wall a walker stops that does not slide."""


class Surface(NamedTuple):
    """Convex polygons of floor, and their surface in detail, in triangles."""

    corners: FloatArray  # (P, 6, 3), the last corner again where there are fewer
    sides: NDArray[np.int64]  # (P,), number of corners
    beside: NDArray[np.int64]  # (P, 6), polygon across the edge that begins at each corner; -1 for a wall
    walked: NDArray[np.bool_]  # (P,), polygons that are no slivers
    bounds: FloatArray  # (P, 6) lower and upper corner of each polygon with its triangles
    first: NDArray[np.int64]  # (P + 1,), where the triangles of each polygon begin
    triangles: FloatArray  # (T, 3, 3) corners
    outer: NDArray[np.bool_]  # (T, 3), whether the edge that begins at each corner is on the polygon's border
    order: NDArray[np.int64]  # (T, 3), number of each corner within the polygon
    climb_m: float


@njit(cache=True, nogil=True, error_model="numpy")
def nearest(surface, point):  # type: ignore[no-untyped-def]
    """Nearest polygon, -1 where none is near, and the place on it."""
    best, found, place = np.inf, -1, point
    for number in range(len(surface.sides)):
        if not surface.walked[number] or not _reaches(surface.bounds[number], point):
            continue
        over, height = _height(surface, number, point)
        if over:
            on = (point[0], height, point[2])
            off = max(abs(point[1] - height) - surface.climb_m, 0.0)
            away = off * off
        else:
            on = _on_edges(surface, number, point, True)
            away = _square(point, on)
        if away < best:
            best, found, place = away, number, on
    return found, place


@njit(cache=True, nogil=True, error_model="numpy")
def way(surface, first, last, start, end):  # type: ignore[no-untyped-def]
    """The way (n, 3) from a point near one polygon to a point near another; empty where there is none."""
    line = _line(surface, first, last, start, end)
    if len(line) == 0:
        return np.empty((0, 3))
    begin, stop = _on_polygon(surface, line[0], start), _on_polygon(surface, line[-1], end)
    if len(line) == 1:
        both = np.empty((2, 3))
        _put(both, 0, begin)
        _put(both, 1, stop)
        return both
    portals = np.empty((len(line) - 1, 2, 3))
    for n in range(len(portals)):
        one, two = _portal(surface, line[n], line[n + 1])
        _put(portals[n], 0, one)
        _put(portals[n], 1, two)
    return pulled(begin, stop, portals)


@njit(cache=True, nogil=True, error_model="numpy")
def slide(surface, number, start, end):  # type: ignore[no-untyped-def]
    """Where a walker comes that goes from a place on a polygon straight to a point, and slides along walls."""
    middle = _lerp(start, end, 0.5)
    reach = math.sqrt(_square(start, end)) / 2 + _INVALID_M
    reach *= reach
    best, away, own = start, np.inf, number
    seen = np.zeros(len(surface.sides), np.bool_)
    queue = np.empty(len(surface.sides), np.int64)
    seen[number], queue[0] = True, number
    head, tail = 0, 1
    while head < tail:
        here = queue[head]
        head += 1
        if _inside(surface, here, end):
            best, own = end, here
            break
        count = surface.sides[here]
        for n in range(count):
            j = (n - 1) % count
            other, (one, two) = surface.beside[here, j], _side(surface, here, j)
            if other < 0:
                far, t = _to_segment(end, one, two)
                if far < away:
                    best, away, own = _lerp(one, two, t), far, here
            elif not seen[other] and tail - head < _MOST_VISITS and _to_segment(middle, one, two)[0] <= reach:
                seen[other], queue[tail] = True, other
                tail += 1
    return _on_floor(surface, own, best)


@njit(cache=True, nogil=True, error_model="numpy")
def straight(surface, number, start, end, length):  # type: ignore[no-untyped-def]
    """Where a walker ends that goes straight from a polygon to a point, `length` m away, and stops before a wall."""
    here = number
    for _ in range(_MOST_POLYGONS):
        edge, t = _leaves(surface, here, start, end)
        if edge < 0:
            break
        if surface.beside[here, edge] < 0:
            end = _lerp(start, end, max(t - _BEFORE_M / max(length, _BEFORE_M), 0.0))
            break
        here = surface.beside[here, edge]
    return _on_floor(surface, here, end)


@njit(cache=True, nogil=True, error_model="numpy")
def pulled(start, end, portals):  # type: ignore[no-untyped-def]
    """The taut way (n, 3) through portals (m, 2, 3), left and right ends of shared edges, by the funnel algorithm."""
    # Every turn is at a later portal than the one before.
    points = np.empty((len(portals) + 3, 3))
    _put(points, 0, start)
    size = 1
    apex = left = right = start
    left_at = right_at = 0
    n = 0
    while n <= len(portals):
        one = other = end
        if n < len(portals):
            one, other = _corner(portals, n, 0), _corner(portals, n, 1)
            if n == 0 and _to_segment(apex, one, other)[0] < _INVALID_M * _INVALID_M:
                n += 1
                continue
        at, turned = -1, apex
        if _area(apex, right, other) <= 0:
            if _equal(apex, right) or _area(apex, left, other) > 0:
                right, right_at = other, n
            else:
                turned, at = left, left_at
        if at < 0 and _area(apex, left, one) >= 0:
            if _equal(apex, left) or _area(apex, right, one) < 0:
                left, left_at = one, n
            else:
                turned, at = right, right_at
        if at >= 0:
            apex = left = right = turned
            left_at = right_at = n = at
            size = _append(points, size, apex)
        n += 1
    size = _append(points, size, end)
    return points[:size]


@njit(cache=True, nogil=True, error_model="numpy")
def _append(points, size, point):  # type: ignore[no-untyped-def]
    if _equal(_point(points, size - 1), point):
        return size
    _put(points, size, point)
    return size + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _line(surface, first, last, start, end):  # type: ignore[no-untyped-def]
    """Polygons from one to another, by A* over the midpoints of edges; none where there is no way."""
    count = len(surface.sides)
    place, known = np.empty((count, 3)), np.zeros(count, np.bool_)
    cost, total = np.empty(count), np.full(count, np.inf)
    came = np.full(count, -1, np.int64)
    keys, held = np.empty(64), np.empty(64, np.int64)
    _put(place, first, start)
    known[first], cost[first] = True, 0.0
    total[first] = math.sqrt(_square(start, end)) * _HEURISTIC
    size = push(keys, held, 0, total[first], first)
    while size > 0:
        price, here = keys[0], held[0]
        size = pop(keys, held, size)
        if price > total[here]:
            continue
        if here == last:
            break
        own = _point(place, here)
        for n in range(surface.sides[here]):
            other = surface.beside[here, n]
            if other < 0 or other == came[here] or not surface.walked[other]:
                continue
            if not known[other]:
                one, two = _portal(surface, here, other)
                _put(place, other, _lerp(one, two, 0.5))
                known[other] = True
            there = _point(place, other)
            spent = cost[here] + math.sqrt(_square(own, there))
            left = math.sqrt(_square(there, end))
            whole = spent + left if other == last else spent + left * _HEURISTIC
            if whole >= total[other]:
                continue
            came[other], cost[other], total[other] = here, spent, whole
            if size == len(keys):
                keys, held = np.append(keys, np.empty(size)), np.append(held, np.empty(size, np.int64))
            size = push(keys, held, size, whole, other)
    if first != last and came[last] < 0:
        return np.empty(0, np.int64)
    length, here = 1, last
    while here != first and length <= _MOST_POLYGONS:
        here = came[here]
        length += 1
    if length > _MOST_POLYGONS:
        return np.empty(0, np.int64)
    line, here = np.empty(length, np.int64), last
    for n in range(length - 1, -1, -1):
        line[n] = here
        here = came[here]
    return line


@njit(cache=True, nogil=True, error_model="numpy")
def _reaches(bounds, point):  # type: ignore[no-untyped-def]
    """Whether what a polygon takes is near a point."""
    for axis in range(3):
        reach = _NEAR_M[axis]
        if not (bounds[axis] <= point[axis] + reach and bounds[3 + axis] >= point[axis] - reach):
            return False
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def _on_floor(surface, number, point):  # type: ignore[no-untyped-def]
    over, height = _height(surface, number, point)
    return (point[0], height if over else point[1], point[2])


@njit(cache=True, nogil=True, error_model="numpy")
def _height(surface, number, point):  # type: ignore[no-untyped-def]
    """Whether a polygon lies over or under a point, and its height there."""
    if not _inside(surface, number, point):
        return False, 0.0
    for t in range(surface.first[number], surface.first[number + 1]):
        over, height = _height_in(surface.triangles[t], point)
        if over:
            return True, height
    return True, _on_edges(surface, number, point, False)[1]


@njit(cache=True, nogil=True, error_model="numpy")
def _height_in(triangle, point):  # type: ignore[no-untyped-def]
    """Whether a triangle lies over or under a point, and its height there."""
    x, y, z = triangle[0, 0], triangle[0, 1], triangle[0, 2]
    c0, c1, c2 = triangle[2, 0] - x, triangle[2, 1] - y, triangle[2, 2] - z
    b0, b1, b2 = triangle[1, 0] - x, triangle[1, 1] - y, triangle[1, 2] - z
    p0, p2 = point[0] - x, point[2] - z
    whole = c0 * b2 - c2 * b0
    if abs(whole) < 1e-6:
        return False, 0.0
    u, v = b2 * p0 - b0 * p2, c0 * p2 - c2 * p0
    if whole < 0:
        whole, u, v = -whole, -u, -v
    if u < 0 or v < 0 or u + v > whole:
        return False, 0.0
    return True, y + (c1 * u + b1 * v) / whole


@njit(cache=True, nogil=True, error_model="numpy")
def _on_edges(surface, number, point, border):  # type: ignore[no-untyped-def]
    """Nearest place on the edges of the triangles of a polygon, or on those of its border."""
    best, found = np.inf, point
    for t in range(surface.first[number], surface.first[number + 1]):
        for k in range(3):
            j = (k - 1) % 3
            if not surface.outer[t, j] and (border or surface.order[t, j] < surface.order[t, k]):
                continue
            one, two = _corner(surface.triangles, t, j), _corner(surface.triangles, t, k)
            away, along = _to_segment(point, one, two)
            if away < best:
                best, found = away, _lerp(one, two, along)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _on_polygon(surface, number, point):  # type: ignore[no-untyped-def]
    """A point itself where it lies in a polygon, else the nearest place on its border."""
    if _inside(surface, number, point):
        return point
    best, found = np.inf, point
    for n in range(surface.sides[number]):
        one, two = _side(surface, number, n)
        away, t = _to_segment(point, one, two)
        if away < best:
            best, found = away, _lerp(one, two, t)
    return found


@njit(cache=True, nogil=True, error_model="numpy")
def _inside(surface, number, point):  # type: ignore[no-untyped-def]
    """Whether a point lies in a polygon, in the plane."""
    within, before = False, _corner(surface.corners, number, surface.sides[number] - 1)
    for n in range(surface.sides[number]):
        here = _corner(surface.corners, number, n)
        if (here[2] > point[2]) != (before[2] > point[2]):
            across = (before[0] - here[0]) * (point[2] - here[2]) / (before[2] - here[2]) + here[0]
            within ^= point[0] < across
        before = here
    return within


@njit(cache=True, nogil=True, error_model="numpy")
def _leaves(surface, number, start, end):  # type: ignore[no-untyped-def]
    """The edge by which a line leaves a polygon, -1 where it ends within, and where on the line (0 to 1)."""
    along, deep = end[0] - start[0], end[2] - start[2]
    count, first = surface.sides[number], _corner(surface.corners, number, 0)
    around = 0.0
    for n in range(count - 1):
        around += _area(first, _corner(surface.corners, number, n), _corner(surface.corners, number, n + 1))
    best, edge = 1.0, -1
    for n in range(count):
        a, b = _side(surface, number, n)
        rate = (b[0] - a[0]) * deep - (b[2] - a[2]) * along
        within = (b[0] - a[0]) * (start[2] - a[2]) - (b[2] - a[2]) * (start[0] - a[0])
        if around > 0:
            rate, within = -rate, -within
        # The line runs out over this edge; one that begins beside it leaves at once.
        if rate < 0 and within / -rate < best:
            best, edge = max(within / -rate, 0.0), n
    return edge, best


@njit(cache=True, nogil=True, error_model="numpy")
def _portal(surface, number, other):  # type: ignore[no-untyped-def]
    """Ends of the first edge of a polygon beside which another lies."""
    edge = 0
    while surface.beside[number, edge] != other:
        edge += 1
    return _side(surface, number, edge)


@njit(cache=True, nogil=True, error_model="numpy")
def _side(surface, number, n):  # type: ignore[no-untyped-def]
    """Ends of the edge of a polygon that begins at a corner."""
    return _corner(surface.corners, number, n), _corner(surface.corners, number, (n + 1) % surface.sides[number])


@njit(cache=True, nogil=True, error_model="numpy")
def _corner(corners, number, n):  # type: ignore[no-untyped-def]
    return (corners[number, n, 0], corners[number, n, 1], corners[number, n, 2])


@njit(cache=True, nogil=True, error_model="numpy")
def _point(points, n):  # type: ignore[no-untyped-def]
    return (points[n, 0], points[n, 1], points[n, 2])


@njit(cache=True, nogil=True, error_model="numpy")
def _put(points, n, point):  # type: ignore[no-untyped-def]
    points[n, 0], points[n, 1], points[n, 2] = point


@njit(cache=True, nogil=True, error_model="numpy")
def _to_segment(point, a, b):  # type: ignore[no-untyped-def]
    """Square of the distance in the plane to a segment, and where on it (0 to 1) the nearest place is."""
    along, deep = b[0] - a[0], b[2] - a[2]
    length = along * along + deep * deep
    t = along * (point[0] - a[0]) + deep * (point[2] - a[2])
    t = min(max(t / length if length > 0 else t, 0.0), 1.0)
    x, z = a[0] + t * along - point[0], a[2] + t * deep - point[2]
    return x * x + z * z, t


@njit(cache=True, nogil=True, error_model="numpy")
def _lerp(a, b, t):  # type: ignore[no-untyped-def]
    return (a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t)


@njit(cache=True, nogil=True, error_model="numpy")
def _square(a, b):  # type: ignore[no-untyped-def]
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return x * x + y * y + z * z


@njit(cache=True, nogil=True, error_model="numpy")
def _equal(a, b):  # type: ignore[no-untyped-def]
    return _square(a, b) < _EQUAL


@njit(cache=True, nogil=True, error_model="numpy")
def _area(a, b, c):  # type: ignore[no-untyped-def]
    """Twice the area of a triangle in the plane; its sign tells the side of c."""
    return (c[0] - a[0]) * (b[2] - a[2]) - (b[0] - a[0]) * (c[2] - a[2])
