"""Reading video files: the position of every frame, random access to frames, and a check for damage."""

from __future__ import annotations

import bisect
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.image import MAX_PIXELS, Image

if TYPE_CHECKING:
    import av.container

MAX_FRAMES = 1_000_000
_MOST_TOLD = 10
"""Packets that cannot be decoded, of which each has a line of its own."""
CONTAINERS = "avi,mov,mp4,m4a,3gp,3g2,mj2,matroska,webm"
"""Formats that are read. All of them hold their own frames; play lists, which name other files, are not allowed."""


class FileSource:
    """Frame times and key frames of a file, read once without decoding.

    Args:
        path: The video file.

    Raises:
        DataError: The file is missing, is not a video, is empty or passes the limits.
    """

    def __init__(self, path: Path) -> None:
        import av

        self.path = path
        try:
            if not path.is_file():
                raise DataError(f"{path}: no such video")
            with _open(path) as (container, stream):
                self.size = (stream.width, stream.height)
                rate = stream.average_rate or stream.guessed_rate
                times: list[int] = []
                keys: list[int] = []
                for packet in container.demux(stream):
                    if packet.size == 0 or packet.pts is None or packet.is_discard:
                        continue
                    if packet.is_corrupt:
                        raise DataError(f"{path}: frame {len(times)} is cut off; write or download the file again")
                    times.append(packet.pts)
                    if packet.is_keyframe:
                        keys.append(packet.pts)
                    if len(times) > MAX_FRAMES:
                        raise DataError(f"{path}: more than {MAX_FRAMES} frames")
        except (av.error.FFmpegError, OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or error
            raise DataError(f"{path}: not a readable video ({what}); write or download it again") from error
        if not times:
            raise DataError(f"{path}: holds no frame")
        if not rate:
            raise DataError(f"{path}: states no frame rate; write or download it again")
        self.fps = float(rate)
        self.times = sorted(times)
        self.keys = sorted(keys) or self.times[:1]
        self.count = len(self.times)
        self._reader: _Reader | None = None

    def frame(self, index: int) -> Image:
        # One decoder stays open, so that reading neighbouring indices does not seek.
        if self._reader is None:
            self._reader = _Reader(self)
        return self._reader.frame(index)

    def read(self, indices: Iterable[int]) -> Iterator[Image]:
        reader = _Reader(self)
        try:
            for index in indices:
                yield reader.frame(index)
        finally:
            reader.close()


def header_frames(path: Path | str) -> int:
    """Number of frames that the header of a video states; no frame is read.

    Do not rely on it. To count frames, open the file as a clip.

    Args:
        path: The video file.

    Returns:
        The number of frames; 0 when the header does not state it, as in Matroska and streams.

    Raises:
        DataError: The file is not a video.
    """
    import av

    path = Path(path)
    try:
        with _open(path) as (_, stream):
            return int(stream.frames)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: not a readable video ({what}); write or download it again") from error


def problems(path: Path | str) -> list[str]:
    """Find what is wrong with a video file.

    Decodes the whole file. Damaged H.264 raises no error and returns every frame. So the log of the decoder is captured
    (single thread: other threads would log elsewhere), and the frame counts are compared. Damage that still decodes is
    not found: compare hashes when there are any.

    Args:
        path: The video file.

    Returns:
        One line for each problem; empty when none was found.
    """
    import av
    import av.logging

    path = Path(path)
    level, skipping = av.logging.get_level(), av.logging.get_skip_repeated()
    av.logging.set_level(av.logging.ERROR)
    av.logging.set_skip_repeated(False)
    try:
        with av.logging.Capture() as log:
            found = _count_problems(path)
    finally:
        av.logging.set_level(level)
        av.logging.set_skip_repeated(skipping)
    messages = Counter(f"decoder: {name}: {message.strip()}" for _, name, message in log)
    return [f"{path}: {text}" for text in (*found, *(f"{m} (x{n})" for m, n in messages.items()))]


class _Reader:
    """One open decoder; steps forward where it can, seeks to a key frame where it must."""

    def __init__(self, source: FileSource) -> None:
        import av

        self._source = source
        self._stack = ExitStack()
        try:
            self._container, self._stream = self._stack.enter_context(_open(source.path))
        except (av.error.FFmpegError, OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or error
            raise DataError(f"{source.path}: cannot be opened again ({what}); was it moved or changed?") from error
        self._pictures: Iterator[Any] = self._container.decode(self._stream)
        self._time = source.times[0] - 1
        self._last: tuple[int, Any] | None = None

    def frame(self, index: int) -> Image:
        import av

        where = f"{self._source.path}: frame {index}"
        try:
            if self._last is None or self._last[0] != index:
                self._last = (index, self._decode(index))
            picture = self._last[1]
            if picture is None:
                raise DataError(f"{where} is listed in the file but does not decode")
            if (picture.width, picture.height) != self._source.size:
                raise DataError(f"{where} is {picture.width}x{picture.height}, the file says {self._source.size}")
            image: Image = picture.to_ndarray(format="rgb24")
            # The caller owns what it gets: a picture that needs no conversion would be shared.
            return image.copy() if picture.format.name == "rgb24" else image
        except (av.error.FFmpegError, ValueError) as error:
            self._time = self._source.times[-1]  # whatever comes next must seek
            raise DataError(f"{where} cannot be decoded ({error})") from error

    def _decode(self, index: int) -> Any:
        """The picture at `index`; None when the decoder skips it."""
        times, keys = self._source.times, self._source.keys
        target = times[index]
        key = keys[max(bisect.bisect_right(keys, target) - 1, 0)]
        at_start = self._time < times[0] and key <= times[0]
        if not at_start and not key <= self._time < target:
            self._container.seek(key, stream=self._stream)
            self._pictures = self._container.decode(self._stream)
        for picture in self._pictures:
            self._time = times[-1] if picture.pts is None else picture.pts
            if self._time >= target:
                return picture if self._time == target else None
        self._time = times[-1]
        return None

    def close(self) -> None:
        self._stack.close()


def _check_claims(path: Path) -> None:
    """Refuse an MP4 that claims more samples than it can hold.

    FFmpeg takes 72 bytes of memory for each sample that a table claims, and a table of equal samples has 12 bytes,
    whatever it claims: a file of 2 kB would take 13 GB before its first frame. Claims of all tracks and of all
    fragments are in memory together, so they are added up.

    Raises:
        DataError: It claims so, or its boxes are too many or too deep to know.
    """
    before, of_track, is_sound, is_even = 0, 0, False, False
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        for kind, start, end in _boxes(file, size, path):
            if kind == b"trak":
                before, of_track, is_sound, is_even = before + of_track, 0, False, False
            if kind not in _TOLD:
                continue
            file.seek(start)
            head = file.read(min(end - start, _MOST_HEAD))
            first, second = _uint(head, 4), _uint(head, 8)
            if kind == b"cmov":
                raise DataError(f"{path}: its index is packed, as nothing writes any more; write it again")
            if kind == b"stsd" and _CLAIMS.search(head):
                raise DataError(f"{path}: a table lies where nothing writes one; write it again")
            if kind == b"hdlr":  # a track may have another, of its data
                is_sound = is_sound or head[8:12] == b"soun"
            elif kind == b"trun":
                before += first
            elif kind in (b"stts", b"ctts"):
                entries = np.frombuffer(head[8 : len(head) // 8 * 8], ">u4").reshape(-1, 2)[:first]
                is_even = is_even or (kind == b"stts" and entries[:, 1].tolist() == [1])
                # Of sound whose samples all last a tick, FFmpeg keeps chunks.
                of_track = of_track if is_sound and is_even else max(of_track, int(entries[:, 0].sum()))
            elif kind != b"stsd" and not (kind == b"stsz" and is_sound and is_even and second <= size // max(first, 1)):
                of_track = max(of_track, second)
            claimed = before + of_track
            if claimed > MAX_FRAMES:
                raise DataError(f"{path}: {size} bytes that claim {claimed} frames; at most {MAX_FRAMES} are read")


_CLAIMS = re.compile(b"stsz|stz2|stts|ctts|trun")
_TOLD = frozenset({b"cmov", b"hdlr", b"stsd", b"stsz", b"stz2", b"stts", b"ctts", b"trun"})
_HOLDERS = frozenset(
    {b"moov", b"trak", b"mdia", b"minf", b"stbl", b"moof", b"traf", b"mvex", b"edts", b"udta", b"wave"}
    # FFmpeg looks for tables in these, too.
    | {b"dinf", b"tref", b"sinf", b"schi", b"ilst", b"iprp", b"ipco"}
)
_MOST_DEPTH, _MOST_BOXES, _MOST_HEAD = 12, 1_000_000, 8 * 1_000_000


def _uint(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big")


def _boxes(file: IO[bytes], size: int, path: Path) -> Iterator[tuple[bytes, int, int]]:
    """Boxes of an MP4 and of the boxes in them: kind, and first and last byte of the content. None in other files.

    Raises:
        DataError: There are too many, or they are nested too deep. What was not looked at may claim anything.
    """
    start, ends = 0, [size]
    for _ in range(_MOST_BOXES):
        while ends and start >= ends[-1]:
            start = ends.pop()
        if not ends:
            return
        file.seek(start)
        head = file.read(16)
        length, first = _uint(head, 0), start + 8
        if length == 1:
            length, first = int.from_bytes(head[8:16], "big"), start + 16
        stop = ends[-1] if length == 0 else start + length
        if len(head) < 8 or stop < first:  # what follows in this holder is no box
            start = ends.pop()
            continue
        stop, kind = min(stop, ends[-1]), head[4:8]
        yield kind, first, stop
        inside = _first_inside(file, kind, first, stop)
        if inside is None:
            start = stop
            continue
        if len(ends) > _MOST_DEPTH:
            raise DataError(f"{path}: its boxes are nested more than {_MOST_DEPTH} deep; write it again")
        ends.append(stop)
        start = inside
    raise DataError(f"{path}: more than {_MOST_BOXES} boxes; write it again with fewer fragments")


def _first_inside(file: IO[bytes], kind: bytes, first: int, stop: int) -> int | None:
    """Where the boxes in a box begin for FFmpeg; None where it looks for none."""
    if kind in (b"free", b"hoov"):  # an index that a program cast off, or that was never finished
        file.seek(first)
        return first if file.read(8)[4:] in (b"mvhd", b"cmov") else None
    if kind == b"meta":
        file.seek(first)
        head = file.read(min(stop - first, _MOST_HEAD))
        words = (at for at in range(4, len(head) - 3, 4) if head.startswith(b"hdlr", at))
        return next((first + at - 4 for at in words), None)
    return first if kind in _HOLDERS else None


@contextmanager
def _open(path: Path) -> Iterator[tuple[av.container.InputContainer, Any]]:
    """Container and first video stream, one decoding thread, refused before anything large is allocated."""
    import av

    _check_claims(path)
    # Both bounds are needed: the first holds while the file is probed, the second while it is decoded,
    # where a frame may be larger than its header says.
    bound = {"max_pixels": str(MAX_PIXELS)}
    options = {**bound, "format_whitelist": CONTAINERS}
    # Titles and comments may be no UTF-8. PyAV 19 escapes what is none by itself, and knows the argument no more.
    lenient: dict[str, Any] = {} if int(av.__version__.partition(".")[0]) >= 19 else {"metadata_errors": "replace"}
    with av.open(str(path), options=options, **lenient) as container:
        if not container.streams.video:
            raise DataError(f"{path}: holds no video stream")
        stream = container.streams.video[0]
        if stream.codec_context is None:
            raise DataError(f"{path}: its video is coded in a way that cannot be decoded here")
        width, height = stream.width, stream.height
        if not 0 < width * height <= MAX_PIXELS:
            raise DataError(f"{path}: frames of {width}x{height} pixels are empty or pass the limit of {MAX_PIXELS}")
        stream.codec_context.options = dict(bound)
        stream.codec_context.thread_count = 1
        yield container, stream


def _count_problems(path: Path) -> list[str]:
    """Frames that do not decode, and numbers of frames that differ between header, packets and decoder."""
    import av

    found = []
    try:
        listed = FileSource(path).count
        with _open(path) as (container, stream):
            stated, decoded, failed = stream.frames, 0, 0
            for number, packet in enumerate(container.demux(stream)):
                try:
                    decoded += len(packet.decode())
                except (av.error.FFmpegError, ValueError) as error:
                    failed += 1
                    if failed <= _MOST_TOLD:
                        found.append(f"packet {number} cannot be decoded ({error})")
                if number == MAX_FRAMES:
                    return [*found, f"more than {MAX_FRAMES} frames"]
    except (DataError, av.error.FFmpegError, ValueError) as error:
        return [str(error).removeprefix(f"{path}: ")]
    if failed > _MOST_TOLD:
        found.append(f"{failed - _MOST_TOLD} more packets cannot be decoded")
    if stated not in (0, listed):
        found.append(f"its header states {stated} frames, it holds {listed}")
    if decoded != listed:
        found.append(f"it holds {listed} frames, {decoded} decode")
    return found
