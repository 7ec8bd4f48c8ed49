"""`mean`: shows the average of all it saw. Pixel metrics like it; nothing in it can be recognised."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models


@models.register("mean")
class Mean:
    """The mean context frame, for ever."""

    def __init__(self) -> None:
        self.spec = ModelSpec("mean")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` copies of the per-pixel mean of the context."""
        width, height = request.frame_size
        total = np.zeros((height, width, 3), np.int64)
        for frame in request.context.clip:
            total += frame
        mean = np.rint(total / len(request.context)).astype(np.uint8)[None]
        return (mean for _ in range(request.horizon))
