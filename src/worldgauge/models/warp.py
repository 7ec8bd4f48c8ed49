"""`warp`: moves through the last frame it saw, by its depth. It invents nothing, and remembers a single frame."""

from __future__ import annotations

from collections.abc import Iterator

from worldgauge.errors import NotApplicableError
from worldgauge.geometry import FloatArray
from worldgauge.models import models
from worldgauge.subject import Frames, ModelSpec, RolloutRequest, View


@models.register("warp")
class Warp:
    """The last context frame, lifted by its true depth and drawn again from the poses asked for.

    Exact for what was seen, but for its resolution; where nothing was seen the colour of what lies beside and behind
    goes on, row by row. It walks through walls where it is asked to. view: kind of image that it takes and gives,
    "perspective" or "panorama"; a panorama has seen what is to the sides.
    """

    def __init__(self, view: View = "perspective") -> None:
        self.spec = ModelSpec("warp", control="camera", view=view, max_context=1, inputs=frozenset({"depth"}))

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk. Raises NotApplicableError without the depth of the context."""
        from worldgauge.models._warping import Scene

        context, last = request.context, len(request.context) - 1
        if context.depth is None:
            raise NotApplicableError("'warp' needs the depth of its context, and this recording has none")
        assert request.poses is not None
        scene = Scene(context.clip[last], context.depth(last), context.camera, context.poses[last])
        for pose in request.poses:
            yield scene.seen_from(pose)[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The poses that were asked for."""
        return request.poses
