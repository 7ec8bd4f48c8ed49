"""Plane geometry of Detour's queries. Points are (x, y, z) with y up, as in its files; areas are those of x and z.

Rules after Recast and Detour (Mononen), from their formats and behaviour; written anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Point = tuple[float, float, float]
_EQUAL = (1.0 / 16384.0) ** 2


def lerp(a: Point, b: Point, t: float) -> Point:
    """The point at `t` between two."""
    return (a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t)


def square(a: Point, b: Point) -> float:
    """Square of the distance of two points."""
    return (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 + (a[2] - b[2]) ** 2


def equal(a: Point, b: Point) -> bool:
    """Whether two points are as good as one."""
    return square(a, b) < _EQUAL


def area(a: Point, b: Point, c: Point) -> float:
    """Twice the area of a triangle in the plane; its sign tells the side of c."""
    return (c[0] - a[0]) * (b[2] - a[2]) - (b[0] - a[0]) * (c[2] - a[2])


def inside(point: Point, corners: Sequence[Point]) -> bool:
    """Whether a point lies in a polygon, in the plane."""
    within, before = False, corners[-1]
    for here in corners:
        if (here[2] > point[2]) != (before[2] > point[2]):
            across = (before[0] - here[0]) * (point[2] - here[2]) / (before[2] - here[2]) + here[0]
            within ^= point[0] < across
        before = here
    return within


def leaves(start: Point, end: Point, corners: Sequence[Point]) -> tuple[int, float] | None:
    """The edge by which a line leaves a convex polygon, and where on the line (0 to 1); None where it ends within."""
    along, deep = end[0] - start[0], end[2] - start[2]
    around = sum(area(corners[0], one, other) for one, other in pairwise(corners))
    best, edge = 1.0, -1
    for n, a in enumerate(corners):
        b = corners[(n + 1) % len(corners)]
        rate = (b[0] - a[0]) * deep - (b[2] - a[2]) * along
        within = (b[0] - a[0]) * (start[2] - a[2]) - (b[2] - a[2]) * (start[0] - a[0])
        if around > 0:
            rate, within = -rate, -within
        # The line runs out over this edge; one that begins beside it leaves at once.
        if rate < 0 and within / -rate < best:
            best, edge = max(within / -rate, 0.0), n
    return None if edge < 0 else (edge, best)


def to_segment(point: Point, a: Point, b: Point) -> tuple[float, float]:
    """Square of the distance in the plane to a segment, and where on it (0 to 1) the nearest place is."""
    along, deep = b[0] - a[0], b[2] - a[2]
    length = along * along + deep * deep
    t = along * (point[0] - a[0]) + deep * (point[2] - a[2])
    t = min(max(t / length if length > 0 else t, 0.0), 1.0)
    return (a[0] + t * along - point[0]) ** 2 + (a[2] + t * deep - point[2]) ** 2, t


def height_in(point: Point, a: Point, b: Point, c: Point) -> float | None:
    """Height of a triangle over or under a point; None beside it."""
    c0, c1, c2 = c[0] - a[0], c[1] - a[1], c[2] - a[2]
    b0, b1, b2 = b[0] - a[0], b[1] - a[1], b[2] - a[2]
    p0, p2 = point[0] - a[0], point[2] - a[2]
    whole = c0 * b2 - c2 * b0
    if abs(whole) < 1e-6:
        return None
    u, v = b2 * p0 - b0 * p2, c0 * p2 - c2 * p0
    if whole < 0:
        whole, u, v = -whole, -u, -v
    if u < 0 or v < 0 or u + v > whole:
        return None
    return a[1] + (c1 * u + b1 * v) / whole


def on_boundary(point: Point, corners: Sequence[Point]) -> Point:
    """A point itself where it lies in a polygon, else the nearest place on its border."""
    if inside(point, corners):
        return point
    best, found = float("inf"), point
    for n, here in enumerate(corners):
        after = corners[(n + 1) % len(corners)]
        away, t = to_segment(point, here, after)
        if away < best:
            best, found = away, lerp(here, after, t)
    return found


def pulled(start: Point, end: Point, portals: Sequence[tuple[Point, Point]]) -> list[Point]:
    """The taut way through portals (left, right), by the funnel algorithm.

    Args:
        start: Where it begins.
        end: Where it ends.
        portals: The edges between one polygon and the next.
    """
    way = [start]
    apex = left = right = start
    left_at = right_at = 0
    n = 0
    while n <= len(portals):
        if n < len(portals):
            one, other = portals[n]
            if n == 0 and to_segment(apex, one, other)[0] < 0.001**2:
                n += 1
                continue
        else:
            one = other = end
        turned = None
        if area(apex, right, other) <= 0:
            if equal(apex, right) or area(apex, left, other) > 0:
                right, right_at = other, n
            else:
                turned = left, left_at
        if turned is None and area(apex, left, one) >= 0:
            if equal(apex, left) or area(apex, right, one) < 0:
                left, left_at = one, n
            else:
                turned = right, right_at
        if turned is not None:
            apex, at = turned
            left = right = apex
            left_at = right_at = at
            _append(way, apex)
            n = at
        n += 1
    _append(way, end)
    return way


def _append(way: list[Point], point: Point) -> None:
    if not equal(way[-1], point):
        way.append(point)
