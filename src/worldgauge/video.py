"""Clips: frames read lazily from a file or an array; files written whole or not at all.

clip = Clip.open("walk.avi");  clip[10];  clip[5:20:5];  for frame in clip: ...
with Writer("out.mp4", fps=20, kind="lossless") as out: out.write(frames)
"""

from __future__ import annotations

import bisect
import os
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from worldgauge.errors import DataError, ShapeError

if TYPE_CHECKING:
    import av.container

Frame = NDArray[np.uint8]
Kind = Literal["mjpg", "lossless", "viewable"]

MAX_PIXELS = 8192 * 8192
MAX_FRAMES = 1_000_000


class Clip:
    """A sequence of frames (H, W, 3) uint8 RGB with a rate; nothing is decoded before it is asked for.

    Slices and `resized` are views of the same source. Iterating keeps one frame in memory.
    """

    def __init__(self, source: _Source, frames: range, fps: float, size: tuple[int, int]) -> None:
        self._source = source
        self._frames = frames
        self.fps = fps
        self.width, self.height = size

    @classmethod
    def open(cls, path: Path | str) -> Clip:
        """A clip of the first video stream of `path`.

        Raises DataError when the file is missing, is not a video, is empty or passes the limits.
        """
        source = _FileSource(Path(path))
        return cls(source, range(source.count), source.fps, source.size)

    @classmethod
    def from_array(cls, frames: Frame, fps: float) -> Clip:
        """A clip over frames (T, H, W, 3) uint8 that are in memory already."""
        if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.uint8:
            raise ShapeError(f"a clip needs (T, H, W, 3) uint8, got {frames.shape} {frames.dtype}")
        return cls(_ArraySource(frames), range(len(frames)), fps, (frames.shape[2], frames.shape[1]))

    def __len__(self) -> int:
        return len(self._frames)

    @overload
    def __getitem__(self, index: int) -> Frame: ...
    @overload
    def __getitem__(self, index: slice) -> Clip: ...
    def __getitem__(self, index: int | slice) -> Frame | Clip:
        if isinstance(index, slice):
            return Clip(self._source, self._frames[index], self.fps, (self.width, self.height))
        return self._fit(self._source.frame(self._frames[index]))

    def __iter__(self) -> Iterator[Frame]:
        return (self._fit(frame) for frame in self._source.read(self._frames))

    def take(self, indices: Iterable[int]) -> Iterator[Frame]:
        """Frames at `indices` in that order; ascending ones are decoded in a single pass."""
        return (self._fit(frame) for frame in self._source.read([self._frames[i] for i in indices]))

    def resized(self, width: int, height: int) -> Clip:
        """The same frames on another pixel grid: area average when both sides shrink, else bilinear."""
        return Clip(self._source, self._frames, self.fps, (width, height))

    def to_array(self) -> Frame:
        """All frames (T, H, W, 3) in memory."""
        out = np.empty((len(self), self.height, self.width, 3), np.uint8)
        for i, frame in enumerate(self):
            out[i] = frame
        return out

    def _fit(self, frame: Frame) -> Frame:
        return resize(frame, self.width, self.height)


def resize(frame: Frame, width: int, height: int) -> Frame:
    """`frame` on another pixel grid: OpenCV area average when no side grows, else bilinear."""
    rows, columns = frame.shape[:2]
    if (columns, rows) == (width, height):
        return frame
    import cv2

    how = cv2.INTER_AREA if width <= columns and height <= rows else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(frame, (width, height), interpolation=how), np.uint8)


class Writer:
    """Writes one video file; it appears under its name when closed without an error, else not at all.

    kind: "mjpg" (AVI, as LoopNav publishes), "lossless" (H.264 RGB, bit-exact, a key frame every 30),
    "viewable" (H.264 that every browser plays). The first frame fixes the size.
    kbps: ceiling of a viewable video's bit rate; hard pictures get coarser instead of larger.
    Same frames, same bytes.
    """

    def __init__(self, path: Path | str, *, fps: float, kind: Kind, kbps: int | None = None) -> None:
        self.path = Path(path)
        self.kind = kind
        # Stronger adaptive quantisation keeps one noisy tile from starving the others.
        self._ceiling = (
            {} if kbps is None else {"maxrate": f"{kbps}k", "bufsize": f"{kbps}k", "aq-mode": "2", "aq-strength": "1.6"}
        )
        self.fps = Fraction(fps).limit_denominator(1001)
        self.frames = 0
        self._part = self.path.with_name(f".{self.path.name}.part")
        self._container: av.container.OutputContainer | None = None
        self._stream: Any = None

    def write(self, frames: Frame) -> None:
        """Append one frame (H, W, 3) or a chunk (n, H, W, 3), uint8 RGB."""
        import av

        for frame in frames if frames.ndim == 4 else frames[None]:
            if self._container is None:
                self._open(frame.shape[1], frame.shape[0])
            if self.kind == "viewable":
                frame = _even(frame)
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
            picture.pts = self.frames
            assert self._container is not None
            self._container.mux(self._stream.encode(picture))
            self.frames += 1

    def close(self) -> None:
        """Flush, then rename into place. Raises DataError when nothing was written."""
        if self._container is None:
            raise DataError(f"{self.path}: no frame was written")
        container, self._container = self._container, None
        try:
            container.mux(self._stream.encode(None))
        finally:
            container.close()
        with open(self._part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(self._part, self.path)

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()

    def abandon(self) -> None:
        """Drop what was written."""
        container, self._container = self._container, None
        try:
            if container is not None:
                container.close()
        finally:
            self._part.unlink(missing_ok=True)

    def _open(self, width: int, height: int) -> None:
        import av

        container_format, codec, pixels, options = _ENCODERS[self.kind]
        self._container = av.open(str(self._part), "w", format=container_format)
        stream: Any = self._container.add_stream(codec, rate=self.fps, options={**options, **self._ceiling})
        stream.pix_fmt = pixels
        odd = self.kind == "viewable"
        stream.width, stream.height = (width + width % 2, height + height % 2) if odd else (width, height)
        # One thread: the same bytes on every machine, and workers already fill the cores.
        stream.codec_context.thread_count = 1
        self._stream = stream


_ENCODERS: dict[Kind, tuple[str, str, str, dict[str, str]]] = {
    "mjpg": ("avi", "mjpeg", "yuvj420p", {"qmin": "2", "qmax": "2"}),
    "lossless": ("mp4", "libx264rgb", "rgb24", {"crf": "0", "preset": "ultrafast", "g": "30"}),
    "viewable": (
        "mp4",
        "libx264",
        "yuv420p",
        {"crf": "20", "preset": "veryfast", "g": "20", "movflags": "+faststart"},
    ),
}


def _even(frame: Frame) -> Frame:
    """Sides made even by repeating the last row or column: 4:2:0 colour needs it."""
    rows, columns = frame.shape[0] % 2, frame.shape[1] % 2
    return np.pad(frame, ((0, rows), (0, columns), (0, 0)), mode="edge") if rows or columns else frame


class _Source(Protocol):
    def frame(self, index: int) -> Frame: ...
    def read(self, indices: Iterable[int]) -> Iterator[Frame]: ...


class _ArraySource:
    def __init__(self, frames: Frame) -> None:
        self._frames = frames

    def frame(self, index: int) -> Frame:
        return self._frames[index]

    def read(self, indices: Iterable[int]) -> Iterator[Frame]:
        return (self._frames[i] for i in indices)


class _FileSource:
    """Frame times and key frames of a file, read once without decoding."""

    def __init__(self, path: Path) -> None:
        import av

        self.path = path
        if not path.is_file():
            raise DataError(f"{path}: no such video")
        try:
            with av.open(str(path)) as container:
                if not container.streams.video:
                    raise DataError(f"{path}: holds no video stream")
                stream = container.streams.video[0]
                self.size = (stream.width, stream.height)
                if self.size[0] * self.size[1] > MAX_PIXELS:
                    raise DataError(f"{path}: {self.size[0]}x{self.size[1]} pixels pass the limit of {MAX_PIXELS}")
                self.fps = float(stream.average_rate or 0)
                times, keys = [], []
                for packet in container.demux(stream):
                    if packet.size == 0 or packet.pts is None:
                        continue
                    times.append(packet.pts)
                    if packet.is_keyframe:
                        keys.append(packet.pts)
                    if len(times) > MAX_FRAMES:
                        raise DataError(f"{path}: more than {MAX_FRAMES} frames")
        except av.error.FFmpegError as error:
            raise DataError(f"{path}: not a readable video ({error.strerror}); write or download it again") from error
        if not times:
            raise DataError(f"{path}: holds no frame")
        self.times = sorted(times)
        self.keys = sorted(keys) or self.times[:1]
        self.count = len(self.times)
        self._reader: _Reader | None = None

    def frame(self, index: int) -> Frame:
        # One decoder is kept open, so that a walk through neighbouring indices does not seek.
        if self._reader is None:
            self._reader = _Reader(self)
        return self._reader.frame(index)

    def read(self, indices: Iterable[int]) -> Iterator[Frame]:
        reader = _Reader(self)
        try:
            for index in indices:
                yield reader.frame(index)
        finally:
            reader.close()


class _Reader:
    """One open decoder; steps forward where it can, seeks to a key frame where it must."""

    def __init__(self, source: _FileSource) -> None:
        import av

        self._source = source
        self._container = av.open(str(source.path))
        self._stream = self._container.streams.video[0]
        self._stream.codec_context.thread_count = 1
        self._frames: Iterator[Any] = self._container.decode(self._stream)
        self._time: int | None = None
        self._last: tuple[int, Frame] | None = None

    def frame(self, index: int) -> Frame:
        import av

        if self._last is not None and self._last[0] == index:
            return self._last[1]
        times, keys = self._source.times, self._source.keys
        target = times[index]
        key = keys[max(bisect.bisect_right(keys, target) - 1, 0)]
        try:
            if (self._time is None and key > times[0]) or (self._time is not None and not key <= self._time < target):
                self._container.seek(key, stream=self._stream)
                self._frames = self._container.decode(self._stream)
            for picture in self._frames:
                self._time = picture.pts
                if picture.pts is not None and picture.pts >= target:
                    if picture.pts > target:
                        break
                    image: Frame = picture.to_ndarray(format="rgb24")
                    self._last = (index, image)
                    return image
        except (av.error.FFmpegError, ValueError) as error:
            raise DataError(f"{self._source.path}: frame {index} cannot be decoded ({error})") from error
        raise DataError(f"{self._source.path}: frame {index} is listed in the file but does not decode")

    def close(self) -> None:
        self._container.close()
