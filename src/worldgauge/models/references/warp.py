"""References that draw the last context frame from other poses: `roll` turns it, `warp` also moves through it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from worldgauge.core.errors import NotApplicableError, UsageError
from worldgauge.core.geometry import Camera, FloatArray, Panorama, yaw_pitch_from_pose
from worldgauge.core.image import Frames
from worldgauge.core.model import ModelSpec, RolloutRequest, View
from worldgauge.core.panorama import rolled
from worldgauge.models import models
from worldgauge.models.references.depth_source import DepthSource


@models.register("roll")
class Roll:
    """The last context frame, turned as the camera turns; moves of the camera are ignored.

    A panorama turns exactly about the vertical, and pitch is ignored. A perspective view shows the part that stays in
    view and continues its border beyond that.

    Args:
        view: Kind of image that it takes and returns, "perspective" or "panorama".
    """

    def __init__(self, view: View = "panorama") -> None:
        self.spec = ModelSpec("roll", control="camera", view=view, max_context=1)

    def rollout(self, request: RolloutRequest) -> Iterator[Frames]:
        """The turned frames, in chunks of one.

        Args:
            request: The request.

        Yields:
            `horizon` frames, each (1, H, W, 3).
        """
        path, camera, frame = self.camera_path(request), request.context.camera, request.context.clip[-1]
        start = request.context.poses[-1]
        for pose in path:
            if isinstance(camera, Panorama):
                yaws, _ = yaw_pitch_from_pose(np.stack([start, pose]))
                # Rounded, so that turns by whole pixels are exact.
                yield rolled(frame, round(math.degrees(yaws[0] - yaws[1]), 9))[None]
            else:
                yield _turned(frame, camera, start[:3, :3].T @ pose[:3, :3])[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray:
        """The requested poses, all moved to the position of the last context frame."""
        assert request.poses is not None
        path = np.array(request.poses, np.float64)
        path[:, :3, 3] = request.context.poses[-1][:3, 3]
        return path


def _turned(frame: Frames, camera: Camera, rotation: FloatArray) -> Frames:
    """`frame` (H, W, 3) seen by a camera that is turned by `rotation` (3, 3), new to old."""
    import cv2

    rays = camera.rays() @ rotation.T
    rays[..., 2] = np.maximum(rays[..., 2], 1e-3)  # what is behind lies far beyond a border
    places, _ = camera.project(rays)
    columns = np.clip(places[..., 0] - 0.5, 0, camera.width - 1).astype(np.float32)
    rows = np.clip(places[..., 1] - 0.5, 0, camera.height - 1).astype(np.float32)
    return np.asarray(cv2.remap(frame, columns, rows, cv2.INTER_LINEAR), np.uint8)


@models.register("warp")
class Warp:
    """The last context frame, lifted by its depth and drawn again from the requested poses.

    Exact for what was seen, apart from resolution. Where nothing was seen, the colour of what lies next to it and
    behind it is continued, row by row. It walks through walls when the poses do.

    Args:
        view: Kind of image that it takes and returns, "perspective" or "panorama"; a panorama has also seen the sides.
        depth: "" for the true depth, or what estimates it, as in `memory`; perspective views only.

    Raises:
        UsageError: An argument is not allowed.
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
        """The redrawn frames, in chunks of one.

        Args:
            request: The request.

        Yields:
            `horizon` frames, each (1, H, W, 3).

        Raises:
            NotApplicableError: The context has no depth.
        """
        from worldgauge.models.references.depth_mesh import DepthMesh

        context, last = request.context, len(request.context) - 1
        if self._estimated is not None:
            context = self._estimated.added(context)
        if context.depth is None:
            raise NotApplicableError(
                "'warp' needs the depth of its context, and this recording has none; "
                "'warp?depth=depth-anything' estimates it"
            )
        assert request.poses is not None
        mesh = DepthMesh(context.clip[last], context.depth(last), context.camera, context.poses[last])
        for pose in request.poses:
            yield mesh.render(pose)[None]

    def camera_path(self, request: RolloutRequest) -> FloatArray | None:
        """The requested poses."""
        return request.poses
