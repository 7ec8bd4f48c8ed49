"""Grounding DINO: boxes of the things that are named.

    found = open_network("grounding-dino").detect(rgb, ["chair", "table"])
    masks = open_network("sam2").segment_boxes(rgb, [each.box for each in found])

Source: World-in-World, section on landmarks; the published processor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError
from worldgauge.perception.networks import ComputeDevice, networks
from worldgauge.perception.networks._pretrained import load_pretrained, load_tokenizer
from worldgauge.perception.networks.device import inference, torch_for
from worldgauge.perception.networks.preprocessing import IMAGENET, checked_frame, shown

SCORE = 0.3
"""Lowest score that is returned by default."""
SHORT_PX, LONG_PX = 800, 1333
"""The shorter side of what the network is shown, unless the longer one would exceed the second."""


class Detection(NamedTuple):
    """A named thing in a frame.

    Attributes:
        name: Its name.
        score: 0 to 1.
        box: x0, y0, x1, y1 in pixels.
    """

    name: str
    score: float
    box: tuple[float, float, float, float]


@networks.register("grounding-dino", what="detect")
class GroundingDino:
    """Boxes of named things in one frame.

    Args:
        folder: Folder with config.json, model.safetensors and tokenizer.json, as published for transformers.
        device: Device and precision.

    Raises:
        DataError: The files do not fit.
    """

    name = "grounding-dino"
    version = 1

    def __init__(self, folder: Path, device: ComputeDevice) -> None:
        self._device = device
        self._model = load_pretrained(
            "GroundingDinoForObjectDetection",
            folder,
            device,
            what=f"'{self.name}'",
            ignored_prefixes=("model.text_backbone.embeddings.position_ids",),  # counted from 0 up, in old files
        )
        words = self._model.config.text_config.vocab_size
        self._tokenizer = load_tokenizer(folder, what=f"'{self.name}'", words=words)

    def detect(self, rgb: NDArray[np.uint8], names: Sequence[str], *, score: float = SCORE) -> list[Detection]:
        """Detect named things in a frame.

        A box has the name whose tokens respond most to it, and that response as its score. As many names go into one
        question as the network can read; what two questions find in one place counts as two detections.

        Args:
            rgb: (H, W, 3) uint8.
            names: Names, each taken once.
            score: Lowest score.

        Returns:
            Detections, highest score first.

        Raises:
            ShapeError: Not such a frame.
            UsageError: A name without words, with a full stop, or too long.
        """
        height, width = checked_frame(rgb)
        found: list[Detection] = []
        scale = np.array([width, height, width, height], np.float32)
        with inference(self._device):
            pixels = shown(rgb, *shown_size(height, width), *IMAGENET, self._device)
            for part, ids, spans in self._questions(list(dict.fromkeys(names))):
                tokens = torch_for(self.name).tensor([ids], device=self._device.name)
                answer = self._model(pixel_values=pixels, input_ids=tokens)
                by_token = answer.logits[0].float().sigmoid().cpu().numpy()
                by_name = np.stack([by_token[:, span].max(axis=1) for span in spans], axis=1)
                corners = np.clip(_corners(answer.pred_boxes[0].float().cpu().numpy()), 0, 1) * scale
                for row in np.flatnonzero(by_name.max(axis=1) >= score):
                    best = int(by_name[row].argmax())
                    x0, y0, x1, y1 = corners[row].tolist()
                    if x0 < x1 and y0 < y1:  # some lie outside the frame
                        found.append(Detection(part[best], float(by_name[row, best]), (x0, y0, x1, y1)))
        return sorted(found, key=lambda each: -each.score)

    def _questions(self, names: Sequence[str]) -> Iterator[tuple[list[str], list[int], list[slice]]]:
        """Names, token ids of a text of them, and which of these are each name's: as many names at a time as fit."""
        part: list[str] = []
        for name in names:
            if not name.strip() or set(".?") & set(name):  # the network parts names there
                raise UsageError(f"'{name}' is no name to look for: words without a full stop are needed")
            if len(self._tokenizer.encode(_text([name])).ids) > self._model.config.max_text_len:
                raise UsageError(f"'{name}' is too long a name: {self._model.config.max_text_len} tokens at most")
        for name in names:
            if part and len(self._tokenizer.encode(_text([*part, name])).ids) > self._model.config.max_text_len:
                yield self._question(part)
                part = []
            part.append(name)
        if part:
            yield self._question(part)

    def _question(self, names: list[str]) -> tuple[list[str], list[int], list[slice]]:
        text = self._tokenizer.encode(_text(names))
        spans, begin = [], 0
        for name in names:
            end = begin + len(_text([name])) - 1
            inside = [index for index, (start, stop) in enumerate(text.offsets) if begin <= start < stop <= end]
            if not inside:
                raise UsageError(f"'{name}' is no name to look for: the tokenizer knows no words in it")
            spans.append(slice(inside[0], inside[-1] + 1))
            begin = end + 2
        return names, text.ids, spans


def shown_size(height: int, width: int) -> tuple[int, int]:
    """Return the size at which a frame is shown to the network.

    Args:
        height: Pixels.
        width: Pixels.

    Returns:
        Height and width.
    """
    short, long = sorted((height, width))
    exact = min(SHORT_PX, LONG_PX * short / long)
    if round(exact) == short:
        return height, width
    less, more = max(round(exact), 1), int(exact * long / short)
    return (less, more) if height <= width else (more, less)


def _text(names: Sequence[str]) -> str:
    return ". ".join(name.strip().lower() for name in names) + "."


def _corners(boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, 4) x0, y0, x1, y1 of centres, widths and heights."""
    centre, size = boxes[:, :2], boxes[:, 2:]
    return np.concatenate([centre - size / 2, centre + size / 2], axis=1)
