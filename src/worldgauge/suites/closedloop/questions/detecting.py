"""Landmarks found by published networks: boxes of what is named by Grounding DINO, masks in them by SAM 2.

    known = Landmarks(finder(kit))

Source: World-in-World, section 7, set-of-marks landmarks; the release's detector is YOLO-World.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.image import Image
from worldgauge.perception.networks import Ready
from worldgauge.suites.closedloop.policies.cached_inference import Arrays, ask_masks, ask_network, network
from worldgauge.suites.closedloop.policies.contract import HomeObservation, PolicyKit, Side
from worldgauge.suites.closedloop.questions.generate.words import NAMES
from worldgauge.suites.closedloop.questions.landmarks import IGNORED, MIN_SCORE, PASSAGES, Detection, Find, exact

NETWORKS = ("grounding-dino", "sam2")
VOCABULARY = tuple(name for name in NAMES if name not in IGNORED)
"""What is looked for: all that things in homes are called, since questions and exact landmarks call them so, too."""
SCORE = 0.1
"""From which on anything is a detection (released code). Passages are kept from there, all else from MIN_SCORE."""


def finder(kit: PolicyKit) -> Find:
    """Who finds landmarks, by the option "landmarks" of a kit: "exact" (or nothing said), or "detected"."""
    return Detector() if kit.options.get("landmarks") == "detected" else exact


class Detector:
    """What two networks see in a view, in place of the exact objects. Networks are opened when the first view comes.

    detects, segments: the networks that answer as `GroundingDino.detect` and `Sam2.segment_boxes`, None those of
    NETWORKS. Raises as `network` when it is asked.
    """

    def __init__(self, detects: Ready | None = None, segments: Ready | None = None) -> None:
        self._detects, self._segments = detects, segments

    def __call__(self, observation: HomeObservation, side: Side) -> list[Detection]:
        """Detections of one view, the surest first; masks of one pixel at least."""
        image = observation.view(side)
        names, scores, boxes = self._boxes(image)
        # What `kept` would leave out by its score alone needs no mask.
        worth = [k for k, name in enumerate(names) if name in PASSAGES or scores[k] >= MIN_SCORE]
        masks = self._masks(image, boxes[worth])
        found = [Detection(names[k], mask, float(scores[k])) for k, mask in zip(worth, masks, strict=True)]
        return [one for one in found if one.mask.any()]

    def _boxes(self, image: Image) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
        """Names, scores (n,) and boxes (n, 4)."""
        one = self._detects = self._detects or network(NETWORKS[0])

        def ask() -> Arrays:
            found = one.network.detect(image, VOCABULARY, score=SCORE)
            return {
                "names": np.array([VOCABULARY.index(each.name) for each in found], np.int64),
                "scores": np.array([each.score for each in found], np.float64),
                "boxes": np.array([each.box for each in found], np.float64).reshape(-1, 4),
            }

        answer = ask_network(one, ["detect", VOCABULARY, SCORE], image, ask)
        return [VOCABULARY[int(k)] for k in answer["names"]], answer["scores"], answer["boxes"]

    def _masks(self, image: Image, boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
        if not len(boxes):
            return np.zeros((0, *image.shape[:2]), np.bool_)
        one = self._segments = self._segments or network(NETWORKS[1])
        question = ["segment_boxes", boxes.tolist()]
        return ask_masks(one, question, image, lambda: one.network.segment_boxes(image, boxes))
