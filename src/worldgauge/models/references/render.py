"""`render`: a perfect world model. It knows the place and goes exactly where it is asked to."""

from __future__ import annotations

from collections.abc import Iterator

from worldgauge.core.errors import NotApplicableError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest
from worldgauge.models import models
from worldgauge.worlds import open_world


@models.register("render")
class Render:
    """The true world from the poses asked for: what is left to lose is the plan and how it is read."""

    def __init__(self) -> None:
        self.spec = ModelSpec("render", control="camera", inputs=frozenset({"world"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk. Raises NotApplicableError without a world."""
        path = self.camera_path(request)
        if path is None or request.world is None:
            raise NotApplicableError("'render' needs a world that can be rendered; published recordings have none")
        world = open_world(request.world)
        return (world.view(pose, request.context.camera).rgb[None] for pose in path)

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The poses that were asked for."""
        return None if request.world is None else request.poses
