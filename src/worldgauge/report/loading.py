"""Read run folders into `Evidence`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from worldgauge.core.errors import RunError, UsageError
from worldgauge.engine.open_suite import open_suite
from worldgauge.engine.result import (
    find_runs,
    is_older_than_clusters,
    list_bridges,
    list_failures,
    list_speeds,
    list_told,
    read_current_lines,
    read_scores,
    task_ending,
)
from worldgauge.engine.store import RunFolder, record_entry
from worldgauge.engine.suite.base import Suite
from worldgauge.engine.suite.contract import Score, Task
from worldgauge.report.evidence import ComparedRun, Evidence, TaskEnding, unique_labels

log = logging.getLogger(__name__)
_LEFT_OUT = "A run is left out: {}."


def load_evidence(
    paths: Sequence[Path], known: Mapping[Path, Iterable[Score]] = MappingProxyType({})
) -> tuple[Evidence, Suite]:
    """Read runs and their suite, with the settings of the first run.

    Args:
        paths: Run folders, or folders of run folders.
        known: Scores that have been read already, by run folder.

    Returns:
        The evidence and the suite.

    Raises:
        UsageError: When the runs are of several suites, or no folder is given.
        RunError: When no run can be read. One of several that cannot is left out, and a note says so.
    """
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
    suite = open_suite(names[0], facts[0]["settings"])
    labels = unique_labels([fact["subject"]["name"] for fact in facts], [_marks(fact) for fact in facts])
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
    order = {name: place for place, name in enumerate(suite.references)}
    runs.sort(key=lambda e: (e.kind == "reference", order.get(e.source, -1)))
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
    """The runs whose scores the suite can put into tables, with a note on each of the others.

    Args:
        evidence: The runs.
        suite: Their suite.

    Returns:
        The evidence; the same where nothing is wrong.

    Raises:
        RunError: No run is left.
    """
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
    """Tasks by id, from the records, with the data at the place that run.json gives now.

    Args:
        evidence: The runs.
        wanted: Ids of the tasks. By default all.
    """
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
    subject = facts["subject"]
    outcomes = []
    lines = read_current_lines(folder)
    for task, line in lines.items():
        end = task_ending(line)
        outcomes.append(TaskEnding(task, end, _ENDINGS.get(end) or (line or {}).get("error") or ""))
    rollouts = _Rollouts(folder, [one.task for one in outcomes if one.end in ("scored", "unscored")])
    return ComparedRun(
        label,
        str(subject["name"]),
        str(subject["identity"]["source"]),
        "reference" if subject["kind"] == "reference" else "subject",
        tuple(subject["inputs"]),
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
        subject["identity"].get("fps"),
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


_ENDINGS = {"left": "not run yet", "unscored": "asked, not scored yet; worldgauge score does it"}


def _context(facts: Mapping[str, Any]) -> int | None:
    """Frames the subject was allowed to see: the suite's setting, or what the model holds where that is shorter."""
    limits = (facts["settings"].get("context"), facts["subject"]["identity"].get("max_context"))
    known = [limit for limit in limits if isinstance(limit, int)]
    return min(known) if known else None


def _marks(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What may tell two runs of one subject apart."""
    return f"@{_context(facts) or 'all'}", f"seed {facts['seed']}"


def _age(old: Sequence[str]) -> list[str]:
    """What a reader must know of runs whose scores do not say what they share."""
    if not old:
        return []
    return [
        f"The scores of {', '.join(old)} are older than clusters, which are taken from the ids of tasks. Where ids "
        "tell nothing, tasks count as independent and intervals may be too narrow."
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
