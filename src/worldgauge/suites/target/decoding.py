"""From a record to the camera path in its video."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from worldgauge.datasets.target import Scenario, read_image
from worldgauge.errors import DataError, UsageError
from worldgauge.estimators.decoders import DecodedPath, Decoder, DecodeRequest, open_decoder
from worldgauge.estimators.decoders.cache import decode_cached
from worldgauge.geometry import FloatArray
from worldgauge.serving import is_served
from worldgauge.suites.contract import Record
from worldgauge.suites.target.protocol import stored_poses
from worldgauge.suites.target.settings import Settings
from worldgauge.video import Clip, Frame

SCORED = frozenset({"ok", "stationary", "partial"})
"""Statuses of a path that can be scored."""


def decoded(record: Record, scenario: Scenario, settings: Settings) -> DecodedPath:
    """The path that the video of `record` shows, found again where it was decoded before.

    Raises DataError when the stored video does not fit its facts.
    """
    if record.rollout is None:
        raise DataError(f"the record of '{record.task.id}' holds no rollout")
    path = record.directory / record.rollout
    count, expected = len(Clip.open(path)), record.facts["frames_generated"]
    if count != expected:
        raise DataError(
            f"{path}: {count} frames where {expected} were recorded; delete this record's folder and run again"
        )
    return decode_video(
        path,
        scenario,
        settings,
        hfov_deg=record.facts["hfov_deg"],
        poses=stored_poses(record),
        name=f"{record.subject}/{record.task.id}",
    )


def decode_video(
    path: Path,
    scenario: Scenario,
    settings: Settings,
    *,
    hfov_deg: float | None,
    poses: FloatArray | None,
    name: str,
) -> DecodedPath:
    """The path in the video at `path`, which begins at the scenario's current frame; cached by the video's content.

    hfov_deg, poses, name: as of `DecodeRequest`.
    """
    clip, content = Clip.open(path), _sha256(path)
    distance = float(scenario.anchor_distance_m)
    request = DecodeRequest(
        clip,
        anchor=_anchor(scenario, clip, settings.parity),
        anchor_distance_m=distance if np.isfinite(distance) else None,
        hfov_deg=hfov_deg,
        poses=poses,
        content=content,
        name=name,
    )
    return decode_cached(decoder_of(settings), request, content)


def decoder_of(settings: Settings) -> Decoder:
    """The decoder in force. Raises UsageError for a cross-check that it does not know."""
    return _open(settings.decoder, settings.cross_check, settings.parity)


@lru_cache(maxsize=2)
def _open(text: str, cross_check: str, parity: str | None) -> Decoder:
    if is_served(text):  # its network is loaded when it is opened: once
        return open_decoder(text) if parity is None else open_decoder(text, compat=parity)
    decoder = open_decoder(text)
    options: dict[str, Any] = {}
    if "cross_check" in decoder.settings:
        options["cross_check"] = cross_check
    elif cross_check == "always":
        raise UsageError(f"target setting 'cross_check': decoder '{decoder.name}' has none; take sfm-global")
    if parity is not None and "compat" in decoder.settings:
        options["compat"] = parity
    changed = {name: value for name, value in options.items() if decoder.settings[name] != value}
    return open_decoder(text, **changed) if changed else decoder


def _anchor(scenario: Scenario, clip: Clip, parity: str | None) -> Frame | None:
    """The first real frame as the video would show it: its centre in the shape of the video, and its size.

    A shape that differs is a part of the view; where model and recording see the same width, the focal length is kept.
    parity: "released" leaves it as it is, for each decoder to make fit.
    """
    if scenario.first_frame is None:
        return None
    if parity == "released":
        return read_image(scenario.first_frame)
    frame = Clip.from_array(read_image(scenario.first_frame)[None], clip.fps)
    return frame.cropped(clip.width, clip.height).resized(clip.width, clip.height)[0]


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
