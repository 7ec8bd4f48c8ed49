"""The geometry kernel: the nearest box face that each ray meets.

Rays walk a plane grid of cells (Amanatides and Woo 1987) whose lists name the groups of boxes standing over them; a
group is tried once a ray, its own box first. Groups wholly under or over the air space (floors, ceilings) are in
lists of their own: a ray meets them only where it leaves the air, so they need not be tried in every cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Cells(NamedTuple):
    """Boxes and the grid over them.

    Attributes:
        boxes: (n, 6), x0 y0 z0 x1 y1 z1 in metres.
        group_first: Group g is boxes[group_first[g]:group_first[g + 1]].
        group_bounds: (g, 6) bounds of the groups, metres.
        first: Groups of cell c are items[first[c]:first[c + 1]].
        items: See `first`.
        outer_first: The same for groups outside the air.
        outer_items: See `outer_first`.
        tallest: Highest top among the groups of a cell, metres.
        origin: Lower corner of the grid, metres.
        cell_m: Side of a cell, metres.
        shape: Cells along x and y; cell (i, j) is i * shape[1] + j.
        air: z of floor and ceiling, metres.
    """

    boxes: NDArray[np.float64]
    group_first: NDArray[np.int64]
    group_bounds: NDArray[np.float64]
    first: NDArray[np.int64]
    items: NDArray[np.int32]
    outer_first: NDArray[np.int64]
    outer_items: NDArray[np.int32]
    tallest: NDArray[np.float64]
    origin: NDArray[np.float64]
    cell_m: float
    shape: NDArray[np.int64]
    air: NDArray[np.float64]


@njit(cache=True, nogil=True, error_model="numpy")
def _slab(boxes, n, ox, oy, oz, ix, iy, iz):  # type: ignore[no-untyped-def]
    """Where a ray enters and leaves box `n`, and the axis it enters along; near >= far when it passes by."""
    a0, a1 = (boxes[n, 0] - ox) * ix, (boxes[n, 3] - ox) * ix
    b0, b1 = (boxes[n, 1] - oy) * iy, (boxes[n, 4] - oy) * iy
    c0, c1 = (boxes[n, 2] - oz) * iz, (boxes[n, 5] - oz) * iz
    near, far, axis = min(a0, a1), max(a0, a1), 0
    b = min(b0, b1)
    if b > near:
        near, axis = b, 1
    c = min(c0, c1)
    if c > near:
        near, axis = c, 2
    return near, min(far, max(b0, b1), max(c0, c1)), axis


@njit(cache=True, nogil=True, error_model="numpy")
def meet(cells, origin, rotation, rays, limit, depth, box, face):  # type: ignore[no-untyped-def]
    """Find what rays meet first.

    Of two boxes met at the same place the one with the lower index counts; a box that a ray starts inside of is not
    met.

    Args:
        cells: The boxes sorted into a grid of cells.
        origin: (3,) metres.
        rotation: (3, 3), camera to world.
        rays: Directions (N, 3) in the camera's frame.
        limit: Largest ray parameter.
        depth: Output (N,) float64: ray parameter of the hit, infinite for none.
        box: Output (N,) int32: index of the box, -1 for none.
        face: Output (N,) uint8: 0 to 5 by outward normal +x -x +y -y +z -z.
    """
    boxes, group_first, group_bounds, first, items, outer_first, outer_items, tallest, corner, cell_m, shape, air = (
        cells
    )
    ox, oy, oz = origin[0], origin[1], origin[2]
    nx, ny = shape[0], shape[1]
    start_x, start_y = (ox - corner[0]) / cell_m, (oy - corner[1]) / cell_m
    in_air = air[0] < oz < air[1]
    tried = np.full(len(group_bounds), -1, np.int64)
    for k in range(len(rays)):
        rx, ry, rz = rays[k, 0], rays[k, 1], rays[k, 2]
        dx = rx * rotation[0, 0] + ry * rotation[0, 1] + rz * rotation[0, 2]
        dy = rx * rotation[1, 0] + ry * rotation[1, 1] + rz * rotation[1, 2]
        dz = rx * rotation[2, 0] + ry * rotation[2, 1] + rz * rotation[2, 2]
        # A direction of 0 would make 0 * inf; this one is as good as parallel.
        dx = 1e-15 if abs(dx) < 1e-15 else dx
        dy = 1e-15 if abs(dy) < 1e-15 else dy
        dz = 1e-15 if abs(dz) < 1e-15 else dz
        ix, iy, iz = 1.0 / dx, 1.0 / dy, 1.0 / dz
        best, hit, axis = limit, -1, 0

        # The stretch of the ray over the grid.
        t_in, t_out = 0.0, limit
        low, high = -start_x * cell_m * ix, (nx - start_x) * cell_m * ix
        t_in, t_out = max(t_in, min(low, high)), min(t_out, max(low, high))
        low, high = -start_y * cell_m * iy, (ny - start_y) * cell_m * iy
        t_in, t_out = max(t_in, min(low, high)), min(t_out, max(low, high))
        t_air = ((air[1] if dz > 0.0 else air[0]) - oz) * iz if in_air else np.inf

        if t_in < t_out:
            cx = min(max(int(np.floor(start_x + t_in * dx / cell_m)), 0), nx - 1)
            cy = min(max(int(np.floor(start_y + t_in * dy / cell_m)), 0), ny - 1)
            step_x, step_y = (1 if dx > 0.0 else -1), (1 if dy > 0.0 else -1)
            tx = (cx + (1 if dx > 0.0 else 0) - start_x) * cell_m * ix
            ty = (cy + (1 if dy > 0.0 else 0) - start_y) * cell_m * iy
            wx, wy = cell_m * abs(ix), cell_m * abs(iy)
            while True:
                leave = min(tx, ty)
                c = np.uintp(cx * ny + cy)
                # The air's own list, then, where the ray leaves the air, what bounds it.
                for outer in range(2):
                    if outer == 0:
                        if oz + (leave if dz < 0.0 else t_in) * dz > tallest[c]:
                            continue
                        m, end = first[c], first[c + np.uintp(1)]
                    else:
                        if in_air and t_air > leave:
                            continue
                        m, end = outer_first[c], outer_first[c + np.uintp(1)]
                    while m < end:
                        g = np.uintp(items[np.uintp(m)] if outer == 0 else outer_items[np.uintp(m)])
                        m += 1
                        if tried[g] == k:
                            continue
                        tried[g] = k
                        t, far, a = _slab(group_bounds, g, ox, oy, oz, ix, iy, iz)
                        if t >= far or far <= 0.0 or t > best:
                            continue
                        n, last = group_first[g], group_first[g + np.uintp(1)]
                        if last - n == 1:
                            if t > 0.0 and (t < best or n < hit):
                                best, hit, axis = t, n, a
                            continue
                        while n < last:
                            t, far, a = _slab(boxes, np.uintp(n), ox, oy, oz, ix, iy, iz)
                            if t < far and t > 0.0 and (t < best or (t == best and n < hit)):
                                best, hit, axis = t, n, a
                            n += 1
                if best <= leave or leave >= t_out:
                    break
                t_in = leave
                if tx < ty:
                    cx += step_x
                    tx += wx
                    if cx < 0 or cx >= nx:
                        break
                else:
                    cy += step_y
                    ty += wy
                    if cy < 0 or cy >= ny:
                        break
        box[k] = hit
        if hit < 0:
            depth[k] = np.inf
            face[k] = 6
        else:
            depth[k] = best
            toward = dx if axis == 0 else dy if axis == 1 else dz
            face[k] = 2 * axis + (1 if toward > 0.0 else 0)
