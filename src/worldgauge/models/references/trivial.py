"""References without any model of the world: `freeze`, `replay`, `mean`, `noise`, `none`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.core.video import Clip
from worldgauge.models import models


@models.register("freeze")
class Freeze:
    """The last context frame, repeated.

    Args:
        view: Kind of image that it takes and returns, "perspective" or "panorama".
    """

    def __init__(self, view: View = "perspective") -> None:
        self.spec = ModelSpec("freeze", view=view, max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` copies of the last context frame."""
        last = request.context.clip[-1][None]
        return (last for _ in range(request.horizon))

    def camera_path(self, request: RolloutRequest) -> FloatArray:
        """The pose of the last context frame, repeated."""
        return np.repeat(request.context.poses[-1:], request.horizon, axis=0)


@models.register("replay")
class Replay:
    """The context in reverse order, then forward again, and so on."""

    def __init__(self) -> None:
        self.spec = ModelSpec("replay")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Context frames C-1, C-2, ..., 0, 1, ..., C-1, ..., `horizon` in all."""
        count = len(request.context)
        cycle = [*range(count - 1, -1, -1), *range(1, count - 1)] or [0]
        order = (cycle[t % len(cycle)] for t in range(request.horizon))
        return (request.context.clip[index][None] for index in order)


@models.register("mean")
class Mean:
    """The mean context frame, repeated."""

    def __init__(self) -> None:
        self.spec = ModelSpec("mean")

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` copies of the per-pixel mean of the context."""
        mean = np.rint(mean_frame(request.context.clip)).astype(np.uint8)[None]
        return (mean for _ in range(request.horizon))


def mean_frame(clip: Clip) -> FloatArray:
    """Mean of all frames of a clip, (H, W, 3)."""
    total = np.zeros((clip.height, clip.width, 3), np.int64)
    for frame in clip:
        total += frame
    return np.asarray(total / len(clip), np.float64)


@models.register("noise")
class Noise:
    """Independent random colours in every frame: the floor.

    Args:
        block_px: Side of the squares that share a colour, in pixels. 1 is white noise, which no lossless codec can
            shrink; 8 makes a recorded rollout sixty times smaller and means as little.
        view: Kind of image that it returns, "perspective" or "panorama".
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


@models.register("none")
class NoModel:
    """Imagines nothing: the floor of the closed loop, where the same policies decide from what they see."""

    imagines = False

    def __init__(self) -> None:
        self.spec = ModelSpec("none", max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """Not available.

        Raises:
            NotApplicableError: Always.
        """
        raise NotApplicableError("'none' imagines nothing: it is a reference of suites that do without a world model")
