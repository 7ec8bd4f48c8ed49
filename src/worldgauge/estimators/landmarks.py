"""Landmarks of a view: which of the things that a detector found are worth a mark.

    marks = landmarks(detections, masks)

Source: World-in-World, section on set-of-marks landmarks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.errors import ShapeError

PASSAGES = ("stairs", "doorway")
"""Names of what leads on: kept whatever their score, size and overlap."""

SCORE = 0.3
AREA = (0.003, 0.5)
"""Smallest and largest share of the image."""
SAME_IOU = 0.9
NEAR_PX = 20.0
_OF_SMALL, _OF_LARGE = 0.8, 0.7


class Detection(NamedTuple):
    """Something named in a frame. score: 0 to 1. box: x0, y0, x1, y1 in pixels."""

    name: str
    score: float
    box: tuple[float, float, float, float]


class Landmark(NamedTuple):
    """A detection that is kept, with its mask (H, W)."""

    detection: Detection
    mask: NDArray[np.bool_]


def landmarks(
    detections: Sequence[Detection], masks: NDArray[np.bool_], *, passages: Sequence[str] = PASSAGES
) -> list[Landmark]:
    """The detections that are kept, in their order, with their masks; masks: (n, H, W) bool, one for each.

    Left out: scores below SCORE; masks of a share outside AREA; masks of IoU above SAME_IOU with a kept one of higher
    score; of masks whose centres of mass are closer than NEAR_PX, all but the largest. Passages skip the first three.
    Then each mask loses those that lie inside it: more than 0.8 of the small box and less than 0.7 of the large box
    are in both. Of equals, the first one goes first. Raises ShapeError.
    """
    if masks.ndim != 3 or masks.dtype != np.bool_ or len(masks) != len(detections):
        raise ShapeError(f"{len(detections)} detections go with as many masks (n, H, W) bool, got {masks.shape}")
    areas = masks.sum(axis=(1, 2))
    free = [index for index, each in enumerate(detections) if each.name in passages and areas[index]]
    others = [
        index
        for index, each in enumerate(detections)
        if each.name not in passages
        and each.score >= SCORE
        and AREA[0] <= areas[index] / max(masks[index].size, 1) <= AREA[1]
    ]
    kept = _apart(sorted(free + _distinct(others, detections, masks)), masks, areas)
    marks = []
    for index in kept:
        inside = [other for other in kept if other != index and _holds(detections[index].box, detections[other].box)]
        rest = masks[index] & ~masks[inside].any(axis=0)
        if rest.any():
            marks.append(Landmark(detections[index], rest))
    return marks


def _distinct(indices: Sequence[int], detections: Sequence[Detection], masks: NDArray[np.bool_]) -> list[int]:
    """Without those that show what a better one shows."""
    kept: list[int] = []
    for index in sorted(indices, key=lambda index: -detections[index].score):
        if all(_iou(masks[index], masks[other]) <= SAME_IOU for other in kept):
            kept.append(index)
    return kept


def _apart(indices: Sequence[int], masks: NDArray[np.bool_], areas: NDArray[np.int64]) -> list[int]:
    """Without those whose centre is near that of a larger one."""
    centres = {index: np.argwhere(masks[index]).mean(axis=0) for index in indices}
    kept: list[int] = []
    for index in sorted(indices, key=lambda index: -int(areas[index])):
        if all(np.hypot(*(centres[index] - centres[other])) >= NEAR_PX for other in kept):
            kept.append(index)
    return sorted(kept)


def _iou(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    return float((a & b).sum() / (a | b).sum())


def _holds(large: Sequence[float], small: Sequence[float]) -> bool:
    """Whether the box `small` lies in the box `large` as a part of it."""
    width = min(large[2], small[2]) - max(large[0], small[0])
    height = min(large[3], small[3]) - max(large[1], small[1])
    shared = max(width, 0.0) * max(height, 0.0)
    return shared > _OF_SMALL * _area(small) and shared < _OF_LARGE * _area(large)


def _area(box: Sequence[float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
