"""What all rays of a part of the image have in common, found once for all of them: how far they meet nothing.

A beam is the set of rays of a rectangle of pixels. Between two times its hull is a box; while the cells that such a box
touches are empty, no ray of the beam can have met anything. The box is widened by more than the kernel of the camera
rounds, so that a walk which starts where the beam ends gives the same bits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_STEP = 0.5
"""Length of a piece of a beam in cells, to which its width is added."""

_WIDE = 0.5
"""Beams that widen by more than this much a metre of depth are not followed: their boxes hold too many cells."""


@njit(cache=True, nogil=True, error_model="numpy")
def hull(columns, rows, scale, top, bottom, left, right, low, high):  # type: ignore[no-untyped-def]
    """Find the least and the greatest direction of a rectangle's rays on each axis.

    Args:
        columns: As in `Rays`.
        rows: As in `Rays`.
        scale: As in `Rays`.
        top: First row.
        bottom: Row after the last one.
        left: First column.
        right: Column after the last one.
        low: (3,) float32, filled.
        high: (3,) float32, filled.
    """
    least, most = scale[top], scale[top]
    for v in range(top + 1, bottom):
        least, most = min(least, scale[v]), max(most, scale[v])
    for a in range(3):
        c0 = c1 = columns[left, a]
        for u in range(left + 1, right):
            c0, c1 = min(c0, columns[u, a]), max(c1, columns[u, a])
        r0 = r1 = rows[top, a]
        for v in range(top + 1, bottom):
            r0, r1 = min(r0, rows[v, a]), max(r1, rows[v, a])
        low[a] = min(c0 * least, c0 * most) + r0
        high[a] = max(c1 * least, c1 * most) + r1


@njit(cache=True, nogil=True, error_model="numpy")
def follow(states, size, cell, within, low, high, view_m, free, cells):  # type: ignore[no-untyped-def]
    """Follow a beam from a camera inside the world.

    Args:
        states: Padded cells, flat.
        size: Cells along x, y, z without padding.
        cell: Cell of the camera.
        within: Place of the camera in it.
        low: (3,) the least of the rays' directions on each axis.
        high: (3,) the greatest.
        view_m: Where rays end, metres.
        free: Time before which they are known to meet nothing.
        cells: (6,) int64, for work.

    Returns:
        Time before which they meet nothing, stay in the world and do not end; infinite if none of them meets anything.
    """
    stride_y = size[2] + 2
    stride_x = (size[1] + 2) * stride_y
    longest, shortest, fastest = 0.0, 0.0, 0.0
    for a in range(3):
        far = np.float64(max(abs(low[a]), abs(high[a])))
        longest += far * far
        fastest = max(fastest, far)
        if low[a] > 0.0 or high[a] < 0.0:
            near = np.float64(min(abs(low[a]), abs(high[a])))
            shortest += near * near
        cells[a], cells[a + 3] = 0, -1
    spread = np.float64(max(high[0] - low[0], high[1] - low[1], high[2] - low[2]))
    if spread > _WIDE or shortest == 0.0:
        return free
    # Some rays end at the first time, all at the second one.
    stays, ends = view_m / np.sqrt(longest) * 0.9999, view_m / np.sqrt(shortest) * 1.0001
    while free <= ends:
        after = free + (_STEP + spread * free) / fastest
        reached = after * fastest
        # Sums of n float32 numbers up to s are off by n * s * 2**-24 at most.
        margin = 1e-3 + 1.2e-7 * reached * reached
        gone, known = False, True
        for a in range(3):
            first = np.int64(np.floor(within[a] + min(free * low[a], after * low[a]) - margin)) + cell[a]
            last = np.int64(np.floor(within[a] + max(free * high[a], after * high[a]) + margin)) + cell[a]
            gone = gone or last < 0 or first >= size[a]
            if first < 0 or last >= size[a]:
                stays = min(stays, free)
            first, last = max(first, 0), min(last, size[a] - 1)
            known = known and first == cells[a] and last == cells[a + 3]
            cells[a], cells[a + 3] = first, last
        if gone:
            return np.inf
        if not known:
            for i in range(cells[0], cells[3] + 1):
                for j in range(cells[1], cells[4] + 1):
                    at = (i + 1) * stride_x + (j + 1) * stride_y + 1
                    for k in range(cells[2], cells[5] + 1):
                        if states[np.uintp(at + k)] != 0:
                            return min(free, stays)
        free = after
    return np.inf
