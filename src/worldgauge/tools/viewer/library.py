"""The runs below a folder as the viewer lists them, read again only where files have grown.

Runs of one suite in one folder are a *group*: they are shown side by side. Of every score only its value is held, with
the place of its line, so that a run of 10,000 tasks is listed in a second; curves are read when a task is opened.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldgauge.core.errors import RunError, UnknownNameError, WorldgaugeError
from worldgauge.core.io import digest_of, loads
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import task_ending
from worldgauge.engine.store import RunFolder, record_entry, score_from_json
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Record, Score, Task

MOST_DEEP = 3
"""Levels of folders below the given one that are looked into."""
ENDS = ("left", "scored", "skipped", "failed", "unscored")
_TAIL = re.compile(rb'"task": "([^"\\]*)", "unit": "(?:[^"\\]|\\.)*", "value": ([^}]*)\}$')
_METRIC = b'"metric": "'
_GROUP = re.compile(rb'"group": (\{[^{}]*\})')


@dataclass(frozen=True)
class MetricFacts:
    """What a metric is shown with.

    Attributes:
        name: Its name.
        unit: Its unit.
        better: Direction of better values.
    """

    name: str
    unit: str
    better: str


class RunIndex:
    """One run: which tasks it has, how they ended, and the values of their scores.

    Args:
        directory: Its folder.
    """

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
        """Name of its subject."""
        return str(self.facts["subject"]["name"])

    @property
    def kind(self) -> str:
        """ "subject" or "reference"."""
        return str(self.facts["subject"]["kind"])

    @property
    def counts(self) -> dict[str, int]:
        """Number of tasks by how they ended."""
        found = dict.fromkeys(ENDS, 0)
        for end in self.ends.values():
            found[end] += 1
        return found

    def refresh(self) -> None:
        """Read what is new.

        Raises:
            RunError: When run.json cannot be read.
        """
        changed = False
        if self._is_new(self.folder.facts_path) or not self.facts:
            self.facts, changed = self.folder.facts(), True
        if self._is_new(self.folder.journal_path):
            self._read_journal()
            changed = True
        if self._is_new(self.folder.scores_path):
            self._read_all_scores()
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
            entry.pop("subject")
            return score_from_json(entry)
        except (OSError, ValueError, LookupError, TypeError, WorldgaugeError):
            return None

    def record(self, suite: str, task: str) -> tuple[Task, Record]:
        """The record of a task.

        Raises:
            RunError: When it cannot be read.
        """
        folder = self.folder.record(task)
        entry = record_entry(folder)
        sample = dict(entry["sample"])
        if "source" in sample:
            sample["source"] = self.facts["source"]
        asked = Task(suite, task, sample, entry["fingerprint"], entry["group"])
        return asked, Record(asked, entry["subject"], folder, entry["facts"], entry["rollout"])

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

    def _read_all_scores(self) -> None:
        position = 0
        with open(self.folder.scores_path, "rb") as file:
            for line in file:
                self._take(line, self.folder.scores_path, position)
                position += len(line)

    def _read_record(self, task: str, key: str | None) -> None:
        """Scores of one task, from its record: scores.jsonl is written when the run has ended."""
        if self.values.get(task) and not self._read_scores.get(task) and self._places_in_whole(task):
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

    def _places_in_whole(self, task: str) -> bool:
        """Whether what is known of a task was read from scores.jsonl, which is newer than the journal."""
        whole, journal = (self._seen.get(path.name) for path in (self.folder.scores_path, self.folder.journal_path))
        return whole is not None and journal is not None and whole[0] >= journal[0]

    def _take(self, line: bytes, path: Path, position: int) -> None:
        line = line.rstrip(b"\n")
        tail, start = _TAIL.search(line), line.rfind(_METRIC)
        if tail is not None and start >= 0:
            begin = start + len(_METRIC)
            task, metric = tail[1].decode(), line[begin : line.index(b'"', begin)].decode()
            text = tail[2]
            value = None if text == b"null" else float(text)
        else:
            try:
                entry = loads(line.decode())
                task, metric, value = str(entry["task"]), str(entry["metric"]), entry["value"]
            except (ValueError, LookupError, TypeError):
                return
        self.values.setdefault(task, {})[metric] = value
        self._places[task, metric] = path, position
        if metric not in self.metrics:
            try:
                entry = loads(line.decode())
                self.metrics[metric] = MetricFacts(metric, str(entry["unit"]), str(entry["better"]))
            except (ValueError, LookupError, TypeError):
                return
        if task not in self.groups:
            # Without its curve a line is read ten times faster; a name of a task may hold the words, but not first.
            found = _GROUP.search(line)
            try:
                self.groups[task] = dict(json.loads(found[1]) if found else loads(line.decode())["group"])
            except (ValueError, LookupError, TypeError):
                return


@dataclass
class Group:
    """Runs of one suite in one folder.

    Attributes:
        ident: Names the group in addresses.
        suite: The suite, with the settings of the first run.
        place: The folder, below that of the viewer.
        runs: The runs by label.
        order: Metrics in the order of the suite's tables; empty until there is a score.
    """

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
        """Group of a task; empty where it has no scores yet."""
        return next((run.groups[task] for run in self.runs.values() if task in run.groups), {})


class Library:
    """All runs below a folder. One thread reads at a time.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = threading.RLock()
        self.problems: dict[str, str] = {}
        self._runs: dict[Path, RunIndex] = {}
        self._groups: dict[str, Group] = {}

    def refresh(self) -> list[Group]:
        """Look for new runs, read what has grown.

        Returns:
            The groups, by place and suite.
        """
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
                same[_free(run.label, same)] = run
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
                groups[ident] = Group(ident, opened, place, runs, [] if known is None else known.order)
            self._groups = groups
            return list(groups.values())

    def group(self, ident: str) -> Group:
        """A group by its ident.

        Raises:
            UnknownNameError: There is none.
        """
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
            try:
                deeper += [
                    one for one in folder.iterdir() if one.is_dir() and one.name[0] != "." and not one.is_symlink()
                ]
            except OSError:
                continue
        level = deeper


def _free(label: str, taken: Mapping[str, Any]) -> str:
    """The label, with a number where another run of the group has it."""
    number, name = 1, label
    while name in taken:
        number += 1
        name = f"{label} ({number})"
    return name
