"""The runs below a folder as the viewer lists them, and what there is to see of a task, frame by frame.

Runs of one suite in one folder are a *group*: they are shown side by side. Of every score only its value is held, with
the place of its line, so that a run of 10,000 tasks is listed in a second; curves are read when a task is opened.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import cv2
import numpy as np

from worldgauge.core.errors import RunError, UnknownNameError, WorldgaugeError
from worldgauge.core.image import Image
from worldgauge.core.io import digest_of, loads, stamp_of
from worldgauge.core.video import Clip, resize
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import task_ending
from worldgauge.engine.store import RunFolder, record_entry, score_from_json, with_model_key
from worldgauge.engine.suite.base import ActedSuite, AnsweredSuite, Suite
from worldgauge.engine.suite.contract import AnswerCard, Record, Score, Task, TaskView
from worldgauge.engine.suite.decoy import arm_of
from worldgauge.report.film import Film, make_film, same_rate
from worldgauge.worlds import View, open_world

MOST_DEEP = 3
"""Levels of folders below the given one that are looked into."""
ENDS = ("left", "scored", "skipped", "failed", "unscored")
_TAIL = re.compile(rb'"task": "([^"\\]*)", "unit": "(?:[^"\\]|\\.)*", "value": ([^}]*)\}$')
_METRIC = b'"metric": "'
_GROUP = re.compile(rb'"group": (\{[^{}]*\})')


class MetricFacts(NamedTuple):
    """What a metric is shown with."""

    name: str
    unit: str
    better: str


class RunIndex:
    """One run: which tasks it has, how they ended, and the values of their scores."""

    def __init__(self, directory: Path) -> None:
        self.folder = RunFolder(directory)
        self.facts: dict[str, Any] = {}
        self.ends: dict[str, str] = {}
        self.values: dict[str, dict[str, float | None]] = {}
        self.groups: dict[str, dict[str, Any]] = {}
        self.metrics: dict[str, MetricFacts] = {}
        self._lines: dict[str, dict[str, Any]] = {}
        self._journal_at = 0
        self._places: dict[tuple[str, str], tuple[Path, int]] = {}
        self._read_scores: dict[str, str] = {}
        self._seen: dict[str, tuple[int, int]] = {}
        self.stamp = 0

    @property
    def label(self) -> str:
        """Name of its model."""
        return str(self.facts["model"]["name"])

    @property
    def kind(self) -> str:
        """ "model" or "baseline"."""
        return str(self.facts["model"]["kind"])

    @property
    def counts(self) -> dict[str, int]:
        """Number of tasks by how they ended."""
        ends = list(self.ends.values())
        return {end: ends.count(end) for end in ENDS}

    def refresh(self) -> None:
        """Read what is new."""
        changed = False
        if self._is_new(self.folder.facts_path) or not self.facts:
            self.facts, changed = self.folder.facts(), True
        if self._is_new(self.folder.journal_path):
            self._read_journal()
            changed = True
        if self._is_new(self.folder.scores_path):
            position = 0
            with open(self.folder.scores_path, "rb") as file:
                for row in file:
                    self._take(row, self.folder.scores_path, position)
                    position += len(row)
            changed = True
        if changed:
            self.ends = {}
            for task, key in self.facts["task_keys"].items():
                line = self._lines.get(task)
                now = line if line is not None and line.get("key") == key else None
                self.ends[task] = task_ending(now)
                if now is not None and self.ends[task] == "scored" and self._read_scores.get(task) != now["scores"]:
                    self._read_record(task, now["scores"])
            self.stamp += 1

    def score(self, task: str, metric: str) -> Score | None:
        """A score with its curve; None where there is none, or its line is damaged."""
        place = self._places.get((task, metric))
        if place is None:
            return None
        path, start = place
        try:
            with open(path, "rb") as file:
                file.seek(start)
                entry = loads(file.readline().rstrip(b",\n").decode())
            with_model_key(entry).pop("model")
            return score_from_json(entry)
        except (OSError, ValueError, LookupError, TypeError, WorldgaugeError):
            return None

    def record(self, suite: str, task: str) -> tuple[Task, Record]:
        """The record of a task."""
        folder = self.folder.record(task)
        entry = record_entry(folder)
        sample = dict(entry["sample"])
        if "source" in sample:
            sample["source"] = self.facts["source"]
        asked = Task(suite, task, sample, entry["fingerprint"], entry["group"])
        return asked, Record(asked, entry["model"], folder, entry["facts"], entry["rollout"])

    def _is_new(self, path: Path) -> bool:
        try:
            stat = path.stat()
        except OSError:
            return False
        now = stat.st_mtime_ns, stat.st_size
        if self._seen.get(path.name) == now:
            return False
        self._seen[path.name] = now
        return True

    def _read_journal(self) -> None:
        with open(self.folder.journal_path, "rb") as file:
            if file.seek(0, 2) < self._journal_at:
                self._journal_at, self._lines = 0, {}
            file.seek(self._journal_at)
            data = file.read()
        whole = data.rfind(b"\n") + 1
        self._journal_at += whole
        for text in data[:whole].splitlines():
            try:
                line = json.loads(text)
                self._lines[str(line["task"])] = {
                    name: line[name] for name in ("key", "scores", "status", "error", "stage")
                }
            except (ValueError, LookupError, TypeError):
                continue  # the run itself tells of damaged lines

    def _read_record(self, task: str, key: str | None) -> None:
        """Scores of one task, from its record: scores.jsonl is written when the run has ended."""
        # What is known of a task may be from scores.jsonl, which is then newer than the journal.
        whole, journal = (self._seen.get(path.name) for path in (self.folder.scores_path, self.folder.journal_path))
        is_read = whole is not None and journal is not None and whole[0] >= journal[0]
        if self.values.get(task) and not self._read_scores.get(task) and is_read:
            self._read_scores[task] = key or ""
            return
        path = self.folder.record(task) / "scores.json"
        position = 0
        try:
            with open(path, "rb") as file:
                for number, line in enumerate(file):
                    if number:
                        self._take(line.rstrip(b",\n") + b"\n", path, position)
                    position += len(line)
        except OSError:
            return
        self._read_scores[task] = key or ""

    def _take(self, line: bytes, path: Path, position: int) -> None:
        line = line.rstrip(b"\n")
        tail, start = _TAIL.search(line), line.rfind(_METRIC)
        if tail is not None and start >= 0:
            begin = start + len(_METRIC)
            task, metric = tail[1].decode(), line[begin : line.index(b'"', begin)].decode()
            value = None if tail[2] == b"null" else float(tail[2])
        else:
            try:
                entry = loads(line.decode())
                task, metric, value = str(entry["task"]), str(entry["metric"]), entry["value"]
            except (ValueError, LookupError, TypeError):
                return
        if arm_of(task):
            return
        self.values.setdefault(task, {})[metric] = value
        self._places[task, metric] = path, position
        with suppress(ValueError, LookupError, TypeError):
            if metric not in self.metrics:
                entry = loads(line.decode())
                self.metrics[metric] = MetricFacts(metric, str(entry["unit"]), str(entry["better"]))
            if task not in self.groups:
                # Without its curve a line is read ten times faster; a name of a task may hold the words, but not first.
                found = _GROUP.search(line)
                self.groups[task] = dict(json.loads(found[1]) if found else loads(line.decode())["group"])


@dataclass
class RunGroup:
    """Runs of one suite in one folder."""

    ident: str
    suite: Suite
    place: str
    runs: dict[str, RunIndex]
    order: list[str] = field(default_factory=list)

    @property
    def stamp(self) -> int:
        """Changes whenever one of the runs has."""
        return sum(run.stamp for run in self.runs.values())

    @property
    def tasks(self) -> list[str]:
        """All tasks, in the order of the first run that has them."""
        return list(dict.fromkeys(task for run in self.runs.values() for task in run.ends))

    @property
    def metrics(self) -> list[MetricFacts]:
        """All metrics in the order of the suite's tables, the headline first; others by name."""
        found = {name: one for run in self.runs.values() for name, one in run.metrics.items()}
        order = self.order = self.order or self._order_of_tables()
        return sorted(found.values(), key=lambda m: (order.index(m.name) if m.name in order else len(order), m.name))

    def _order_of_tables(self) -> list[str]:
        """Which metrics the tables are of, as the suite makes them of one task."""
        for label, run in self.runs.items():
            for task in run.values:
                scores = [one for name in run.values[task] if (one := run.score(task, name)) is not None]
                tables = self.suite.summarize({label: scores}, {label: run.kind}, {label: []})
                return list(dict.fromkeys(table.metric for table in tables))
        return []

    def group_of(self, task: str) -> Mapping[str, Any]:
        """RunGroup of a task; empty where it has no scores yet."""
        return next((run.groups[task] for run in self.runs.values() if task in run.groups), {})


class Library:
    """All runs below a folder. One thread reads at a time."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = threading.RLock()
        self.problems: dict[str, str] = {}
        self._runs: dict[Path, RunIndex] = {}
        self._groups: dict[str, RunGroup] = {}

    def refresh(self) -> list[RunGroup]:
        """Look for new runs, read what has grown."""
        with self.lock:
            self.problems = {}
            found: dict[tuple[str, str], dict[str, RunIndex]] = {}
            for directory in sorted(_run_folders(self.root)):
                run = self._runs.setdefault(directory, RunIndex(directory))
                where = directory.relative_to(self.root).as_posix()
                try:
                    run.refresh()
                except (RunError, OSError) as error:
                    self.problems[where] = str(error)
                    continue
                place = directory.parent.relative_to(self.root).as_posix() if directory != self.root else "."
                same = found.setdefault((place, str(run.facts["suite"])), {})
                # The label, with a number if another run of the group has it.
                names = chain([run.label], (f"{run.label} ({number})" for number in count(2)))
                same[next(name for name in names if name not in same)] = run
            groups = {}
            for (place, suite), runs in sorted(found.items()):
                ident = digest_of(f"{place}\0{suite}")[:12]
                known = self._groups.get(ident)
                try:
                    first = next(iter(runs.values()))
                    opened = known.suite if known is not None else open_suite(suite, first.facts["settings"])
                except WorldgaugeError as error:
                    self.problems[f"{place} {suite}"] = str(error)
                    continue
                groups[ident] = RunGroup(ident, opened, place, runs, [] if known is None else known.order)
            self._groups = groups
            return list(groups.values())

    def group(self, ident: str) -> RunGroup:
        """A group by its ident."""
        with self.lock:
            if ident not in self._groups:
                self.refresh()
            if ident not in self._groups:
                raise UnknownNameError("group of runs", ident, self._groups)
            return self._groups[ident]


def finite(value: float | None) -> float | None:
    """A value as JSON has it: infinite ones are told as missing."""
    return value if value is not None and math.isfinite(value) else None


def _run_folders(root: Path) -> Iterator[Path]:
    level = [root]
    for _ in range(MOST_DEEP + 1):
        deeper: list[Path] = []
        for folder in level:
            if (folder / "run.json").is_file():
                if folder == root or not RunFolder(folder).is_earlier:
                    yield folder
                continue
            with suppress(OSError):
                deeper += [p for p in folder.iterdir() if p.is_dir() and p.name[0] != "." and not p.is_symlink()]
        level = deeper


TRUTH = "ground truth"
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
    """The films of one task; `lead` gives length and rate, and `films` caches them without and with `exact` clips.

    Attributes:
        shown: What every model was shown before it answered. None if it is not known.
        exact: Names of clips rendered again from the ground truth's world: depth and labels of every pixel.
        lock: Held while frames are read: a decoder has one position at a time.
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
        """A frame of a clip as PNG, at the time of `frame` of the leading one."""
        with self.lock:
            shown = self._frame(name, frame)
            if difference:
                truth = self._frame(TRUTH, frame)
                shown = resize(shown, truth.shape[1], truth.shape[0])
                far = np.abs(shown.astype(np.int16) - truth.astype(np.int16)) * GAIN
                shown = np.clip(far, 0, 255).astype(np.uint8)
        return png(shown)

    def last_shown(self) -> bytes:
        """The last frame that every model was shown, as PNG."""
        if not self.shown:
            raise UnknownNameError("frame that was shown", "last", [])
        with self.lock:
            return png(self.shown[len(self.shown) - 1])

    def make_film(self, *, exact: bool = False) -> Film:
        """All clips as one video."""
        with self.lock:
            exact = exact and bool(self.exact)
            if exact not in self.films:
                clips = {name: clip for name, clip in self.clips.items() if exact or name not in self.exact}
                self.films[exact] = make_film(clips, budget=FILM_BYTES, lead=self.lead, tile_px=320)
            return self.films[exact]

    def _frame(self, name: str, frame: int) -> Image:
        if name not in self.clips:
            raise UnknownNameError("video of this task", name, self.clips)
        clip = self.clips[name]
        at = frame if same_rate(clip, self.fps) else int(frame / self.fps * clip.fps + 1e-6)
        return clip[max(0, min(at, len(clip) - 1))]


class Footages:
    """Footage of tasks, of which the last ones are kept."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, str, tuple[Any, ...]], Footage] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, group: RunGroup, task: str) -> Footage:
        """The footage of a task."""
        if not any(task in run.ends for run in group.runs.values()):
            raise UnknownNameError("task", task, group.tasks[:50])
        states = []
        for run in group.runs.values():  # another key, a new record or a changed folder of data make other footage
            files = run.folder.record(task) / "record.json", Path(str(run.facts.get("source", "")))
            states.append((run.ends.get(task), run.facts["task_keys"].get(task), *map(stamp_of, files)))
        key = group.ident, task, tuple(states)
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


def task_facts(group: RunGroup, task: str, footage: Footage) -> dict[str, Any]:
    """All that the page shows of a task beside its films, plain JSON values."""
    runs = group.runs
    metrics = [metric for metric in group.metrics if any(metric.name in r.values.get(task, {}) for r in runs.values())]
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
        "metrics": [metric._asdict() for metric in metrics],
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


def _gather(group: RunGroup, task: str) -> Footage:
    suite = group.suite
    notes: list[str] = []
    records: dict[str, tuple[Task, Record]] = {}
    for label, run in group.runs.items():
        if run.ends.get(task) in ("scored", "unscored"):
            found = _told(notes, label, lambda run=run: run.record(suite.name, task))  # type: ignore[misc]
            if found is not None:
                records[label] = found
    if not records:
        return Footage(notes=("No model has answered this task yet.", *notes))
    asked = next(iter(records.values()))[0]
    if isinstance(suite, AnsweredSuite):
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
    if not isinstance(suite, ActedSuite):
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
    """Depth and labels of a task's true frames, rendered on view; depth is 255 / (1 + depth / 3 m), 0 in the sky."""
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


def _clip_of(group: RunGroup, record: Record) -> Clip:
    if isinstance(group.suite, ActedSuite):
        return group.suite.film(record)
    if record.rollout is None:
        raise WorldgaugeError("its record holds no video")
    return Clip.open(record.directory / record.rollout)


def _told(notes: list[str], name: str, get: Callable[[], T]) -> T | None:
    """What `get` returns; None with a note where that fails."""
    try:
        return get()
    except WorldgaugeError as error:
        notes.append(f"{name} is not shown: {error}.")
        return None
