"""Masks of named things in a frame, each with a confidence, and how they are stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError

CONFIDENCE = 0.5
"""Masks of a prompted segmenter at or below this are dropped (LoopNav, section 3.3)."""

Found = dict[str, list[tuple[NDArray[np.bool_], float]]]
"""By category, (mask (H, W) bool, confidence) pairs, the surest first; masks may overlap."""


def packed(found: Mapping[str, Iterable[tuple[NDArray[np.bool_], float]]]) -> dict[str, NDArray[Any]]:
    """What was found in a frame as arrays to store, of n masks: categories (c,) text, category (n,) index of them,
    confidence (n,) float64, bits (n, ceil(H * W / 8)) uint8, eight pixels each, size (2,) H and W. See `unpacked`.
    """
    pairs = [(index, *pair) for index, group in enumerate(found.values()) for pair in group]
    masks = [mask for _, mask, _ in pairs]
    if len({mask.shape for mask in masks}) > 1:
        raise ShapeError(f"masks of one frame differ in size: {sorted({mask.shape for mask in masks})}")
    height, width = masks[0].shape if masks else (0, 0)
    return {
        "categories": np.array(list(found), np.str_),
        "category": np.array([index for index, _, _ in pairs], np.int32),
        "confidence": np.array([confidence for _, _, confidence in pairs], np.float64),
        "bits": np.packbits(np.array(masks, np.bool_).reshape(len(masks), height * width), axis=1),
        "size": np.array([height, width], np.int32),
    }


def unpacked(arrays: Mapping[str, NDArray[Any]]) -> Found:
    """Undo `packed`.

    Raises:
        ShapeError: The arrays are not its own.
    """
    names = [str(name) for name in arrays["categories"]]
    height, width = (int(side) for side in arrays["size"])
    bits, category, confidence = (arrays[key] for key in ("bits", "category", "confidence"))
    if bits.shape != (len(category), -(-height * width // 8)) or confidence.shape != category.shape:
        raise ShapeError(f"bits {bits.shape} are not {len(category)} masks of {width}x{height}")
    found: Found = {name: [] for name in names}
    for index, sure, row in zip(category, confidence, bits, strict=True):
        mask = np.unpackbits(row, count=height * width).reshape(height, width).astype(np.bool_)
        found[names[index]].append((mask, float(sure)))
    return found
