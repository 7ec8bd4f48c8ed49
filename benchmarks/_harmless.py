"""Harmless changes of a video: a world model that makes them is not worse."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from zlib import crc32

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.model import RolloutRequest, View
from worldgauge.models import models

Video = NDArray[np.uint8]
"""(T, H, W, 3), RGB."""
FRAMES_OF_DRIFT = 14
"""After so many frames, a drift of colours has its full size."""


def _rounded(values: NDArray[Any]) -> Video:
    return np.asarray(np.clip(np.rint(values), 0, 255), np.uint8)


def _each(change: Callable[[NDArray[np.uint8]], NDArray[np.uint8]]) -> Callable[[Video, int], Video]:
    return lambda video, first: np.stack([change(frame) for frame in video])


def _levels(change: Callable[[NDArray[Any]], NDArray[Any]]) -> Callable[[Video, int], Video]:
    return lambda video, first: _rounded(change(video.astype(np.float32)))


def _noise(sigma: float) -> Callable[[Video, int], Video]:
    def change(video: Video, first: int) -> Video:
        # Seeded by the content: plans of one decision must not share their noise.
        rng = np.random.default_rng(crc32(video.tobytes()))
        return _rounded(video + rng.normal(0, sigma, video.shape).astype(np.float32))

    return change


def _half(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = frame.shape[:2]
    small = cv2.resize(frame, (width // 2, height // 2), interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR), np.uint8)


def _shifted(frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    moved = np.array([[1, 0, 0.5], [0, 1, 0.5]], np.float32)
    size = frame.shape[1], frame.shape[0]
    return np.asarray(cv2.warpAffine(frame, moved, size, borderMode=cv2.BORDER_REPLICATE), np.uint8)


def _h264(video: Video, first: int, crf: int = 23) -> Video:
    """Encode as H.264 at a constant rate factor, and decode."""
    file = io.BytesIO()
    height, width = video.shape[1:3]
    # Chroma is stored at half resolution, so sides must be even.
    even = np.pad(video, ((0, 0), (0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    with av.open(file, "w", format="mp4") as written:
        stream = written.add_stream("libx264", rate=20, options={"crf": str(crf)})
        stream.height, stream.width, stream.pix_fmt = even.shape[1], even.shape[2], "yuv420p"
        for frame in even:
            written.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")))
        written.mux(stream.encode())
    file.seek(0)
    with av.open(file, "r") as read:
        decoded = [frame.to_ndarray(format="rgb24") for frame in read.decode(video=0)]
    return np.asarray(np.stack(decoded)[:, :height, :width], np.uint8)


def _drift(video: Video, first: int) -> Video:
    share = np.minimum((first + np.arange(len(video))) / FRAMES_OF_DRIFT, 1).astype(np.float32)[:, None, None, None]
    return _rounded(video * (1 + share * np.array([0.06, 0, -0.08], np.float32)))


HARMLESS: dict[str, Callable[[Video, int], Video]] = {
    "tint": _levels(lambda video: video * np.array([1.06, 1, 0.92], np.float32)),
    "contrast": _levels(lambda video: (video - 128) * 1.12 + 128 + 18),
    "brighter": _levels(lambda video: video + 25),
    "gamma": _levels(lambda video: 255 * (video / 255) ** 1.1),
    "noise 3": _noise(3),
    "noise 10": _noise(10),
    "H.264": _h264,
    "half size": _each(_half),
    "blur": _each(lambda frame: np.asarray(cv2.GaussianBlur(frame, (0, 0), 0.7), np.uint8)),
    "shift": _each(_shifted),
    "drift": _drift,
}
"""Each takes a video (T, H, W, 3) and the number of its first frame, and returns a video of that shape.

In their order: red x 1.06 and blue x 0.92; contrast x 1.12 and 18 levels; 25 levels brighter; gamma 1.1; noise of 3 and
of 10 levels; H.264 at CRF 23; half resolution; a blur of 0.7 px; a shift of half a pixel; the tint that grows over 14
frames.
"""


class Changed:
    """The ground truth with a harmless change: `benchmarks/_harmless.py:Changed?change=tint`.

    Args:
        change: A name of HARMLESS, or "none".
        view: Kind of image that it returns, "perspective" or "panorama".

    Attributes:
        needs_all_frames: Whether a frame of a rollout looks different when it is requested alone.
    """

    def __init__(self, change: str = "none", view: View = "perspective") -> None:
        self._change = HARMLESS[change] if change != "none" else None
        self._truth = models.get("truth")(view=view)
        self.needs_all_frames = change == "drift"
        self.spec = replace(self._truth.spec, name=change, settings={"change": change, "view": view})

    def rollout(self, request: RolloutRequest) -> Iterator[Video]:
        """The frames of the ground truth, changed as one video."""
        video = np.concatenate(list(self._truth.rollout(request)))
        yield video if self._change is None else self._change(video, 0)
