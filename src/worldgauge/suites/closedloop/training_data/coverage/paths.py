"""Shortest paths between many points of a floor at once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray
from worldgauge.worlds.walking.geodesic import Geodesic


class PathLengths:
    """Lengths of shortest paths over the floor of `geodesic`, which bend at corners of its cells only.

    They equal those of `Geodesic.distance` or are shorter: exact but for 1e-4 of a cell per corner. A home has some
    hundred corners; the paths between them are found once.
    """

    def __init__(self, geodesic: Geodesic) -> None:
        self._free = geodesic.navigable
        self._origin, self._cell_m = np.array(geodesic.floor.origin), geodesic.floor.cell_m

    def distances(self, a_xy: ArrayLike, b_xy: ArrayLike) -> FloatArray:
        """Compute shortest path lengths.

        Args:
            a_xy: (n, 2) metres.
            b_xy: (m, 2) metres.

        Returns:
            (n, m) metres; infinite without a path, or where a walker cannot stand.
        """
        from worldgauge.suites.closedloop.training_data.coverage import _paths as kernel

        a, b = self._cells(a_xy), self._cells(b_xy)
        direct = kernel.sight(self._free, a, b)
        bent = kernel.joined(
            np.full((len(a), len(self._corners)), np.inf), kernel.sight(self._free, a, self._corners), self._between
        )
        last = kernel.sight(self._free, b, self._corners)
        return np.asarray(kernel.joined(direct.T.copy(), last, bent.T.copy()).T * self._cell_m)

    def all_pairs(self, xy: ArrayLike) -> FloatArray:
        """Return `distances` (n, n) of points (n, 2) among themselves; symmetric, 0 on the diagonal."""
        metres = self.distances(xy, xy)
        return np.minimum(metres, metres.T)

    @cached_property
    def _corners(self) -> FloatArray:
        from worldgauge.suites.closedloop.training_data.coverage import _paths as kernel

        return np.asarray(kernel.corners(self._free))

    @cached_property
    def _between(self) -> NDArray[np.float64]:
        from worldgauge.suites.closedloop.training_data.coverage import _paths as kernel

        return np.asarray(kernel.between(kernel.sight(self._free, self._corners, self._corners)))

    def _cells(self, xy: ArrayLike) -> FloatArray:
        points = np.asarray(xy, np.float64)
        if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
            raise ShapeError(f"expected finite points of shape (n, 2), got {points.shape}")
        cells: FloatArray = (points - self._origin) / self._cell_m
        return cells
