"""Blueprints as coloured faces: what the camera draws, and what a viewer in a page turns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNITS = 16
"""Of a block's side: shapes are given in sixteenths of it."""


@dataclass(frozen=True)
class Mesh:
    """Flat faces of four corners. quads: (n, 4, 3) int16 in sixteenths of a block, x east, y up, z south, from the
    blueprint's pivot; corners counter-clockwise seen from outside. colours: (n, 4) uint8 RGB and opacity, 255 for what
    hides all behind it. two_sided: (n,) bool, of thin sheets that are seen from both sides.
    """

    quads: NDArray[np.int16]
    colours: NDArray[np.uint8]
    two_sided: NDArray[np.bool_]
