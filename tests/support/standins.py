"""In place of published networks: what they answer is known from the colours of a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldgauge.perception.networks import Ready
from worldgauge.perception.networks.segmentation import DetectedBox

Colour = tuple[int, int, int]


class ColourDetector:
    """Finds what has just the colour that a name is known by. things: name -> colour and score; asked: how often."""

    def __init__(self, things: Mapping[str, tuple[Colour, float]]) -> None:
        self.things, self.asked = things, 0

    def detect(self, rgb: NDArray[np.uint8], names: Sequence[str], *, score: float) -> list[DetectedBox]:
        self.asked += 1
        found = []
        for name, (colour, sure) in self.things.items():
            rows, columns = np.nonzero((rgb == colour).all(-1))
            if name in names and len(rows) and sure >= score:
                box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
                found.append(DetectedBox(name, sure, tuple(float(side) for side in box)))
        return sorted(found, key=lambda each: -each.score)


class ColourMasks:
    """Takes what is in the middle of a box by its colour, in every frame. boxes: all that it was asked about."""

    def __init__(self) -> None:
        self.boxes: list[tuple[float, ...]] = []

    def segment_boxes(self, rgb: NDArray[np.uint8], boxes: Any) -> NDArray[np.bool_]:
        return np.stack([self.track(rgb[None], box)[0] for box in boxes])

    def track(self, frames: NDArray[np.uint8], box: Any) -> NDArray[np.bool_]:
        self.boxes.append(tuple(float(side) for side in box))
        colour = frames[0][int((box[1] + box[3]) / 2), int((box[0] + box[2]) / 2)]
        return (frames == colour).all(-1)


def standing_in(network: Any) -> Ready:
    """As `networks.ready` gives one."""
    return Ready(network, {"network": type(network).__name__, "version": 1})
