"""The runs that a report compares, read from their folders: scores, and the endings of tasks."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from worldgauge.core.errors import RunError, UsageError
from worldgauge.core.model import PRIVILEGED
from worldgauge.engine.coverage import TaskEnding
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import (
    Runs,
    TaskCounts,
    arm_scores,
    find_runs,
    is_older_than_clusters,
    list_bridges,
    list_endings,
    list_failures,
    list_speeds,
    list_told,
    read_current_lines,
    read_scores,
)
from worldgauge.engine.store import RunFolder, record_entry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Failure, Score, Task
from worldgauge.engine.suite.decoy import judged_suite
from worldgauge.engine.suite.scores import clusters_by_task

STAND_IN = "stand-in"
"""In place of the hidden inputs of a built-in model that takes the part of the user's."""


@dataclass(frozen=True)
class ComparedRun:
    """One run: a model and everything it did."""

    label: str  # in the report, unique
    model: str  # its label in its run folder
    source: str  # where the model comes from, such as its registered name
    kind: Literal["model", "baseline"]
    sees: tuple[str, ...]  # inputs besides frames and controls, such as "depth", "truth" and "world"
    context: int | None  # number of frames that it could see; None without a limit
    facts: Mapping[str, Any]  # content of run.json
    directory: Path
    scores: tuple[Score, ...]
    outcomes: tuple[TaskEnding, ...]
    rollouts: Mapping[str, Path]
    failed: tuple[Failure, ...] = ()
    speeds: tuple[Mapping[str, Any] | None, ...] = ()  # of each task with a record (`list_speeds`)
    bridges: tuple[Mapping[str, Any], ...] = ()  # metadata of the frame-rate conversion of its records
    told: tuple[int, ...] = ()  # number of notes of the model in each record
    fps: float | None = None  # rate of its own, frames per second; None for any
    arms: tuple[Score, ...] = ()  # in the decoy test

    @cached_property
    def by_metric(self) -> Mapping[str, Mapping[str, Score]]:
        """Scores by metric and task."""
        table: dict[str, dict[str, Score]] = {}
        for score in self.scores:
            table.setdefault(score.metric, {})[score.task] = score
        return table

    def values(self, metric: str) -> Mapping[str, float]:
        """Values of a metric by task, for tasks that have one."""
        return self._values.get(metric, {})

    @cached_property
    def _values(self) -> Mapping[str, Mapping[str, float]]:
        return {
            metric: {task: score.value for task, score in scores.items() if score.value is not None}
            for metric, scores in self.by_metric.items()
        }

    @property
    def counts(self) -> TaskCounts:
        """How its tasks ended."""
        return TaskCounts.of(outcome.end for outcome in self.outcomes)

    @property
    def is_truth(self) -> bool:
        """Whether it returns the hidden frames unchanged; other baselines that see them change them."""
        return self.source == "truth" and "truth" in self.sees and self.fps is None

    @property
    def privileged(self) -> bool:
        """Whether it saw what a model under test must not see."""
        return not PRIVILEGED.isdisjoint(self.sees)


@dataclass(frozen=True)
class Evidence:
    """All runs of one report: models under test first, then baselines, each in its given order."""

    suite: str
    settings: Mapping[str, Any]
    runs: tuple[ComparedRun, ...]
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> list[str]:
        """Names on the page, unique."""
        return [run.label for run in self.runs]

    def __getitem__(self, label: str) -> ComparedRun:
        return next(run for run in self.runs if run.label == label)

    @cached_property
    def metrics(self) -> list[str]:
        """All metrics, in the order of the scores."""
        return list(dict.fromkeys(score.metric for e in self.runs for score in e.scores))

    @cached_property
    def groups(self) -> Mapping[str, Mapping[str, Any]]:
        """Group of each task, sorted by table cell, with numbers in numeric order."""
        found = {score.task: score.group for e in self.runs for score in e.scores}
        return dict(sorted(found.items(), key=lambda item: (_natural(cell_of(item[1])), _natural(item[0]))))

    @cached_property
    def clusters(self) -> Mapping[str, str]:
        """Cluster of each task."""
        return clusters_by_task({run.label: run.scores for run in self.runs})

    def has(self, metric: str) -> bool:
        """Whether any model has a value of `metric`."""
        return any(run.values(metric) for run in self.runs)

    def sample(self, metric: str) -> Score | None:
        """Any score of `metric`, for its unit and direction. None where there is none."""
        return next((s for e in self.runs for s in e.by_metric.get(metric, {}).values()), None)


def cell_of(group: Mapping[str, Any]) -> str:
    """The table column of a task's group, such as "ABA 5"."""
    return _values(group, keys_of(group)) or "all"


def columns_by(groups: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> list[str] | None:
    """The keys of the groups that a table's columns are made of."""
    known = list(groups)
    if not known:
        return None
    shared = [key for key in known[0] if all(key in group for group in known)]
    for count in (1, 2):
        for keys in combinations(shared, count):
            if all(_values(group, keys) in columns for group in known):
                return list(keys)
    return None


def _values(group: Mapping[str, Any], keys: Iterable[str]) -> str:
    return " ".join(str(group[key]) for key in keys)


def keys_of(group: Mapping[str, Any]) -> list[str]:
    """The keys that table columns are made of: type and range, or all except the location."""
    pair = ["type", "range"]
    if all(key in group for key in pair):
        return pair
    # What kind of task it is comes before what is particular to it.
    return sorted((key for key in group if key != "location"), key=lambda key: key != "task")


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key in which 5 comes before 15."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", text) if part]


def unique_labels(names: Sequence[str], marks: Sequence[Iterable[str]]) -> list[str]:
    """Make names unique with the first kind of mark that distinguishes them, else with a number."""
    labels = list(names)
    descriptions = [tuple(mark) for mark in marks]
    for name in {n for n in names if names.count(n) > 1}:
        twins = [i for i, n in enumerate(names) if n == name]
        columns = list(zip(*(descriptions[i] for i in twins), strict=True))
        telling = [k for k, column in enumerate(columns) if len(set(column)) > 1]
        for number, i in enumerate(twins, 1):
            words = [descriptions[i][k] for k in telling]
            labels[i] = f"{name} {' '.join(words)}" if words else f"{name} #{number}"
    for i, text in enumerate(labels):
        if labels.index(text) != i:
            labels[i] = f"{text} #{i + 1}"
    return labels


log = logging.getLogger(__name__)
_LEFT_OUT = "A run is left out: {}."


def load_evidence(paths: Runs, known: Mapping[Path, Iterable[Score]] = MappingProxyType({})) -> tuple[Evidence, Suite]:
    """Read runs and their suite, with the settings of the first run."""
    folders = find_runs(paths)
    if not folders:
        raise UsageError("a report needs at least one run folder")
    readable, damaged = _readable(folders)
    if not readable:
        raise damaged[0]
    facts = [fact for _, fact in readable]
    names = sorted({str(fact["suite"]) for fact in facts})
    if len(names) > 1:
        raise UsageError(f"these runs are of the suites {', '.join(names)}; write one report for each")
    suite = judged_suite(open_suite(names[0], facts[0]["settings"]), [fact["model"] for fact in facts])
    marks = [(f"@{_context(fact) or 'all'}", f"seed {fact['seed']}") for fact in facts]
    labels = unique_labels([fact["model"]["name"] for fact in facts], marks)
    runs = []
    for (folder, fact), label in zip(readable, labels, strict=True):
        try:
            runs.append(_read_run(suite, folder, fact, label, known.get(folder.directory)))
        except RunError as unreadable:
            damaged.append(unreadable)
    if not runs:
        raise damaged[0]
    for error in damaged:
        log.warning("%s", error)
    order = {name: place for place, name in enumerate(suite.baselines)}
    runs.sort(key=lambda e: (e.kind == "baseline", order.get(e.source, -1)))
    old = [run.label for run in runs if is_older_than_clusters(RunFolder(run.directory))]
    notes = (*_mismatches(facts), *_age(old), *(_LEFT_OUT.format(error) for error in damaged))
    return Evidence(suite.name, facts[0]["settings"], tuple(runs), notes), suite


def _readable(folders: Sequence[RunFolder]) -> tuple[list[tuple[RunFolder, dict[str, Any]]], list[RunError]]:
    """Runs whose run.json can be read, with it, and what is wrong with the others."""
    readable, damaged = [], []
    for folder in folders:
        try:
            readable.append((folder, folder.facts()))
        except RunError as error:
            damaged.append(error)
    return readable, damaged


def without_damaged(evidence: Evidence, suite: Suite) -> Evidence:
    """The runs whose scores the suite can put into tables, with a note on each of the others."""
    sound, damaged = [], []
    for run in evidence.runs:
        try:
            suite.all_tables({run.label: run.scores}, {run.label: run.kind}, {run.label: run.failed})
            sound.append(run)
        except Exception as error:  # of any suite, on files that anybody may have written
            path = RunFolder(run.directory).scores_path
            damaged.append(
                f"{path}: not the scores of a run of {suite.name} ({type(error).__name__}: {error}); "
                f"write them again from the records: worldgauge score {run.directory}"
            )
    if damaged and not sound:
        raise RunError(damaged[0])
    for text in damaged:
        log.warning("%s", text)
    return replace(evidence, runs=tuple(sound), notes=(*evidence.notes, *map(_LEFT_OUT.format, damaged)))


def read_tasks(evidence: Evidence, wanted: Iterable[str] | None = None) -> dict[str, Task]:
    """Tasks by id, from the records, with the data at the place that run.json gives now."""
    asked = None if wanted is None else set(wanted)
    found: dict[str, Task] = {}
    for run in evidence.runs:
        folder = RunFolder(run.directory)
        scored = [o.task for o in run.outcomes if o.end == "scored" and (asked is None or o.task in asked)]
        for task in [one for one in scored if one not in found]:
            entry = _record(folder, task)
            if entry is None:
                continue
            sample = dict(entry["sample"])
            if "source" in sample:
                sample["source"] = run.facts["source"]
            found[task] = Task(entry["suite"], task, sample, entry["fingerprint"], entry["group"])
    return found


def _read_run(
    suite: Suite, folder: RunFolder, facts: Mapping[str, Any], label: str, known: Iterable[Score] | None
) -> ComparedRun:
    model = facts["model"]
    lines = read_current_lines(folder)
    outcomes = list_endings(lines)
    rollouts = _Rollouts(folder, [one.task for one in outcomes if one.end in ("scored", "unscored")])
    return ComparedRun(
        label,
        str(model["name"]),
        str(model["identity"]["source"]),
        "baseline" if model["kind"] == "baseline" else "model",
        (STAND_IN, *(one for one in model["inputs"] if one not in PRIVILEGED))
        if model.get("stands_in")
        else tuple(one for one in model["inputs"] if one != "poses"),
        _context(facts),
        facts,
        folder.directory,
        tuple(read_scores(folder, suite, known)),
        tuple(outcomes),
        rollouts,
        tuple(list_failures(folder, lines)),
        tuple(list_speeds(lines)),
        tuple(list_bridges(folder, lines)),
        tuple(list_told(lines)),
        model["identity"].get("fps"),
        tuple(arm_scores(score for _, score in folder.scores())) if facts.get("decoy_keys") else (),
    )


class _Rollouts(Mapping[str, Path]):
    """Video by task, of tasks whose record has one. A record is read when its task is looked up: few are shown."""

    def __init__(self, folder: RunFolder, tasks: Sequence[str]) -> None:
        self._folder = folder
        self._tasks = dict.fromkeys(tasks)
        self._found: dict[str, Path | None] = {}

    def __getitem__(self, task: str) -> Path:
        if task not in self._found:
            record = _record(self._folder, task) if task in self._tasks else None
            path = self._folder.record(task) / record["rollout"] if record and record["rollout"] else None
            self._found[task] = path if path is not None and path.is_file() else None
        path = self._found[task]
        if path is None:
            raise KeyError(task)
        return path

    def __iter__(self) -> Iterator[str]:
        return (task for task in self._tasks if task in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _record(folder: RunFolder, task: str) -> dict[str, Any] | None:
    """The record of `task`; None when it is damaged: its scores stand in scores.jsonl, only its film is lost."""
    try:
        return record_entry(folder.record(task))
    except RunError as error:
        log.warning("%s", error)
        return None


def _context(facts: Mapping[str, Any]) -> int | None:
    """Frames the model was allowed to see: the suite's setting, or what the model holds where that is shorter."""
    limits = (facts["settings"].get("context"), facts["model"]["identity"].get("max_context"))
    known = [limit for limit in limits if isinstance(limit, int)]
    return min(known) if known else None


def _age(old: Sequence[str]) -> list[str]:
    """What a reader must know of runs whose scores do not say what they share."""
    if not old:
        return []
    return [
        f"The scores of {', '.join(old)} are older than clusters, which are taken from the ids of tasks. If ids "
        "do not show places, tasks count as independent and intervals may be too narrow."
    ]


def _mismatches(facts: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What a reader must know before comparing these runs."""
    notes = []
    if len({fact["data_fingerprint"] for fact in facts}) > 1:
        notes.append("These runs were made on different sets of tasks; differences use only those that both have.")
    if len({fact["suite_version"] for fact in facts}) > 1:
        notes.append("These runs were made with different versions of the suite; their numbers may not mean the same.")
    varied = sorted(
        {name for fact in facts for name, value in fact["settings"].items() if value != facts[0]["settings"].get(name)}
    )
    if varied:
        notes.append(f"Settings that differ between these runs: {', '.join(varied)}.")
    return tuple(notes)
