"""The frames that a scenario has to show, and from a record to the path in its video."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worldgauge.core import geometry
from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image, read_png
from worldgauge.core.io import digest_of, digest_of_file
from worldgauge.core.video import Clip
from worldgauge.engine.suite.contract import Record
from worldgauge.engine.suite.rollout import open_rollout, read_poses
from worldgauge.perception.decoders import (
    DecodedPath,
    Decoder,
    DecodeRequest,
    decode_cached,
    open_decoder,
    settings_taken,
)
from worldgauge.serving import served_code
from worldgauge.suites.targetbench.format.scenario import Scenario, open_video, truth_clip, video_frames_of
from worldgauge.suites.targetbench.planners import current_pose
from worldgauge.suites.targetbench.settings import TargetSettings


def current_frame(scenario: Scenario) -> Image:
    """The frame that a model is shown, (H, W, 3)."""
    if scenario.current_frame is None:
        raise DataError(f"{scenario.id}: no picture of the current frame: nothing to show the model")
    return read_png(scenario.current_frame)


def history(scenario: Scenario, count: int, fps: float) -> tuple[Clip, FloatArray]:
    """Frames at `fps` up to the current picture itself, and times (n,) in seconds, the last 0; fewer if unrecorded."""
    last = current_frame(scenario)
    if count > 1 and scenario.video is not None:
        seconds = scenario.history_s if scenario.history_rows == 0 else scenario.history_rows * scenario.dt
        back = np.arange(min(count - 1, int(seconds * fps + 1e-6)), 0, -1) / fps
        video = open_video(scenario)
        indices = video_frames_of(scenario, scenario.history_rows - back / scenario.dt, len(video))
        size = last.shape[1], last.shape[0]
        frames = [*video.resized(*size).take(indices.tolist()), last]
        return Clip.from_array(np.stack(frames), fps), np.append(-back, 0.0)
    return Clip.from_array(last[None], fps), np.zeros(1)


def truth_at(scenario: Scenario, count: int, fps: float) -> Clip:
    """Real frames that follow the current one, of the size of the current picture."""
    height, width = current_frame(scenario).shape[:2]
    clip = truth_clip(scenario).resized(width, height)
    return clip.picked(np.minimum(rows_after(scenario, count, fps), len(clip) - 1).tolist(), fps)


def rows_after(scenario: Scenario, count: int, fps: float) -> NDArray[np.int64]:
    """Rows (count,) of the path, from the current one, that are nearest to the frames after it."""
    rows: NDArray[np.int64] = np.rint(np.arange(1, count + 1) / fps / scenario.dt).astype(np.int64)
    return rows


SPEED_LIMIT_M_S = 3.0
"""Of the robot that recorded Target-Bench. Faster data raise it."""
SCORED = frozenset({"ok", "stationary", "partial"})
"""Statuses of a path that can be scored."""


def decoded(record: Record, scenario: Scenario, settings: TargetSettings) -> DecodedPath:
    """Decode the path that the video of a record shows, or take it from the cache."""
    open_rollout(record)
    return decode_video(
        record.directory / str(record.rollout),
        scenario,
        settings,
        hfov_deg=record.facts["hfov_deg"],
        poses=read_poses(record),
        name=f"{record.model}/{record.task.id}",
        follows=record.facts["finished_video"] is None,
        crop=record.facts["crop"],
    )


def decode_video(
    path: Path,
    scenario: Scenario,
    settings: TargetSettings,
    *,
    hfov_deg: float | None,
    poses: FloatArray | None,
    name: str,
    follows: bool,
    crop: Sequence[int] | None = None,
) -> DecodedPath:
    """The path in a video, from the scenario's current frame on; cached by the video's content."""
    clip, content = Clip.open(path), digest_of_file(path)
    distance = float(scenario.anchor_distance_m)
    if follows and settings.parity is None:
        current = current_frame(scenario)
        content = digest_of(content.encode() + current.tobytes())
        clip = clip.after(_as_drawn(current, clip, crop, follows))
        poses = None if poses is None else np.concatenate([current_pose(scenario)[None], poses])
    request = DecodeRequest(
        clip,
        anchor=_anchor(scenario, clip, settings.parity, crop, follows),
        anchor_distance_m=distance if np.isfinite(distance) else None,
        anchor_xy=None if settings.parity else _anchor_xy(scenario),
        hfov_deg=hfov_deg,
        max_speed_m_s=speed_limit(scenario),
        poses=poses,
        content=content,
        name=name,
    )
    return decode_cached(decoder_of(settings), request, content)


def speed_limit(scenario: Scenario) -> float:
    """Metres per second above which a decoded path has a wrong scale: `SPEED_LIMIT_M_S`, or twice the true speed."""
    true = scenario.path_xy
    seconds = (len(true) - 1) * scenario.dt
    return max(SPEED_LIMIT_M_S, 2 * geometry.length(true) / seconds) if seconds > 0 else SPEED_LIMIT_M_S


def decoder_of(settings: TargetSettings) -> Decoder:
    """The selected decoder. What its text sets for cross-check and rules has priority over the suite's settings."""
    return _open(settings.decoder, settings.cross_check, settings.parity, served_code(settings.decoder))


@lru_cache(maxsize=2)
def _open(text: str, cross_check: str, parity: str | None, code: str) -> Decoder:
    """Kept, since a served one loads its network when it is opened."""
    taken = settings_taken(text)
    options = {"cross_check": cross_check, **({} if parity is None else {"compat": parity})}
    return open_decoder(text, **{name: value for name, value in options.items() if name in taken})


def _anchor(
    scenario: Scenario, clip: Clip, parity: str | None, crop: Sequence[int] | None, follows: bool
) -> Image | None:
    """The first real frame as the video would show it; parity="released" leaves it for each decoder to make fit."""
    if scenario.first_frame is None:
        return None
    frame = read_png(scenario.first_frame)
    return frame if parity == "released" else _as_drawn(frame, clip, crop, follows)


def _anchor_xy(scenario: Scenario) -> FloatArray | None:
    """Where the anchor is, if the first row of the path is as far away; else the data contradict themselves."""
    if not scenario.history_rows or not scenario.anchor_distance_m > 0:
        return None
    first: FloatArray = scenario.path_xy[0]
    return first if abs(np.linalg.norm(first) / scenario.anchor_distance_m - 1) < 0.05 else None


def _as_drawn(frame: Image, clip: Clip, crop: Sequence[int] | None, follows: bool) -> Image:
    """A real frame as `clip` would show it: as a model was handed it; of a finished video, the centre of its shape."""
    whole = Clip.from_array(frame[None], clip.fps)
    if not follows:
        whole = whole.cropped(clip.width, clip.height)
    elif crop is not None:
        whole = whole.cropped(crop[0], crop[1])
    return whole.resized(clip.width, clip.height)[0]
