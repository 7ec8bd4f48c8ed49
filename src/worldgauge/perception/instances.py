"""Instances of things in a frame, by category: centroid and area of each, from label images or from masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.geometry import FloatArray

CATEGORIES = ("building", "tree", "flower", "grass", "path", "water", "sky", "sand", "dirt", "snow")
"""The ten prompts of the paper, in its order. Label images use index i + 1 for CATEGORIES[i], 0 for none."""


class Instances(NamedTuple):
    """Instances of one category in one frame."""

    cx: FloatArray  # (k,) mean column index, pixels
    cy: FloatArray  # (k,) mean row index, pixels
    area: FloatArray  # (k,) pixels

    @classmethod
    def of(cls, rows: Iterable[Sequence[float]]) -> Instances:
        """Instances from rows of (cx, cy, area); rows of area 0 are dropped."""
        table = np.array([tuple(row) for row in rows], np.float64).reshape(-1, 3)
        if not np.isfinite(table).all() or (table[:, 2] < 0).any():
            raise ShapeError("instances need finite centroids and areas that are not negative")
        return cls(*np.ascontiguousarray(table[table[:, 2] > 0].T))

    def rows(self) -> list[list[float]]:
        """As plain lists [cx, cy, area], for JSON; `of` reads them back."""
        rows: list[list[float]] = np.stack(self, -1).tolist()
        return rows

    def __len__(self) -> int:
        return len(self.area)


SceneGraph = Mapping[str, Instances]
"""The instances of one frame by category (LoopNav, section 3.3); a category without instances may be left out."""


def instances_from_labels(
    category: NDArray[np.uint16], instance: NDArray[np.uint16], names: Sequence[str] = CATEGORIES, *, min_area: int = 1
) -> dict[str, Instances]:
    """Instances of two label images (H, W); a pair of category (0 none, i + 1 for names[i]) and instance is a mask."""
    keys, sums = instance_table(category, instance, len(names))
    scene = {}
    for index, name in enumerate(names, start=1):
        mine = (keys[:, 0] == index) & (sums[:, 0] >= min_area)
        if mine.any():
            area = sums[mine, 0].astype(np.float64)
            scene[name] = Instances(sums[mine, 1] / area, sums[mine, 2] / area, area)
    return scene


def instances_from_masks(
    masks: Mapping[str, Sequence[NDArray[np.bool_]]], *, min_area: int = 1
) -> dict[str, Instances]:
    """Instances of boolean masks by category; masks may overlap. masks: (H, W) bool masks of each category."""
    scene = {}
    for name, group in masks.items():
        moments = [_mask_moments(np.ascontiguousarray(mask, np.bool_).view(np.uint8)) for mask in group]
        rows = [(x / area, y / area, area) for area, x, y in moments if area >= max(min_area, 1)]
        if rows:
            scene[name] = Instances.of(rows)
    return scene


def instance_table(
    category: NDArray[np.uint16], instance: NDArray[np.uint16], n_categories: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Area and coordinate sums of each pair of category and instance number in label images (H, W), category 0
    excluded. Returns keys (k, 2), sorted; and (k, 3): area, sum of columns and sum of rows."""
    if category.shape != instance.shape or category.ndim != 2:
        raise ShapeError(f"label images need equal (H, W) shapes, got {category.shape} and {instance.shape}")
    if category.size == 0:
        return np.zeros((0, 2), np.int64), np.zeros((0, 3), np.int64)
    highest = int(category.max())
    if highest > n_categories:
        raise ShapeError(f"category image holds index {highest}, but there are only {n_categories} categories")
    codes, sums = _label_moments(category, instance, highest + 1, int(instance.max()) + 1)
    order = np.argsort(codes)
    keys = np.stack(np.divmod(codes[order], int(instance.max()) + 1), -1)
    return keys, sums[order]


@njit(cache=True, nogil=True)
def _mask_moments(mask: NDArray[np.uint8]) -> tuple[int, int, int]:
    """Area, sum of column indices and sum of row indices of a 0/1 image."""
    height, width = mask.shape
    area, sum_x, sum_y = 0, 0, 0
    for y in range(height):
        count, columns = np.int32(0), np.int32(0)
        for x in range(width):
            count += np.int32(mask[y, x])
            columns += np.int32(mask[y, x]) * np.int32(x)
        area += int(count)
        sum_x += int(columns)
        sum_y += int(count) * y
    return area, sum_x, sum_y


@njit(cache=True, nogil=True)
def _label_moments(
    category: NDArray[np.uint16], instance: NDArray[np.uint16], n_categories: int, n_instances: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One pass; a run of equal labels in a row is added as a whole."""
    height, width = category.shape
    slot_of = np.full(n_categories * n_instances, -1, np.int32)
    codes = np.empty(64, np.int64)
    sums = np.zeros((64, 3), np.int64)
    used = 0
    for y in range(height):
        start = 0
        for x in range(1, width + 1):
            if x < width and category[y, x] == category[y, start] and instance[y, x] == instance[y, start]:
                continue
            if category[y, start] > 0:
                code = np.int64(category[y, start]) * n_instances + instance[y, start]
                slot = slot_of[code]
                if slot < 0:
                    if used == len(codes):
                        codes = np.concatenate((codes, np.empty(used, np.int64)))
                        sums = np.concatenate((sums, np.zeros((used, 3), np.int64)))
                    slot_of[code] = slot = used
                    codes[used] = code
                    used += 1
                length = x - start
                sums[slot, 0] += length
                sums[slot, 1] += length * (start + x - 1) // 2
                sums[slot, 2] += length * y
            start = x
    return codes[:used], sums[:used]


CONFIDENCE = 0.5
"""Masks of a prompted segmenter at or below this are dropped (LoopNav, section 3.3)."""

Found = dict[str, list[tuple[NDArray[np.bool_], float]]]
"""By category, (mask (H, W) bool, confidence) pairs, the surest first; masks may overlap."""


def packed(found: Mapping[str, Iterable[tuple[NDArray[np.bool_], float]]]) -> dict[str, NDArray[Any]]:
    """Pack the n masks of a frame into arrays; see `unpacked`. `category` (n,) is an index into `categories`."""
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
    """Undo `packed`."""
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
