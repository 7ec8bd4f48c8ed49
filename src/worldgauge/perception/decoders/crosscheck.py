"""The second opinion on a path, by the decoder `klt-vo`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from worldgauge.core import polyline
from worldgauge.core.errors import WorldgaugeError
from worldgauge.perception.decoders.agreement import FLAGGED, disagreement
from worldgauge.perception.decoders.contract import DecodedPath, Decoder, DecodeRequest, decoders

FALLBACK = "klt-vo"


DOUBTED = frozenset({"disagrees", "no second path"})
"""Verdicts that cast doubt on a path. Of 48 clips of rooms all 7 wrong paths and none of 25 right ones got one; of 16
more, with bent frames only, 8 of 10 and 1 of 6."""


def cross_checked(path: DecodedPath, request: DecodeRequest) -> DecodedPath:
    """`path` with what `klt-vo` says of the same video in its diagnostics; nothing else is changed.

    cross_check: "agrees"; "disagrees", where its path has another shape (`disagreement`, a share of the path length) or
    another size (`apart_m`, the largest distance in the plane) by more than `FLAGGED` of the length; "no second path",
    with `second_reason`, where it finds none; "nothing to compare".
    """
    told: dict[str, Any] = {"disagreement": None, "cross_check": "nothing to compare"}
    if path.positions is not None and path.xy is not None and len(path.positions) >= 3:
        other = fall_back(path, request)
        shared, here, there = np.intersect1d(path.frame_indices, other.frame_indices, return_indices=True)
        if other.positions is None or other.xy is None or len(shared) < 3:
            told |= {"cross_check": "no second path", "second_reason": f"{FALLBACK}: {other.status}, {other.reason}"}
        else:
            shape = disagreement(path.positions[here], other.positions[there])
            apart_m = float(np.linalg.norm(path.xy[here] - other.xy[there], axis=1).max())
            too_far = apart_m > FLAGGED * polyline.length(path.xy)
            told |= {
                "disagreement": shape,
                "apart_m": round(apart_m, 4),
                "cross_check": "disagrees" if shape > FLAGGED or too_far else "agrees",
            }
    return replace(path, diagnostics={**path.diagnostics, **told})


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
