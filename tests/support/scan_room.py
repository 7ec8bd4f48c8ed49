"""The example scan of the package: a furnished room, made of boxes by our own painter and exporter."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from worldgauge.worlds._export_meshes import home_patches
from worldgauge.worlds._glb import write_glb
from worldgauge.worlds.indoor.boxes import Box, Boxes, Paint
from worldgauge.worlds.indoor.camera import BoxScene

CATEGORIES = ("void", "floor", "ceiling", "wall", "bed", "table", "picture", "bookcase", "chair")
LOW, HIGH = (0.0, 0.0, 0.0), (4.0, 3.0, 2.5)
"""Inner corners of the room, metres."""


def example_boxes() -> Boxes:
    """A room of 4 x 3 x 2.5 m with a bed, a table, a chair, a bookcase and a picture."""
    plaster, wood = Paint("plaster", (214, 206, 190)), Paint("wood", (150, 104, 66))
    cloth = Paint("fabric", (70, 104, 160), (206, 212, 226), 0.1)
    rows = [
        ((-0.1, -0.1, -0.1), (4.1, 3.1, 0.0), "floor", 0, Paint("planks", (168, 124, 82), size_m=0.12)),
        ((-0.1, -0.1, 2.5), (4.1, 3.1, 2.6), "ceiling", 0, Paint("plain", (236, 234, 228))),
        ((-0.1, -0.1, 0.0), (0.0, 3.1, 2.5), "wall", 0, plaster),
        ((4.0, -0.1, 0.0), (4.1, 3.1, 2.5), "wall", 0, plaster),
        ((0.0, -0.1, 0.0), (4.0, 0.0, 2.5), "wall", 0, Paint("tiles", (120, 160, 180), (220, 220, 214), 0.25)),
        ((0.0, 3.0, 0.0), (4.0, 3.1, 2.5), "wall", 0, plaster),
        ((0.1, 1.9, 0.0), (2.1, 2.9, 0.3), "bed", 1, wood),
        ((0.1, 1.9, 0.3), (2.1, 2.9, 0.5), "bed", 1, cloth),
        ((2.6, 0.1, 0.7), (3.6, 0.7, 0.75), "table", 2, wood),
        *(((x, y, 0.0), (x + 0.06, y + 0.06, 0.7), "table", 2, wood) for x in (2.62, 3.52) for y in (0.12, 0.62)),
        ((3.97, 1.0, 1.2), (4.0, 1.9, 1.8), "picture", 3, Paint("picture", (190, 90, 60), (60, 110, 140))),
        ((3.0, 2.65, 0.0), (3.9, 3.0, 1.8), "bookcase", 4, Paint("books", (120, 90, 60))),
        ((2.9, 0.8, 0.4), (3.3, 1.2, 0.45), "chair", 5, cloth),
        *(((x, y, 0.0), (x + 0.04, y + 0.04, 0.4), "chair", 5, wood) for x in (2.9, 3.26) for y in (0.8, 1.16)),
    ]
    return Boxes.of([Box(a, b, CATEGORIES.index(name), n, paint) for a, b, name, n, paint in rows], 7)


def write_example(path: Path, *, texel_m: float = 0.03, quality: int | None = 80, up: str = "y") -> None:
    """Write the room as GLB."""
    scene = BoxScene.of(example_boxes(), (LOW[2], HIGH[2]))
    patches, pages = home_patches(scene.looks, CATEGORIES, texel_m, quality)
    write_glb(path, patches, pages, up=up)  # type: ignore[arg-type]


if __name__ == "__main__":
    np.seterr(all="raise")
    write_example(Path(sys.argv[1]))
