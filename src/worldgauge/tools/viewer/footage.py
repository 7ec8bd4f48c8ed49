"""What there is to see of a task: the truth and the film of every subject, frame by frame and in step."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import cv2
import numpy as np

from worldgauge.core.errors import UnknownNameError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.io import stamp_of
from worldgauge.core.video import Clip, resize
from worldgauge.engine.suite.contract import AnswerCard, Record, Task, TaskView
from worldgauge.report.films.film import Film, make_film, same_rate
from worldgauge.tools.viewer.library import Group, RunIndex, finite
from worldgauge.worlds import View, open_world

TRUTH = "hidden truth"
DEPTH, LABELS = "exact depth", "exact labels"
NEAR_M = 3.0
"""Depth that is drawn half as bright as what is nearest."""
FILM_BYTES = 3_000_000
SHOWN_PX = 640
"""Widest frame that is sent; larger ones are made smaller."""
GAIN = 3
"""How many times a difference is shown brighter than it is."""
HELD = 24
"""Tasks whose films are kept open."""
T = TypeVar("T")


@dataclass
class Footage:
    """The films of one task.

    Attributes:
        clips: Clips by name, the truth first where it is known.
        lead: Name of the clip that gives length and rate.
        notes: What is not shown, and why.
        card: The answers, for a suite whose tasks are answered in words or builds.
        shown: What every subject was shown before it answered. None where that is not known.
        exact: Names of clips that the truth's world was drawn anew for: depth and labels of every pixel.
        films: All clips as one video, without and with the exact ones, once they were asked for.
        lock: Held by who reads frames: a decoder has one place at a time.
    """

    clips: Mapping[str, Clip] = field(default_factory=dict)
    lead: str = ""
    notes: tuple[str, ...] = ()
    card: AnswerCard | None = None
    shown: Clip | None = None
    exact: tuple[str, ...] = ()
    films: dict[bool, Film] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def frames(self) -> int:
        """Number of frames of the leading clip."""
        return len(self.clips[self.lead]) if self.lead else 0

    @property
    def fps(self) -> float:
        """Frames a second of the leading clip."""
        return (self.clips[self.lead].fps or 20.0) if self.lead else 0.0

    def picture(self, name: str, frame: int, *, difference: bool = False) -> bytes:
        """A frame of a clip as PNG, at the time of `frame` of the leading one.

        Args:
            name: Name of the clip.
            frame: Frame of the leading clip.
            difference: Whether the absolute difference to the truth is shown, `GAIN` times as bright.

        Returns:
            The file.

        Raises:
            UnknownNameError: There is no such clip, or no truth.
            WorldgaugeError: The frame cannot be read.
        """
        with self.lock:
            shown = self._frame(name, frame)
            if difference:
                truth = self._frame(TRUTH, frame)
                shown = resize(shown, truth.shape[1], truth.shape[0])
                far = np.abs(shown.astype(np.int16) - truth.astype(np.int16)) * GAIN
                shown = np.clip(far, 0, 255).astype(np.uint8)
        return png(shown)

    def last_shown(self) -> bytes:
        """The last frame that every subject was shown, as PNG.

        Raises:
            UnknownNameError: It is not known.
            WorldgaugeError: It cannot be read.
        """
        if not self.shown:
            raise UnknownNameError("frame that was shown", "last", [])
        with self.lock:
            return png(self.shown[len(self.shown) - 1])

    def make_film(self, *, exact: bool = False) -> Film:
        """All clips as one video.

        Args:
            exact: Whether exact depth and labels are part of it, which have to be drawn.

        Raises:
            UsageError: There is no clip.
        """
        with self.lock:
            exact = exact and bool(self.exact)
            if exact not in self.films:
                clips = {name: clip for name, clip in self.clips.items() if exact or name not in self.exact}
                self.films[exact] = make_film(clips, budget=FILM_BYTES, lead=self.lead, tile_px=320)
            return self.films[exact]

    def _frame(self, name: str, frame: int) -> Image:
        if name not in self.clips:
            raise UnknownNameError("film of this task", name, self.clips)
        clip = self.clips[name]
        at = frame if same_rate(clip, self.fps) else int(frame / self.fps * clip.fps + 1e-6)
        return clip[max(0, min(at, len(clip) - 1))]


class Footages:
    """Footage of tasks, of which the last ones are kept."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str, tuple[Any, ...]], Footage] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, group: Group, task: str) -> Footage:
        """The footage of a task.

        Args:
            group: Its runs.
            task: Its id.

        Returns:
            The footage. What cannot be shown is told in its notes.

        Raises:
            UnknownNameError: There is no such task.
        """
        if not any(task in run.ends for run in group.runs.values()):
            raise UnknownNameError("task", task, group.tasks[:50])
        key = group.ident, task, tuple(_state(run, task) for run in group.runs.values())
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = _gather(group, task)
        with self._lock:
            self._held[key] = made
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        return made


def _state(run: RunIndex, task: str) -> tuple[Any, ...]:
    """What a run holds of a task: another key, a new record or a changed folder of data make other footage."""
    data = Path(str(run.facts.get("source", "")))
    return (
        run.ends.get(task),
        run.facts["task_keys"].get(task),
        stamp_of(run.folder.record(task) / "record.json"),
        stamp_of(data),
    )


def task_facts(group: Group, task: str, footage: Footage) -> dict[str, Any]:
    """All that the page shows of a task beside its films, plain JSON values."""
    metrics = [
        metric for metric in group.metrics if any(metric.name in r.values.get(task, {}) for r in group.runs.values())
    ]
    rows, curves = [], []
    for label, run in group.runs.items():
        values = [finite(run.values.get(task, {}).get(metric.name)) for metric in metrics]
        rows.append({"label": label, "end": run.ends.get(task, "left"), "values": values})
    for metric in metrics:
        lines = {}
        for label, run in group.runs.items():
            score = run.score(task, metric.name)
            if score is not None and score.series:
                lines[label] = [[at, finite(value)] for at, value in score.series]
        if lines:
            curves.append({"metric": metric.name, "unit": metric.unit, "lines": lines})
    card = footage.card
    return {
        "task": task,
        "frames": footage.frames,
        "fps": footage.fps,
        "clips": [
            {"name": name, "width": clip.width, "height": clip.height, "frames": len(clip)}
            for name, clip in footage.clips.items()
        ],
        "truth": TRUTH if TRUTH in footage.clips else None,
        "exact": list(footage.exact),
        "notes": list(footage.notes),
        "metrics": [{"name": m.name, "unit": m.unit, "better": m.better} for m in metrics],
        "rows": rows,
        "curves": curves,
        "group": {name: str(value) for name, value in group.group_of(task).items()},
        "asked": "" if card is None else card.asked,
        "answers": []
        if card is None
        else [
            {
                "name": name,
                "text": view.text[:20_000],
                "verdict": view.verdict,
                "reasons": list(view.reasons)[:20],
                "picture": view.picture is not None,
            }
            for name, view in card.plates.items()
        ],
    }


def png(frame: Image) -> bytes:
    """A frame (H, W, 3) uint8 RGB as PNG, at most `SHOWN_PX` wide."""
    if frame.shape[1] > SHOWN_PX:
        frame = resize(frame, SHOWN_PX, max(1, round(frame.shape[0] * SHOWN_PX / frame.shape[1])))
    done, data = cv2.imencode(".png", np.ascontiguousarray(frame[:, :, ::-1]))
    if not done:
        raise WorldgaugeError("a frame cannot be encoded")
    return bytes(data)


def _gather(group: Group, task: str) -> Footage:
    suite = group.suite
    notes: list[str] = []
    records: dict[str, tuple[Task, Record]] = {}
    for label, run in group.runs.items():
        if run.ends.get(task) in ("scored", "unscored"):
            found = _told(notes, label, lambda run=run: run.record(suite.name, task))  # type: ignore[misc]
            if found is not None:
                records[label] = found
    if not records:
        return Footage(notes=("No subject has answered this task yet.", *notes))
    asked = next(iter(records.values()))[0]
    if suite.shows_answers:
        scores = {
            label: [s for m in run.values.get(task, {}) if (s := run.score(task, m)) is not None]
            for label, run in group.runs.items()
        }
        only = {label: record for label, (_, record) in records.items()}
        card = _told(notes, "the question", lambda: suite.answer_card(asked, only, scores))
        return Footage(notes=tuple(notes), card=card)
    clips: dict[str, Clip] = {}
    exact: dict[str, Clip] = {}
    shown = None
    if not suite.shows_films:
        view = _told(notes, TRUTH, lambda: suite.task_view(asked))
        if view is not None and len(view.truth):
            clips[TRUTH if len(view.truth) > 1 else "start image"] = view.truth
            exact = _told(notes, DEPTH, lambda: exact_clips(view)) or {}
            shown = view.shown or None
    for label, (_, record) in records.items():
        clip = _told(notes, label, lambda record=record: _clip_of(group, record))  # type: ignore[misc]
        if clip is not None and len(clip):
            clips[label] = clip
    moving = {name: clip for name, clip in clips.items() if name != "start image"}
    lead = TRUTH if TRUTH in clips else max(moving, key=lambda name: len(moving[name]), default=next(iter(clips), ""))
    return Footage({**clips, **exact}, lead, tuple(notes), shown=shown, exact=tuple(exact))


def exact_clips(view: TaskView) -> dict[str, Clip]:
    """Depth and labels of a task's true frames, drawn when they are looked at.

    Depth is bright where it is near, 255 / (1 + depth / 3 m), and black in the sky; each category has a colour and each
    object its own.

    Args:
        view: The task.

    Returns:
        Two clips, frame k of both that of frame k of the truth; none where the world or the camera is not known.

    Raises:
        WorldError: The world cannot be built, or is no longer that of the recording.
    """
    world, camera = None if view.world is None else open_world(view.world), view.camera
    count = min(len(view.truth), len(view.poses) - view.generated_from)
    if world is None or camera is None or count < 1:
        return {}

    @lru_cache(maxsize=2)
    def seen(frame: int) -> View:
        return world.view(view.poses[view.generated_from + frame], camera)

    def depth(frame: int) -> Image:
        levels = np.rint(255 / (1 + np.maximum(seen(frame).depth, 0) / NEAR_M)).astype(np.uint8)
        return np.repeat(levels[:, :, None], 3, axis=2)

    def labels(frame: int) -> Image:
        view = seen(frame)
        shown: Image = _COLOURS[(view.category + 37 * view.instance.astype(int)) % len(_COLOURS)]
        return shown

    size, fps = (camera.width, camera.height), view.truth.fps
    return {DEPTH: Clip.rendered(depth, count, fps, size), LABELS: Clip.rendered(labels, count, fps, size)}


def _colours(count: int) -> Image:
    """Colours far apart: hues in steps of the golden section, in three brightnesses."""
    k = np.arange(count)
    hsv = np.stack([(k * 0.618034 % 1) * 179, np.full(count, 150), 255 - 55 * (k % 3)], axis=1).astype(np.uint8)
    return np.ascontiguousarray(cv2.cvtColor(hsv[None], cv2.COLOR_HSV2RGB)[0]).astype(np.uint8)


_COLOURS = _colours(256)


def _clip_of(group: Group, record: Record) -> Clip:
    if group.suite.shows_films:
        return group.suite.film(record)
    if record.rollout is None:
        raise WorldgaugeError("its record holds no film")
    return Clip.open(record.directory / record.rollout)


def _told(notes: list[str], name: str, get: Callable[[], T]) -> T | None:
    """What `get` returns; None with a note where that fails."""
    try:
        return get()
    except WorldgaugeError as error:
        notes.append(f"{name} is not shown: {error}.")
        return None
