"""Meshes of an arm, small."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILES = (*(f"link{n}" for n in range(8)), "hand", "finger")


def stl(corners: NDArray[np.float64]) -> bytes:
    """Binary STL of triangles (n, 3, 3): a header, how many, and of each its normal, its corners and two bytes."""
    rows = [np.concatenate([np.zeros(3), triangle.ravel()]).astype("<f4").tobytes() + bytes(2) for triangle in corners]
    return bytes(80) + len(rows).to_bytes(4, "little") + b"".join(rows)


def write_meshes(folder: Path) -> Path:
    """Every link a tetrahedron of 10 cm."""
    points = 0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    faces = points[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    (folder / "meshes").mkdir()
    for name in FILES:
        (folder / "meshes" / f"{name}.stl").write_bytes(stl(faces))
    return folder
