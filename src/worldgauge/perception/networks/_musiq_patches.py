"""What MUSIQ sees of an image: patches of 32x32 at three sizes, each with its cell of a 10x10 grid over the image.

Facts of the released scorer: the longer side becomes 224 and 384, bicubic (a = -0.75) without antialiasing, the other
side rounded; the third size is the image's own. Each is filled up with zeros to whole patches, half before and half
after, the odd pixel after. Patches go row by row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from worldgauge.core.errors import ShapeError
from worldgauge.perception.networks.place import torch_for

PATCH = 32
LONGER_SIDES = (224, 384)
GRID = 10


def sizes_of(rows: int, columns: int) -> list[tuple[int, int]]:
    """Height and width of the three images of one. Raises ShapeError for one so narrow that nothing is left of it."""
    ratios = [longer / max(rows, columns) for longer in LONGER_SIDES]
    sizes = [(round(rows * ratio), round(columns * ratio)) for ratio in ratios]
    if any(0 in size for size in sizes):
        raise ShapeError(
            f"a frame of {rows}x{columns} is too narrow: nothing is left of it at {LONGER_SIDES[0]} pixels"
        )
    return [*sizes, (rows, columns)]


def scaled(image: Any) -> Iterator[Any]:
    """The three images (3, h, w) of one (3, H, W)."""
    torch = torch_for("'musiq-spaq'")
    for size in sizes_of(*image.shape[1:]):
        own = size == image.shape[1:]
        yield image if own else torch.nn.functional.interpolate(image[None], size, mode="bicubic")[0]


def patches_of(image: Any) -> Any:
    """(patches, 3, 32, 32) of an image (3, h, w)."""
    pad = torch_for("'musiq-spaq'").nn.functional.pad
    short = [-side % PATCH for side in image.shape[1:]]
    (top, left), (bottom, right) = (side // 2 for side in short), (side - side // 2 for side in short)
    whole = pad(image, (left, right, top, bottom))
    cut = whole.unflatten(2, (-1, PATCH)).unflatten(1, (-1, PATCH))  # (3, rows, 32, columns, 32)
    return cut.permute(1, 3, 0, 2, 4).flatten(0, 1)


def cells_of(image: Any) -> Any:
    """(patches,) index into the 100 cells, row by row, of every patch of an image (3, h, w).

    The nearest cell before, as the resizing of a grid gives it, with that resizing's own rounding.
    """
    torch = torch_for("'musiq-spaq'")
    grid = torch.arange(GRID, dtype=torch.float32, device=image.device)[None, None]
    down, across = (
        torch.nn.functional.interpolate(grid, -(-side // PATCH), mode="nearest")[0, 0].long()
        for side in image.shape[1:]
    )
    return (down[:, None] * GRID + across).flatten()
