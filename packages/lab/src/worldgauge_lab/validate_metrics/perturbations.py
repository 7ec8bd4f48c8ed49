"""Known changes to a frame and its labels, used to test a metric (LoopNav, figure 3a; section 5 of the specification).

Colour, translation, rotation and scaling keep the scene; deletion and swap do not. Every change is one bar of the
figure and has the signature

    bar(rgb, labels) -> (rgb', labels') | None          None: the frame is skipped for that bar

with `rgb` (H, W, 3) uint8 and `labels` a `Labels`, or None when only the picture is needed. Deletion and swap need
labels and raise ShapeError without them. `PERTURBATIONS` holds the seven bars in the order of the figure. Each bar
takes its strength as a keyword. Inputs are not changed, and everything is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import ShapeError
from worldgauge.core.image import Image

Mask = NDArray[np.bool_]
Pixels = TypeVar("Pixels", NDArray[np.uint8], NDArray[np.uint16])

CONTRAST, BRIGHTNESS, SATURATION = 1.12, 18.0, 1.15
SHIFT = 0.04
"""Share of width and height by which translation moves the frame, right and down."""
TURN_DEG = 5.0
"""Counter-clockwise as displayed."""
CROP = 0.9
"""Share of width and height that scaling keeps."""
MIN_AREA, MAX_AREA = 0.002, 0.4
"""Shares of the frame between which a mask is an object."""
SAME_IOU = 0.85
"""Masks that overlap this much are one object."""
INPAINT_RADIUS = 3
DILATION = 5


class Labels(NamedTuple):
    """Label images (H, W) uint16 of one frame; each pair of category (0 for none) and instance is one mask."""

    category: NDArray[np.uint16]
    instance: NDArray[np.uint16]


Perturbed = tuple[Image, "Labels | None"]


class Parameters(NamedTuple):
    """The numbers of the bars for one frame size; `rotation` (2, 3) maps source to destination. Masks from `min_area`
    to `max_area` pixels are objects."""

    dx: int
    dy: int
    crop_height: int
    crop_width: int
    crop_y0: int
    crop_x0: int
    rotation: NDArray[np.float64]
    min_area: float
    max_area: float


def parameters(
    height: int, width: int, *, shift: float = SHIFT, turn_deg: float = TURN_DEG, crop: float = CROP
) -> Parameters:
    """Parameters of all bars for one frame size; halves are rounded to even. `shift` and `crop` are shares of it."""
    if min(height, width) < 1:
        raise ShapeError(f"a frame needs at least one pixel, got {height} x {width}")
    crop_height, crop_width = max(1, round(crop * height)), max(1, round(crop * width))
    rotation = cv2.getRotationMatrix2D((width / 2, height / 2), turn_deg, 1.0)
    return Parameters(
        dx=max(1, round(shift * width)),
        dy=max(1, round(shift * height)),
        crop_height=crop_height,
        crop_width=crop_width,
        crop_y0=(height - crop_height) // 2,
        crop_x0=(width - crop_width) // 2,
        rotation=np.asarray(rotation, np.float64),
        min_area=max(1.0, MIN_AREA * height * width),
        max_area=MAX_AREA * height * width,
    )


def truth(rgb: Image, labels: Labels | None = None) -> Perturbed:
    """Bar 0: the frame unchanged."""
    _check(rgb, labels)
    return rgb, labels


def colour(
    rgb: Image,
    labels: Labels | None = None,
    *,
    contrast: float = CONTRAST,
    brightness: float = BRIGHTNESS,
    saturation: float = SATURATION,
) -> Perturbed:
    """Bar 1: more contrast, brightness (grey levels, 0 to 255) and saturation (HSV); each step truncates to uint8."""
    _check(rgb, labels)
    lit = np.clip(rgb.astype(np.float64) * contrast + brightness, 0, 255).astype(np.uint8)
    hsv = cv2.cvtColor(lit, cv2.COLOR_RGB2HSV)
    # In single precision, as the release: in double 100 * 1.15 is a little below 115, and truncated to 114.
    hsv[..., 1] = np.clip(hsv[..., 1].astype(np.float32) * np.float32(saturation), 0, 255).astype(np.uint8)
    return _bytes(cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)), labels


def translation(rgb: Image, labels: Labels | None = None, *, shift: float = SHIFT) -> Perturbed:
    """Bar 2: shifted right and down by a share of the frame size, with a mirrored border."""
    _check(rgb, labels)
    p = parameters(*rgb.shape[:2], shift=shift)
    matrix = np.array([[1, 0, p.dx], [0, 1, p.dy]], np.float64)
    return _warp(rgb, matrix, cv2.INTER_LINEAR), warp_labels(labels, matrix)


def rotation(rgb: Image, labels: Labels | None = None, *, turn_deg: float = TURN_DEG) -> Perturbed:
    """Bar 3: rotated counter-clockwise, as displayed, about (W/2, H/2), with a mirrored border."""
    _check(rgb, labels)
    matrix = parameters(*rgb.shape[:2], turn_deg=turn_deg).rotation
    return _warp(rgb, matrix, cv2.INTER_LINEAR), warp_labels(labels, matrix)


def scaling(rgb: Image, labels: Labels | None = None, *, crop: float = CROP) -> Perturbed:
    """Bar 4: the centre of the frame, enlarged to the full frame with area interpolation."""
    _check(rgb, labels)
    height, width = rgb.shape[:2]
    p = parameters(height, width, crop=crop)
    window = np.s_[p.crop_y0 : p.crop_y0 + p.crop_height, p.crop_x0 : p.crop_x0 + p.crop_width]
    blown = _bytes(cv2.resize(rgb[window], (width, height), interpolation=cv2.INTER_AREA))
    if labels is None:
        return blown, None
    return blown, Labels(*(_resized_labels(image[window], height, width) for image in labels))


def deletion(
    rgb: Image, labels: Labels | None = None, *, count: int = 1, among: Collection[int] | None = None
) -> Perturbed | None:
    """Bar 5: the largest objects are painted over (Telea); their labels become the nearest label outside."""
    labels = _needed(rgb, labels)
    objects = _largest(labels, among, count)
    if objects is None:
        return None
    hole = _dilated(np.logical_or.reduce(objects))
    if hole.all():
        return None
    return _inpainted(rgb, hole), _filled(labels, hole)


def swap(
    rgb: Image, labels: Labels | None = None, *, pairs: int = 1, among: Collection[int] | None = None
) -> Perturbed | None:
    """Bar 6: the two largest objects change places, each stretched to the other's box; `pairs` adds the next."""
    labels = _needed(rgb, labels)
    objects = _largest(labels, among, 2 * pairs)
    if objects is None:
        return None
    hole = _dilated(np.logical_or.reduce(objects))
    if hole.all():
        return None
    picture, filled = _inpainted(rgb, hole), _filled(labels, hole)
    for a, b in zip(objects[::2], objects[1::2], strict=True):
        box_a, box_b = _box(a), _box(b)
        for mask, source, target in ((a, box_a, box_b), (b, box_b, box_a)):
            # Stretch the object in box `source` over box `target` of `picture` and `filled`, inside its mask.
            height, width = (side.stop - side.start for side in target)
            stencil = cv2.resize(
                mask[source].astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST
            ).astype(bool)
            patch = cv2.resize(rgb[source], (width, height), interpolation=cv2.INTER_AREA)
            picture[target][stencil] = patch[stencil]
            for image, out in zip(labels, filled, strict=True):
                out[target][stencil] = image[mask][0]
    return picture, filled


Perturbation = Callable[[Image, Labels | None], "Perturbed | None"]

PERTURBATIONS: Mapping[str, Perturbation] = MappingProxyType(
    {
        "truth": truth,
        "colour": colour,
        "translation": translation,
        "rotation": rotation,
        "scaling": scaling,
        "deletion": deletion,
        "swap": swap,
    }
)
"""The seven bars in the order of figure 3a."""


def select_objects(masks: Sequence[Mask], height: int, width: int) -> list[int]:
    """Indices of (H, W) masks that count as objects, largest first; masks of equal area stay in order. Left out are too
    small and too large ones, then those of IoU >= 0.85 with an earlier one."""
    for mask in masks:
        if mask.shape != (height, width):
            raise ShapeError(f"expected masks of {height} x {width}, got {mask.shape}")
    p = parameters(height, width)
    areas = [int(np.count_nonzero(mask)) for mask in masks]
    fitting = [i for i, area in enumerate(areas) if p.min_area <= area <= p.max_area]
    kept: list[int] = []
    for i in sorted(fitting, key=lambda i: -areas[i]):
        if all(_iou(masks[i], masks[j]) < SAME_IOU for j in kept):
            kept.append(i)
    return kept


def label_masks(labels: Labels) -> list[Mask]:
    """One mask for every pair of category and instance number that occurs, ordered by both; category 0 is left out."""
    code = labels.category.astype(np.uint32) * np.uint32(1 << 16) + labels.instance
    present = np.unique(code[labels.category > 0])
    return [code == value for value in present]


def warp_labels(labels: Labels | None, matrix: NDArray[np.float64]) -> Labels | None:
    """Move labels the way `matrix` moves an image, source to destination: nearest neighbour, mirrored border."""
    return None if labels is None else Labels(*(_warp(image, matrix, cv2.INTER_NEAREST) for image in labels))


def _warp(image: Pixels, matrix: NDArray[np.float64], interpolation: int) -> Pixels:
    height, width = image.shape[:2]
    warped = cv2.warpAffine(image, matrix, (width, height), flags=interpolation, borderMode=cv2.BORDER_REFLECT_101)
    return warped.astype(image.dtype, copy=False)


def _resized_labels(image: NDArray[np.uint16], height: int, width: int) -> NDArray[np.uint16]:
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_NEAREST), np.uint16)


def _largest(labels: Labels, among: Collection[int] | None, count: int) -> list[Mask] | None:
    """Masks of the `count` largest objects; None when there are fewer."""
    if count < 1:
        raise ShapeError(f"at least one object has to be touched, got {count}")
    if among is not None:
        labels = Labels(np.where(np.isin(labels.category, list(among)), labels.category, 0), labels.instance)
    masks = label_masks(labels)
    kept = select_objects(masks, *labels.category.shape)
    return [masks[i] for i in kept[:count]] if len(kept) >= count else None


def _dilated(mask: Mask) -> Mask:
    return cv2.dilate(mask.astype(np.uint8), np.ones((DILATION, DILATION), np.uint8)).astype(bool)


def _inpainted(rgb: Image, hole: Mask) -> Image:
    return _bytes(cv2.inpaint(rgb, hole.astype(np.uint8), INPAINT_RADIUS, cv2.INPAINT_TELEA))


def _filled(labels: Labels, hole: Mask) -> Labels:
    """Every pixel of `hole` takes the labels of the nearest pixel outside."""
    _, nearest = cv2.distanceTransformWithLabels(
        hole.astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_5, labelType=cv2.DIST_LABEL_PIXEL
    )
    where = np.zeros(int(nearest.max()) + 1, np.int64)
    where[nearest[~hole]] = np.flatnonzero(~hole)
    return Labels(*(image.ravel()[where[nearest]] for image in labels))


def _box(mask: Mask) -> tuple[slice, slice]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _iou(a: Mask, b: Mask) -> float:
    return float(np.count_nonzero(a & b) / np.count_nonzero(a | b))


def _bytes(image: NDArray[Any]) -> Image:
    return np.asarray(image, np.uint8)


def _needed(rgb: Image, labels: Labels | None) -> Labels:
    _check(rgb, labels)
    if labels is None:
        raise ShapeError("deletion and swap need labels to know the objects; got None")
    return labels


def _check(rgb: Image, labels: Labels | None) -> None:
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8 or rgb.size == 0:
        raise ShapeError(f"expected an RGB image (H, W, 3) uint8, got {rgb.shape} {rgb.dtype}")
    for image in labels or ():
        if image.shape != rgb.shape[:2] or image.dtype != np.uint16:
            raise ShapeError(f"expected label images {rgb.shape[:2]} uint16, got {image.shape} {image.dtype}")
