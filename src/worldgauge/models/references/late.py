"""`late`: right in all but the moment. It repeats its conditioning image, as many models do, and lags by a frame."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.core.video import Clip
from worldgauge.models import models


@models.register("late")
class Late:
    """The recorded future one frame late: the last context frame, then the truth without its last."""

    def __init__(self) -> None:
        self.spec = ModelSpec("late", inputs=frozenset({"truth"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk. Raises NotApplicableError without a recorded future."""
        if request.truth is None:
            raise NotApplicableError("'late' needs the recorded future, and this task has none")
        return _frames(request.context.clip[-1], request.truth[: request.horizon - 1])

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Where those frames were taken, where that is known."""
        if request.truth_poses is None:
            return None
        return np.concatenate([request.context.poses[-1:], request.truth_poses[: request.horizon - 1]])


def _frames(first: Frames, rest: Clip) -> Iterator[Frames]:
    yield first[None]
    for frame in rest:
        yield frame[None]
