"""The extent of a thing in an image, from some pixels known to be on it and some known not to be."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.core.image import Box, Image
from worldgauge.suites.closedloop.recognition.boxes import GROWN

GRID_PX = 96
"""Image height at which it is computed."""
_REACH = 1.5
"""How far to look beyond the known pixels, in multiples of their longer side."""
_LEAST_PX = 6
_ROUNDS = 2


def refine_box(image: Image, camera: Camera, own: FloatArray, other: FloatArray) -> Box | None:
    """Estimate the box of a thing with GrabCut (Rother et al. 2004), two rounds, scaled like the box of a target.

    Pixels that neither set of points covers, such as those hidden or out of view before, are assigned by colour. Only
    parts that touch a known pixel count.

    Args:
        image: (H, W, 3) uint8.
        camera: Camera of the image.
        own: (n, 3) points on the thing, camera frame, dense at GRID_PX.
        other: (n, 3) points next to it, camera frame, dense at GRID_PX.

    Returns:
        The box; None if none of its points is in view.
    """
    import cv2

    height = GRID_PX
    width = max(1, round(image.shape[1] * height / image.shape[0]))
    small = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    eye = camera.resized(width, height)
    known, beside = _splat(own, eye), _splat(other, eye)
    if not known.any():
        return None
    window = _window(known)
    mask = np.where(beside & ~known, cv2.GC_BGD, np.where(known & ~beside, cv2.GC_FGD, cv2.GC_PR_BGD)).astype(np.uint8)
    near = cv2.dilate(known.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    mask[near & ~known & ~beside] = cv2.GC_PR_FGD
    part = np.ascontiguousarray(mask[window])
    yes, no = (part == cv2.GC_FGD) | (part == cv2.GC_PR_FGD), (part == cv2.GC_BGD) | (part == cv2.GC_PR_BGD)
    found = known.copy()
    # GrabCut fits five colours to each side, so it needs more pixels than that.
    if yes.sum() > 5 and no.sum() > 5 and (part >= cv2.GC_PR_BGD).any():
        cv2.setRNGSeed(0)
        back, front = np.zeros((1, 65)), np.zeros((1, 65))
        cv2.grabCut(
            np.ascontiguousarray(small[window]), part, (0, 0, 1, 1), back, front, _ROUNDS, cv2.GC_INIT_WITH_MASK
        )
        found[window] |= (part == cv2.GC_FGD) | (part == cv2.GC_PR_FGD)
    _, labels = cv2.connectedComponents(found.astype(np.uint8), connectivity=8)
    return _box(np.isin(labels, np.unique(labels[known])), image.shape[1] / width, image.shape[0] / height)


def _splat(points: FloatArray, camera: Camera) -> NDArray[np.bool_]:
    """Return (H, W), the pixels that points fall on, with small holes closed."""
    import cv2

    covered = np.zeros((camera.height, camera.width), np.uint8)
    pixels, depth = camera.project(points)
    with np.errstate(invalid="ignore"):
        inside = (depth > 0.1) & (pixels >= 0).all(-1) & (pixels < (camera.width, camera.height)).all(-1)
    columns, rows = pixels[inside].astype(np.int64).T
    covered[rows, columns] = 1
    return np.asarray(cv2.morphologyEx(covered, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)) > 0)


def _window(known: NDArray[np.bool_]) -> tuple[slice, slice]:
    rows, columns = np.flatnonzero(known.any(1)), np.flatnonzero(known.any(0))
    reach = math.ceil(_REACH * max(int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1, _LEAST_PX))
    return (
        slice(max(0, int(rows[0]) - reach), int(rows[-1]) + 1 + reach),
        slice(max(0, int(columns[0]) - reach), int(columns[-1]) + 1 + reach),
    )


def _box(found: NDArray[np.bool_], scale_x: float, scale_y: float) -> Box:
    """Return the box in pixels of the full image."""
    rows, columns = np.flatnonzero(found.any(1)), np.flatnonzero(found.any(0))
    sides = []
    for ends, scale, size in ((columns, scale_x, found.shape[1]), (rows, scale_y, found.shape[0])):
        first, after = float(ends[0]), float(ends[-1]) + 1
        more = (after - first) * (GROWN - 1) / 2
        low, high = max(0.0, first - more), min(float(size), after + more)
        sides.append((math.floor(low * scale), math.ceil(high * scale - 1e-9)))
    (x0, x1), (y0, y1) = sides
    return x0, y0, x1, y1
