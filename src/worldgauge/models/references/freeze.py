"""`freeze`: repeats the last frame it saw. The first thing a model must beat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.models import models


@models.register("freeze")
class Freeze:
    """The last context frame, for ever.

    view: kind of image that it takes and gives, "perspective" or "panorama".
    """

    def __init__(self, view: View = "perspective") -> None:
        self.spec = ModelSpec("freeze", view=view, max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` copies of the last context frame."""
        last = request.context.clip[-1][None]
        return (last for _ in range(request.horizon))

    def camera_path(self, request: RolloutRequest) -> FloatArray:
        """Where the last context frame was taken, for ever."""
        return np.repeat(request.context.poses[-1:], request.horizon, axis=0)
