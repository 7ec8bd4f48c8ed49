"""ST-LPIPS (Ghildyal and Liu 2022, AlexNet) of a part of the frames, because the network is slow without a GPU."""

from __future__ import annotations

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.metrics import metrics

EVERY = 10


@metrics.register("stlpips_tenth", compares="clips", unit="1", better="lower", bounds=(0.0, np.inf), version=1)
def stlpips_tenth(truth: Frames, rollout: Frames) -> float:
    """Mean distance of every tenth pair of frames, (T, H, W, 3) uint8 each."""
    pairs = zip(truth[::EVERY], rollout[::EVERY], strict=True)
    return float(np.mean([metrics.get("stlpips")(*pair) for pair in pairs]))
