"""The second opinion on a path, by the decoder `klt-vo`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from worldgauge.errors import WorldgaugeError
from worldgauge.estimators.decoders.agreement import FLAGGED, disagreement
from worldgauge.estimators.decoders.contract import DecodedPath, Decoder, DecodeRequest, decoders

FALLBACK = "klt-vo"


def cross_checked(path: DecodedPath, request: DecodeRequest) -> DecodedPath:
    """`path` with what `klt-vo` says of the same video in its diagnostics; nothing else is changed.

    disagreement: distance of the two paths as a share of the path length. cross_check: "agrees", "disagrees" (above
    `FLAGGED`), or why there is no comparison.
    """
    apart: float | None = None
    if path.positions is None or len(path.positions) < 3:
        verdict = "there is no path to check"
    else:
        other = fall_back(path, request)
        if other.positions is None:
            verdict = f"{FALLBACK}: {other.reason}"
        else:
            shared, here, there = np.intersect1d(path.frame_indices, other.frame_indices, return_indices=True)
            if len(shared) < 3:
                verdict = f"{FALLBACK} has {len(shared)} frames in common"
            else:
                apart = disagreement(path.positions[here], other.positions[there])
                verdict = "agrees" if apart <= FLAGGED else "disagrees"
    return replace(path, diagnostics={**path.diagnostics, "disagreement": apart, "cross_check": verdict})


def fall_back(path: DecodedPath, request: DecodeRequest) -> DecodedPath:
    """What `klt-vo` makes of the video, with the focal length of `path` where it has one and the request has none."""
    if request.hfov_deg is None and path.focal_px is not None and path.status != "failed":
        width = request.video.width
        request = replace(request, hfov_deg=float(np.degrees(2 * np.arctan(width / 2 / path.focal_px))))
    try:
        decoder: Decoder = decoders.get(FALLBACK)()
    except WorldgaugeError as error:
        return DecodedPath("failed", FALLBACK, str(error))
    return decoder.decode(request)


def second_opinion_version() -> int | None:
    """Version of `klt-vo`; a path may depend on it."""
    return getattr(decoders.get(FALLBACK), "version", None) if FALLBACK in decoders else None
