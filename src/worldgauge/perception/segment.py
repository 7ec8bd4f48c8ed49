"""Segmenters: which object does each pixel show? Exact from the view of a world, or by colour from the frame alone.

    segmenter = estimators.get("balanced")().fitted(frames)
    scenes = [segmenter.segment(frame).scene() for frame in frames]

The exact segmenter reads the rendered view in place of pixels. The two that go by colour know the textures of the
embedded worlds and are meant for their frames only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import NotApplicableError, ShapeError
from worldgauge.perception import colour_correction, estimators
from worldgauge.perception.colour_correction import Correction, estimate_correction
from worldgauge.perception.instances import (
    CATEGORIES,
    CONFIDENCE,
    Instances,
    instance_table,
    instances_from_labels,
    instances_from_masks,
    packed,
    unpacked,
)
from worldgauge.worlds import View
from worldgauge.worlds.voxel.blocks import CATEGORIES as VOXEL_CATEGORIES

MIN_SHARE = 5e-4
"""Smallest instance as a share of the image: 115 pixels at 640x360.

Measured over 72 frames: stored as JPEG, a frame loses 0.08 of its colour SGCS against itself; it would lose 0.12 if
instances of 30 pixels counted.
"""

COUNTABLE = ("building", "tree", "flower", "water")
"""Categories with instances; the others are one mask each, wherever in the image they lie."""


class Segmentation(Protocol):
    """The result of a segmenter on one frame."""

    def scene(self) -> dict[str, Instances]:
        """Instances by category, without tiny ones."""
        ...

    def masks(self) -> dict[str, list[NDArray[np.bool_]]]:
        """Masks (H, W) bool of the instances by category, in the same order."""
        ...


class Segmenter(Protocol):
    """Finds the instances of CATEGORIES in a frame. The same frame gives the same result."""

    name: str

    def segment(self, rgb: NDArray[np.uint8], view: View | None = None) -> Segmentation:
        """Segment a frame. rgb: (H, W, 3) uint8."""
        ...


@dataclass(frozen=True)
class LabelImages:
    """One label for each pixel. Pixels with the same category and instance number are one mask."""

    category: NDArray[np.uint16]  # (H, W), 0 for none, i + 1 for names[i]
    instance: NDArray[np.uint16]  # (H, W); 0 for uncountable categories
    names: tuple[str, ...] = CATEGORIES

    def scene(self) -> dict[str, Instances]:
        """Instances by category, without those under MIN_SHARE of the image."""
        least = min_area(self.category.shape)
        return instances_from_labels(self.category, self.instance, self.names, min_area=least)

    def masks(self) -> dict[str, list[NDArray[np.bool_]]]:
        """Masks (H, W) bool of the instances by category, in the same order."""
        found: dict[str, list[NDArray[np.bool_]]] = {}
        for (index, number), (area, *_) in zip(
            *instance_table(self.category, self.instance, len(self.names)), strict=True
        ):
            if area >= min_area(self.category.shape):
                mask = (self.category == index) & (self.instance == number)
                found.setdefault(self.names[index - 1], []).append(mask)
        return found


@dataclass(frozen=True)
class Masks:
    """The result of a prompted segmenter, such as `Sam3Segmenter`; masks (H, W) with confidences, which may overlap."""

    found: Mapping[str, Sequence[tuple[NDArray[np.bool_], float]]]

    def scene(self) -> dict[str, Instances]:
        """Instances by category with a confidence above CONFIDENCE, without empty ones."""
        return instances_from_masks(self.masks())

    def masks(self) -> dict[str, list[NDArray[np.bool_]]]:
        """Masks (H, W) bool of the instances by category, in the same order."""
        kept = {
            name: [mask for mask, confidence in group if confidence > CONFIDENCE and mask.any()]
            for name, group in self.found.items()
        }
        return {name: group for name, group in kept.items() if group}


@estimators.register("exact", needs="view", version=1)
class ExactSegmenter:
    """Exact masks of an embedded world: countable objects by their number, other categories as one mask each.
    `categories` are those of the view (`World.categories`). Names outside `kept` count as none, and of those outside
    `things` each is one mask."""

    name = "exact"

    def __init__(
        self,
        categories: Sequence[str] = VOXEL_CATEGORIES,
        kept: tuple[str, ...] = CATEGORIES,
        things: Sequence[str] = COUNTABLE,
    ) -> None:
        self.names = kept
        self._index = np.array([kept.index(n) + 1 if n in kept else 0 for n in categories], np.uint16)
        self._things = _indices(kept, things)

    def segment(self, rgb: NDArray[np.uint8], view: View | None = None) -> LabelImages:
        """Labels of a view; tiny instances are set to none."""
        if view is None:
            raise NotApplicableError("the exact segmenter needs the world's view; take 'balanced' for frames alone")
        category = self._index[view.category]
        instance = np.where(np.isin(category, self._things), view.instance, 0).astype(np.uint16)
        for key, (area, *_) in zip(*instance_table(category, instance, len(self.names)), strict=True):
            if area < min_area(category.shape):
                category[(category == key[0]) & (instance == key[1])] = 0
        return LabelImages(category, instance, self.names)


@estimators.register("balanced", needs="rgb", version=1)
class Balanced:
    """Segmentation of embedded-world frames by their colours, after what a model did to these is taken back.
    Gains and an offset come from the frames alone: by default from each frame, else `correction` is that of the clip.
    Touching objects of one category are one instance."""

    name = "balanced"

    def __init__(
        self,
        correction: Correction | None = None,
        palette: colour_correction.CategoryColours | None = None,
        things: Sequence[str] = COUNTABLE,
    ) -> None:
        self._correction, self._palette, self._things = correction, palette, things

    def fitted(self, frames: Sequence[NDArray[np.uint8]]) -> Balanced:
        """This segmenter for a clip, from about `colour_correction.FRAMES` of its frames."""
        return Balanced(estimate_correction(frames, self._palette), self._palette, self._things)

    def segment(self, rgb: NDArray[np.uint8], view: View | None = None) -> LabelImages:
        """Labels of a frame; see `Segmenter.segment`. The view is not used."""
        _check_frame(rgb)
        correction = self._correction or estimate_correction([rgb], self._palette)
        return _labels(correction.applied(rgb), colour_correction.STEADY, self._palette, self._things)


@estimators.register("colour", needs="rgb", version=1)
class Colour:
    """Segmentation of embedded-world frames by the exact colours of their textures; no weights.
    Touching objects of one category are one instance. A hardly visible colour cast changes the result: `balanced` is
    for frames of models."""

    name = "colour"

    def segment(self, rgb: NDArray[np.uint8], view: View | None = None) -> LabelImages:
        """Labels of a frame; see `Segmenter.segment`. The view is not used."""
        _check_frame(rgb)
        return _labels(rgb, colour_correction.SHARP)


def _check_frame(rgb: NDArray[np.uint8]) -> None:
    if rgb.ndim != 3 or rgb.shape[2] != 3 or rgb.dtype != np.uint8:
        raise ShapeError(f"a frame to segment is (H, W, 3) uint8, got {rgb.shape} {rgb.dtype}")


def _indices(names: Sequence[str], things: Sequence[str]) -> list[int]:
    """Values of some categories in a label image."""
    return [names.index(name) + 1 for name in things]


def _labels(
    rgb: NDArray[np.uint8],
    rule: colour_correction.Rule,
    palette: colour_correction.CategoryColours | None = None,
    things: Sequence[str] = COUNTABLE,
) -> LabelImages:
    """Category of every pixel, and the connected parts of countable ones as instances."""
    names = CATEGORIES if palette is None else palette.names[1:]
    category = colour_correction.classify(rgb, rule, palette)
    smallest = min_area(category.shape)
    areas = np.bincount(category.ravel(), minlength=len(names) + 1)
    category[np.isin(category, np.flatnonzero(areas < smallest))] = 0
    instance = np.zeros(category.shape, np.uint16)
    for index in _indices(names, things):
        mask = category == index
        if mask.any():
            parts = colour_correction.number_components(mask, smallest)
            instance += parts
            category[mask & (parts == 0)] = 0
    return LabelImages(category, instance, names)


@estimators.register("sam3", needs="weights", version=1)
class Sam3Segmenter:
    """The paper's text-prompted segmenter, from weights that you download: `worldgauge weights pull sam3`.
    Its masks of a frame are cached."""

    name = "sam3"

    def __init__(self) -> None:
        from worldgauge.perception.networks import ready

        self._network, self._identity = ready(self.name)

    def segment(self, rgb: NDArray[np.uint8], view: View | None = None) -> Masks:
        """Masks of a frame. rgb: (H, W, 3) uint8."""
        from worldgauge.perception.cache import cached

        def look() -> dict[str, NDArray[Any]]:
            arrays = packed(self._network.segment(rgb, CATEGORIES))
            del arrays["categories"]
            return arrays

        identity = {**self._identity, "categories": list(CATEGORIES)}
        kept = cached(identity, f"{rgb.shape} {rgb.dtype} ".encode() + rgb.tobytes(), look)
        return Masks(unpacked({**kept, "categories": np.array(CATEGORIES)}))


def min_area(shape: Sequence[int]) -> int:
    """Number of pixels of the smallest instance that counts. shape: (H, W) of the image."""
    return max(1, round(MIN_SHARE * shape[0] * shape[1]))
