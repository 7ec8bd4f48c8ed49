"""Reading video files: the position of every frame, random access to frames, and a check for damage."""

from __future__ import annotations

import bisect
import io
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from worldgauge.core.errors import DataError
from worldgauge.core.geometry import FloatArray
from worldgauge.core.image import MAX_PIXELS, Image, ImageFolder

if TYPE_CHECKING:
    import av.container


ROUNDING_S = 1e-3
"""Times of a container that counts milliseconds stay rounded when a file is copied to a finer one."""


def constant_rate(seconds: FloatArray, tick_s: float, stated: Sequence[float]) -> float | None:
    """Frame rate of evenly spaced frames at `seconds` (n,): a stated one if it agrees with the times. Else None."""
    if len(seconds) == 1:
        return next(iter(stated), None)
    shortest = float(np.diff(seconds).min())
    if shortest <= 0:
        return None
    numbers = np.arange(len(seconds), dtype=np.float64)
    centred = numbers - numbers.mean()
    slope = float(centred @ centred / (centred @ (seconds - seconds.mean())))
    for rate in (*stated, round(slope), round(slope) * 1000 / 1001, slope):
        if rate > 0 and np.ptp(seconds - numbers / rate) <= min(tick_s + ROUNDING_S, shortest / 3):
            return float(rate)
    return None


def nearest_frames(seconds: FloatArray, lasts_s: float, tick_s: float, fps: float) -> list[int]:
    """Frames nearest to the times k / fps; `seconds` (n,) ascend from 0. Over a gap the frame before it stays."""
    wanted = np.arange(max(1, int(lasts_s * fps + 0.5))) / fps
    last = np.searchsorted(seconds, seconds, "right") - 1
    before = np.maximum(np.searchsorted(seconds, wanted + tick_s / 2, "right") - 1, 0)
    after = last[np.minimum(before + 1, len(seconds) - 1)]
    ahead = seconds[after] - wanted
    is_later = (ahead < wanted - seconds[before] - tick_s) & (ahead < 0.5 / fps - tick_s)
    return [int(index) for index in np.where(is_later, after, before)]


def rate_range(seconds: FloatArray) -> tuple[float, float, int]:
    """Lowest, highest and usual rate between frames at ascending `seconds` (n,); the usual one is a whole number."""
    steps = np.diff(seconds)
    highest = 1 / steps[steps > 0].min() if steps.any() else np.inf
    usual = np.median(steps[steps > 0]) if steps.any() else 1.0
    return float(1 / steps.max()) if steps.any() else np.inf, float(highest), max(1, round(1 / float(usual)))


_STRAIGHT = math.sin(math.radians(1))
"""Angles within a degree of a quarter turn count as one, as for ffmpeg."""


@dataclass(frozen=True)
class Turn:
    """How a stored picture becomes the shown one: rows and columns swapped, then columns and rows reversed."""

    swaps: bool = False
    reverses_columns: bool = False
    reverses_rows: bool = False

    @classmethod
    def of(cls, picture: Any, where: str) -> Turn:
        """Read the display matrix of a decoded picture."""
        try:
            data = picture.side_data.get("DISPLAYMATRIX")
        except ValueError as error:  # PyAV does not know every kind of data that may lie beside a matrix
            if picture.rotation:
                raise DataError(f"{where}: its display matrix cannot be read; turn it and write it again") from error
            data = None
        if data is None:
            return cls()
        across_x, across_y, _, down_x, down_y = np.frombuffer(bytes(data), np.int32)[:5].tolist()
        straight, crossed = math.hypot(across_x, down_y), math.hypot(across_y, down_x)
        if straight == crossed == 0:
            return cls()
        if crossed <= _STRAIGHT * straight:
            return cls(False, across_x < 0, down_y < 0)
        if straight <= _STRAIGHT * crossed:
            return cls(True, down_x < 0, across_y < 0)
        angle = math.degrees(math.atan2(-across_y, across_x))
        raise DataError(f"{where}: is to be shown turned by {angle:.0f} degrees; turn it and write it again")

    def size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) of the shown picture, from those of the stored one."""
        return (height, width) if self.swaps else (width, height)

    def apply(self, image: Image) -> Image:
        """The shown picture, (H, W, 3), from the stored one."""
        if self.swaps:
            image = image.transpose(1, 0, 2)
        if self.reverses_columns:
            image = image[:, ::-1]
        if self.reverses_rows:
            image = image[::-1]
        return np.ascontiguousarray(image)


MAX_FRAMES = 1_000_000
_MOST_TOLD = 10
"""Packets that cannot be decoded, of which each has a line of its own."""
CONTAINERS = "avi,mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,gif"
"""Formats that are read. All of them hold their own frames; play lists, which name other files, are not allowed."""
_IMAGE_FORMATS = {b"\x89": "png_pipe", b"\xff": "jpeg_pipe", b"R": "webp_pipe"}
"""Formats of images that `decode_picture` reads, by their first byte."""
KINDS_READ = "readable are MP4, M4V, MOV, MKV, WebM, AVI and GIF files, and folders of PNG, JPEG or WebP images"


class FileSource:
    """Frame times and key frames of a file, read once; only the first picture is decoded if packets tell the order.

    Attributes:
        size: (width, height) of the frames as they are shown.
        packets: Number of packets with content, hidden ones included; of AVI the number of units of time.
        times: Presentation time of each frame in ticks, ascending.
        keys: Times of key frames, also of hidden ones; None if frames are found by counting from the first.
        fps: Frames per second; None if frames are not evenly spaced, or for a single one without a stated rate.
    """

    times: list[int]
    keys: list[int] | None
    _last_s: float
    _tick_s: float
    _stated: list[float]

    def __init__(self, path: Path) -> None:
        import av

        self.path = path
        try:
            if not path.is_file():
                raise DataError(f"{path}: no such video")
            with _open(path) as (container, stream):
                self._read_index(container, stream)
            if self.keys is None:
                self.times = self._count_frames()
        except (av.error.FFmpegError, OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or error
            raise DataError(f"{path}: not a readable video ({what}); {KINDS_READ}") from error
        self.count = len(self.times)
        if not self.count:
            raise DataError(f"{path}: holds no frame")
        self._seconds = (np.array(self.times, np.float64) - self.times[0]) * self._tick_s
        self.fps = constant_rate(self._seconds, self._tick_s, self._stated)
        self._reader: _Reader | None = None

    def _read_index(self, container: av.container.InputContainer, stream: Any) -> None:
        codec, is_avi = stream.codec_context, container.format.name == "avi"
        turn: tuple[Turn, int] | None = None
        times: list[int] = []
        keys: list[int] = []
        hidden: list[int] = []
        lacks_times, is_in_order, last = False, True, 0
        units: list[int] = []
        self.packets, self._last_s = 0, 0.0
        for packet in container.demux(stream):
            if packet.size == 0:
                continue
            if packet.is_corrupt:
                raise DataError(f"{self.path}: frame {len(times)} is cut off; write or download the file again")
            self.packets += 1
            if packet.dts is not None:
                units.append(packet.dts)
            if max(self.packets, units[-1] if is_avi and units else 0) > MAX_FRAMES:
                raise DataError(f"{self.path}: more than {MAX_FRAMES} frames")
            if turn is None:
                turn = self._turn_in(codec, packet)
            if packet.pts is None:
                lacks_times = True
                continue
            if packet.is_keyframe:
                keys.append(packet.pts)
            if packet.is_discard:
                hidden.append(packet.pts)
                continue
            is_in_order = is_in_order and (not times or packet.pts > times[-1])
            times.append(packet.pts)
            if packet.pts >= times[last]:
                last, self._last_s = len(times) - 1, float((packet.duration or 0) * stream.time_base)
        if container.format.name == "gif" and any(later - time < 2 for time, later in pairwise(times)):
            raise DataError(f"{self.path}: has delays below 0.02 s, which viewers lengthen; write it as MP4")
        if is_avi and units:  # it counts a frame for each unit of time, also where a frame was dropped or lasts several
            lasts = min((later - unit for unit, later in pairwise(units) if later > unit), default=1)
            self.packets = max(self.packets, units[-1] + lasts)
        self.turn, self.angle = turn or (Turn(), 0)
        self.size = self.turn.size(stream.width, stream.height)
        self.times = sorted(times)
        self._tick_s = float(stream.time_base)
        self._stated = [float(rate) for rate in (stream.average_rate, stream.guessed_rate) if rate]
        # AVI has no presentation times, and others may have been written without.
        is_guessed = codec.codec.reorder if is_avi else is_in_order and codec.has_b_frames
        is_cut_within = any(self.times[0] < time < self.times[-1] for time in hidden) if times else False
        leads = bool(times and keys) and self.times[0] < min(keys)  # frames before the first key frame may not decode
        is_counted = lacks_times or is_guessed or is_cut_within or leads or len(set(times)) < len(times)
        self.keys = None if is_counted else sorted(keys) or self.times[:1]

    def _turn_in(self, codec: Any, packet: Any) -> tuple[Turn, int] | None:
        """How the picture of a packet is turned to be shown, and by which angle; None without a picture of its own."""
        import av

        try:
            # A copy is not hidden by an edit list. Drained, the decoder gives the picture at once.
            pictures = [*codec.decode(av.Packet(bytes(packet))), *codec.decode(None)]
        except (av.error.FFmpegError, ValueError):
            return None
        finally:
            codec.flush_buffers()
        return (Turn.of(pictures[0], str(self.path)), pictures[0].rotation) if pictures else None

    def _count_frames(self) -> list[int]:
        """Times of the frames as they leave the decoder, which alone knows their order."""
        import av

        shown: list[int | None] = []
        decoded: list[int | None] = []
        try:
            with _open(self.path) as (container, stream):
                is_avi = container.format.name == "avi"
                for picture in container.decode(stream):
                    shown.append(picture.pts)
                    decoded.append(picture.dts)
                    if len(shown) > MAX_FRAMES:
                        raise DataError(f"{self.path}: more than {MAX_FRAMES} frames")
        except av.error.FFmpegError as error:
            raise DataError(f"{self.path}: frame {len(shown)} cannot be decoded ({error})") from error
        if not is_avi and None not in shown and shown == sorted(shown, key=int):  # type: ignore[arg-type]
            return [time for time in shown if time is not None]
        # A frame leaves the decoder with the packet that is due when it is shown; the last have none.
        known = [time for time in decoded if time is not None]
        steps = [later - time for time, later in pairwise(known)]
        if known != decoded[: len(known)] or min(steps, default=1) <= 0:
            raise DataError(f"{self.path}: its frames have no times in their order; convert it to MP4")
        step, first = min(steps, default=1), known[-1] if known else 0
        return [*known, *(first + step * n for n in range(1, len(decoded) - len(known) + 1))]

    def frames_at(self, fps: float) -> Sequence[int]:
        """The frames nearest to the times 0, 1 / fps, 2 / fps ... for as long as the video lasts."""
        lasts_s = float(self._seconds[-1]) + (self._last_s or 1 / fps)
        if lasts_s * fps > MAX_FRAMES:
            raise DataError(f"{self.path}: {lasts_s:g} s at {fps:g} frames/s are more than {MAX_FRAMES} frames")
        return nearest_frames(self._seconds, lasts_s, self._tick_s, fps)

    def why_no_rate(self) -> str:
        """Message that refuses the video, for a reader without a rate to resample to."""
        if self.count == 1:
            return f"{self.path}: holds one frame and states no frame rate; write it with a rate"
        low, high, usual = rate_range(self._seconds)
        return (
            f"{self.path}: its frames come at {low:.4g} to {high:.4g} frames/s; "
            f"give it a constant rate: ffmpeg -i {self.path.name} -vf fps={usual} OUT.mp4"
        )

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
    """Number of frames that the header of a video states. It may be wrong: to count frames, open the file as a clip."""
    import av

    path = Path(path)
    try:
        with _open(path) as (_, stream):
            return int(stream.frames)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: not a readable video ({what}); {KINDS_READ}") from error


def problems(path: Path | str) -> list[str]:
    """Find what is wrong with a video file or a folder of images.

    Decodes the whole file. Damaged H.264 raises no error and returns every frame. So the log of the decoder is captured
    (single thread: other threads would log elsewhere), and the frame counts are compared. Damage that still decodes is
    not found: compare hashes when there are any.

    Examples:
        >>> with Writer("walk.avi", fps=20, kind="mjpg") as out:
        ...     out.write(np.zeros((3, 16, 16, 3), np.uint8))
        >>> problems("walk.avi")
        []
        >>> problems("no-walk.avi")
        ['no-walk.avi: no such video']
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
        self._source = source
        self._stack = ExitStack()
        self._last: tuple[int, Any] | None = None
        self._start()

    def _start(self) -> None:
        import av
        from av.video.reformatter import VideoReformatter

        self.close()
        self._to_rgb = VideoReformatter()  # a picture's own one sets up its tables anew
        path = self._source.path
        try:
            self._container, self._stream = self._stack.enter_context(_open(path))
        except (av.error.FFmpegError, OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or error
            raise DataError(f"{path}: cannot be opened again ({what}); was it moved or changed?") from error
        self._pictures: Iterator[Any] = self._container.decode(self._stream)
        self._time: float = -np.inf
        self._number = -1
        self._is_lost = False

    def frame(self, index: int) -> Image:
        import av

        source = self._source
        where = f"{source.path}: frame {index}"
        try:
            if self._last is None or self._last[0] != index:
                self._last = (index, self._decode(index))
            picture = self._last[1]
            if picture is None:
                raise DataError(f"{where} is listed in the file but does not decode")
            width, height = source.turn.size(picture.width, picture.height)
            if (width, height) != source.size:
                raise DataError(f"{where} is {width}x{height}, the file says {source.size}")
            # Not the whole matrix: PyAV would keep each picture in a cycle of references.
            if picture.rotation != source.angle:
                raise DataError(
                    f"{where} is turned by {picture.rotation} degrees, the first by {source.angle}; write the video "
                    "upright"
                )
            image = np.asarray(self._to_rgb.reformat(picture, format="rgb24").to_ndarray(), np.uint8)
            # The caller owns what it gets: a picture that needs no conversion would be shared.
            return source.turn.apply(image.copy() if picture.format.name == "rgb24" else image)
        except (av.error.FFmpegError, ValueError) as error:
            self._is_lost = True
            raise DataError(f"{where} cannot be decoded ({error})") from error

    def _decode(self, index: int) -> Any:
        """The picture at `index`; None when the decoder skips it."""
        times, keys = self._source.times, self._source.keys
        if keys is None:
            return self._count_to(index)
        key = keys[max(bisect.bisect_right(keys, times[index]) - 1, 0)]
        may_step = not self._is_lost and self._time < times[index] and (key <= self._time or key <= times[0])
        if not may_step:
            self._is_lost = False
            self._container.seek(key, stream=self._stream)
            self._pictures = self._container.decode(self._stream)
            self._time = -np.inf
        picture = self._step_to(times[index])
        if picture is None and not may_step:
            # The decoder needed more than this key frame, as where pictures are refreshed bit by bit.
            self._start()
            picture = self._step_to(times[index])
        return picture

    def _step_to(self, target: int) -> Any:
        for picture in self._pictures:
            self._time = np.inf if picture.pts is None else picture.pts
            if self._time >= target:
                return picture if self._time == target else None
        self._time = np.inf
        return None

    def _count_to(self, index: int) -> Any:
        if self._is_lost or index <= self._number:
            self._start()
        for picture in self._pictures:
            self._number += 1
            if self._number == index:
                return picture
        self._is_lost = True
        return None

    def close(self) -> None:
        self._stack.close()


def _check_claims(path: Path) -> None:
    """Refuse an MP4 that claims more samples than it can hold.

    FFmpeg allocates 72 bytes per claimed sample, and a table of 12 bytes can claim any number of equal samples.
    Memory holds the claims of all tracks and fragments together, so they are added up.
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
    """Boxes of an MP4, also nested ones: kind, and first and last byte of the content. Other files have none."""
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
    # What was not read may claim anything.
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
def _open(path: Path, *, edits: bool = True) -> Iterator[tuple[av.container.InputContainer, Any]]:
    """Container and its main video stream, one decoding thread, refused before anything large is allocated."""
    import av

    _check_claims(path)
    # Both bounds are needed: the first holds while the file is probed, the second while it is decoded,
    # where a frame may be larger than its header says.
    bound = {"max_pixels": str(MAX_PIXELS)}
    options = {**bound, "format_whitelist": CONTAINERS} | ({} if edits else {"ignore_editlist": "1"})
    # Titles and comments may be no UTF-8. PyAV 19 escapes what is none by itself, and knows the argument no more.
    lenient: dict[str, Any] = {} if int(av.__version__.partition(".")[0]) >= 19 else {"metadata_errors": "replace"}
    with av.open(str(path), options=options, **lenient) as container:
        # FFmpeg's choice: not the cover picture of a file, and of several the one that is marked as the default.
        stream: Any = container.streams.best("video")
        if stream is None or stream.disposition & av.stream.Disposition.attached_pic:
            raise DataError(f"{path}: holds no video stream")
        if stream.codec_context is None:
            raise DataError(f"{path}: its video is coded in a way that cannot be decoded here")
        width, height = stream.width, stream.height
        if not 0 < width * height <= MAX_PIXELS:
            raise DataError(f"{path}: frames of {width}x{height} pixels are empty or pass the limit of {MAX_PIXELS}")
        stream.codec_context.options = dict(bound)
        stream.codec_context.thread_count = 1
        yield container, stream


def _count_problems(path: Path) -> list[str]:
    """Frames that do not decode, or not as listed, and a header that states more frames than the file holds."""
    import av

    found: list[str] = []
    if path.is_dir():
        return _image_problems(path)
    try:
        source = FileSource(path)
        with _open(path) as (container, stream):
            stated, decoded, times, failed = stream.frames, 0, [], 0
            for number, packet in enumerate(container.demux(stream)):
                try:
                    times += [picture.pts for picture in packet.decode()]
                except (av.error.FFmpegError, ValueError) as error:
                    failed += 1
                    if failed <= _MOST_TOLD:
                        found.append(f"packet {number} cannot be decoded ({error})")
                if number == MAX_FRAMES:
                    return [*found, f"more than {MAX_FRAMES} frames"]
        if stated > source.packets and stated > _packets_of_all_edits(path):
            found.append(f"its header states {stated} frames, it holds {source.count}")
    except (DataError, av.error.FFmpegError, ValueError) as error:
        return [str(error).removeprefix(f"{path}: ")]
    decoded = len(times)
    if failed > _MOST_TOLD:
        found.append(f"{failed - _MOST_TOLD} more packets cannot be decoded")
    if decoded != source.count:
        found.append(f"it holds {source.count} frames, {decoded} decode")
    elif source.keys is not None and times != source.times:
        found.append("its frames decode in another order than their times say")
    return found


def _image_problems(folder: Path) -> list[str]:
    """Images of a folder that do not decode or have another size; the log of a second decoder shows damage inside."""
    import av

    found = []
    try:
        images = ImageFolder(folder)
    except DataError as error:
        return [str(error).removeprefix(f"{folder}: ")]
    for index in range(images.count):
        try:
            images.frame(index)
            data = io.BytesIO(images.images[index].read_bytes())
            with av.open(data, "r", format=_IMAGE_FORMATS[data.getvalue()[:1]]) as container:
                for _ in container.decode(video=0):
                    pass
        except (DataError, av.error.FFmpegError, ValueError) as error:
            found.append(str(error).removeprefix(f"{folder}{os.sep}"))
    return found


def _packets_of_all_edits(path: Path) -> int:
    """Packets of an MP4, also those that its edit list leaves out: the header counts them."""
    with _open(path, edits=False) as (container, stream):
        return sum(1 for packet in container.demux(stream) if packet.dts is not None)
