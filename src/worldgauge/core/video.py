"""Clips: frames read lazily from a file or an array; files written completely or not at all.

clip = Clip.open("walk.avi");  clip[10];  clip[5:20:5];  for frame in clip: ...
with Writer("out.mp4", fps=20, kind="lossless") as out: out.write(frames)
problems("walk.avi")  # decodes all of it and reports what the decoder complains about
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, overload

import numpy as np

from worldgauge.core._decoding import KINDS_READ, FileSource, header_frames, problems
from worldgauge.core.errors import DataError, ShapeError
from worldgauge.core.image import Image, ImageFolder, digest_of_video, locked, png

if TYPE_CHECKING:
    import av.container

__all__ = [
    "KINDS_READ", "Clip", "Image", "Kind", "Writer", "ahead", "digest_of_video", "header_frames", "png", "problems",
    "resize", "side_by_side",
]  # fmt: skip

T = TypeVar("T")

Kind = Literal["mjpg", "lossless", "viewable", "archive"]


class Clip:
    """A sequence of frames (H, W, 3) uint8 RGB with a rate; nothing is decoded before it is needed.

    Slices and `resized` are views of the same source. Iterating keeps one frame in memory.

    Attributes:
        fps: Frames per second.
        width: Frame width in pixels.
        height: Frame height in pixels.
        states_rate: Whether the opened file has a constant frame rate of its own. False for a resampled one.

    Examples:
        >>> clip = Clip.from_array(np.zeros((4, 6, 8, 3), np.uint8), fps=20)
        >>> len(clip), clip.width, clip[::2].to_array().shape
        (4, 8, (2, 6, 8, 3))
    """

    states_rate = True

    def __init__(self, source: _Source, frames: range, fps: float, size: tuple[int, int]) -> None:
        self._source = source
        self._frames = frames
        self.fps = fps
        self.width, self.height = size
        self._part_shown = (1.0, 1.0)

    @classmethod
    def open(cls, path: Path | str, fps: float | None = None, *, by_time: bool = True) -> Clip:
        """Open the default video stream of a file, or a folder of images.

        Args:
            path: The file or folder.
            fps: Frames per second of a folder of images, and of a video without a constant frame rate. Such a video is
                resampled: each frame is the one nearest in time, and over a gap the frame before it stays. A video with
                a constant rate keeps its own.
            by_time: False takes each frame once, at `fps`, whatever the times of the frames are.

        Returns:
            The clip.

        Raises:
            DataError: The file is missing, is not a video, is empty, passes the limits, or needs `fps`.
        """
        path = Path(path)
        source = ImageFolder(path) if path.is_dir() else FileSource(path)
        if source.fps is not None:
            return cls(source, range(source.count), source.fps, source.size)
        if fps is None:
            raise DataError(source.why_no_rate())
        clip = cls(source, range(source.count), fps, source.size)
        clip = clip.picked(source.frames_at(fps), fps) if by_time else clip
        clip.states_rate = False
        return clip

    @classmethod
    def from_array(cls, frames: Image, fps: float) -> Clip:
        """Clip of frames in memory.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            fps: Frames per second.

        Returns:
            The clip.

        Raises:
            ShapeError: The frames have another shape or dtype.
        """
        if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.uint8:
            raise ShapeError(f"a clip needs (T, H, W, 3) uint8, got {frames.shape} {frames.dtype}")
        return cls(_ArraySource(frames), range(len(frames)), fps, (frames.shape[2], frames.shape[1]))

    @classmethod
    def rendered(cls, render: Callable[[int], Image], count: int, fps: float, size: tuple[int, int]) -> Clip:
        """Clip of frames that are rendered when they are read.

        Args:
            render: Makes the frame of an index, (H, W, 3) uint8 RGB.
            count: Number of frames.
            fps: Frames per second.
            size: (width, height) in pixels.

        Returns:
            The clip.
        """
        return cls(_Rendered(render), range(count), fps, size)

    def __len__(self) -> int:
        return len(self._frames)

    @overload
    def __getitem__(self, index: int) -> Image: ...
    @overload
    def __getitem__(self, index: slice) -> Clip: ...
    def __getitem__(self, index: int | slice) -> Image | Clip:
        if isinstance(index, slice):
            return self._view(self._frames[index], (self.width, self.height), self._part_shown)
        return self._fit(self._source.frame(self._frames[index]))

    def __iter__(self) -> Iterator[Image]:
        return (self._fit(frame) for frame in self._source.read(self._frames))

    def take(self, indices: Iterable[int]) -> Iterator[Image]:
        """Frames at `indices`, in that order; ascending indices are decoded in a single pass."""
        return (self._fit(frame) for frame in self._source.read([self._frames[i] for i in indices]))

    def resized(self, width: int, height: int) -> Clip:
        """The same frames on another pixel grid: area average when no side grows, else bilinear.

        Args:
            width: New width in pixels.
            height: New height in pixels.

        Returns:
            A view of the clip.
        """
        return self._view(self._frames, (width, height), self._part_shown)

    def cropped(self, across: int, down: int) -> Clip:
        """The largest centre part of every frame with an aspect ratio.

        Args:
            across: Horizontal part of the ratio.
            down: Vertical part of the ratio.

        Returns:
            A view of the clip.
        """
        width = min(self.width, round(self.height * across / down))
        height = min(self.height, round(self.width * down / across))
        shown = (self._part_shown[0] * width / self.width, self._part_shown[1] * height / self.height)
        return self._view(self._frames, (width, height), shown)

    def picked(self, indices: Sequence[int], fps: float) -> Clip:
        """Chosen frames as a clip, decoded when needed.

        Args:
            indices: The frames; they may repeat.
            fps: Frames per second of the new clip.

        Returns:
            A view of the clip.
        """
        return Clip(_Picked(self, indices), range(len(indices)), fps, (self.width, self.height))

    def after(self, frame: Image) -> Clip:
        """The clip with one more frame before it.

        Args:
            frame: (H, W, 3) uint8, of the size of the clip.

        Returns:
            A view of the clip.
        """
        return Clip(_After(frame, self), range(len(self) + 1), self.fps, (self.width, self.height))

    def holding(self, indices: Iterable[int]) -> Clip:
        """The same clip, which holds chosen frames in memory once they are read, up to `HELD_BYTES`.

        Args:
            indices: The frames that are read again.

        Returns:
            The clip. Its views share what it holds.
        """
        source = _Holding(self._source, {self._frames[index] for index in indices})
        clip = Clip(source, self._frames, self.fps, (self.width, self.height))
        clip._part_shown = self._part_shown
        return clip

    def read_only(self) -> Clip:
        """The same frames as arrays that cannot be written to, for code that is not ours."""
        return Clip(_ReadOnly(self), range(len(self)), self.fps, (self.width, self.height))

    def to_array(self) -> Image:
        """All frames (T, H, W, 3) in memory."""
        out = np.empty((len(self), self.height, self.width, 3), np.uint8)
        for i, frame in enumerate(self):
            out[i] = frame
        return out

    def _fit(self, frame: Image) -> Image:
        if self._part_shown != (1.0, 1.0):
            rows, columns = frame.shape[:2]
            width, height = round(columns * self._part_shown[0]), round(rows * self._part_shown[1])
            x, y = (columns - width) // 2, (rows - height) // 2
            frame = np.ascontiguousarray(frame[y : y + height, x : x + width])
        return resize(frame, self.width, self.height)

    def _view(self, frames: range, size: tuple[int, int], shown: tuple[float, float]) -> Clip:
        clip = Clip(self._source, frames, self.fps, size)
        clip._part_shown = shown
        return clip


HELD_BYTES = 128 * 2**20
"""Most memory of one clip's held frames: 190 frames of 640x360, or 48 of 1280x720."""
AHEAD = 4
"""Frames of a clip that `side_by_side` holds ready."""


def side_by_side(*clips: Clip) -> Iterator[tuple[Image, ...]]:
    """Frames of clips in step. A thread per clip reads `AHEAD` frames ahead, since decoding releases the GIL."""
    if len({len(clip) for clip in clips}) > 1:
        lengths = ", ".join(str(len(clip)) for clip in clips)
        raise ShapeError(f"clips of {lengths} frames cannot be compared frame by frame")
    with ExitStack() as stack:
        lanes: list[tuple[deque[Future[Image]], ThreadPoolExecutor, Iterator[Image]]] = []
        for clip in clips:
            frames = iter(clip)
            thread = ThreadPoolExecutor(1)
            stack.callback(thread.shutdown, cancel_futures=True)
            lanes.append((deque(thread.submit(next, frames) for _ in range(min(AHEAD, len(clip)))), thread, frames))
        for left in range(min(map(len, clips), default=0), 0, -1):
            found = []
            for waiting, thread, frames in lanes:
                found.append(waiting.popleft().result())
                if left > AHEAD:
                    waiting.append(thread.submit(next, frames))
            yield tuple(found)


def ahead(items: Iterable[T]) -> Iterator[T]:
    """The same items, read by a thread of its own, `AHEAD` of them ahead."""
    source, end = iter(items), object()
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, source, end) for _ in range(AHEAD))
        try:
            while (item := waiting.popleft().result()) is not end:
                waiting.append(thread.submit(next, source, end))
                yield item  # type: ignore[misc]
        finally:
            for left in waiting:
                left.cancel()


def resize(frame: Image, width: int, height: int) -> Image:
    """Resize a frame: OpenCV area average when no side grows, else bilinear.

    Args:
        frame: (H, W, 3) uint8.
        width: New width in pixels.
        height: New height in pixels.

    Returns:
        (height, width, 3) uint8; `frame` itself when the size is the same.

    Examples:
        >>> frame = np.array([[[0, 0, 0], [100, 100, 100]]], np.uint8)
        >>> resize(frame, width=1, height=1).tolist()
        [[[50, 50, 50]]]
    """
    rows, columns = frame.shape[:2]
    if (columns, rows) == (width, height):
        return frame
    import cv2

    how = cv2.INTER_AREA if width <= columns and height <= rows else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(frame, (width, height), interpolation=how), np.uint8)


class Writer:
    """Writes one video file; it appears under its name when closed without an error, else not at all.

    The first frame fixes the size. The same frames give the same bytes.

    Args:
        path: The file.
        fps: Frames per second.
        kind: "mjpg" (AVI, as LoopNav publishes), "lossless" (H.264 RGB, bit-exact, a key frame every 30), "viewable"
            (H.264 that every browser plays), or "archive" (H.264 in full colour resolution, for recordings that others
            are measured against: no browser but Chrome plays it, everything built on FFmpeg reads it).

    Raises:
        DataError: The file cannot be written, such as on a full disk.

    Examples:
        >>> with Writer("walk.mp4", fps=20, kind="lossless") as out:
        ...     out.write(np.zeros((3, 16, 16, 3), np.uint8))
        >>> len(Clip.open("walk.mp4")), Clip.open("walk.mp4").fps
        (3, 20.0)
    """

    def __init__(self, path: Path | str, *, fps: float, kind: Kind) -> None:
        self.path = Path(path)
        self.kind = kind
        self.fps = Fraction(fps).limit_denominator(1001)
        self.frames = 0
        self._end: Literal["written", "dropped"] | None = None
        self._part = self.path.with_name(f".{self.path.name}.part")
        self._shape: tuple[int, ...] | None = None
        self._container: av.container.OutputContainer | None = None
        self._stream: Any = None

    def write(self, frames: Image) -> None:
        """Append frames.

        Args:
            frames: One frame (H, W, 3) or a chunk (n, H, W, 3), uint8 RGB.

        Raises:
            ShapeError: Another shape or dtype, or another size than the first frame.
            DataError: The file cannot be written.
        """
        for frame in frames if frames.ndim == 4 else frames[None]:
            if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or 0 in frame.shape:
                raise ShapeError(f"{self.path}: a frame needs (H, W, 3) uint8, got {frame.shape} {frame.dtype}")
            if self._shape not in (None, frame.shape):
                raise ShapeError(f"{self.path}: frame {self.frames} is {frame.shape}, the first was {self._shape}")
            self._encode(frame)

    def close(self) -> None:
        """Flush the file and rename it into place; a second call has no effect.

        Raises:
            DataError: Nothing was written, or the written frames have been dropped.
        """
        import av

        if self._end == "written":
            return
        if self._end == "dropped":
            raise DataError(f"{self.path}: what was written has been dropped; open another writer")
        if self._container is None:
            raise DataError(f"{self.path}: no frame was written")
        try:
            self._container.mux(self._stream.encode(None))
            # The index is written here, so this is where a disk that is just full shows.
            self._container.close()
            with open(self._part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(self._part, self.path)
        except (av.error.FFmpegError, OSError) as error:
            self.abandon()
            raise self._failed(error) from error
        self._container = None
        self._end = "written"

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
        """Drop what was written; no effect after the file is in place."""
        import av

        self._end = self._end or "dropped"
        container, self._container = self._container, None
        try:
            if container is not None:
                container.close()
        except av.error.FFmpegError:
            pass  # the file is dropped, so an index that cannot be written does not matter
        finally:
            self._part.unlink(missing_ok=True)

    def _encode(self, frame: Image) -> None:
        import av

        if self._end is not None:
            raise DataError(f"{self.path}: {self._end} and closed already; open another writer")
        picture = av.VideoFrame.from_ndarray(
            np.ascontiguousarray(_even(frame) if self.kind == "viewable" else frame), format="rgb24"
        )
        picture.pts = self.frames
        try:
            if self._container is None:
                self._open(picture.width, picture.height)
            assert self._container is not None
            self._container.mux(self._stream.encode(picture))
        except (av.error.FFmpegError, OSError) as error:
            self.abandon()
            raise self._failed(error) from error
        self._shape = frame.shape
        self.frames += 1

    def _open(self, width: int, height: int) -> None:
        import av

        container_format, codec, pixels, options = _ENCODERS[self.kind]
        self._container = av.open(str(self._part), "w", format=container_format)
        stream: Any = self._container.add_stream(codec, rate=self.fps, options=dict(options))
        stream.pix_fmt = pixels
        stream.width, stream.height = width, height
        if self.kind == "archive":
            stream.codec_context.colorspace = stream.codec_context.color_primaries = stream.codec_context.color_trc = 6
            stream.codec_context.color_range = 1
        # One thread: the same bytes on every machine, and workers already fill the cores.
        stream.codec_context.thread_count = 1
        self._stream = stream

    def _failed(self, error: Exception) -> DataError:
        return DataError(f"{self.path}: cannot be written ({getattr(error, 'strerror', None) or error})")


VIEWABLE: Mapping[str, str] = {"preset": "veryfast", "g": "20", "x264-params": "mbtree=0"}
"""H.264 that every browser plays, in steps of a second. mbtree off: with B frames its vector code gives other bytes
on other runs (seen in 14 of 25 of them)."""

_ENCODERS: dict[Kind, tuple[str, str, str, dict[str, str]]] = {
    # Full colour resolution: with 4:2:0 textured frames stay below 35 dB at any quality; here 38 to 40 dB.
    "mjpg": ("avi", "mjpeg", "yuvj444p", {"qmin": "2", "qmax": "2"}),
    "lossless": ("mp4", "libx264rgb", "rgb24", {"crf": "0", "preset": "ultrafast", "g": "30"}),
    "viewable": ("mp4", "libx264", "yuv420p", {**VIEWABLE, "crf": "20", "movflags": "+faststart"}),
    # Textured frames: 42 dB at 640x360 (9 Mbit/s), 39 dB at 96x54; 4:2:0 ends at 36 dB, whatever the quality.
    "archive": ("mp4", "libx264", "yuv444p", {**VIEWABLE, "crf": "8", "movflags": "+faststart"}),
}


def _even(frame: Image) -> Image:
    """Sides made even by repeating the last row or column: 4:2:0 colour needs it."""
    rows, columns = frame.shape[0] % 2, frame.shape[1] % 2
    if not rows and not columns:
        return frame
    return np.pad(frame, ((0, rows), (0, columns), (0, 0)), mode="edge")


class _Source(Protocol):
    def frame(self, index: int) -> Image: ...
    def read(self, indices: Iterable[int]) -> Iterator[Image]: ...


class _ArraySource:
    def __init__(self, frames: Image) -> None:
        self._frames = frames

    def frame(self, index: int) -> Image:
        frame: Image = self._frames[index]
        return frame

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        return (self._frames[i] for i in indices)


class _Rendered:
    def __init__(self, render: Callable[[int], Image]) -> None:
        self._render = render

    def frame(self, index: int) -> Image:
        return self._render(index)

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        return (self._render(index) for index in indices)


class _Picked:
    def __init__(self, clip: Clip, indices: Sequence[int]) -> None:
        self._clip = clip
        self._indices = indices

    def frame(self, index: int) -> Image:
        return self._clip[self._indices[index]]

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        return self._clip.take(self._indices[index] for index in indices)


class _After:
    def __init__(self, first: Image, clip: Clip) -> None:
        self._first = first
        self._clip = clip

    def frame(self, index: int) -> Image:
        return self._first if index == 0 else self._clip[index - 1]

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        wanted = list(indices)
        following = self._clip.take(index - 1 for index in wanted if index)
        return (next(following) if index else self._first for index in wanted)


class _Holding:
    """Keeps the wanted frames of a source, the first that are read."""

    def __init__(self, source: _Source, wanted: set[int]) -> None:
        self._source, self._wanted = source, wanted
        self._held: dict[int, Image] = {}
        self._room = HELD_BYTES

    def frame(self, index: int) -> Image:
        return self._held[index] if index in self._held else self._keep(index, self._source.frame(index))

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        order = list(indices)
        missing = {index for index in order if index not in self._held}
        fresh = self._source.read(index for index in order if index in missing)
        for index in order:
            yield self._keep(index, next(fresh)) if index in missing else self._held[index]

    def _keep(self, index: int, frame: Image) -> Image:
        if index in self._wanted and index not in self._held and frame.nbytes <= self._room:
            self._held[index] = frame
            self._room -= frame.nbytes
        return frame


class _ReadOnly:
    def __init__(self, clip: Clip) -> None:
        self._clip = clip

    def frame(self, index: int) -> Image:
        return locked(self._clip[index])

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        return map(locked, self._clip.take(indices))
