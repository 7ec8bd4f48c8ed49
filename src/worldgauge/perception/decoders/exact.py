"""`exact`: the path that a built-in baseline renders; what every other decoder is measured against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.errors import ShapeError
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decoders
from worldgauge.perception.decoders.frames import evenly_spaced, stationary_path
from worldgauge.perception.decoders.poses import ground_path, heading_change_deg

STILL_M, STILL_RAD = 1e-6, 1e-6


@decoders.register("exact")
class ExactDecoder:
    """The path of the poses that come with the request: built-in baselines only. No frame is inspected.
    The ground is the plane across the z axis of the world, so a camera that looks down has no shorter path."""

    name = "exact"
    version = 2
    cacheable = False
    settings: Mapping[str, Any] = {}

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """The path; `failed` without poses, or with poses that are not one per frame."""
        if request.poses is None:
            why = "exact poses are known of built-in baselines only; set another decoder, which inspects the video"
            return DecodedPath("failed", self.name, why)
        poses = np.asarray(request.poses, np.float64)
        count = len(request.video)
        if count == 0 or poses.shape != (count, 4, 4):
            return DecodedPath("failed", self.name, f"poses of shape {poses.shape} for a video of {count} frames")
        chosen = evenly_spaced(count, request.n_points)
        try:
            path = ground_path(poses[chosen], None, None, up=poses[0, :3, :3].T @ [0.0, 0.0, 1.0])
            within = ground_path(poses, None, None)
        except ShapeError as error:
            return DecodedPath("failed", self.name, str(error))
        if np.abs(within.positions).max() < STILL_M and np.abs(within.rotations - np.eye(3)).max() < STILL_RAD:
            return stationary_path(self.name, chosen, "", looked_at=count, anchor_real_m=request.anchor_distance_m)
        return DecodedPath(
            "ok",
            self.name,
            xy=path.xy,
            positions=path.positions,
            rotations=path.rotations,
            frame_indices=chosen,
            registered=np.ones(count, bool),
            scale=1.0,
            anchor_real=request.anchor_distance_m,
            diagnostics={
                "turn_deg": heading_change_deg(path.rotations),
                "path_length": round(geometry.length(path.positions), 4),
            },
        )
