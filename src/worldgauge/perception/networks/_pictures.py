"""Frames to what torch networks are shown, and their masks back to the pixels of the frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.perception.networks.place import Place, torch_for


def pair(side: int | Sequence[int]) -> tuple[int, int]:
    """(height, width) of a size that a configuration gives as one number or as two."""
    height, width = (side, side) if isinstance(side, int) else side
    return height, width


def checked_frame(rgb: NDArray[np.uint8]) -> tuple[int, int]:
    """(height, width) of a frame (H, W, 3) uint8. Raises ShapeError on anything else."""
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or 0 in rgb.shape:
        raise ShapeError(f"a frame is (H, W, 3) uint8, got {rgb.shape} {rgb.dtype}")
    return rgb.shape[0], rgb.shape[1]


def checked_box(box: Any, height: int, width: int) -> NDArray[np.float32]:
    """(4,) x0, y0, x1, y1 in pixels, cut to the frame. Raises ShapeError for one that is none or lies outside."""
    corners = np.asarray(box, np.float32)
    if corners.shape != (4,) or not np.isfinite(corners).all():
        raise ShapeError(f"a box is four finite numbers x0, y0, x1, y1 in pixels, got {corners.tolist()}")
    inside = np.clip(corners, 0, np.array([width, height, width, height], np.float32))
    if not (inside[0] < inside[2] and inside[1] < inside[3]):
        raise ShapeError(f"the box {corners.tolist()} holds nothing of a frame of {width}x{height}")
    return inside


def shown(rgb: NDArray[np.uint8], height: int, width: int, mean: Any, deviation: Any, place: Place) -> Any:
    """A frame as a tensor (1, 3, height, width) of the place's precision, each channel less `mean`, over `deviation`.

    Resized as the published processors do: bilinear, smoothed where it shrinks, rounded to whole levels; always on the
    processor, so that every device is shown the same.
    """
    torch = torch_for("a network")
    levels = torch.from_numpy(np.ascontiguousarray(rgb.transpose(2, 0, 1)))[None]
    if rgb.shape[:2] != (height, width):
        levels = torch.nn.functional.interpolate(levels, (height, width), mode="bilinear", antialias=True)
    levels = levels.to(place.device, torch.float32)
    centre, spread = (255 * torch.tensor(each, device=place.device).view(1, 3, 1, 1) for each in (mean, deviation))
    return ((levels - centre) / spread).to(place.dtype)


def masks_of(logits: Any, height: int, width: int) -> NDArray[np.bool_]:
    """(n, height, width) bool of mask logits (n, h, w): resized bilinearly, in where the probability exceeds 0.5.

    One at a time: of many masks, only the bits take room.
    """
    torch = torch_for("a network")
    masks = np.zeros((len(logits), height, width), np.bool_)
    for each, mask in zip(logits, masks, strict=True):
        resized = torch.nn.functional.interpolate(each.float()[None, None], (height, width), mode="bilinear")
        mask[:] = (resized[0, 0] > 0).cpu().numpy()
    return masks
