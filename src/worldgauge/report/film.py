"""Films: the truth and all models in step, in one small video for browsers; and stills of them."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldgauge.core.errors import UsageError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.video import VIEWABLE, Clip, resize

TILE_PX = 256
STRIP_PX = 18
MIN_FRAMES, MAX_FRAMES = 60, 120
TILE_BITS = 2_500
"""Of a tile in one frame: where the budget gives fewer, a long film rather has fewer frames than coarser ones."""
BORROWED = 20
"""Frames that a costly one may take bits from."""
INK, PAPER, VOID = (236, 234, 228), (24, 26, 30), (52, 54, 60)


@dataclass(frozen=True, repr=False)
class Film:
    """One video of tiles in rows, each tile under a strip with its name.

    Attributes:
        data: The video.
        names: Names of the tiles.
        columns: Tiles per row.
        tile: Width and height of a tile in pixels.
        fps: Frames per second.
        step: Generated frames per film frame.
        frames: Number of film frames.
        length: Number of generated frames.
        broken: Name and reason of each clip that could not be read to its end.

    Examples:
        >>> result = wg.score("runs")
        >>> result.film(result.frame.task[0])
        Film(...freeze...: ... frames, ... bytes)
    """

    data: bytes
    names: tuple[str, ...]
    columns: int
    tile: tuple[int, int]
    fps: float
    step: int
    frames: int
    length: int
    broken: tuple[tuple[str, str], ...] = ()

    def _repr_html_(self) -> str:
        """A player for notebooks, with the video in it."""
        source = f"data:video/mp4;base64,{base64.b64encode(self.data).decode()}"
        return f'<video controls loop muted src="{source}" style="max-width: 100%"></video>'

    def __repr__(self) -> str:
        return f"Film({', '.join(self.names)}: {self.frames} frames, {len(self.data)} bytes)"


def make_film(
    clips: Mapping[str, Clip], *, budget: int, lead: str = "", tile_px: int = TILE_PX, stands: bool = False
) -> Film:
    """Combine clips into one film of about `budget` bytes, in step with the `lead` clip; the first gives the shape. A
    clip that ends early or breaks holds its last frame, darkened. A first still that does not lead is always shown."""
    if not clips:
        raise UsageError("a video needs at least one clip")
    first = next(iter(clips.values()))
    timed = clips[lead] if lead else first
    length, rate = len(timed), timed.fps or 20.0
    most = MAX_FRAMES if stands else max(MIN_FRAMES, min(MAX_FRAMES, budget * 8 // (len(clips) * TILE_BITS)))
    step = -(-length // most)
    width, height = tile_px, max(2, 2 * round(tile_px * first.height / first.width / 2))
    columns = columns_for(len(clips))
    frames = -(-length // step)
    fps = rate / step
    strips = [_strip(name, width) for name in clips]
    broken: list[tuple[str, str]] = []
    empty = np.full((height, width, 3), VOID, np.uint8)
    streams: list[Iterator[Image]] = []
    for name, clip in clips.items():
        tiles = _fitted(name, clip, _in_step(clip, rate, step, frames), empty, broken)
        still = clip is first and clip is not timed and len(clip) == 1
        held = _held(tiles, empty, clip, rate, step, length, marked=not stands)
        streams.append(repeat(next(tiles, empty)) if still else held)
    kbps = max(1, int(budget * 8 * fps / frames / 1000))
    sheets = (_sheet([next(stream) for stream in streams], strips, columns) for _ in range(frames))
    data = _encode(sheets, fps, kbps=kbps)
    return Film(data, tuple(clips), columns, (width, height), fps, step, frames, length, tuple(broken))


def columns_for(count: int) -> int:
    """Tiles per row: rows as full as possible, at most five."""
    rows = -(-count // 5)
    return -(-count // rows)


def same_rate(clip: Clip, fps: float) -> bool:
    """Tell whether a clip has a frame rate, as exactly as files store it. fps: Frames per second."""
    return not clip.fps or not fps or abs(clip.fps / fps - 1) < 0.01


def _in_step(clip: Clip, rate: float, step: int, frames: int) -> Iterable[Image]:
    """The frame of `clip` that is on at the time of every film frame, as long as it goes on."""
    if same_rate(clip, rate):
        return clip[::step]
    wanted = (int(k * step / rate * clip.fps + 1e-6) for k in range(frames))
    return clip.take([index for index in wanted if index < len(clip)])


def _fitted(
    name: str, clip: Clip, shown: Iterable[Image], empty: Image, broken: list[tuple[str, str]]
) -> Iterator[Image]:
    """Frames fitted into `empty` (h, w, 3) keeping their shape. broken: gets what went wrong."""
    height, width = empty.shape[:2]
    scale = min(width / clip.width, height / clip.height)
    inner = max(1, round(clip.width * scale)), max(1, round(clip.height * scale))
    left, top = (width - inner[0]) // 2, (height - inner[1]) // 2
    try:
        for frame in shown:
            tile = empty.copy()
            tile[top : top + inner[1], left : left + inner[0]] = resize(frame, *inner)
            yield tile
    except WorldgaugeError as error:
        broken.append((name, str(error)))


def _held(
    tiles: Iterator[Image], empty: Image, clip: Clip, rate: float, step: int, length: int, *, marked: bool = True
) -> Iterator[Image]:
    """`tiles`, then the last of them for ever, marked if the clip is over before the film; `empty` without any."""
    shown, last = 0, None
    for last in tiles:
        shown += 1
        yield last
    if last is None:
        yield from repeat(empty)
        return
    own = rate if same_rate(clip, rate) else clip.fps
    # A broken clip ends where it broke.
    end = min(len(clip) / own, shown * step / rate)
    # Rates are rounded in files: what lacks a frame and a half has not ended early.
    early = marked and end < (length - 1.5) / rate
    if early:  # darkened, so that it cannot be mistaken for a frame of a running film
        last = (last * 0.4).astype(np.uint8)
        at = (8, last.shape[0] - 9)
        cv2.putText(last, f"ended at {end:.1f} s", at, cv2.FONT_HERSHEY_SIMPLEX, 0.48, INK, 1, cv2.LINE_AA)
    yield from repeat(last)


def _strip(name: str, width: int) -> Image:
    """The name above a tile, for who saves the film; the page writes names itself."""
    strip = np.full((STRIP_PX, width, 3), PAPER, np.uint8)
    ascii_name = name.encode("ascii", "replace").decode()[:40]
    cv2.putText(strip, ascii_name, (5, STRIP_PX - 5), cv2.FONT_HERSHEY_SIMPLEX, 0.42, INK, 1, cv2.LINE_AA)
    return strip


def _sheet(tiles: list[Image], strips: list[Image], columns: int) -> Image:
    cells = [np.vstack([strip, tile]) for strip, tile in zip(strips, tiles, strict=True)]
    blank = np.full_like(cells[0], PAPER)
    cells += [blank] * (-len(cells) % columns)
    return np.vstack([np.hstack(cells[row : row + columns]) for row in range(0, len(cells), columns)])


def _encode(frames: Iterable[Image], fps: float, *, kbps: int) -> bytes:
    """H.264 that every browser plays, in memory. kbps: where it binds, hard pictures get coarser instead of larger."""
    # Stronger adaptive quantisation keeps one noisy tile from starving the others.
    options = {**VIEWABLE, "crf": "21", "aq-mode": "2", "aq-strength": "1.6"}
    # The first frame takes what many later ones do: a film of few frames a second gets as many of them to borrow from.
    options |= {"maxrate": f"{kbps}k", "bufsize": f"{int(kbps * max(1.0, BORROWED / fps))}k"}
    buffer = io.BytesIO()
    import av  # a machine that only trains may lack a video library

    with av.open(buffer, "w", format="mp4") as container:
        stream: Any = None
        for count, frame in enumerate(frames):
            if stream is None:
                stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1001), options=options)
                stream.width, stream.height, stream.pix_fmt = frame.shape[1], frame.shape[0], "yuv420p"
                stream.codec_context.thread_count = 1  # same bytes on every machine
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
            picture.pts = count
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return buffer.getvalue()


MOST = 9
"""Frames in a row; of more, evenly many are shown."""
GAP_PX = 3
STEPS = ((128, 74), (128, 56), (112, 44), (96, 34), (96, 18))
"""(width of a frame in px, WebP quality), tried in turn until the picture fits its budget."""


@dataclass(frozen=True)
class StillsRow:
    """Stills of one film."""

    name: str
    data: bytes
    size: tuple[int, int]
    frames: tuple[int, ...]
    times_s: tuple[float, ...]
    looked: int
    length: int

    @property
    def encoded(self) -> str:
        """The picture as a data URL."""
        return f"data:image/webp;base64,{base64.b64encode(self.data).decode()}"


def contact_sheet(
    clips: Mapping[str, Clip], stills: Mapping[str, Sequence[int]], *, budget: int, width: int = STEPS[0][0]
) -> tuple[list[StillsRow], list[tuple[str, str]]]:
    """A row of stills per clip (about `budget` bytes, frames `width` px wide if they fit); (name, reason) if broken."""
    usual = max((len(each) for each in stills.values()), default=0) or MOST
    rows, broken = [], []
    for name, clip in clips.items():
        asked = [i for i in stills.get(name, ()) if 0 <= i < len(clip)]
        indices = asked or sorted({int(i) for i in np.linspace(0, len(clip) - 1, usual)})
        shown = tuple(indices[int(k)] for k in np.linspace(0, len(indices) - 1, min(len(indices), MOST)))
        try:
            frames = list(clip.take(shown))
        except WorldgaugeError as error:
            broken.append((name, str(error)))
            continue
        data, size = _picture(frames, budget, width)
        times = tuple(i / clip.fps if clip.fps else 0.0 for i in shown)
        rows.append(StillsRow(name, data, size, shown, times, len(indices), len(clip)))
    return rows, broken


def _picture(frames: Sequence[NDArray[np.uint8]], budget: int, most: int) -> tuple[bytes, tuple[int, int]]:
    """The frames in a row as WebP, as fine as the budget lets it be."""
    for step, quality in STEPS:
        width = step * most // STEPS[0][0]
        tall = max(1, round(width * frames[0].shape[0] / frames[0].shape[1]))
        sheet = np.full((tall, len(frames) * (width + GAP_PX) - GAP_PX, 3), 255, np.uint8)
        for k, frame in enumerate(frames):
            left = k * (width + GAP_PX)
            sheet[:, left : left + width] = resize(frame, width, tall)
        _, coded = cv2.imencode(".webp", sheet[:, :, ::-1], [cv2.IMWRITE_WEBP_QUALITY, quality])
        if coded.nbytes <= budget:
            break
    return coded.tobytes(), (sheet.shape[1], sheet.shape[0])
