"""`sfm-global`, the default decoder: structure from motion on 17 frames and the anchor. Needs no weights.

    path = decoders.get("sfm-global")().decode(DecodeRequest(video, anchor, anchor_distance_m=1.07, hfov_deg=80.0))
    path.status, path.xy                                        # "ok", (9, 2) metres, +y ahead

Stands on PyCOLMAP: pip install "worldgauge[sfm]".
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Literal, get_args

import numpy as np

from worldgauge.core import geometry
from worldgauge.core.errors import DataError, UsageError
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decoders
from worldgauge.perception.decoders._reconstruction import BrokenOffError, Election, Model, pycolmap, reconstruct
from worldgauge.perception.decoders._tracks import LEAST_LEAD
from worldgauge.perception.decoders.crosscheck import (
    FALLBACK,
    SURE_LIKENESS,
    confirmed_alone,
    cross_checked,
    fall_back,
    second_opinion_version,
    unconfirmed,
)
from worldgauge.perception.decoders.frames import (
    LONGEST_SIDE_PX,
    STILL_PX,
    Gray,
    Indices,
    PathQuality,
    anchor_too_far,
    displacement_px,
    evenly_spaced,
    from_start,
    gray_at,
    judge,
    stationary_path,
    walkable,
    working_size,
)
from worldgauge.perception.decoders.poses import anchor_fault, between, ground_path, heading_change_deg

MIN_POINTS_UNCHECKED = 30.0
"""Points a frame below which a path is always checked against another decoder's (Target-Bench, section 9.3)."""
MAX_REPROJECTION_UNCHECKED_PX = 0.5
"""And above which, in pixels of a video that is smaller than the working size: below 0.4 in sound rooms, 0.9 and more
where frames are bent, as generated ones are."""
MAX_S = 300.0
"""Of one video, for all its reconstructions. Where it cut one short, diagnostics say "error": such are not cached."""

MAX_DIFFERENCE_UNCHECKED = 0.005
"""And between starts: at most 0.003 in most right paths; 0.019 where repeated texture misled both."""

CrossCheck = Literal["auto", "always", "never"]


@decoders.register("sfm-global")
class SfmGlobal:
    """Camera paths by global structure from motion (PyCOLMAP) on a few frames of the video and the anchor.

    A path is sound when it passes `gates`, two models from different random starts agree on it (`_votes`), and
    `klt-vo` does not contradict it: repeated texture misleads every start. A low-confidence path needs its consent.

    Args:
        retry_frames: Number of frames when the first ones give no sound path.
        cross_check: "auto" compares a path with a scale, or a low-confidence shape; "never" leaves that unscaled.
        fallback: Decode by `klt-vo` when there is no sound path.
    """

    name = "sfm-global"
    version = 6

    def __init__(
        self, frames: int = 17, retry_frames: int = 33, cross_check: CrossCheck = "auto", fallback: bool = True
    ) -> None:
        if cross_check not in get_args(CrossCheck):
            raise UsageError(f"decoder '{self.name}': cross_check is one of auto, always, never; not {cross_check!r}")
        if not 3 <= frames <= 1000 or not 3 <= retry_frames <= 1000:
            raise UsageError(f"decoder '{self.name}': {frames} and {retry_frames} frames; take 3 to 1000")
        pycolmap()
        self._frames = (frames, retry_frames) if retry_frames > frames else (frames,)
        self._cross_check = cross_check
        self._fallback = fallback

    @property
    def settings(self) -> Mapping[str, Any]:
        """Options and versions of libraries."""
        return {
            "frames": self._frames[0],
            "retry_frames": self._frames[-1],
            "cross_check": self._cross_check,
            "fallback": self._fallback,
            "pycolmap": version("pycolmap"),
            "opencv": version("opencv-python-headless"),
            FALLBACK: second_opinion_version(),
        }

    def decode(self, request: DecodeRequest) -> DecodedPath:
        """The path; see `Decoder`. `registered` is over the frames of the last attempt."""
        if len(request.video) == 0:
            return DecodedPath("failed", self.name, "the video holds no frame")
        try:
            return self._decode(request, _Pictures.of(request, self._frames[-1]))
        except DataError as error:
            return DecodedPath("failed", self.name, " ".join(str(error).split())[:200])

    def _decode(self, request: DecodeRequest, pictures: _Pictures) -> DecodedPath:
        scored = evenly_spaced(len(request.video), request.n_points)
        still = partial(stationary_path, self.name, scored, anchor_real_m=request.anchor_distance_m)
        if len(request.video) == 1:
            return still("a video of one frame", looked_at=1)
        moved = displacement_px(pictures.grays)
        if moved is not None and moved < STILL_PX:
            return still("", looked_at=len(pictures.grays), displacement_px=round(moved, 4))

        attempts: list[dict[str, Any]] = []
        best: DecodedPath | None = None
        second: DecodedPath | None = None
        differ = False
        began, errors = time.monotonic(), {}
        for frames in self._frames:
            path = self._attempt(request, pictures, frames, began + MAX_S - time.monotonic())
            if self._needs_consent(path, request):
                second = second or fall_back(path, request)
                path = cross_checked(path, second, doubtful=is_doubtful(path, request) or bool(attempts))
                # Of two that differ at least one is wrong. Models of which only some agree are no evidence.
                solid = not attempts and path.diagnostics.get("starts", 0) <= 2
                differ = differ or (solid and path.diagnostics["cross_check"] == "disagrees")
            elif path.xy is not None and is_doubtful(path, request):
                path = unconfirmed(path, "it was not compared with a second decoder")
            attempts.append({"frames": len(path.registered), "status": path.status, "reason": path.reason})
            if best is None or _rank(path) < _rank(best):
                best = path
            if "error" in path.diagnostics:
                errors = {"error": path.diagnostics["error"]}
                break
            seen_all = len(request.video) <= max(frames, len(path.registered))
            if path.status == "ok" or seen_all or _unanchored(request, path):
                break
        assert best is not None
        if best.status != "ok" and self._fallback and not differ and not _unanchored(request, best):
            other = confirmed_alone(second or fall_back(best, request), best, request)
            attempts.append({"decoder": FALLBACK, "status": other.status, "reason": other.reason})
            if _rank(other) < _rank(best):
                best = replace(other, decoder=self.name, diagnostics={**other.diagnostics, "decoder_used": FALLBACK})
        return replace(
            best, diagnostics={"decoder_used": self.name, **best.diagnostics, "attempts": attempts, **errors}
        )

    def _needs_consent(self, path: DecodedPath, request: DecodeRequest) -> bool:
        """Whether a second decoder must agree with a path: one with a scale, or a shape that is doubtful."""
        if self._cross_check == "never" or path.positions is None:
            return False
        if path.xy is None and request.anchor is not None:
            return False
        return path.xy is not None or self._cross_check == "always" or is_doubtful(path, request)

    def _attempt(self, request: DecodeRequest, pictures: _Pictures, frames: int, max_s: float) -> DecodedPath:
        """One reconstruction, from its frames to its path."""
        scored = evenly_spaced(len(request.video), request.n_points)
        looked_at = np.union1d(evenly_spaced(len(request.video), frames), scored)
        anchored = pictures.anchor is not None
        images = ([pictures.anchor] if pictures.anchor is not None else []) + pictures.at(looked_at)
        placed = np.zeros(len(looked_at), bool)
        try:
            election = reconstruct(
                images, pictures.focal_px, request.seed, anchored=anchored, max_s=max_s, anchor_xy=request.anchor_xy
            )
        except BrokenOffError as error:
            details = {"error": type(error).__name__} if error.passing else {}
            return DecodedPath("failed", self.name, str(error), registered=placed, diagnostics=details)
        if election is None:
            return DecodedPath(
                "failed", self.name, "too little in common between frames for a model", registered=placed
            )
        return _path(request, pictures, election, looked_at, scored)


@dataclass(frozen=True)
class _Pictures:
    """All frames that any attempt may use, grey, at the working size."""

    indices: Indices
    grays: list[Gray]
    anchor: Gray | None
    focal_px: float | None  # at the working size
    enlarged: float  # width of the working size over the video's own

    @classmethod
    def of(cls, request: DecodeRequest, most: int) -> _Pictures:
        video = request.video
        indices = np.union1d(evenly_spaced(len(video), most), evenly_spaced(len(video), request.n_points))
        indices = np.union1d(indices, evenly_spaced(len(video), 17))
        size = working_size(video.width, video.height)
        focal = None
        if request.hfov_deg is not None and 1 < request.hfov_deg < 179:
            focal = float(size[0] / 2 / np.tan(np.radians(request.hfov_deg) / 2))
        grays = [gray_at(frame, size) for frame in video.take(indices.tolist())]
        anchor = None if request.anchor is None else gray_at(request.anchor, size)
        return cls(indices, grays, anchor, focal, size[0] / video.width)

    def at(self, indices: Indices) -> list[Gray]:
        return [self.grays[i] for i in np.searchsorted(self.indices, indices)]


def _path(
    request: DecodeRequest, pictures: _Pictures, election: Election, looked_at: Indices, scored: Indices
) -> DecodedPath:
    """The path of the chosen model, judged."""
    model, anchored = election.model, pictures.anchor is not None
    first = 1 if anchored else 0
    registered = np.array([first + i in model.poses for i in range(len(looked_at))])
    evidence = PathQuality(
        registered,
        0 in model.poses if anchored else None,
        model.reprojection_px,
        model.points_per_frame,
        model.focal_px / pictures.grays[0].shape[1],
        None if pictures.focal_px is None else pictures.focal_px / pictures.grays[0].shape[1],
    )
    status, reason = judge(evidence)
    facts: dict[str, Any] = {
        "registered": registered,
        "anchor_real": request.anchor_distance_m,
        "focal_px": model.focal_px / pictures.enlarged,
        "diagnostics": _diagnostics(model, election, evidence, pictures.focal_px),
    }
    if status != "failed" and not election.agreed:
        status, reason = "failed", f"{election.starts} models of the same frames show different paths"
    if status == "failed":
        return DecodedPath("failed", SfmGlobal.name, reason, **facts)

    kept = np.flatnonzero(registered)
    if status == "partial":
        kept, scored, fault = from_start(registered, looked_at, scored)
        if fault:
            return DecodedPath("failed", SfmGlobal.name, fault, **facts)
    own = np.stack([model.poses[first + int(i)] for i in kept])
    anchor = model.poses.get(0) if anchored else None
    found = ground_path(between(own, looked_at[kept], scored), anchor, request.anchor_distance_m)
    facts |= {"positions": found.positions, "rotations": found.rotations, "frame_indices": scored}
    facts["diagnostics"] |= {
        "turn_deg": heading_change_deg(found.rotations),
        "path_length": round(geometry.length(found.positions), 4),
    }
    if not np.isin(scored, looked_at[kept]).all():
        facts["diagnostics"]["interpolated"] = scored[~np.isin(scored, looked_at[kept])].tolist()
    if anchor is None:
        reason = reason if anchored else "there is no anchor frame"
        return DecodedPath("no_scale", SfmGlobal.name, reason, **facts)
    facts["anchor_estimated"] = found.anchor_estimated
    unclear = (model.anchor_lead or 0.0) < LEAST_LEAD
    fault = found.fault or anchor_too_far(found) or ("the anchor frame fits two places equally well" if unclear else "")
    if fault:
        facts["positions"] = found.positions / (found.scale or 1.0)
        return DecodedPath("no_scale", SfmGlobal.name, fault, **facts)
    path = DecodedPath(status, SfmGlobal.name, reason, xy=found.xy, scale=found.scale, **facts)
    return walkable(path, request)


def _diagnostics(model: Model, election: Election, evidence: PathQuality, given_px: float | None) -> dict[str, Any]:
    """focal_over_given: focal length found over the one that the field of view says, None where none was given."""
    return {
        "focal_over_given": None if given_px is None else round(model.focal_px / given_px, 4),
        "reprojection_px": round(model.reprojection_px, 4),
        "points_per_frame": round(model.points_per_frame, 2),
        "focal_widths": round(evidence.focal_widths, 4),
        "anchor_likeness": model.anchor_likeness,
        "anchor_lead": model.anchor_lead,
        "starts": election.starts,
        "starts_difference": None if election.difference is None else round(election.difference, 5),
    }


def is_doubtful(path: DecodedPath, request: DecodeRequest) -> bool:
    """Whether the evidence for a path is weak: few points, large errors, or a start or an anchor that is uncertain."""
    quality = path.diagnostics
    # A small video is enlarged, and its errors with it.
    enlarged = max(1.0, LONGEST_SIDE_PX / max(request.video.width, request.video.height))
    return path.positions is not None and (
        quality.get("points_per_frame", np.inf) < MIN_POINTS_UNCHECKED
        or quality.get("starts", 0) > 2
        or (quality.get("starts_difference") or 0.0) > MAX_DIFFERENCE_UNCHECKED
        or quality.get("reprojection_px", 0.0) > MAX_REPROJECTION_UNCHECKED_PX * enlarged
        or (path.xy is not None and quality.get("anchor_likeness", np.inf) < SURE_LIKENESS)
    )


def _unanchored(request: DecodeRequest, path: DecodedPath) -> bool:
    """Whether a path has no scale for want of an anchor at a known distance: no other way would find one."""
    return path.status == "no_scale" and (
        request.anchor is None or bool(anchor_fault(1.0, 1.0, request.anchor_distance_m))
    )


_ORDER = ("ok", "partial", "stationary", "no_scale", "failed")
"""Best first: a part of a path that was seen says more than a second decoder that saw no walk."""


def _rank(path: DecodedPath) -> int:
    return _ORDER.index(path.status)
