"""`truth`: hands back the hidden frames. The ceiling of every metric."""

from __future__ import annotations

from collections.abc import Iterator

from worldgauge.errors import NotApplicableError
from worldgauge.geometry import FloatArray
from worldgauge.models import models
from worldgauge.subject import Frames, ModelSpec, RolloutRequest


@models.register("truth")
class Truth:
    """The recorded future itself: the ceiling."""

    def __init__(self) -> None:
        self.spec = ModelSpec("truth", inputs=frozenset({"truth"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The recorded frames, one a chunk."""
        if request.truth is None:
            raise NotApplicableError("'truth' needs the recorded future, and this task has none")
        return (frame[None] for frame in request.truth)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Where the recorded frames were taken, where that is known."""
        return request.truth_poses
