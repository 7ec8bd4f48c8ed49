"""The frames that a scenario has to show, and when."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import Image, read_png
from worldgauge.core.video import Clip
from worldgauge.suites.target.format.scenario import Scenario, open_video, truth_clip, video_frames_of


def current_frame(scenario: Scenario) -> Image:
    """The frame that a model is shown, (H, W, 3).

    Raises:
        DataError: When it cannot be read.
    """
    if scenario.current_frame is None:
        raise DataError(f"{scenario.id}: no picture of the current frame: nothing to show the model")
    return read_png(scenario.current_frame)


def history(scenario: Scenario, count: int, fps: float) -> tuple[Clip, FloatArray]:
    """Frames that end at the current one, at `fps` a second, and their times.

    There are fewer where the recording began later or has no video. The last is the picture itself, not the compressed
    frame.

    Args:
        scenario: The scenario.
        count: Most frames to return.
        fps: Frames a second.

    Returns:
        The clip, and times (n,) in seconds, the last 0.
    """
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
    """Real frames that follow the current one, of the size of the current picture.

    Args:
        scenario: The scenario.
        count: Number of frames; the last is repeated where the recording ends.
        fps: Frames a second.

    Raises:
        DataError: Without a video.
    """
    height, width = current_frame(scenario).shape[:2]
    clip = truth_clip(scenario).resized(width, height)
    return clip.picked(np.minimum(rows_after(scenario, count, fps), len(clip) - 1).tolist(), fps)


def rows_after(scenario: Scenario, count: int, fps: float) -> NDArray[np.int64]:
    """Find the rows of the path that are nearest to the frames after the current one.

    Args:
        scenario: The scenario.
        count: Number of frames.
        fps: Frames per second.

    Returns:
        (count,) rows, counted from the current one.
    """
    rows: NDArray[np.int64] = np.rint(np.arange(1, count + 1) / fps / scenario.dt).astype(np.int64)
    return rows


def seconds_after(scenario: Scenario, count: int, fps: float) -> FloatArray:
    """Return the times of the frames of `truth_at`.

    Args:
        scenario: The scenario.
        count: Number of frames.
        fps: Frames per second.

    Returns:
        (count,) seconds after the current frame.
    """
    return np.asarray(rows_after(scenario, count, fps) * scenario.dt, np.float64)
