"""`warp`: moves through the last frame it saw, by its depth. It invents nothing, and remembers a single frame."""

from __future__ import annotations

from collections.abc import Iterator

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.models import models
from worldgauge.models.references._depth_source import DepthSource


@models.register("warp")
class Warp:
    """The last context frame, lifted by its depth and drawn again from the poses asked for.

    Exact for what was seen, but for its resolution; where nothing was seen the colour of what lies beside and behind
    goes on, row by row. It walks through walls where it is asked to. view: kind of image that it takes and gives,
    "perspective" or "panorama"; a panorama has seen what is to the sides. depth: "" for the true depth, or what
    estimates it, as `memory` takes it; perspective views only.
    """

    def __init__(self, view: View = "perspective", depth: str = "") -> None:
        if depth and view != "perspective":
            raise UsageError(
                f"warp: depth is estimated of perspective views, not of view={view}; leave one of them out"
            )
        self._estimated = DepthSource(depth) if depth else None
        self.spec = ModelSpec(
            "warp",
            control="camera",
            view=view,
            max_context=1,
            inputs=frozenset() if depth else frozenset({"depth"}),
            settings={} if self._estimated is None else {"depth": self._estimated.settings},
        )

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """`horizon` frames, one a chunk. Raises NotApplicableError without the depth of the context."""
        from worldgauge.models.references._warping import Scene

        context, last = request.context, len(request.context) - 1
        if self._estimated is not None:
            context = self._estimated.added(context)
        if context.depth is None:
            raise NotApplicableError(
                "'warp' needs the depth of its context, and this recording has none; "
                "'warp?depth=depth-anything' estimates it"
            )
        assert request.poses is not None
        scene = Scene(context.clip[last], context.depth(last), context.camera, context.poses[last])
        for pose in request.poses:
            yield scene.seen_from(pose)[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The poses that were asked for."""
        return request.poses
