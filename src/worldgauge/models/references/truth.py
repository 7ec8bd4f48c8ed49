"""`truth`, also called `oracle`: hands back the hidden frames. The ceiling of every metric."""

from __future__ import annotations

from collections.abc import Iterator

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.models import models


@models.register("truth")
class Truth:
    """The recorded future itself: the ceiling.

    view: kind of image that it gives, "perspective" or "panorama".
    """

    name = "truth"

    def __init__(self, view: View = "perspective") -> None:
        self.spec = ModelSpec(self.name, view=view, inputs=frozenset({"truth"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The recorded frames, one a chunk."""
        if request.truth is None:
            raise NotApplicableError(f"'{self.name}' needs the recorded future, and this task has none")
        return (frame[None] for frame in request.truth)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """Where the recorded frames were taken, where that is known."""
        return request.truth_poses


@models.register("oracle")
class Oracle(Truth):
    """`truth` by its name in closed loops: the simulator replays the plan, collisions included."""

    name = "oracle"
