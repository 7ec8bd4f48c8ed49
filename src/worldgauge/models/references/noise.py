"""`noise`: draws random colours. The floor of every metric."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.errors import UsageError
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.models import models


@models.register("noise")
class Noise:
    """Independent random colours in every frame: the floor.

    block_px: side of the squares that share a colour. 1 is white noise, which no lossless codec can
    shrink; 8 keeps a recorded rollout sixty times smaller and is as meaningless. view: kind of image that it gives,
    "perspective" or "panorama".
    """

    def __init__(self, block_px: int = 8, view: View = "perspective") -> None:
        if block_px < 1:
            raise UsageError(f"noise: block_px must be at least 1, got {block_px}")
        self._block_px = block_px
        self.spec = ModelSpec("noise", view=view, max_context=1, settings={"block_px": block_px})

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames of uniform colours, seeded by the request."""
        width, height = request.frame_size
        rng = np.random.default_rng(request.seed)
        side = self._block_px
        for _ in range(request.horizon):
            grid = rng.integers(0, 256, (-(-height // side), -(-width // side), 3), dtype=np.uint8)
            yield grid.repeat(side, axis=0).repeat(side, axis=1)[None, :height, :width]
