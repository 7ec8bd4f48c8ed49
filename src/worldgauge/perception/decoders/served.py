"""A decoder that runs in its own environment, such as VGGT or ViPE (docs/howto/models/camera_decoders.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError, NotApplicableError, ShapeError, UsageError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.model import Needs
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decoders
from worldgauge.perception.decoders.frames import (
    STILL_PX,
    displacement_px,
    evenly_spaced,
    every_second,
    from_start,
    gray_at,
    judge_placed,
    stationary_path,
    walkable,
    working_size,
)
from worldgauge.perception.decoders.poses import Layout, between, ground_path, poses_of, released_path
from worldgauge.serving import open_estimator
from worldgauge.serving.messages import plain
from worldgauge.serving.remote_model import EstimateError, Expected

KIND = "decoder"
MAX_SKEW = 0.05
"""How far a matrix may be from a rotation, in its entries: what 16-bit networks leave is put right, more is refused."""
_LOOKED_AT = 17
"""Frames that tell whether the camera moves at all."""
_MAX_TEXT = 200


@decoders.register("served")
class ServedDecoder:
    """Camera paths from poses that a server estimates: VGGT, SpatialTrackerV2, ViPE or one of your own.

    Frames are chosen as in the release (Target-Bench): `n_points` over the whole video, for spatracker one per second.

    Args:
        at: "cmd:...", "pipe:..." or "http://..." as for models.
        layout: "vggt", "spatracker" or "vipe"; by default as the server says.
        compat: "" for our rules (a motionless video is not sent), "released" for the scripts' rules, with their
            faults and at any speed.
    """

    version = 3

    def __init__(self, at: str, layout: str = "", compat: str = "", deadline_s: float = 1800.0) -> None:
        if compat not in ("", "released"):
            raise UsageError(f"decoder 'served': compat is '{compat}'; give 'released', or leave it out")
        if not deadline_s > 0:
            raise UsageError(f"decoder 'served': deadline_s is {deadline_s}; give seconds above 0")
        self._remote = open_estimator(at)
        self._remote.deadline_s = deadline_s
        spec = self._remote.spec
        known = get_args(Layout)
        chosen = layout or spec.layout
        if spec.kind != KIND or chosen not in known:
            self._remote.close()
            what = f"of kind '{spec.kind}'" if spec.kind != KIND else f"of layout '{chosen}'"
            raise UsageError(f"estimator '{spec.name}' is {what}; a decoder of layout {', '.join(known)} is needed")
        self._layout: Layout = chosen  # type: ignore[assignment]
        self._compat = compat
        self.name = spec.name
        self.needs: Needs = self._remote.needs

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the server says it is, and what is made of its poses; not where it runs."""
        remote = self._remote
        return {
            **{"layout": self._layout, "compat": self._compat},
            **{"settings": dict(remote.spec.settings), "source": remote.source, "given": dict(remote.given)},
        }

    @property
    def anchored(self) -> bool:
        """Whether it takes its scale from a real frame at a known distance, and cannot do without."""
        return self._layout != "vipe"

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """Decode a video; see `Decoder.decode`. A failure of the estimator is the status "failed"."""
        if len(request.video) == 0:
            return DecodedPath("failed", self.name, "the video holds no frame")
        indices = evenly_spaced(len(request.video), request.n_points)
        if self._layout == "spatracker":
            indices = every_second(len(request.video), request.video.fps, request.n_points - 1)
        anchored = self.anchored
        blank = DecodedPath("failed", self.name, frame_indices=indices, anchor_real=request.anchor_distance_m)
        try:
            moved = None
            if not self._compat:
                size = working_size(request.video.width, request.video.height)
                taken = request.video.take(evenly_spaced(len(request.video), _LOOKED_AT).tolist())
                moved = displacement_px([gray_at(frame, size) for frame in taken])
            frames = np.stack(list(request.video.take(indices.tolist())))
        except DataError as error:
            return replace(blank, reason=f"{self.name}: {error}".split("\n")[0])
        if moved is not None and moved < STILL_PX:
            real_m = request.anchor_distance_m
            details = {"displacement_px": round(moved, 4), "decoder_used": self.name}
            return stationary_path(self.name, indices, "", looked_at=len(indices), anchor_real_m=real_m, **details)
        if anchored and (request.anchor is None or request.anchor_distance_m is None):
            return replace(blank, status="no_scale", reason=f"'{self.name}' needs a real frame at a known distance")
        arrays: dict[str, NDArray[Any]] = {"frames": frames}
        if anchored:
            arrays["anchor"] = np.ascontiguousarray(request.anchor)
        options = {"seed": request.seed, "hfov_deg": request.hfov_deg, "fps": request.video.fps}
        n = len(indices)
        shapes = ((n + 1, 3, 4), (n + 1, 4, 4)) if anchored else ((n, 7),)
        try:
            answer = self._remote.estimate(arrays, options, {"poses": Expected(shapes, finite=False)})
            given, placed = _placed(answer.arrays["poses"])
            path = self._path(given, placed, request, blank)
        except (EstimateError, NotApplicableError, ShapeError) as error:
            # An estimator that failed, such as for want of memory, may do better the next time: not to be cached.
            details = {"error": type(error).__name__} if isinstance(error, EstimateError) else {}
            return replace(blank, reason=f"{self.name}: {error}".split("\n")[0], diagnostics=details)
        facts = _facts(answer.facts)
        focal = facts.get("focal_px")
        has_focal = isinstance(focal, (int, float)) and not isinstance(focal, bool)
        return replace(
            path,
            registered=self._of_frames(placed),
            focal_px=float(focal) if has_focal else None,  # type: ignore[arg-type]
            diagnostics={"decoder_used": self.name, "layout": self._layout, **path.diagnostics, "facts": facts},
        )

    def close(self) -> None:
        """Leave the server; a child process is ended."""
        self._remote.close()

    def _of_frames(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows of an answer that belong to frames, without the anchor's."""
        return rows[{"vggt": slice(None, -1), "spatracker": slice(1, None), "vipe": slice(None)}[self._layout]]

    def _path(
        self, given: NDArray[Any], placed: NDArray[np.bool_], request: DecodeRequest, blank: DecodedPath
    ) -> DecodedPath:
        real_m = request.anchor_distance_m
        if self._compat == "released":
            if not placed.all():
                return replace(blank, reason=f"pose {int(placed.argmin())} is missing; the released rules need all")
            released = released_path(given, self._layout, real_m)
            if released is None:
                return replace(blank, status="no_scale", reason="the anchor lies exactly at the start of the path")
            return replace(
                blank,
                status="ok",
                xy=released.xy,
                positions=released.xyz[:, [0, 2, 1]],
                scale=released.scale,
                anchor_estimated=released.anchor_estimated,
            )
        skew = 0.0
        if self._layout != "vipe":  # which gives quaternions
            given, skew = _rotations_put_right(given)
        poses, anchor = poses_of(given, self._layout)
        own, indices = self._of_frames(placed), blank.frame_indices
        if not own.any() or not own[0]:
            return replace(blank, reason="the first frame was not placed")
        status, reason = judge_placed(own)
        if status == "failed":
            return replace(blank, reason=reason)
        if status == "partial":
            kept, indices, fault = from_start(own, indices, indices)
            if fault:
                return replace(blank, reason=fault)
            poses = poses[kept]
        elif not own.all():
            poses = between(poses[own], indices[own], indices)
        known = anchor is None or placed[-1 if self._layout == "vggt" else 0]
        path = ground_path(poses, anchor, real_m if known else None)
        fault = path.fault if known else "the anchor frame was not placed"
        found = replace(
            blank,
            status="no_scale" if fault else status,
            reason=fault or reason,
            frame_indices=indices,
            xy=path.xy,
            positions=path.positions,
            rotations=path.rotations,
            scale=path.scale,
            anchor_estimated=path.anchor_estimated,
            diagnostics={"skew": skew, "interpolated": indices[~own[: len(indices)]].tolist()},
        )
        return walkable(found, request)


def _placed(given: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Poses, with any valid one in the rows that are all NaN; and which rows are not. Raises ShapeError."""
    missing = np.isnan(given).reshape(len(given), -1).all(1)
    if not np.isfinite(given[~missing]).all():
        row = int(np.flatnonzero(~missing)[np.argwhere(~np.isfinite(given[~missing]))[0][0]])
        raise ShapeError(f"pose {row} holds values that are not finite; a frame that is not placed is all NaN")
    filled = given.copy()
    filled[missing] = [0, 0, 0, 0, 0, 0, 1] if given.ndim == 2 else np.eye(4)[: given.shape[1]]
    return filled, ~missing


def _rotations_put_right(given: NDArray[Any]) -> tuple[FloatArray, float]:
    """Matrices (n, 3 or 4, 4) with the nearest rotations, and how far the farthest entry was off. Raises ShapeError."""
    matrices = given.astype(np.float64)
    turns = matrices[:, :3, :3]
    left, _, right = np.linalg.svd(turns)
    right[:, 2] *= np.sign(np.linalg.det(left @ right))[:, None]  # a mirror is no rotation
    nearest = left @ right
    off = np.abs(nearest - turns).max((1, 2))
    if off.max() > MAX_SKEW:
        raise ShapeError(
            f"pose {int(off.argmax())} is no rotation and translation: its matrix is off by {off.max():.2g}"
        )
    matrices[:, :3, :3] = nearest
    return matrices, float(off.max())


def _facts(given: Mapping[str, Any]) -> dict[str, Any]:
    """What of a server's facts is kept: numbers, truths and short texts that a terminal can show."""
    kept: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, (bool, int, float)) or value is None:
            kept[plain(name)[:_MAX_TEXT]] = value
        elif isinstance(value, str):
            kept[plain(name)[:_MAX_TEXT]] = plain(value)[:_MAX_TEXT]
    return kept
