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
"""Names to detect: all names of things in homes, as questions and exact landmarks use the same ones."""
SCORE = 0.1
"""Least score of a detection (released code). Passages are kept from here, all else from MIN_SCORE."""


def finder(kit: PolicyKit) -> Find:
    """Return the landmark detector that the kit's option "landmarks" names: "exact" (default) or "detected"."""
    return Detector() if kit.options.get("landmarks") == "detected" else exact


class Detector:
    """Two networks that find landmarks in a view, opened when the first view comes.

    Args:
        detects: Boxes of names, as `GroundingDino.detect`; None for that of NETWORKS.
        segments: Masks of boxes, as `Sam2.segment_boxes`; None for that of NETWORKS.

    Raises whatever `network` raises, on first use.
    """

    def __init__(self, detects: Ready | None = None, segments: Ready | None = None) -> None:
        self._detects, self._segments = detects, segments

    def __call__(self, observation: HomeObservation, side: Side) -> list[Detection]:
        """Detections of one view, the surest first; masks of one pixel at least."""
        image = observation.view(side)
        names, scores, boxes = self._boxes(image)
        # `kept` drops these by their score alone, so no mask is computed.
        worth = [k for k, name in enumerate(names) if name in PASSAGES or scores[k] >= MIN_SCORE]
        masks = self._masks(image, boxes[worth])
        found = [Detection(names[k], mask, float(scores[k])) for k, mask in zip(worth, masks, strict=True)]
        return [one for one in found if one.mask.any()]

    def _boxes(self, image: Image) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
        """Return names, scores (n,) and boxes (n, 4)."""
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
