"""A scan as triangles, textures and names: what every reader gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

REPEAT, CLAMP, MIRROR = 0, 1, 2
"""What a texture does beyond its border."""

Wrap = tuple[int, int]
"""Of its columns and of its rows."""
Up = Literal["y", "z"]
"""The axis that points up in a file."""


@dataclass(frozen=True)
class Material:
    """How triangles look.

    Attributes:
        page: Index of the texture, -1 without one.
        wrap: What the texture does beyond its border: REPEAT, CLAMP or MIRROR for columns and rows.
        factor: RGBA, 0 to 1, by which colours are multiplied.
        two_sided: Whether its triangles are seen from behind.
        cutoff: Opacity below which texels are holes; 0 where nothing is cut.
        nearest: Whether texels are drawn as squares.
    """

    page: int = -1
    wrap: Wrap = (REPEAT, REPEAT)
    factor: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)
    two_sided: bool = False
    cutoff: float = 0.0
    nearest: bool = False


@dataclass(frozen=True)
class Mesh:
    """Triangles in our frame: metres, z up.

    Attributes:
        vertices: (V, 3) float64.
        triangles: (T, 3) int32, counter-clockwise seen from the front.
        uv: (V, 2) float64, 0 to 1 from the upper left corner of the texture; zeros where there is none.
        colours: (V, 4) uint8, RGBA; None where no vertex has one.
        material: (T,) int32, index into `materials`.
        instance: (T,) uint16, number of the thing; 0 for none.
        category: (T,) uint16, index into `categories`.
        materials: Materials.
        pages: Textures, (H, W, 4) uint8 RGBA.
        categories: Names of categories; the first is "void".
        notes: What was found and left out or replaced, a sentence each.
        missing: (P,) bool, pages that stand in for textures that could not be read.
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int32]
    uv: NDArray[np.float64]
    colours: NDArray[np.uint8] | None
    material: NDArray[np.int32]
    instance: NDArray[np.uint16]
    category: NDArray[np.uint16]
    materials: tuple[Material, ...]
    pages: tuple[NDArray[np.uint8], ...]
    categories: tuple[str, ...] = ("void",)
    notes: tuple[str, ...] = ()
    missing: tuple[bool, ...] = ()


def ours(points: NDArray[np.float64], up: Up) -> NDArray[np.float64]:
    """Points (N, 3) of a file in our frame. Axes trade places and signs only, so no bit of a number changes.

    A file with y up is in the frame of the published simulator; one with z up becomes that by its rule, in which +y is
    the front.

    Args:
        points: Points of the file.
        up: The axis that points up in the file.
    """
    x, y, z = points.T
    return np.stack([-z, -x, y] if up == "y" else [y, -x, z], -1)
