"""The second opinion on a path, by the decoder `klt-vo`: where two decoders differ, at least one of them is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from worldgauge.core import geometry
from worldgauge.core.errors import ShapeError, WorldgaugeError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.umeyama import Sim3
from worldgauge.perception.decoders import DecodedPath, DecodeRequest, decoders

FALLBACK = "klt-vo"
SURE_LIKENESS = 0.3
"""Of the anchor. Below, a path needs the consent of another decoder."""


def cross_checked(path: DecodedPath, other: DecodedPath, *, doubtful: bool) -> DecodedPath:
    """Compare a path with what `klt-vo` finds in the same video."""
    found: dict[str, Any] = {"disagreement": None, "cross_check": "nothing to compare"}
    if path.positions is None or len(path.positions) < 3:
        return replace(path, diagnostics={**path.diagnostics, **found})
    shared, here, there = np.intersect1d(path.frame_indices, other.frame_indices, return_indices=True)
    compared = other.positions is not None and len(shared) >= 3
    if not compared or (path.xy is not None and other.xy is None):
        found |= {"cross_check": "no second path", "second_reason": f"{FALLBACK}: {other.status}, {other.reason}"}
        alone = replace(path, diagnostics={**path.diagnostics, **found})
        return unconfirmed(alone, f"{FALLBACK} finds no path") if doubtful else alone
    assert other.positions is not None
    found |= {"disagreement": disagreement(path.positions[here], other.positions[there]), "cross_check": "agrees"}
    fault = f"{FALLBACK} finds another shape" if found["disagreement"] > FLAGGED else ""
    if path.xy is not None and other.xy is not None:
        found["apart_m"] = round(float(np.linalg.norm(path.xy[here] - other.xy[there], axis=1).max()), 4)
        if found["apart_m"] > FLAGGED * geometry.length(path.xy):
            fault = fault or f"{FALLBACK} finds another scale"
    if not fault:
        return replace(path, diagnostics={**path.diagnostics, **found})
    doubted = replace(path, diagnostics={**path.diagnostics, **found, "cross_check": "disagrees"})
    if found["disagreement"] > FLAGGED:
        return replace(doubted, status="failed", reason=fault, xy=None, positions=None, rotations=None, scale=None)
    return unconfirmed(doubted, fault)


def unconfirmed(path: DecodedPath, why: str) -> DecodedPath:
    """Take its scale from a path that nothing confirms. One without a scale, or that does not move, stays as it is."""
    if path.xy is None or path.status == "stationary":
        return path
    assert path.positions is not None
    return replace(
        path,
        status="no_scale",
        reason=f"nothing confirms the scale: {why}",
        xy=None,
        positions=path.positions / (path.scale or 1.0),
        scale=None,
    )


def fall_back(path: DecodedPath, request: DecodeRequest) -> DecodedPath:
    """Decode the video by `klt-vo`, without what confirms its path by itself."""
    try:
        decoder: Any = decoders.get(FALLBACK)()
    except WorldgaugeError as error:
        return DecodedPath("failed", FALLBACK, str(error))
    second: DecodedPath = decoder.guess(_with_focal(path, request))
    return second


def confirmed_alone(second: DecodedPath, path: DecodedPath, request: DecodeRequest) -> DecodedPath:
    """The second path, with a scale only if it stands without the first."""
    if second.xy is None or second.status == "stationary":
        return second
    if (second.diagnostics.get("anchor_likeness") or 0.0) < SURE_LIKENESS:
        return unconfirmed(second, "the anchor looks little like the first frame")
    decoder: Any = decoders.get(FALLBACK)()
    kept: DecodedPath = decoder.confirmed(second, _with_focal(path, request))
    return kept


def _with_focal(path: DecodedPath, request: DecodeRequest) -> DecodeRequest:
    if request.hfov_deg is None and path.focal_px is not None and path.status != "failed":
        width = request.video.width
        return replace(request, hfov_deg=float(np.degrees(2 * np.arctan(width / 2 / path.focal_px))))
    return request


def second_opinion_version() -> int | None:
    """Version of `klt-vo`; a path may depend on it."""
    return getattr(decoders.get(FALLBACK), "version", None) if FALLBACK in decoders else None


FLAGGED = 0.10
"""Share of the path length above which two decoders disagree."""
_STILL = 1e-9


def disagreement(a: ArrayLike, b: ArrayLike) -> float:
    """Measure how much two paths (n, 3) of the same frames differ in shape, 0 to 1. Order, unit, heading, origin do not
    matter. The largest distance, not the mean: a decoder that loses its way does so at one end, and a mean hides it."""
    one, other = _checked(a), _checked(b)
    if one.shape != other.shape:
        raise ShapeError(f"two paths of the same frames were expected, got {one.shape} and {other.shape}")
    lengths = geometry.length(one), geometry.length(other)
    moves = [length > _STILL * (1 + np.abs(path).max()) for length, path in zip(lengths, (one, other), strict=True)]
    if not any(moves):
        return 0.0
    if not all(moves):
        return 1.0
    return min(1.0, max(_share(one, other, lengths[1]), _share(other, one, lengths[0])))


def align_path(source: ArrayLike, target: ArrayLike) -> Sim3:
    """Find the least-squares similarity that aligns one path (n, 3) with another; any of the best if several are.
    Also for straight lines and single places; the scale is 0 if the two have nothing in common. Source: Umeyama 1991,
    equations 34-43."""
    one, other = _checked(source), _checked(target)
    if one.shape != other.shape:
        raise ShapeError(f"two paths of the same frames were expected, got {one.shape} and {other.shape}")
    centre, goal = one.mean(0), other.mean(0)
    u, singular, vt = np.linalg.svd((other - goal).T @ (one - centre))
    sign = np.array([1.0, 1.0, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    rotation = (u * sign) @ vt
    spread = float(((one - centre) ** 2).sum())
    scale = float(singular @ sign) / spread if spread > 0 else 0.0
    return Sim3(scale, rotation, goal - scale * rotation @ centre)


def _share(source: FloatArray, target: FloatArray, length: float) -> float:
    apart = np.linalg.norm(align_path(source, target).apply(source) - target, axis=1)
    return float(apart.max() / length)


def _checked(path: ArrayLike) -> FloatArray:
    points = np.asarray(path, np.float64)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
        raise ShapeError(f"a decoded path needs shape (n, 3) with n >= 2, got {points.shape}")
    if not np.isfinite(points).all():
        raise ShapeError(f"point {int(np.argwhere(~np.isfinite(points))[0][0])} of a path is not finite")
    return points
